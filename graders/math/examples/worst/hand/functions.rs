//! Functions with many pieces, lists that an ellipsis shortens, and permutations.

use super::{Family, joined, nested, shuffled};

pub(super) fn pieces() -> Vec<Family> {
    vec![
        ("maxima with many ends", |n| {
            joined(0..n, "+", |k| format!(r"\max(0,x-{k})"))
        }),
        ("nested maxima", |n| nested(r"\max(0,x-", n, "1", ")")),
        ("rows of a function", |n| {
            let rows = joined(0..n, r"\\", |k| format!("{k}x&x<{k}"));
            format!(r"\begin{{cases}}{rows}\\x^2&x\ge{n}\end{{cases}}")
        }),
        ("absolute values of many letters", |n| {
            joined(0..n, "+", |k| format!("|a_{{{k}}}-{k}|"))
        }),
        ("floors of powers", |n| {
            joined(1..n + 1, "+", |k| {
                format!(r"\lfloor\frac{{x^{{{k}}}}}{{{k}}}\rfloor")
            })
        }),
        ("maxima of waves", |n| {
            joined(1..n + 1, "+", |k| format!(r"\max(0,\sin({k}x)-0.9)"))
        }),
        ("roots of squares of many ends", |n| {
            joined(0..n, "+", |k| format!(r"\sqrt{{(x-{k})^2}}"))
        }),
        ("exponentials with many ends", |n| {
            joined(1..n + 1, "+", |k| format!("e^{{{k}x}}|x-{k}|"))
        }),
        ("ends of three letters", |n| {
            joined(1..n + 1, "+", |k| format!("|x-{k}y+{k}z|"))
        }),
        ("factors with ends", |n| {
            joined(1..n + 1, "", |k| format!("(|x-{k}|-{k})"))
        }),
    ]
}

pub(super) fn sequences() -> Vec<Family> {
    vec![
        ("list with an ellipsis", |n| format!(r"1,2,\ldots,{n}")),
        ("ellipses", |n| {
            joined(0..n, ",", |k| format!(r"{k},\ldots"))
        }),
        ("sum with an ellipsis", |n| {
            format!(r"{}+\cdots+{n}^2", joined(1..n, "+", |k| format!("{k}^2")))
        }),
        ("nested ellipses", |n| nested(r"(1+2+\cdots+", n, "x", ")")),
        ("cycle", |n| {
            format!("({})", joined(shuffled(n), " ", |k| format!("{}", k + 1)))
        }),
        ("cycles", |n| {
            joined(0..n, "", |k| format!("({} {})", 2 * k + 1, 2 * k + 2))
        }),
    ]
}
