//! Operations that copy their operands: products of matrices, scaled tuples, derivatives,
//! substitutions. Each family is a function of the number of its parts.

use super::{Family, joined, nested, repeated, square_matrix};

/// A matrix of two rows.
fn two_by_two(entry: impl Fn(u64, u64) -> String) -> String {
    square_matrix("pmatrix", 2, entry)
}

const LETTERS: &str = r"\begin{pmatrix}a&b\\c&d\end{pmatrix}";

/// A sum of `n` names.
fn names(n: u64) -> String {
    joined(0..n, "+", |k| format!("x_{{{k}}}"))
}

pub(super) fn matrices() -> Vec<Family> {
    vec![
        ("product of matrices of letters", |n| repeated(LETTERS, n)),
        ("product of matrices of names", |n| {
            joined(0..n, "", |k| two_by_two(|r, c| format!("x_{{{k}{r}{c}}}")))
        }),
        ("product of matrices of order 3", |n| {
            let one = square_matrix("bmatrix", 3, |r, c| format!("a_{{{r}{c}}}"));
            repeated(&one, n)
        }),
        ("product of matrices of order 10", |n| {
            repeated(
                &square_matrix("bmatrix", 10, |r, c| format!("{}x", r + c)),
                n,
            )
        }),
        ("product of matrices of numbers", |n| {
            repeated(&two_by_two(|r, c| format!("{}", r + 2 * c + 1)), n)
        }),
        ("product of matrices of fractions", |n| {
            repeated(&two_by_two(|r, c| format!("1/{}", 7 * r + c + 3)), n)
        }),
        ("product of matrices of roots", |n| {
            repeated(&two_by_two(|r, c| format!(r"\sqrt{{{}}}", r + c + 2)), n)
        }),
        ("product of matrices with dots", |n| {
            joined(0..n, r"\cdot ", |_| LETTERS.into())
        }),
        ("power of a matrix of letters", |n| {
            format!("{LETTERS}^{{{n}}}")
        }),
        ("eighth powers of powers of a matrix", |n| {
            nested("(", n.min(200), LETTERS, ")^8")
        }),
        ("squares of products of a matrix", |n| {
            nested("(", n.min(200), LETTERS, &format!("{LETTERS})^2"))
        }),
        ("inverses of inverses of a matrix", |n| {
            nested("(", n.min(240), LETTERS, ")^{-1}")
        }),
        ("determinant of a product of matrices", |n| {
            format!(r"\det({})", repeated(LETTERS, n))
        }),
        ("determinant of long sums", |n| {
            square_matrix("vmatrix", 5, |r, c| {
                format!("({}+{r}{c})", names(n / 25 + 1))
            })
        }),
        ("determinants in determinants", |n| {
            let mut text = "x".to_owned();
            for _ in 0..n.min(6) {
                text = format!(r"\begin{{vmatrix}}{text}&{text}\\1&{text}\end{{vmatrix}}");
            }
            text
        }),
        ("determinants in one corner", |n| {
            let filled = |k: u64| {
                joined(0..4, r"\\", |_| {
                    joined(0..5, "&", |c| format!("x_{{{k}{c}}}"))
                })
            };
            let mut text = "x".to_owned();
            for k in 0..n.min(60) {
                text = format!(
                    r"\begin{{vmatrix}}{text}&1&2&3&4\\{}\end{{vmatrix}}",
                    filled(k)
                );
            }
            text
        }),
        ("matrices of matrices", |n| {
            let mut text = LETTERS.to_owned();
            for _ in 0..n.min(5) {
                text = format!(r"\begin{{pmatrix}}{text}&{text}\\{text}&{text}\end{{pmatrix}}^2");
            }
            text
        }),
        ("matrices in one corner of matrices", |n| {
            let mut text = LETTERS.to_owned();
            for _ in 0..n.min(200) {
                text = format!(r"\begin{{pmatrix}}{text}&b\\c&d\end{{pmatrix}}{LETTERS}");
            }
            text
        }),
        ("sum of matrices of one entry", |n| {
            joined(0..n, "+", |k| {
                format!(r"\begin{{pmatrix}}x_{{{k}}}\end{{pmatrix}}")
            })
        }),
        ("sum of matrices of letters", |n| {
            joined(0..n, "+", |_| LETTERS.into())
        }),
        ("long scalar times a large matrix", |n| {
            let order = (n / 4).isqrt().max(1);
            format!(
                "({})({})",
                names(n / 4 + 1),
                square_matrix("pmatrix", order, |r, c| format!("{}", r + c))
            )
        }),
        ("many scalars times a large matrix", |n| {
            let order = (n / 2).isqrt().max(1);
            let scalars = joined(0..n / 2 + 1, "", |k| format!("x_{{{k}}}"));
            scalars + &square_matrix("pmatrix", order, |r, c| format!("{}", r + c))
        }),
        ("row times column", |n| {
            let row = joined(0..n / 2 + 1, "&", |k| format!("x_{{{k}}}"));
            let column = joined(0..n / 2 + 1, r"\\", |k| format!("y_{{{k}}}"));
            format!(
                r"\begin{{pmatrix}}{row}\end{{pmatrix}}\begin{{pmatrix}}{column}\end{{pmatrix}}"
            )
        }),
        ("column times row", |n| {
            let side = n.isqrt().max(2);
            let row = joined(0..side, "&", |k| format!("({}+{k})", names(side)));
            let column = joined(0..side, r"\\", |k| format!("({}+{k})", names(side)));
            format!(
                r"\begin{{pmatrix}}{column}\end{{pmatrix}}\begin{{pmatrix}}{row}\end{{pmatrix}}"
            )
        }),
        ("transposes of transposes", |n| {
            format!("{LETTERS}{}", repeated("^T", n))
        }),
        ("matrix equation", |n| format!("A={}", repeated(LETTERS, n))),
    ]
}

