//! Laws equality must keep whatever the answers are, and inputs made to break it.

use assay_math::{Options, equivalent, read};
use proptest::prelude::*;

fn same(gold: &str, answer: &str) -> bool {
    equivalent(gold, answer, &Options::default()).equal
}

/// A rational in one of its spellings, with its value as a pair.
fn number() -> impl Strategy<Value = (String, (i64, i64))> {
    (-200i64..200, 1i64..60, 0usize..4).prop_map(|(num, den, spelling)| {
        let text = match spelling {
            0 => format!("{num}/{den}"),
            1 => format!(r"\frac{{{num}}}{{{den}}}"),
            2 => format!(r"\dfrac{{{}}}{{{}}}", num * 3, den * 3),
            _ => format!("({num}) / ({den})"),
        };
        (text, (num, den))
    })
}

/// A polynomial-like expression in x and y.
pub(super) fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("x".to_owned()),
        Just("y".to_owned()),
        (1i64..20).prop_map(|n| n.to_string()),
        Just(r"\sqrt{2}".to_owned()),
        Just(r"\pi".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}+{b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}-{b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!(r"({a})\cdot({b})")),
            (inner.clone(), 1i64..9).prop_map(|(a, n)| format!(r"\frac{{{a}}}{{{n}}}")),
            (inner, 2u32..4).prop_map(|(a, n)| format!("({a})^{n}")),
        ]
    })
}

/// An expression with elementary functions.
pub(super) fn elementary() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("x".to_owned()),
        Just("y".to_owned()),
        (1i64..9).prop_map(|n| n.to_string())
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| format!(r"\sin({a})")),
            inner.clone().prop_map(|a| format!(r"e^{{{a}}}")),
            inner.clone().prop_map(|a| format!(r"\sqrt{{{a}}}")),
            inner.clone().prop_map(|a| format!(r"\ln({a})")),
            inner.clone().prop_map(|a| format!("|{a}|")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}+{b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a})({b})")),
        ]
    })
}

/// A function with pieces, a family, a sum with subscripts or an ellipsis, each with one free name.
fn shaped() -> impl Strategy<Value = String> {
    let number = 1i64..40;
    (number.clone(), number, 0usize..9).prop_map(|(a, b, shape)| match shape {
        0 => format!("|x-{a}|+{b}x"),
        1 => format!(r"\max(x-{a},{b})"),
        2 => format!(r"\begin{{cases}}x-{a}&x\ge{a}\\{a}-x&x<{a}\end{{cases}}"),
        3 => format!(r"\lfloor x-{a}\rfloor+{b}"),
        4 => format!(r"x=\frac{{\pi}}{{{b}}}+{a}k\pi, k\in\mathbb{{Z}}"),
        5 => format!(r"\sum_{{k=1}}^{{n}}{b}x_k+{a}"),
        6 => format!(r"x_1+x_2+\cdots+x_n+{a}"),
        7 => format!(r"e^{{x}}+|{b}x-{a}|"),
        _ => format!(r"\operatorname{{sgn}}(x-{a})\cdot{b}"),
    })
}

/// The same value written in several ways.
pub(super) fn spellings(a: &str) -> Vec<String> {
    vec![
        a.to_owned(),
        format!("({a})"),
        format!(r"1 \cdot ({a})"),
        format!("0+({a})"),
        format!(r"\frac{{2({a})}}{{2}}"),
        format!("-(-({a}))"),
        format!(r"$\displaystyle {a}$."),
    ]
}

