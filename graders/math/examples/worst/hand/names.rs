//! Answers with many names, values, relations or numbers, where looking each one up among the
//! others would be quadratic. Each family is a function of the number of its parts.

use super::{Family, digits, joined, nested, repeated};

fn names(n: u64) -> String {
    joined(0..n, "+", |k| format!("x_{{{k}}}"))
}

pub(super) fn lookups() -> Vec<Family> {
    vec![
        ("sine of many names", |n| format!(r"\sin({})", names(n))),
        ("floors of names", |n| {
            joined(0..n, "+", |k| format!(r"\lfloor x_{{{k}}}\rfloor"))
        }),
        ("different roots", |n| {
            joined(0..n, "+", |k| format!(r"\sqrt{{x_{{{k}}}}}"))
        }),
        ("roots of roots with a long end", |n| {
            let long = joined(0..n, "+", |k| k.to_string() + "x");
            joined(0..20.min(n), "+", |k| {
                format!(r"\sqrt{{{long}+\sqrt{{{k}}}}}")
            })
        }),
        ("runs of capitals", |n| {
            let letter = |k: u64| char::from(b'A' + (k % 26) as u8);
            joined(0..n, "+", |k| {
                format!("{}{}{}", letter(k), letter(k / 26), letter(k / 676))
            })
        }),
        ("runs of capitals in a sine", |n| {
            format!(r"\sin({})", joined(0..n, "+", |_| "ABC".into()))
        }),
        ("constants of integration", |n| names(n) + "+C"),
        ("equal names", |n| {
            joined(0..n, "=", |k| format!("x_{{{k}}}")) + "=1"
        }),
        ("equal names with a long value", |n| {
            format!(
                "{}={}",
                joined(0..n / 2 + 1, "=", |k| format!("x_{{{k}}}")),
                names(n / 2 + 1)
            )
        }),
        ("equal names with many values", |n| {
            format!(
                "{}={}",
                joined(0..n / 2 + 1, "=", |k| format!("x_{{{k}}}")),
                joined(0..n / 2 + 2, ",", |k| k.to_string())
            )
        }),
        ("equal names with two values", |n| {
            format!(
                "{}=1\\pm {}",
                joined(0..n, "=", |k| format!("x_{{{k}}}")),
                names(n / 2 + 1)
            )
        }),
        ("members of a long set", |n| {
            format!(r"x\in\{{{}\}}", joined(0..n, ",", |k| k.to_string()))
        }),
        ("function of many names", |n| {
            let list = joined(0..n, ",", |k| format!("x_{{{k}}}"));
            format!("f({list})={}", names(n))
        }),
        ("functions of functions", |n| {
            format!("f(x)={}", nested("f(x,", n.min(250), "1", ")"))
        }),
        ("equal functions", |n| {
            joined(0..n, "=", |k| format!("f_{{{k}}}(x)")) + "=x"
        }),
        ("indexed names", |n| {
            joined(0..n, ",", |k| format!("a_n={k}n"))
        }),
        ("families", |n| {
            joined(0..n, ",", |k| format!("x={k}+2k\\pi")) + r",k\in\mathbb{Z}"
        }),
        ("one family with many terms", |n| {
            format!(r"x={}+2k\pi,k\in\mathbb{{Z}}", names(n))
        }),
        ("congruences", |n| {
            joined(0..n, ",", |k| format!(r"x\equiv {k}\pmod{{{}}}", k + 7))
        }),
        ("system of tuples", |n| {
            format!(
                "({})=({})",
                joined(0..n / 2 + 2, ",", |k| format!("x_{{{k}}}")),
                joined(0..n / 2 + 2, ",", |k| k.to_string())
            )
        }),
        ("ratio of sums", |n| {
            joined(0..n + 1, ":", |k| format!("(x+{k})"))
        }),
        ("limits as names", |n| {
            repeated(r"\lim_{x\to0}f(x)=", n) + "1"
        }),
        ("absolute values of names", |n| {
            joined(0..n, ",", |k| format!("|x|<{}", k + 1))
        }),
        ("nested wheres", |n| {
            joined(0..n, " if ", |k| format!("x_{{{k}}}"))
        }),
        ("conditions of a set", |n| {
            format!(r"\{{x\mid {}\}}", joined(0..n, ",", |k| format!("x>{k}")))
        }),
        ("unions of one name", |n| {
            joined(0..n, r"\text{ or }", |k| format!("x_{{{k}}}>{k}"))
        }),
    ]
}

