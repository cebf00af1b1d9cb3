//! One kind of text repeated: alternatives, units, dates, words, invisible characters, boxes. Each
//! family is a function of the number of its parts.

use super::{Family, joined, nested, repeated};

pub(super) fn floods() -> Vec<Family> {
    vec![
        ("sevens with or", |n| joined(0..n, " or ", |_| "7".into())),
        ("sevens with commas", |n| joined(0..n, ", ", |_| "7".into())),
        ("alternatives with functions", |n| {
            joined(0..n, " or ", |k| format!(r"\sin({k})"))
        }),
        ("alternatives of texts", |n| {
            joined(0..n, r" \text{ or } ", |k| format!(r"\text{{word{k}}}"))
        }),
        ("invisible characters", |n| {
            format!("7{}", repeated("\u{200b}", n))
        }),
        ("invisible characters between digits", |n| {
            repeated("7\u{200b}\u{2060}\u{feff}", n)
        }),
        ("empty groups", |n| format!("7{}", repeated("{}", n))),
        ("thin blanks", |n| format!("7{}", repeated(r"\,\!\;", n))),
        ("wide blanks between equations", |n| {
            joined(0..n, r"\quad ", |k| format!("x={k}"))
        }),
        ("phantoms", |n| format!("7{}", repeated(r"\phantom{x}", n))),
        ("product of units", |n| {
            format!(r"7 \text{{ {}}}", repeated("kg m s ", n))
        }),
        ("product of units with dots", |n| {
            format!("7 {}", joined(0..n, r"\cdot ", |_| "kg".into()))
        }),
        ("powers of units", |n| {
            format!("7 {}", joined(0..n, " ", |k| format!("m^{{{k}}}")))
        }),
        ("units in a fraction", |n| {
            format!(
                r"7 \frac{{\text{{{}}}}}{{\text{{{}}}}}",
                repeated("kg ", n),
                repeated("m ", n)
            )
        }),
        ("quantities", |n| {
            joined(0..n, ", ", |k| format!(r"{k} \text{{ kg m/s}}"))
        }),
        ("quantities with long units", |n| {
            let unit = repeated("kg m s A K mol cd ", n / 100 + 1);
            joined(0..n.min(300), ", ", |k| format!(r"{k} \text{{ {unit}}}"))
        }),
        ("quantities of siunitx", |n| {
            joined(0..n, ", ", |k| {
                format!(r"\SI{{{k}}}{{\kilo\metre\per\second}}")
            })
        }),
        ("units of siunitx", |n| {
            format!(r"\SI{{7}}{{{}}}", repeated(r"\kilo\metre", n))
        }),
        ("dates", |n| {
            joined(0..n, ", ", |k| {
                format!("{}/{}/2024", k % 12 + 1, k % 28 + 1)
            })
        }),
        ("dates in words", |n| {
            joined(0..n, ", ", |k| format!("March {}, 2024", k % 28 + 1))
        }),
        ("times", |n| {
            joined(0..n, ", ", |k| format!("{}:{:02} pm", k % 12 + 1, k % 60))
        }),
        ("number words", |n| {
            repeated("one hundred and twenty-three thousand ", n)
        }),
        ("hyphenated number words", |n| {
            repeated("twenty-", n) + "one"
        }),
        ("Chinese number words", |n| repeated("一百二十三万", n)),
        ("fractions in words", |n| {
            repeated("one half of ", n) + "seven"
        }),
        ("options", |n| {
            joined(0..n, " ", |k| {
                format!("({})", char::from(b'A' + (k % 10) as u8))
            })
        }),
        ("option after option", |n| repeated("(A) ", n) + "x"),
        ("option with option as its text", |n| {
            repeated(r"A. ", n) + "x"
        }),
        ("options with texts", |n| {
            joined(0..n, ", ", |k| format!(r"\text{{(A) word{k}}}"))
        }),
        ("option with a long text", |n| {
            format!("(A) {}", repeated("word ", n))
        }),
        ("option with a long formula", |n| {
            format!("(A) {}", joined(0..n + 1, "+", |k| format!("{k}x")))
        }),
        ("formulas of compounds", |n| {
            format!(r"\ce{{{}}}", repeated("C6H12O6 + ", n))
        }),
        ("formula of a long compound", |n| repeated("C6H12", n)),
        ("numerals in bases", |n| {
            joined(0..n, "+", |k| format!("1011_{{{}}}", k % 30 + 2))
        }),
        ("percentages", |n| joined(0..n, ", ", |k| format!(r"{k}\%"))),
        ("percent signs", |n| format!("7{}", repeated(r"\%", n))),
        ("degrees, minutes and seconds", |n| {
            joined(0..n, "+", |k| format!("{}°{}'{}''", k % 90, k % 60, k % 60))
        }),
        ("amounts of money", |n| {
            joined(0..n, ", ", |k| format!(r"\${k}.50"))
        }),
        ("cases in cases", |n| {
            nested(r"\begin{cases}x&x>1\\", n.min(200), "2", r"\end{cases}")
        }),
        ("long sentence", |n| {
            repeated("the answer is seven because ", n)
        }),
        ("long sentence with numbers", |n| {
            joined(0..n, " ", |k| format!("so we get {k} apples,"))
        }),
        ("boxes in boxes", |n| nested(r"\boxed{", n, "7", "}")),
        ("words in words", |n| {
            nested(r"\text{", n.min(2_000), "seven", "}")
        }),
        ("words joined by and", |n| {
            joined(0..n, " and ", |k| format!("word{k}"))
        }),
        ("bars", |n| repeated("|x", n) + &repeated("|", n)),
        ("relations", |n| {
            joined(0..n, r"\le ", |k| format!("x_{{{k}}}"))
        }),
        ("implications", |n| {
            joined(0..n, r"\Rightarrow ", |k| format!("x={k}"))
        }),
        ("subscripts in subscripts", |n| {
            nested("x_{", n.min(2_000), "1", "}")
        }),
        ("primes and exponents", |n| repeated("x''^2", n)),
        ("named values", |n| {
            joined(0..n, ", ", |k| format!("Width{k}: {k}"))
        }),
        ("labelled parts", |n| {
            joined(0..n, " ", |k| {
                format!("({}) {k}", char::from(b'a' + (k % 6) as u8))
            })
        }),
        ("final answers", |n| {
            joined(0..n, "\n", |k| format!("The final answer is {k}."))
        }),
        ("hashes", |n| joined(0..n, "\n", |k| format!("#### {k}"))),
        ("quantifiers", |n| repeated(r"\forall x>0,", n) + "x>1"),
        ("negations", |n| repeated(r"\neg ", n) + "x"),
        ("mixed numbers", |n| {
            joined(0..n, "+", |k| format!(r"{k}\frac{{1}}{{{}}}", k + 2))
        }),
        ("spelled letters", |n| {
            joined(0..n, r"\ ", |_| r"\mathrm{a}".to_owned())
        }),
        ("accents", |n| repeated(r"\hat{\vec{\overline{x}}}", n)),
        ("nested accents", |n| {
            nested(r"\hat{", n.min(5_000), "x", "}")
        }),
        ("environments", |n| {
            nested(r"\begin{aligned}x&=", n.min(2_000), "1", r"\end{aligned}")
        }),
        ("ellipses", |n| repeated("1,2,\\dots,", n) + "9"),
        ("circled numbers", |n| repeated("①③", n)),
    ]
}
