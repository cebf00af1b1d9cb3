//! Long chains of one operator: none may overflow a stack, whatever it repeats. The test harness'
//! threads have 2 MiB.

use assay_math::{Options, equivalent};

/// What comes first, what is repeated, what comes last.
const CHAINS: &[(&str, &str, &str)] = &[
    ("2", "°", ""),
    ("x", "°", ""),
    ("2", "!", ""),
    ("x", "!", ""),
    ("2", r"\bmod2", ""),
    ("x", r"\bmod2", ""),
    ("2", r"\pmod2", ""),
    ("2", "%", ""),
    ("2", r"\%", ""),
    ("x", r"\%!", ""),
    ("x", r"\degree", ""),
    ("x", r"^{\circ}", ""),
    ("x", r"^\circ", ""),
    ("2", r"^\circ", ""),
    ("x", "!!", ""),
    ("x", "'", ""),
    ("f", "'", "(x)"),
    ("x", "_2", ""),
    ("2", "_2", ""),
    ("", "x_", "2"),
    ("x", "^2", ""),
    ("", "x^", "2"),
    ("", "x^{", "2"),
    ("x", "^{+}", ""),
    ("x", "^T", ""),
    ("", "-", "2"),
    ("", "2*-", "2"),
    ("", "+-", "2"),
    ("", "±", "2"),
    ("", r"\not", "2"),
    ("", r"\not=", "2"),
    ("", "2=", "2"),
    ("", "2<", "3"),
    ("", "2:", "3"),
    ("", "1,", "1"),
    ("", "1;", "1"),
    ("", "x>1 and ", "x>1 or x<3"),
    ("", r"A\cup B\cap ", "C"),
    ("", "1/", "1"),
    ("", "2^", "1"),
    ("", "$", "2"),
    ("", r"\$", "2"),
    ("", "€", "2"),
    ("", "{}", "2"),
    ("", "|", "2"),
    ("", "(", "2"),
    ("", "[1,", "2"),
    ("", r"\sqrt", "2"),
    ("", r"\sin", "2"),
    ("", "sin ", "2"),
    ("", r"\angle", "2"),
    ("", r"\overline", "2"),
    ("", r"\forall x,", "2"),
    ("", r"\text{if }", "2"),
    ("2", "(k∈ℤ)", ""),
    ("2", r"\text{ m}", ""),
    ("2", "⅓", ""),
    ("", "minus ", "2"),
    ("", "about ", "2"),
    ("", "not ", "2"),
    ("7", " to 2", ""),
    ("7", " or 2", ""),
    ("x", "^2_i", ""),
    ("2", r"\choose2", ""),
    ("2", r"\over2", ""),
    ("", r"\frac1", "2"),
    ("", r"\frac{1}{", "2"),
    ("", r"\sum_{k=1}^n ", "k"),
    ("", r"\int ", "x dx"),
    ("", r"\frac{d}{dx}", "x"),
    ("", r"\begin{matrix}", "2"),
    ("", r"\lim_{x\to0}", "2"),
    ("C", "_n^k", ""),
    ("0x", "F", ""),
    ("2", "\u{2032}", ""),
    ("2°", "3'", ""),
];

fn attack(count: usize, as_gold: bool) {
    for (first, repeated, last) in CHAINS {
        let chain = format!("{first}{}{last}", repeated.repeat(count));
        let options = Options::default();
        let found = if as_gold {
            equivalent(&chain, "7", &options)
        } else {
            equivalent("7", &chain, &options)
        };
        assert!(!found.equal, "{first}{repeated}…{last} ×{count}");
    }
}

#[test]
fn chains_of_an_operator_overflow_no_stack() {
    for count in [100, 300, 3_000, 9_000, 30_000, 200_000] {
        attack(count, false);
        attack(count, true);
    }
}

#[test]
fn chains_of_an_operator_fit_a_worker_stack() {
    let worker = std::thread::Builder::new().stack_size(16 << 20).spawn(|| {
        for count in [250, 12_000, 160_000] {
            attack(count, false);
        }
    });
    worker.unwrap().join().unwrap();
}