/// Lists of up to 300 items, which are compared with each other in any order.
pub(super) fn pairs() -> Vec<Family> {
    vec![
        ("texts in a list", |n| {
            items(n, |k, size| {
                format!(
                    r"\text{{word{k} {}}}",
                    repeated("is a long sentence ", size / 4 + 1)
                )
            })
        }),
        ("sentences in a list", |n| {
            items(n, |k, size| {
                format!(
                    r"\text{{The answer {} is {k}}}",
                    repeated("of the child ", size / 3 + 1)
                )
            })
        }),
        ("options with texts in a list", |n| {
            items(n, |k, size| {
                format!(r"\text{{(A) {k} {}}}", repeated("long text ", size / 2 + 1))
            })
        }),
        ("set-builders in a list", |n| {
            items(n, |k, size| {
                let set = if k % 2 == 0 { "Z" } else { "N" };
                format!(r"\{{{k}m+{}\mid m\in\mathbb{{{set}}}\}}", names(size))
            })
        }),
        ("tuples and sums of unit vectors in a list", |n| {
            items(n, |k, size| {
                if k % 2 == 0 {
                    format!("({k},1)")
                } else {
                    let terms = joined(0..size, "+", |j| format!("a_{{{j}}}j"));
                    format!("{terms}+x^{{{k}}}")
                }
            })
        }),
        ("quantities and products in a list", |n| {
            items(n, |k, size| {
                if k % 2 == 0 {
                    format!(r"{k}\text{{ km}}")
                } else {
                    format!("m({})({})", names(size / 2 + 1), k)
                }
            })
        }),
        ("values with conditions in a list", |n| {
            items(n, |k, size| {
                format!(
                    r"{}\text{{ if y{k} {}}}",
                    names(size / 2 + 1),
                    repeated("is odd ", size / 2)
                )
            })
        }),
        ("antiderivatives in a list", |n| {
            items(n, |k, size| {
                format!(r"\int (y_{{{k}}}+{})\,dx", names(size))
            })
        }),
        ("values without a value in a list", |n| {
            items(n, |k, size| {
                format!(r"\max(\int x\,dx,{k}+{})", names(size))
            })
        }),
        ("long equations in a list", |n| {
            items(n, |k, size| format!("y_{{{k}}}={}", names(size)))
        }),
        ("implications in a list", |n| {
            items(n, |k, size| {
                format!(r"y_{{{k}}}\Rightarrow {}", names(size))
            })
        }),
        ("ratios in a list", |n| {
            items(n, |k, size| {
                format!("{k}:{}", joined(0..size + 1, ":", |j| format!("x_{{{j}}}")))
            })
        }),
        ("intervals with names in a list", |n| {
            items(n, |k, size| format!("({k}x,{})", names(size)))
        }),
        ("roots in a list", |n| {
            items(n, |k, size| {
                format!(
                    r"\sqrt{{{k}+{}}}",
                    joined(0..size, "+", |j| format!(r"\sqrt{{{j}}}"))
                )
            })
        }),
        ("matrices in a list", |n| {
            items(n, |k, size| {
                format!(
                    r"\begin{{pmatrix}}{k}&{}\end{{pmatrix}}",
                    joined(0..size, "&", |j| j.to_string())
                )
            })
        }),
        ("runs of capitals in a list", |n| {
            items(n, |k, size| {
                format!("{k}AB+{}", joined(0..size, "+", |j| format!("CDE^{{{j}}}")))
            })
        }),
        ("choices of functions in a list", |n| {
            items(n, |k, size| {
                format!("{k}+{}", joined(0..size, "+", |j| format!("C({j},x)")))
            })
        }),
        ("piecewise values in a list", |n| {
            items(n, |k, size| {
                format!(r"\begin{{cases}}{k}&x>1\\{}&x<0\end{{cases}}", names(size))
            })
        }),
        ("value with a long condition", |n| {
            format!(
                r"{}\text{{ if }}{}",
                names(n / 2 + 1),
                repeated("q is odd and ", n / 2 + 1)
            )
        }),
    ]
}

/// A list of `n` parts: up to 300 items of so many parts each.
fn items(n: u64, item: impl Fn(u64, u64) -> String) -> String {
    let count = n.clamp(2, 300);
    joined(0..count, ", ", |k| item(k, n / count))
}

