//! Equations, polynomials, sets, intervals and matrices.

use super::{joined, nested, square_matrix};

pub(super) fn algebra() -> Vec<(&'static str, String)> {
    let sum =
        |letters: &str, from: u64, to: u64| joined(from..to, "+", |k| format!("{letters}_{{{k}}}"));
    vec![
        (
            "geometric series as a quotient",
            r"\frac{x^{800}-1}{x-1}".into(),
        ),
        (
            "geometric series of degree 10^9",
            r"\frac{x^{1000000000}-1}{x-1}".into(),
        ),
        ("exponent of a tower", "x^{1000000007^{1000000007}}".into()),
        ("multinomial power", "(a+b+c+d)^{200}".into()),
        (
            "multinomial power of 26 letters",
            "(a+b+c+d+f+g+h+j+k+l+m+n+o+p+q+r+s+t+u+v+w+x+y+z)^{26}".into(),
        ),
        (
            "product of 2,000 sums",
            joined(1..2_000, "", |k| format!("(x+{k})")),
        ),
        (
            "product of two sums of 1,500",
            format!("({})({})", sum("a", 0, 1_500), sum("b", 0, 1_500)),
        ),
        (
            "polynomial of 5,000 terms",
            joined(0..5_000, "+", |k| format!("{k}x^{{{k}}}")),
        ),
        ("sum of 30,000 letters", vec!["x"; 30_000].join("+")),
        ("sum of 5,000 names", sum("x", 0, 5_000)),
        ("nested powers of sums", nested("(1+", 60, "x", ")^2")),
        (
            "nested fractions of sums",
            nested(r"\frac{1}{x+", 500, "1", "}"),
        ),
        ("composed quadratics", nested("(", 14, "x", "^2+1)")),
        (
            "fractions of partial sums",
            joined(1..400, "+", |k| format!(r"\frac{{1}}{{x+{k}}}")),
        ),
        (
            "sines of sums",
            joined(1..300, "+", |k| format!(r"\sin({k}x)\cos({k}y)")),
        ),
        (
            "functions of towers",
            r"\sin(\sin(\sin(\sin(x^{x^{x^{x}}}))))".into(),
        ),
        ("absolute values", nested("|x-", 300, "1", "|")),
        (
            "floors of letters",
            joined(1..300, "+", |k| format!(r"\lfloor {k}x\rfloor")),
        ),
        (
            "determinant of 50 by 50",
            square_matrix("vmatrix", 50, |r, c| format!("{}", (r * 37 + c * 61) % 97)),
        ),
        (
            "determinant of letters",
            square_matrix("vmatrix", 20, |r, c| format!("x_{{{r}{c}}}")),
        ),
        (
            "determinant of roots",
            square_matrix("vmatrix", 8, |r, c| format!(r"\sqrt{{{}}}", r * 8 + c + 2)),
        ),
        (
            "determinant of fractions",
            square_matrix("vmatrix", 40, |r, c| {
                format!(r"\frac{{1}}{{{}}}", r + c + 1)
            }),
        ),
        (
            "power of a matrix",
            square_matrix("pmatrix", 20, |r, c| format!("{}", r + c)) + "^{1000}",
        ),
        (
            "product of matrices",
            square_matrix("pmatrix", 30, |r, c| format!("{}", r ^ c)).repeat(20),
        ),
        (
            "inverse of a matrix",
            square_matrix("pmatrix", 25, |r, c| format!("{}", (r * r + c) % 11)) + "^{-1}",
        ),
    ]
}

