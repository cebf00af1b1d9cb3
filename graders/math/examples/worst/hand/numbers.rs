//! Large numbers, numbers that are nearly equal, sums and roots.

use super::{digits, joined, nested};

pub(super) fn large_numbers() -> Vec<(&'static str, String)> {
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

pub(super) fn close_numbers() -> Vec<(&'static str, String)> {
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

pub(super) fn series() -> Vec<(&'static str, String)> {
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

pub(super) fn radicals() -> Vec<(&'static str, String)> {
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