/// Anything a model might write.
fn scraps() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(r"\frac"),
        Just(r"\sqrt"),
        Just("{"),
        Just("}"),
        Just("("),
        Just(")"),
        Just("["),
        Just("]"),
        Just(r"\{"),
        Just(r"\}"),
        Just("^"),
        Just("_"),
        Just("1"),
        Just("23"),
        Just("0.5"),
        Just("x"),
        Just("ab"),
        Just("+"),
        Just("-"),
        Just(r"\pm"),
        Just("="),
        Just("<"),
        Just(r"\le"),
        Just(","),
        Just(";"),
        Just(":"),
        Just("|"),
        Just("!"),
        Just("'"),
        Just("%"),
        Just(r"\circ"),
        Just(r"\text{cm}"),
        Just("and"),
        Just("or"),
        Just(r"\infty"),
        Just(r"\cup"),
        Just(r"\sin"),
        Just(r"\log"),
        Just(r"\sum"),
        Just(r"\int"),
        Just("dx"),
        Just(r"\lim"),
        Just(r"\begin{pmatrix}"),
        Just(r"\end{pmatrix}"),
        Just("&"),
        Just(r"\\"),
        Just(r"\left"),
        Just(r"\right"),
        Just("…"),
        Just("½"),
        Just("√"),
        Just("²"),
        Just("π"),
        Just("∈"),
        Just(r"\mathbb{R}"),
        Just(r"\overline"),
        Just("e"),
        Just("i"),
        Just("$"),
        Just(" "),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn numbers_compare_as_their_values((a, av) in number(), (b, bv) in number()) {
        prop_assert_eq!(same(&a, &b), av.0 * bv.1 == bv.0 * av.1);
    }

    #[test]
    fn equality_is_symmetric_and_transitive_on_numbers((a, _) in number(), (b, _) in number(), (c, _) in number()) {
        prop_assert_eq!(same(&a, &b), same(&b, &a));
        if same(&a, &b) && same(&b, &c) {
            prop_assert!(same(&a, &c));
        }
    }

    #[test]
    fn an_expression_equals_itself_expanded(a in expression(), b in expression()) {
        let doubled = format!("({a})+({b})+({a})");
        let turned = format!("2({a})+({b})");
        prop_assert!(same(&doubled, &turned), "{} {}", doubled, turned);
        let shifted = format!("{turned}+1");
        prop_assert!(!same(&doubled, &shifted), "{} {}", doubled, shifted);
    }

    #[test]
    fn equality_is_symmetric_on_expressions(a in expression(), b in expression()) {
        prop_assert_eq!(same(&a, &b), same(&b, &a));
    }

    #[test]
    fn all_spellings_of_an_expression_are_one(a in expression()) {
        for one in spellings(&a) {
            for other in spellings(&a) {
                prop_assert!(same(&one, &other), "{} {}", one, other);
            }
        }
    }

    #[test]
    fn functions_are_compared_from_both_sides(a in elementary(), b in elementary(), c in elementary()) {
        prop_assert_eq!(same(&a, &b), same(&b, &a), "{} {}", a, b);
        if same(&a, &b) && same(&b, &c) {
            prop_assert!(same(&a, &c), "{} {} {}", a, b, c);
        }
        for other in spellings(&a) {
            prop_assert_eq!(same(&a, &other), same(&other, &a), "{} {}", a, other);
        }
    }

    #[test]
    fn shapes_keep_the_laws(a in shaped(), b in shaped(), c in shaped()) {
        prop_assert_eq!(same(&a, &b), same(&b, &a), "{} {}", a, b);
        if same(&a, &b) && same(&b, &c) {
            prop_assert!(same(&a, &c), "{} {} {}", a, b, c);
        }
        let spaced = a.replace('-', " - ").replace(r"\cdots", r"\dots");
        prop_assert!(same(&a, &spaced) && same(&spaced, &a), "{}", spaced);
        // `k` is bound; the other names are free, so both sides are renamed.
        let bound = a.replace("_k", "_j").replace("{k=", "{j=").replace("k\\", "m\\").replace(" k", " m");
        prop_assert!(same(&a, &bound) && same(&bound, &a), "{} {}", a, bound);
        let free = |text: &str| text.replace("ax", "<").replace('x', "y").replace('<', "ax");
        prop_assert_eq!(same(&a, &b), same(&free(&a), &free(&b)), "{} {}", a, b);
    }

    #[test]
    fn sets_are_transitive(items in proptest::collection::vec((-20i64..20, 1i64..9), 1..5), turn in 0usize..5) {
        let set = |write: &dyn Fn(i64, i64) -> String, turn: usize| {
            let mut texts: Vec<String> = items.iter().map(|(num, den)| write(*num, *den)).collect();
            let len = texts.len();
            texts.rotate_left(turn % len);
            // A member given twice is given once.
            texts.extend(texts.first().cloned());
            format!(r"\{{{}\}}", texts.join(", "))
        };
        let plain = set(&|num, den| format!("{num}/{den}"), turn);
        let latex = set(&|num, den| format!(r"\frac{{{num}}}{{{den}}}"), 0);
        let doubled = set(&|num, den| format!("({})/{}", num * 2, den * 2), turn + 1);
        for (a, b) in [(&plain, &latex), (&latex, &doubled), (&plain, &doubled), (&doubled, &plain)] {
            prop_assert!(same(a, b), "{} {}", a, b);
        }
    }

    #[test]
    fn an_answer_is_found_whatever_surrounds_it(a in expression(), around in 0usize..6) {
        use assay_extraction::{Options as Extraction, extract};
        let text = match around {
            0 => format!(r"So we get $x = 3$ and then \boxed{{{a}}}."),
            1 => format!("<think>Perhaps 5? No.</think>The answer is ${a}$."),
            2 => format!("Steps:\n1. Add 4.\n\n**Final Answer**\n\n$$\\boxed{{{a}}}$$\n"),
            3 => format!("La réponse finale est : ${a}$"),
            4 => format!("因此，答案是 ${a}$。"),
            _ => format!("<answer>{a}</answer>"),
        };
        let found = extract(&text, &Extraction::default());
        let found = found.map(|found| found.text.into_owned()).unwrap_or_default();
        prop_assert!(same(&a, &found), "{} in {}: {}", a, text, found);
    }

    #[test]
    fn sets_ignore_order(items in proptest::collection::vec(number(), 1..6), turn in 0usize..6) {
        let texts: Vec<String> = items.into_iter().map(|(text, _)| text).collect();
        let mut turned = texts.clone();
        turned.rotate_left(turn % texts.len());
        let set = |items: &[String]| format!(r"\{{{}\}}", items.join(", "));
        prop_assert!(same(&set(&texts), &set(&turned)));
        prop_assert!(same(&set(&turned), &set(&texts)));
    }

    #[test]
    fn formatting_says_nothing(a in expression()) {
        let noisy = a.replace('(', r"\left( ").replace(')', r" \right)").replace(r"\frac", r"\dfrac").replace('+', r" \, + ");
        prop_assert!(same(&a, &noisy), "{}", noisy);
        let dollars = format!("${a}$.");
        prop_assert!(same(&a, &dollars));
        let boxed = format!(r"\boxed{{{a}}}");
        prop_assert!(same(&a, &boxed));
    }

    #[test]
    fn nothing_panics_and_everything_readable_equals_itself(a in scraps(), b in scraps()) {
        let forwards = equivalent(&a, &b, &Options::default());
        prop_assert_eq!(&forwards, &equivalent(&a, &b, &Options::default()), "deterministic");
        prop_assert_eq!(forwards.equal, same(&b, &a), "{:?} {:?}", a, b);
        if read(&a).is_some() {
            prop_assert!(same(&a, &a), "{:?}", a);
            // Without the shortcut for equal texts.
            let spaced = format!("{a} \\quad ");
            prop_assert!(same(&a, &spaced) || !same(&a, &a), "{:?}", a);
        }
    }

    #[test]
    fn no_text_panics(a in "\\PC{0,60}", b in "\\PC{0,60}") {
        let _ = equivalent(&a, &b, &Options::default());
    }
}

