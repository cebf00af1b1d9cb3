//! Worst cases thought up by hand, each an attack on one part of the grader. Made of text only;
//! what they cost is for `main` to say.

/// An attack.
pub(crate) struct Attack {
    /// What it attacks, as the report calls it.
    pub(crate) name: &'static str,
    /// The answer.
    pub(crate) text: String,
    /// Nearly the same answer, where another than one with a digit changed is meant.
    pub(crate) variant: Option<String>,
}

fn nested(open: &str, times: usize, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}

fn joined(range: impl Iterator<Item = u64>, between: &str, item: impl Fn(u64) -> String) -> String {
    range.map(item).collect::<Vec<_>>().join(between)
}

/// `range` in an order that looks like none.
fn shuffled(count: u64) -> impl Iterator<Item = u64> {
    // 7919 is a prime that divides none of the counts here.
    (0..count).map(move |k| (k * 7919 + 13) % count)
}

fn square_matrix(environment: &str, size: u64, entry: impl Fn(u64, u64) -> String) -> String {
    let rows = joined(0..size, r"\\", |row| {
        joined(0..size, "&", |column| entry(row, column))
    });
    format!(r"\begin{{{environment}}}{rows}\end{{{environment}}}")
}

/// Digits without a pattern.
fn digits(count: usize, seed: u64) -> String {
    let mut state = seed;
    let mut text = String::with_capacity(count);
    for _ in 0..count {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push(char::from(
            b'1' + u8::try_from((state >> 33) % 9).unwrap_or(0),
        ));
    }
    text
}

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    let mut all = Vec::new();
    for part in [
        large_numbers(),
        close_numbers(),
        series(),
        radicals(),
        algebra(),
        collections(),
        ranges(),
        long_texts(),
    ] {
        all.extend(part.into_iter().map(|(name, text)| Attack {
            name,
            text,
            variant: None,
        }));
    }
    all.extend(pairs().into_iter().map(|(name, text, variant)| Attack {
        name,
        text,
        variant: Some(variant),
    }));
    all
}

fn large_numbers() -> Vec<(&'static str, String)> {
    let both = |name: &str| format!(r"{name}({},{})", digits(20_000, 1), digits(20_000, 2));
    vec![
        ("tower of nines", "9^9^9^9".into()),
        ("tower in braces", "9^{9^{9^{9^{9}}}}".into()),
        ("tower from below", nested("(", 6, "2", "^{100})")),
        ("tower of 40", nested("2^{", 40, "2", "}")),
        ("difference of towers", "9^{9^9}-9^{9^9}+1".into()),
        ("quotient of towers", r"\frac{2^{10^9}}{2^{10^9-1}}".into()),
        ("factorial of 10^10", "(10^10)!".into()),
        ("factorial of a factorial", "((20!)!)!".into()),
        ("largest factorial evaluated", "2000!/1999!".into()),
        ("quotient of factorials", "100000!/99999!".into()),
        (
            "sum of factorials",
            joined(900..1_000, "+", |k| format!("{k}!")),
        ),
        ("power of a factorial", "3000!^{3000!}".into()),
        ("binomial of 10^9", r"\binom{10^9}{5*10^8}".into()),
        ("binomial of 4000", r"\binom{4000}{2000}".into()),
        ("power of a binomial", r"\binom{4000}{2000}^{4000}".into()),
        (
            "sum of binomials",
            joined(0..300, "+", |k| format!(r"\binom{{300}}{{{k}}}")),
        ),
        ("200,000 digits", digits(200_000, 3)),
        ("200,000 nines", "9".repeat(200_000)),
        ("200,000 decimals", format!("0.{}", digits(200_000, 4))),
        (
            "200,000 zeros before a digit",
            format!("0.{}1", "0".repeat(200_000)),
        ),
        (
            "repeating decimal of 50,000",
            format!(r"0.\overline{{{}}}", digits(50_000, 5)),
        ),
        (
            "quotient of long numbers",
            format!("{}/{}", digits(60_000, 6), digits(60_000, 7)),
        ),
        (
            "fraction of long numbers",
            format!(r"\frac{{{}}}{{{}}}", digits(5_000, 8), digits(5_000, 9)),
        ),
        (
            "product of long numbers",
            joined(0..20, r"\cdot ", |k| digits(5_000, k)),
        ),
        (
            "square of a long number",
            format!("{}^2", digits(50_000, 10)),
        ),
        (
            "power of a long number",
            format!("{}^{{{}}}", digits(500, 11), digits(3, 12)),
        ),
        ("gcd of long numbers", both(r"\gcd")),
        ("lcm of long numbers", both(r"\operatorname{lcm}")),
        (
            "gcd of 4,000 numbers",
            format!(
                r"\gcd({})",
                joined(1..4_000, ",", |k| format!("{k}0000000000"))
            ),
        ),
        ("remainder of a tower", r"7^{7^{7^7}}\bmod 1000".into()),
        (
            "remainder of a long number",
            format!(r"{}\bmod{}", digits(20_000, 13), digits(10_000, 14)),
        ),
        ("exponent of nine digits", "1e999999999".into()),
        ("exponent below zero", "1e-999999999".into()),
        ("sum with distant exponents", "1e5000+1e-5000".into()),
        ("exponent of 30,000", r"2.5\times10^{30000}".into()),
        (
            "power of one and a bit",
            r"(1+\frac{1}{10^{9}})^{10^{9}}".into(),
        ),
        (
            "powers of fractions",
            r"\left(\frac{1}{3}\right)^{100000}+\left(\frac{1}{7}\right)^{100000}".into(),
        ),
        ("root of a tower", r"\sqrt[3]{2^{3^{20}}}".into()),
        (
            "root of a long number",
            format!(r"\sqrt{{{}}}", digits(20_000, 15)),
        ),
        (
            "root of degree a million",
            r"\sqrt[1000000]{2}+\sqrt[999999]{2}".into(),
        ),
        ("numeral in base 7", format!("{}_7", "6".repeat(20_000))),
        (
            "numeral in base 16",
            format!("{}_{{16}}", "F1".repeat(50_000)),
        ),
        ("hexadecimal", format!("0x{}", "DEADBEEF".repeat(20_000))),
        (
            "harmonic fractions",
            joined(1..1_500, "+", |k| format!("1/{k}")),
        ),
        (
            "fractions of long denominators",
            joined(1..200, "+", |k| format!("1/{}", digits(60, k))),
        ),
        (
            "thousand-separated number",
            format!("1{}", ",234".repeat(50_000)),
        ),
    ]
}