pub(super) fn numbers() -> Vec<Family> {
    vec![
        ("logarithm to a base near 1", |n| {
            format!(
                r"\log_{{1.{}1}}{{{}}}",
                repeated("0", n.min(600)),
                repeated("9", n.min(1_200) + 1)
            )
        }),
        ("logarithms to bases near 1", |n| {
            joined(0..n, "+", |k| {
                format!(r"\log_{{1.000{}}}(10^{{1000}})", k + 1)
            })
        }),
        ("greatest of powers of fractions", |n| {
            format!(
                r"\max({})",
                joined(0..n + 2, ",", |k| format!("(1/{})^{{60000}}", k + 3))
            )
        }),
        ("greatest of fractions", |n| {
            format!(
                r"\max({})",
                joined(0..n + 2, ",", |k| format!("{k}/{}", k + 1))
            )
        }),
        ("common divisor of fractions", |n| {
            format!(
                r"\gcd({})",
                joined(0..n + 2, ",", |k| format!("1/{}", k + 1))
            )
        }),
        ("common multiple of numbers", |n| {
            format!(
                r"\operatorname{{lcm}}({})",
                joined(1..n + 3, ",", |k| k.to_string())
            )
        }),
        ("remainder of powers", |n| {
            joined(0..n, "+", |k| {
                format!(r"3^{{70000}}\bmod 7^{{{}}}", 30_000 + k)
            })
        }),
        ("floor of a power of a fraction", |n| {
            joined(0..n, "+", |k| {
                format!(r"\lfloor(\frac{{7}}{{3}})^{{{}}}\rfloor", 20_000 + k)
            })
        }),
        ("factorials", |n| {
            joined(0..n, "+", |k| format!("{}!", 2_000 + k))
        }),
        ("quotients of factorials", |n| {
            joined(0..n, "+", |k| {
                format!(r"\frac{{{}!}}{{{}!}}", 2_000 + k, 1_000 + k)
            })
        }),
        ("double factorials", |n| {
            joined(0..n, "+", |k| format!("{}!!", 2_000 + k))
        }),
        ("binomials", |n| {
            joined(0..n, "+", |k| format!(r"\binom{{4000}}{{{}}}", 1_500 + k))
        }),
        ("binomials of 18 digits", |n| {
            joined(0..n, "+", |k| {
                format!(r"\binom{{999999999999999999}}{{{}}}", 2_000 + k)
            })
        }),
        ("powers", |n| {
            joined(0..n, "+", |k| format!("{}^{{20000}}", k + 2))
        }),
        ("differences of powers", |n| {
            joined(0..n, "-", |k| format!("2^{{{}}}", 60_000 - k % 60_000))
        }),
        ("products of powers", |n| {
            joined(0..n, r"\cdot ", |k| format!("{}^{{9000}}", k + 2))
        }),
        ("sum of fractions of powers", |n| {
            joined(0..n, "+", |k| format!(r"\frac{{1}}{{{}^{{500}}}}", k + 2))
        }),
        ("product of fractions", |n| {
            joined(0..n, r"\cdot ", |k| {
                format!(r"\frac{{{}}}{{{}}}", k + 3, 2 * k + 7)
            })
        }),
        ("sum of long fractions", |n| {
            joined(0..n / 20 + 1, "+", |k| {
                format!(r"\frac{{{}}}{{{}}}", digits(40, k), digits(60, k + 9))
            })
        }),
        ("two long numbers", |n| {
            let half = (n / 2).max(1);
            format!("{}+{}", digits(half, 1), digits(half, 2))
        }),
        ("copies of a long number", |n| {
            format!(
                "({})({})",
                digits(n + 1, 1),
                joined(0..n / 2 + 2, ",", |k| k.to_string())
            )
        }),
        ("matrix times a long number", |n| {
            let order = (n / 2).isqrt().max(1);
            digits(n + 1, 3) + &super::square_matrix("pmatrix", order, |r, c| format!("{}", r + c))
        }),
        ("roots of roots", |n| {
            nested(r"\sqrt{2+", n.min(250), "2", "}")
        }),
        ("roots of indices", |n| {
            joined(0..n, "+", |k| format!(r"\sqrt[{}]{{{}}}", k + 2, k + 3))
        }),
        ("products in roots", |n| {
            joined(0..n, "", |k| format!(r"\sqrt{{2+\sqrt{{{}}}}}", k + 2))
        }),
        ("sines of large powers", |n| {
            joined(0..n, "+", |k| format!(r"\sin(10^{{{}}})", 1_000 + k))
        }),
        ("exponentials of large numbers", |n| {
            joined(0..n, "+", |k| format!("e^{{10^{{{}}}}}", k % 14))
        }),
        ("powers with irrational exponents", |n| {
            joined(0..n, "+", |k| format!(r"({k}+\sqrt2)^{{\pi}}"))
        }),
        ("towers in brackets", |n| {
            nested("(", n.min(250), "2", ")^{(2^{100})}")
        }),
        ("continued fraction of names", |n| {
            nested(r"x+\frac{1}{", n.min(250), "y", "}")
        }),
        ("decimals", |n| {
            joined(0..n, ",", |k| format!("{k}.{:03}", k % 1_000))
        }),
        ("repeating decimals", |n| {
            joined(0..n, "+", |k| format!(r"0.\overline{{{}}}", 1_000 + k))
        }),
        ("scientific notation", |n| {
            joined(0..n, "+", |k| format!(r"1.5\times10^{{{}}}", k % 4_000))
        }),
        ("polynomials of high degree", |n| {
            format!("(x+1)^{{{n}}}-(x-1)^{{{n}}}")
        }),
        ("product of polynomials", |n| {
            joined(0..n, "", |k| format!("(x^{{{k}}}+{k}y-1)"))
        }),
        ("quotients of polynomials", |n| {
            joined(0..n, "+", |k| {
                format!(r"\frac{{x^{{{k}}}-1}}{{x^2+{k}x+1}}")
            })
        }),
        ("squares in squares", |n| {
            nested("(", n.min(250), "x", "^2+y)")
        }),
        ("products of themselves", |n| {
            let mut text = "x+1".to_owned();
            for _ in 0..n.ilog2().min(11) {
                text = format!("({text})({text})");
            }
            text
        }),
        ("powers of long sums", |n| format!("({})^{{100}}", names(n))),
    ]
}