/// Inputs made to be slow: each must be decided within the step budget, which bounds its time.
#[test]
fn nothing_exceeds_the_budget() {
    let long = |text: &str, times: usize| text.repeat(times);
    let inputs = [
        long("7 ", 60_000),
        long("(", 100_000),
        long("(", 20_000) + "3" + &long(")", 20_000),
        long(r"\boxed{", 10_000) + "3" + &long("}", 10_000),
        long(r"\frac{1}{", 30_000) + "3" + &long("}", 30_000),
        long(r"\text{", 30_000),
        long("-", 200_000) + "3",
        long("x^", 60_000) + "2",
        long("|", 100_000),
        long(r"\sqrt", 30_000) + "2",
        long("1,", 60_000) + "1",
        long("1+", 60_000) + "1",
        long("x+", 60_000) + "1",
        long("x*", 60_000) + "1",
        long(r"\int x dx ", 10_000),
        long(r"\int ", 20_000),
        long("9", 200_000),
        "0.".to_owned() + &long("3", 200_000),
        long("a", 200_000),
        long(r"\a", 100_000),
        long(r"\begin{pmatrix}", 10_000),
        r"\begin{pmatrix}".to_owned() + &long(r"1&2\\", 20_000) + r"\end{pmatrix}",
        long("x<", 50_000) + "3",
        long("1=", 50_000) + "1",
        long(r"\{1\} \cup ", 10_000) + r"\{2\}",
        long(r"(0,1) \cup ", 10_000) + "(2,3)",
        long(r"\pm 1 +", 200) + "1",
        "(".to_owned() + &long(r"\pm 1,", 60) + "1)",
        long("sin ", 50_000) + "x",
        long(r"\sum_{k=1}^{4000}", 6) + "k",
        "((((2^{100})^{100})^{100})^{100})^{100}".to_owned(),
        r"\sqrt{".repeat(200) + "2" + &"}".repeat(200),
        (2..60)
            .map(|n| format!(r"\sqrt{{{n}}}"))
            .collect::<Vec<_>>()
            .join("+"),
        r"\binom{4000}{2000}^{4000}".to_owned(),
        r"3000!^{3000!}".to_owned(),
        r"e^{e^{e^{e^e}}}".to_owned(),
        r"x^{1000000007^{1000000007}}".to_owned(),
        r"\gcd(".to_owned() + &long("9", 20_000) + "," + &long("7", 20_000) + ")",
        long("9", 20_000) + "/" + &long("7", 19_999),
        r"\left(\frac{1}{3}\right)^{100000}+\left(\frac{1}{7}\right)^{100000}".to_owned(),
        long("𝒳", 50_000),
        long("\u{301}", 50_000),
    ];
    for input in &inputs {
        for (gold, answer) in [
            ("3", input.as_str()),
            (input.as_str(), "3"),
            (input.as_str(), input.as_str()),
        ] {
            let found = equivalent(gold, answer, &Options::default());
            let shown: String = answer.chars().take(40).collect();
            assert!(found.steps <= 4_000_000, "{shown}");
        }
    }
}