pub(super) fn collections() -> Vec<(&'static str, String)> {
    let set = |count, item: fn(u64) -> String| format!(r"\{{{}\}}", joined(0..count, ",", item));
    vec![
        ("set of 10,000 numbers", set(10_000, |k| k.to_string())),
        (
            "set of 2,000 roots",
            set(2_000, |k| format!(r"\sqrt{{{}}}", k + 2)),
        ),
        (
            "set of 500 constants",
            set(500, |k| format!(r"\ln({})+\pi", k + 2)),
        ),
        (
            "set of 500 functions",
            set(500, |k| format!(r"\sin({k}x)+x")),
        ),
        (
            "set of 1,000 polynomials",
            set(1_000, |k| format!("(x+{k})^2")),
        ),
        (
            "set of one number 10,000 times",
            set(10_000, |_| "1/3".to_owned()),
        ),
        (
            "set of 300 equal constants",
            set(300, |k| format!(r"\frac{{{0}\pi}}{{{0}}}", k + 1)),
        ),
        ("set of sets", nested(r"\{", 5_000, "1", r"\}")),
        (
            "set of 1,500 pairs",
            set(1_500, |k| format!("({k},{})", k + 1)),
        ),
        (
            "tuple of 20,000 numbers",
            format!("({})", joined(0..20_000, ",", |k| k.to_string())),
        ),
        (
            "union of 10,000 sets",
            joined(0..10_000, r"\cup", |k| format!(r"\{{{k}\}}")),
        ),
        (
            "intersection of 3,000 sets",
            joined(0..3_000, r"\cap", |k| format!(r"\{{{k},{}\}}", k + 1)),
        ),
        (
            "column of 10,000",
            format!(
                r"\begin{{pmatrix}}{}\end{{pmatrix}}",
                joined(0..10_000, r"\\", |k| k.to_string())
            ),
        ),
        (
            "matrix of 100 by 100",
            square_matrix("bmatrix", 100, |r, c| format!("{}", r * c)),
        ),
        (
            "labelled list",
            joined(0..3_000, ", ", |k| format!("x_{{{k}}}={k}")),
        ),
        (
            "12 signs in a list",
            format!("({})", [r"\pm 1"; 12].join(",")),
        ),
        (
            "12 signs in a sum",
            joined(1..13, "", |k| format!(r"\pm\sqrt{{{k}}}")),
        ),
        ("10,000 signs", r"\pm 1".repeat(10_000)),
        ("10,000 signs before a digit", "±".repeat(10_000) + "1"),
        ("ratio of 10,000", joined(1..10_000, ":", |k| k.to_string())),
    ]
}

pub(super) fn ranges() -> Vec<(&'static str, String)> {
    let pieces = joined(0..2_000, r"\\", |k| format!("{k}x&{k}<x<{}", k + 1));
    vec![
        (
            "union of 10,000 intervals",
            joined(0..10_000, r"\cup", |k| format!("({},{})", 2 * k, 2 * k + 1)),
        ),
        (
            "union of overlapping intervals",
            joined(0..5_000, r"\cup", |k| format!("[{k},{})", k + 3)),
        ),
        (
            "union of intervals with roots",
            joined(1..500, r"\cup", |k| {
                format!(r"(\sqrt{{{k}}},\sqrt{{{k}}}+0.001)")
            }),
        ),
        (
            "union of intervals with constants",
            joined(1..200, r"\cup", |k| format!(r"(\ln {k},\ln {k}+\pi)")),
        ),
        (
            "intersection of 5,000 intervals",
            joined(0..5_000, r"\cap", |k| format!("({k},20000)")),
        ),
        (
            "reals without 5,000 points",
            format!(
                r"\mathbb{{R}}\setminus\{{{}\}}",
                joined(0..5_000, ",", |k| k.to_string())
            ),
        ),
        (
            "chain of 10,000 inequalities",
            joined(0..10_000, "<", |k| k.to_string()),
        ),
        (
            "chain of inequalities of letters",
            joined(0..5_000, "<", |k| format!("x_{{{k}}}")),
        ),
        (
            "chain of equations",
            joined(0..10_000, "=", |k| format!("{k}-{k}")),
        ),
        (
            "3,000 inequalities with or",
            joined(0..3_000, r"\text{ or }", |k| format!("{k}<x<{k}.5")),
        ),
        (
            "3,000 inequalities with and",
            joined(0..3_000, r"\text{ and }", |k| format!("x>{k}")),
        ),
        (
            "2,000 unequal values",
            joined(0..2_000, ",", |k| format!(r"x\ne {k}")),
        ),
        (
            "piecewise of 2,000",
            format!(r"\begin{{cases}}{pieces}\end{{cases}}"),
        ),
        (
            "nested piecewise",
            nested(r"\begin{cases}1&x>0\\", 300, "2", r"&x<0\end{cases}"),
        ),
        (
            "set-builder",
            format!(
                r"\{{x\mid {}\}}",
                joined(0..2_000, r"\text{ or }", |k| format!("x={k}"))
            ),
        ),
    ]
}