fn close_numbers() -> Vec<(&'static str, String)> {
    vec![
        (
            "Ramanujan's constant",
            r"e^{\pi\sqrt{163}}-262537412640768744".into(),
        ),
        (
            "logarithm of one and a bit",
            r"\ln(1+10^{-300})-10^{-300}".into(),
        ),
        (
            "difference of logarithms",
            r"\ln(10^{50}+1)-\ln(10^{50})".into(),
        ),
        ("logarithm of a tower", r"\ln(\ln(\ln(9^{9^{9^9}})))".into()),
        (
            "identical logarithms",
            joined(2..200, "+", |k| format!(r"\ln({k})")),
        ),
        ("sine of a tower", r"\sin(10^{10^{10}})".into()),
        ("sine of 10^1000", r"\sin(10^{1000})".into()),
        (
            "tangent near its pole",
            r"\tan(\frac{\pi}{2}-10^{-400})".into(),
        ),
        ("sine of sines", nested(r"\sin(", 150, "1", ")")),
        ("exponential of exponentials", nested("e^{", 8, "e", "}")),
        (
            "exponential of minus exponentials",
            nested("e^{-", 60, "1", "}"),
        ),
        (
            "floor of an exponential",
            r"\lfloor e^{100000}\rfloor".into(),
        ),
        (
            "floor of almost an integer",
            r"\lfloor(\sqrt2+1)^{400}\rfloor".into(),
        ),
        (
            "ceiling of zero in disguise",
            r"\lceil\sqrt{2}+\sqrt{3}-\sqrt{5+2\sqrt{6}}\rceil".into(),
        ),
        (
            "arctangents of Machin",
            r"16\arctan(1/5)-4\arctan(1/239)-\pi".into(),
        ),
        ("arcsine near one", r"\arcsin(1-10^{-500})".into()),
        ("powers of pi", r"\pi^{\pi^{\pi^{\pi}}}".into()),
        ("pi to a large power", r"\pi^{100000}+e^{100000}".into()),
        (
            "sum of 200 sines",
            joined(1..200, "+", |k| format!(r"\sin({k})")),
        ),
        (
            "product of 90 cosines",
            joined(1..90, r"\cdot", |k| format!(r"\cos({k}^\circ)")),
        ),
        (
            "nested logarithms",
            nested(r"\log_{2}(", 60, "10^{90}", ")"),
        ),
        (
            "pi to 1,000 digits",
            format!("3.{}-\\pi", digits(1_000, 21)),
        ),
        ("complex powers", "i^{i^{i^{i}}}".into()),
        ("power of a complex number", "(1+2i)^{20000}".into()),
        (
            "large argument of hyperbolic functions",
            r"\cosh(10^6)-\sinh(10^6)".into(),
        ),
    ]
}