pub(super) fn tuples() -> Vec<Family> {
    vec![
        ("long scalar times a tuple", |n| {
            format!(
                "({})({})",
                names(n / 2 + 1),
                joined(0..n / 2 + 2, ",", |k| k.to_string())
            )
        }),
        ("scalars times tuples in tuples", |n| {
            nested("2x(1,", n.min(200), "(1,2)", ")")
        }),
        ("sum of tuples", |n| joined(0..n, "+", |_| "(x,y,z)".into())),
        ("sum of long tuples", |n| {
            let one = format!("({})", joined(0..n / 2 + 2, ",", |k| k.to_string()));
            format!("{one}+{one}")
        }),
        ("tuple with one sign", |n| {
            format!("(\\pm 1,{})", joined(0..n + 1, ",", |k| k.to_string()))
        }),
        ("tuple of signs", |n| {
            format!("({})", joined(0..n + 1, ",", |_| r"\pm 1".into()))
        }),
        ("tuple of signs and long sums", |n| {
            let side = n.isqrt() + 1;
            format!(
                "({})",
                joined(0..side, ",", |k| format!(r"{k}\pm({})", names(side)))
            )
        }),
        ("signs in tuples in tuples", |n| {
            nested(r"(\pm 1,", n.min(240), r"\pm x", ")")
        }),
        ("signs in lists of tuples", |n| {
            joined(0..n, ",", |k| format!(r"({k},\pm {k})"))
        }),
        ("signs in sets in sets", |n| {
            nested(r"\{1,", n.min(240), r"\pm x", r"\}")
        }),
        ("tuples in tuples", |n| {
            nested(
                "(1,",
                200.min(n),
                &format!("({})", joined(0..n + 2, ",", |k| k.to_string())),
                ")",
            )
        }),
        ("sets in sets", |n| {
            nested(
                r"\{1,",
                200.min(n),
                &format!(r"\{{{}\}}", joined(0..n + 2, ",", |k| k.to_string())),
                r"\}",
            )
        }),
        ("named tuples in tuples", |n| {
            nested(
                "(x=1,",
                200.min(n),
                &joined(0..n + 2, ",", |k| format!("y={k}")),
                ")",
            )
        }),
        ("unions in brackets", |n| {
            nested(
                r"((1,2)\cup ",
                200.min(n),
                &joined(0..n + 2, r"\cup", |k| format!("({k},{k}.5)")),
                ")",
            )
        }),
    ]
}

pub(super) fn derivatives() -> Vec<Family> {
    vec![
        ("derivative of a product of names", |n| {
            format!(
                r"\frac{{d}}{{dx}}(x^2({})\sin(x)\cos(x)e^x\ln(x))",
                names(n)
            )
        }),
        ("derivative of many factors and a long one", |n| {
            let factors = joined(0..30.min(n + 1), "", |k| format!("(x+{k})"));
            format!(r"\frac{{d}}{{dx}}({factors}({}))", names(n))
        }),
        ("derivative of nested sines of a long sum", |n| {
            let inner = format!("x({})", names(n));
            format!(
                r"\frac{{d}}{{dx}}({})",
                nested(r"\sin(", 100.min(n), &inner, ")")
            )
        }),
        ("derivative of a tower", |n| {
            format!(r"\frac{{d}}{{dx}}({})", nested("x^{", n.min(200), "x", "}"))
        }),
        ("derivatives of derivatives", |n| {
            nested(r"\frac{d}{dx}(", n.min(200), r"e^{\sin(x)}", ")")
        }),
        ("derivative of an integral to a long end", |n| {
            format!(
                r"\frac{{d}}{{dx}}\int_0^{{x({})}}({})dt",
                names(n / 2 + 1),
                joined(0..n / 2 + 1, "+", |k| format!("t^{{{k}}}"))
            )
        }),
        ("antiderivative with many names", |n| {
            format!(r"\int ({})x\,dx", names(n))
        }),
        ("antiderivative of a long product", |n| {
            format!(r"\int {}\,dx", joined(0..n, "", |k| format!("(x+{k})")))
        }),
        ("limit with many names", |n| {
            format!(r"\lim_{{x\to0}}\frac{{\sin({}x)}}{{x}}", names(n))
        }),
        ("integral with many names", |n| {
            format!(r"\int_0^1 x({})\,dx", names(n))
        }),
        ("infinite sum with many names", |n| {
            format!(r"\sum_{{k=1}}^{{\infty}}\frac{{{}}}{{k^2}}", names(n))
        }),
        ("sums in sums over names", |n| {
            let open: String = (0..n.min(120))
                .map(|k| format!(r"\sum_{{k_{{{k}}}=1}}^{{m}}"))
                .collect();
            format!("{open}({})", names(n))
        }),
        ("sum of an unknown function of a long argument", |n| {
            format!(
                r"\sum_{{k=1}}^{{4000}}f(k,{})",
                joined(0..n, ",", |k| format!("x_{{{k}}}"))
            )
        }),
        ("sums of 4000 terms of a long number", |n| {
            format!(
                r"\sum_{{k=1}}^{{4000}}\sum_{{j=1}}^{{4000}}\frac{{k}}{{{}}}",
                repeated("7", n + 1)
            )
        }),
        ("product of sums of 4000 terms", |n| {
            joined(0..n, "", |k| {
                format!(r"\left(\sum_{{k=1}}^{{4000}}\sin(k+{k})\right)")
            })
        }),
    ]
}
