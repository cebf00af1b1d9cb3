//! Long texts, and pairs of answers.

use super::{digits, joined, nested, repeated, shuffled, square_matrix};

pub(super) fn long_texts() -> Vec<(&'static str, String)> {
    let shapes: [(&'static str, &str); 34] = [
        ("long text of digits and blanks", "7 "),
        ("long text of words", "seven apples "),
        ("long text of one letter", "a"),
        ("long text of a sum", "1+"),
        ("long text of a product of letters", "xy"),
        ("long text of minus signs", "-"),
        ("long text of brackets", "("),
        ("long text of empty brackets", "()"),
        ("long text of braces", "{}"),
        ("long text of bars", "|"),
        ("long text of bars and letters", "|x"),
        ("long text of factorials", "1!"),
        ("long text of primes", "x'"),
        ("long text of powers", "x^"),
        ("long text of subscripts", "x_1"),
        ("long text of thirds", "⅓"),
        ("long text of commas", ","),
        ("long text of thousands", "1,000,"),
        ("long text of dots", "."),
        ("long text of equations", "x=1,"),
        ("long text of dollar signs", "$1$ "),
        ("long text of roots", r"\sqrt"),
        ("long text of fractions", r"\frac12"),
        ("long text of open fractions", r"\frac{"),
        ("long text of text commands", r"\text{m} "),
        ("long text of open text commands", r"\text{"),
        ("long text of boxes", r"\boxed{"),
        ("long text of environments", r"\begin{pmatrix}"),
        ("long text of rows", r"1&2\\"),
        ("long text of unknown commands", r"\unknown"),
        ("long text of backslashes", r"\"),
        ("long text of accents", "\u{301}"),
        ("long text of full-width digits", "\u{ff11}"),
        ("long text of sizes", r"\left.\right|"),
    ];
    let long = |(name, piece): &(&'static str, &str)| (*name, piece.repeat(200_000 / piece.len()));
    let mut all: Vec<_> = shapes.iter().map(long).collect();
    all.extend([
        ("20,000 brackets", nested("(", 20_000, "3", ")")),
        ("20,000 sums in brackets", nested("(1+", 20_000, "3", ")")),
        ("20,000 square brackets", nested("[", 20_000, "3", "]")),
        (
            "20,000 mixed brackets",
            nested(r"([\{", 7_000, "3", r"\}])"),
        ),
        ("20,000 sizes", nested(r"\left(", 20_000, "3", r"\right)")),
        ("20,000 fractions", nested(r"\frac{1}{", 20_000, "3", "}")),
        ("30,000 thirds", "⅓".repeat(30_000)),
        ("60,000 numbers with units", "3 km ".repeat(30_000)),
        ("alternatives", joined(0..20_000, " or ", |k| k.to_string())),
        ("times", "12:30:".repeat(20_000)),
    ]);
    all
}

/// Attacks whose second side is chosen.
pub(super) fn pairs() -> Vec<(&'static str, String, String)> {
    let set = |items: String| format!(r"\{{{items}\}}");
    let number = |k: u64| k.to_string();
    let root = |k: u64| format!(r"\sqrt{{{}}}", k + 2);
    let logarithm = |k: u64| format!(r"\ln({})", k + 2);
    let square = |k: u64| format!("(x+{k})^2");
    let expanded = |k: u64| format!("x^2+{}x+{}", 2 * k, k * k);
    let sentence = |k: u64| format!(r"\text{{{}{k}}}", repeated("a sentence of many words ", 14));
    let names = |n: u64| joined(0..n, "+", |k| format!("x_{{{k}}}"));
    let family = |k: u64| format!(r"\{{{k}m+{}\mid m\in\mathbb{{Z}}\}}", names(15));
    let equation = |k: u64, more: u64| format!("y_{{{k}}}={}+{more}-{more}+({k}+z)^2", names(15));
    let interval = |k: u64| format!("({},{})", 2 * k, 2 * k + 1);
    vec![
        (
            "300 sentences reversed, in capitals",
            joined(0..300, ", ", sentence),
            joined((0..300).rev(), ", ", |k| {
                sentence(k).replace("sentence", "Sentence")
            }),
        ),
        (
            "300 options reversed, in capitals",
            joined(0..300, ", ", |k| format!("(A) {}", sentence(k))),
            joined((0..300).rev(), ", ", |k| {
                format!("(A) {}", sentence(k).replace("sentence", "Sentence"))
            }),
        ),
        (
            "300 families reversed",
            joined(0..300, ", ", family),
            joined((0..300).rev(), ", ", |k| family(k).replace('m', "n")),
        ),
        (
            "300 equations reversed",
            joined(0..300, ", ", |k| equation(k, 0)),
            joined((0..300).rev(), ", ", |k| equation(k, 1)),
        ),
        (
            "300 implications reversed",
            joined(0..300, ", ", |k| {
                equation(k, 0).replace('=', r"\Rightarrow ")
            }),
            joined((0..300).rev(), ", ", |k| {
                equation(k, 1).replace('=', r"\Rightarrow ")
            }),
        ),
        (
            "300 products of quotients reversed",
            set(joined(0..300, ",", |k| format!("{}+x^{k}", names(15)))),
            set(joined((0..300).rev(), ",", |k| {
                format!(r"\frac{{({0}+x^{k})^2}}{{{0}+x^{k}}}", names(12))
            })),
        ),
        (
            "300 quantities and products reversed",
            joined(0..300, ", ", |k| format!(r"{k}\text{{ m}}")),
            joined((0..300).rev(), ", ", |k| format!("m({})({})", names(15), k)),
        ),
        (
            "10,000 numbers permuted",
            joined(0..10_000, ",", number),
            joined(shuffled(10_000), ",", number),
        ),
        (
            "set of 10,000 permuted",
            set(joined(0..10_000, ",", number)),
            set(joined(shuffled(10_000), ",", number)),
        ),
        (
            "1,000 roots permuted",
            set(joined(0..1_000, ",", root)),
            set(joined(shuffled(1_000), ",", root)),
        ),
        (
            "300 logarithms permuted",
            set(joined(0..300, ",", logarithm)),
            set(joined(shuffled(300), ",", logarithm)),
        ),
        (
            "500 squares permuted",
            set(joined(0..500, ",", square)),
            set(joined(shuffled(500), ",", expanded)),
        ),
        (
            "500 pairs permuted",
            joined(0..500, ",", interval),
            joined(shuffled(500), ",", interval),
        ),
        (
            "10,000 intervals permuted",
            joined(0..10_000, r"\cup", interval),
            joined(shuffled(10_000), r"\cup", interval),
        ),
        (
            "5,000 terms permuted",
            joined(0..5_000, "+", |k| format!("x_{{{k}}}")),
            joined(shuffled(5_000), "+", |k| format!("x_{{{k}}}")),
        ),
        (
            "2,000 factors permuted",
            joined(0..2_000, "", |k| format!("(x+{k})")),
            joined(shuffled(2_000), "", |k| format!("(x+{k})")),
        ),
        (
            "square of a sum expanded",
            "(a+b+c+d+f+g+h+j+k+l)^{12}".into(),
            "(l+k+j+h+g+f+d+c+b+a)^{11}(a+b+c+d+f+g+h+j+k+l)".into(),
        ),
        (
            "system of 500 equations",
            joined(0..500, ",", |k| format!("{k}x+y={k}")),
            joined(shuffled(500), ",", |k| format!("y={k}-{k}x")),
        ),
        (
            "nested roots as a cosine",
            nested(r"\sqrt{2+", 20, "0", "}"),
            r"2\cos(\frac{\pi}{2^{21}})".into(),
        ),
        (
            "denesting",
            r"\sqrt[3]{2+\sqrt5}+\sqrt[3]{2-\sqrt5}".into(),
            "1".into(),
        ),
        (
            "near-equal constants",
            r"\pi^2/6".into(),
            format!("1.{}", digits(3_000, 31)),
        ),
        (
            "exponentials that differ late",
            r"e^{10^{-200}}".into(),
            r"1+10^{-200}+\frac{10^{-400}}{2}".into(),
        ),
        (
            "power of roots in two forms",
            r"(\sqrt2+\sqrt3)^{200}".into(),
            r"(5+2\sqrt6)^{100}".into(),
        ),
        (
            "long quotient reduced",
            format!("{0}0/{1}0", digits(20_000, 41), digits(20_000, 42)),
            format!("{}/{}", digits(20_000, 41), digits(20_000, 42)),
        ),
        (
            "geometric series both ways",
            r"\frac{x^{800}-1}{x-1}".into(),
            joined(0..800, "+", |k| format!("x^{{{k}}}")),
        ),
        (
            "large power both ways",
            "2^{60000}".into(),
            "4^{30000}".into(),
        ),
        (
            "matrix and its transpose",
            square_matrix("pmatrix", 60, |r, c| format!("{}", r * 60 + c)),
            square_matrix("pmatrix", 60, |r, c| format!("{}", c * 60 + r)),
        ),
        (
            "piecewise permuted",
            format!(
                r"\begin{{cases}}{}\end{{cases}}",
                joined(0..400, r"\\", |k| format!("{k}x&x={k}"))
            ),
            format!(
                r"\begin{{cases}}{}\end{{cases}}",
                joined(shuffled(400), r"\\", |k| format!("{k}x&x={k}"))
            ),
        ),
        (
            "5,000 words permuted",
            joined(0..5_000, ", ", |k| format!("word{k}")),
            joined(shuffled(5_000), ", ", |k| format!("word{k}")),
        ),
    ]
}