fn series() -> Vec<(&'static str, String)> {
    vec![
        ("sum to 10^12", r"\sum_{k=1}^{10^{12}}k".into()),
        (
            "sums of 4,000 terms",
            format!("{}k", r"\sum_{k=1}^{4000}".repeat(6)),
        ),
        ("nested sums", nested(r"\sum_{k=1}^{100}(", 20, "k", ")")),
        ("harmonic sum", r"\sum_{k=1}^{3000}\frac1k".into()),
        ("sum of square roots", r"\sum_{k=1}^{1000}\sqrt{k}".into()),
        ("sum of sines", r"\sum_{k=1}^{2000}\sin(k)".into()),
        ("sum of powers", r"\sum_{k=1}^{500}k^{500}".into()),
        ("product of 4,000", r"\prod_{k=1}^{4000}(1+\frac1k)".into()),
        ("product of polynomials", r"\prod_{k=1}^{200}(x+k)".into()),
        ("integrals", r"\int x dx ".repeat(10_000)),
        (
            "nested integrals",
            nested(r"\int_{0}^{1}", 3_000, "x", " dx"),
        ),
        ("nested limits", nested(r"\lim_{x\to0}", 10_000, "x", "")),
        (
            "nested derivatives",
            nested(r"\frac{d}{dx}(", 150, "x^{150}", ")"),
        ),
    ]
}

fn radicals() -> Vec<(&'static str, String)> {
    vec![
        ("30 nested roots", nested(r"\sqrt{2+", 30, "2", "}")),
        ("200 nested roots", nested(r"\sqrt{", 200, "2", "}")),
        ("nested cube roots", nested(r"\sqrt[3]{1+", 12, "2", "}")),
        (
            "60 square roots",
            joined(2..60, "+", |k| format!(r"\sqrt{{{k}}}")),
        ),
        (
            "1,000 square roots",
            joined(2..1_000, "+", |k| format!(r"\sqrt{{{k}}}")),
        ),
        (
            "8 roots of primes",
            r"\sqrt2+\sqrt3+\sqrt5+\sqrt7+\sqrt{11}+\sqrt{13}+\sqrt{17}+\sqrt{19}".into(),
        ),
        (
            "reciprocal of roots",
            r"\frac{1}{\sqrt2+\sqrt3+\sqrt5+\sqrt7+\sqrt{11}+\sqrt{13}}".into(),
        ),
        ("power of roots", r"(\sqrt2+\sqrt3+\sqrt5)^{300}".into()),
        (
            "product of conjugates",
            joined(2..40, "", |k| format!(r"(\sqrt{{{k}}}+\sqrt{{{}}})", k + 1)),
        ),
        (
            "fractions of roots",
            joined(2..80, "+", |k| format!(r"\frac{{1}}{{\sqrt{{{k}}}+1}}")),
        ),
        (
            "golden ratio to 10,000",
            r"\left(\frac{1+\sqrt5}{2}\right)^{10000}".into(),
        ),
        (
            "roots of large squares",
            r"\sqrt{10^{600}+1}-\sqrt{10^{600}-1}".into(),
        ),
        (
            "continued fraction",
            nested(r"1+\frac{1}{", 3_000, "2", "}"),
        ),
        (
            "continued fraction of roots",
            nested(r"\sqrt2+\frac{1}{", 60, "2", "}"),
        ),
    ]
}

fn algebra() -> Vec<(&'static str, String)> {
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

fn collections() -> Vec<(&'static str, String)> {
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

fn ranges() -> Vec<(&'static str, String)> {
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

fn long_texts() -> Vec<(&'static str, String)> {
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
fn pairs() -> Vec<(&'static str, String, String)> {
    let set = |items: String| format!(r"\{{{items}\}}");
    let number = |k: u64| k.to_string();
    let root = |k: u64| format!(r"\sqrt{{{}}}", k + 2);
    let logarithm = |k: u64| format!(r"\ln({})", k + 2);
    let square = |k: u64| format!("(x+{k})^2");
    let expanded = |k: u64| format!("x^2+{}x+{}", 2 * k, k * k);
    let interval = |k: u64| format!("({},{})", 2 * k, 2 * k + 1);
    vec![
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
