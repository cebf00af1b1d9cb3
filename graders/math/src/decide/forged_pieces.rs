//! Forgeries of functions with jumps, poles, waves and cases, of functions of integers, of families
//! and of conditions, with constants that a seed selects, and equalities of the same shapes.

use super::forgeries::{Pairs, pair};
use crate::number::residue::mix;

const NAMES: [&str; 4] = ["x", "t", "y", "z"];
const SIZES: [u64; 10] = [1, 2, 3, 5, 7, 9, 12, 31, 44, 70];
const GOLDS: [&str; 5] = ["X", "0", r"e^{-X^2}", r"\cos X", "|X|"];

/// Functions of `X` that are 0 somewhere, with a constant `K`.
const ARGUMENTS: [&str; 22] = [
    r"\lfloor X\rfloor-K",
    r"\lceil X\rceil+K",
    r"\lfloor 2X\rfloor-K",
    r"\lfloor\frac X3\rfloor+K",
    r"\lfloor X^2\rfloor-K^2",
    r"\lfloor|X|\rfloor-K",
    r"\lfloor X\rfloor+X-K",
    r"\sin(\max(X,K))",
    r"\cos(|X|+K)",
    r"\sin(\min(X,-K))",
    r"e^{\max(X,0)}-K-1",
    r"e^{\lfloor X\rfloor}-e^{K}",
    r"\ln(\max(X,1))-\frac1K",
    r"\sqrt{\max(X,0)}-K",
    r"\max(X,1)^3-K-1",
    r"X-2K\operatorname{sgn}(X)",
    r"\begin{cases}X-K&X>0\\5&X\le0\end{cases}",
    r"\begin{cases}K&X>0\\X+K&X\le0\end{cases}",
    r"\tan X-K",
    r"\cot X+K",
    r"\ln|X|-\frac1K",
    r"\tan X+X-K",
];

/// Functions `G` that differ where an argument `U` is 0, or near.
const BUMPS: [&str; 7] = [
    r"G+\max(0,\frac1{50}-|U|)",
    r"G-\min(0,|U|-\frac12)",
    r"G+1-|\operatorname{sgn}(U)|",
    r"G+\left\lfloor\frac1{1+(U)^2}\right\rfloor",
    r"G+\begin{cases}1&|U|<\frac1{50}\\0&\text{otherwise}\end{cases}",
    r"G+\left||U|-\frac1{50}\right|-(|U|-\frac1{50})",
    r"G+\begin{cases}1&U=0\\0&\text{otherwise}\end{cases}",
];

/// Pairs that differ near a pole, or beyond a level.
const LEVELS: [(&str, &str); 10] = [
    ("0", r"\max(0,\tan X-K)"),
    ("0", r"\max(0,-\cot X-K)"),
    (r"K-\tan X", r"|\tan X-K|"),
    ("0", r"\max(0,\ln|X|-K)"),
    ("0", r"\max(0,-\ln|X-K|-5)"),
    ("0", r"\max(0,\frac1{\sin^2X}-K^2)"),
    (
        r"\max(\tan X,\sin X)",
        r"\max(\tan X,\sin X,\min(\tan X,K))",
    ),
    ("0", r"\max(0,\sin(\max(X,K))-\frac{99}{100})"),
    ("0", r"\max(0,\cos(|X|+K)-\frac{99}{100})"),
    ("X", r"\max(X,\min(\lfloor X\rfloor+1,K))"),
];

/// Pairs that differ at some integers.
const INTEGERS: [(&str, &str); 16] = [
    ("2^n", r"2^n+\prod_{j=0}^{M}(n-j)"),
    ("(2n)!", r"(2n)!+\prod_{j=0}^{M}(n-j)"),
    ("(2n)!", r"2^nn!\prod_{j=1}^n(2j-1)+n\prod_{j=1}^{M}(n-j)"),
    (r"\sum_{k=0}^n\binom nk", r"2^n+\prod_{j=0}^{M}(n-j)"),
    (r"\binom{2n}n", r"\frac{(2n)!}{n!^2}+\binom n{M+1}"),
    (
        r"\prod_{k=1}^n(2k-1)",
        r"\frac{(2n)!}{2^nn!}+\prod_{j=1}^{M}(j-n)",
    ),
    (r"\sum_{k=1}^nk\cdot k!", r"(n+1)!-1+\prod_{j=0}^{M}(n-j)"),
    ("n!", r"n!\cdot(1+\prod_{j=1}^{M}(n-j))"),
    (r"\gcd(n,6)", r"\gcd(n,6P)"),
    (r"\gcd(n,6)", r"\gcd(n,6)+\gcd(n,P)-1"),
    (r"\gcd(n,12)", r"\gcd(n+1,P)\gcd(n,12)"),
    (
        r"\operatorname{lcm}(n,6)",
        r"\operatorname{lcm}(n,6)\gcd(n,P)",
    ),
    (r"\operatorname{lcm}(n,P)", "Pn"),
    (r"\gcd(a,b)", r"\gcd(a,b,6P)"),
    ("n", r"n\bmod P"),
    (r"\gcd(a,b)", r"\gcd(a,b)+\gcd(a,b,P)-1"),
];

/// Values that a parameter `k` does not take, or takes beyond the integers.
const OTHER_PARAMETERS: [&str; 6] = [
    "|k|",
    r"\max(k,0)",
    "k^2",
    r"\max(k,-50)",
    "(k+k(k-1)(k-2))",
    r"k\operatorname{sgn}(k+7)",
];

const CURVES: [&str; 5] = [
    "x^2+y^2=K",
    "y^2=Kx",
    "x+y=K",
    "xy=K",
    r"\frac{x^2}{4}+\frac{y^2}{K}=1",
];
const CONDITIONS: [&str; 5] = [
    r"x\ge0",
    "y<0",
    r"0<y<1",
    r"\text{ for }y>0",
    r"y\ge 0,x\ge0",
];

/// Equal functions of an argument `U` with a constant `K`, and of a function `G`.
const EQUAL: [(&str, &str); 8] = [
    ("|U|", r"\max(U,-(U))"),
    (
        "|U|",
        r"\begin{cases}U&U\ge0\\-(U)&\text{otherwise}\end{cases}",
    ),
    ("|U|", r"(U)\operatorname{sgn}(U)"),
    (
        r"G+\max(0,\frac1{50}-|U|)",
        r"G+\frac{\frac1{50}-|U|+\left|\frac1{50}-|U|\right|}2",
    ),
    (r"G+\max(0,\frac1{50}-|U|)", r"G-\min(0,|U|-\frac1{50})"),
    (r"\max(U,G)+\min(U,G)", "(U)+G"),
    (r"\max(U,2)", r"2+\max((U)-2,0)"),
    (r"\sqrt{(U)^2}", r"\max(U,0)-\min(U,0)"),
];

/// Equal functions of `X`, with a constant `K`.
const IDENTITIES: [(&str, &str); 35] = [
    (r"\lfloor X\rfloor+K", r"\lfloor X+K\rfloor"),
    (r"\lfloor X\rfloor+K", r"-\lceil-X-K\rceil"),
    (
        r"\lfloor\frac{\lfloor X\rfloor}{K}\rfloor",
        r"\lfloor\frac XK\rfloor",
    ),
    (r"\max(\lfloor X\rfloor,K)", r"\lfloor\max(X,K)\rfloor"),
    (
        r"\max(\lfloor X\rfloor,K)",
        r"\begin{cases}\lfloor X\rfloor&X\ge K\\K&\text{otherwise}\end{cases}",
    ),
    (r"|K+1+\sin X|", r"K+1+\sin X"),
    (r"\max(0,\sin X-K-1)", "0"),
    (r"\max(K,\cos(3X))", "K"),
    ("|e^X+K|", "e^X+K"),
    (r"\max(X^2+K,0)", "X^2+K"),
    (r"|\arctan X-K-1|", r"K+1-\arctan X"),
    ("|X-K-e^X|", "e^X-X+K"),
    (
        r"\max(\lfloor X\rfloor+K,X)",
        r"\lfloor X\rfloor+\max(K,X-\lfloor X\rfloor)",
    ),
    (r"\max(0,\lfloor X\rfloor-X-\frac1K)", "0"),
    (r"\min(X-\lfloor X\rfloor,K)", r"X-\lfloor X\rfloor"),
    (
        r"\sin(\max(X,K))",
        r"\begin{cases}\sin X&X\ge K\\\sin K&\text{otherwise}\end{cases}",
    ),
    ("e^{|X-K|}", r"\max(e^{X-K},e^{K-X})"),
    (r"\cos|X-K|", r"\cos(X-K)"),
    (r"\ln\max(X,1)+K", r"\frac{\ln X+|\ln X|}2+K"),
    (r"\sqrt{\max(X,K)}", r"\max(\sqrt X,\sqrt K)"),
    (r"\tan|X|+K", r"\operatorname{sgn}(X)\tan X+K"),
    (r"|\tan X|+K", r"\sqrt{\tan^2X}+K"),
    (r"\max(\frac1{X-K},0)", r"\frac1{2|X-K|}+\frac1{2(X-K)}"),
    (r"|\tan X-K|", r"2\max(\tan X,K)-\tan X-K"),
    (
        r"\max(0,\ln|X|-K)",
        r"\begin{cases}\ln|X|-K&|X|>e^K\\0&\text{otherwise}\end{cases}",
    ),
    (
        r"|\lfloor X\rfloor-\lfloor w\rfloor|+K",
        r"\sqrt{(\lfloor X\rfloor-\lfloor w\rfloor)^2}+K",
    ),
    (
        r"|\lfloor X\rfloor-Kw|",
        r"\max(\lfloor X\rfloor-Kw,Kw-\lfloor X\rfloor)",
    ),
    (
        r"\max(\sin X,\sin w)+K",
        r"\sin X+\sin w-\min(\sin X,\sin w)+K",
    ),
    (r"\max(e^X,e^w)+K", r"e^{\max(X,w)}+K"),
    (r"\gcd(n,K)", r"\gcd(n+K,K)"),
    (r"\gcd(n,6K)\operatorname{lcm}(n,6K)", "6Kn"),
    (r"\gcd(a,b,K)", r"\gcd(\gcd(a,b),K)"),
    (r"n\bmod(K+1)", r"n-(K+1)\lfloor\frac n{K+1}\rfloor"),
    (r"\sum_{j=0}^n\binom nj+K", "2^n+K"),
    (r"2^n+\prod_{j=0}^4(n-j)", r"2^n+\prod_{j=1}^5(n-j+1)"),
];

/// A form of families with a parameter `k`.
const FAMILIES: [&str; 4] = [r"x=k\pi", r"x=\frac\pi4+k\pi", r"2k\pi-\frac\pi3", "x=3k+1"];

/// A choice that depends on a place in a table and a seed.
fn chosen<T: Copy>(items: &[T], at: usize, seed: u64) -> T {
    let count = u64::try_from(items.len()).expect("a small table");
    let index = mix(mix(at as u64) ^ seed) % count;
    items[usize::try_from(index).expect("below the length")]
}

/// A text with the letters of a template replaced.
fn filled(template: &str, at: usize, seed: u64) -> String {
    let size = chosen(&SIZES, at, seed);
    let prime: u64 = chosen(
        &[37, 101, 997, 1_009, 6_007, 10_007, 1_000_000_007],
        at,
        seed,
    );
    let last: u64 = chosen(&[10, 16, 20, 25, 40, 60], at, seed);
    template
        .replace("M+1", &(last + 1).to_string())
        .replace('M', &last.to_string())
        .replace("6P", &(6 * prime).to_string())
        .replace('P', &prime.to_string())
        .replace("6K", &(6 * size).to_string())
        .replace("2K", &(2 * size).to_string())
        .replace("^K", &format!("^{{{size}}}"))
        .replace("1K", &format!("1{{{size}}}"))
        .replace("XK", &format!("X{{{size}}}"))
        .replace('K', &size.to_string())
        .replace('X', chosen(&NAMES, at, seed))
}

fn with_argument(template: &str, at: usize, argument: &str, seed: u64) -> String {
    let gold = chosen(&GOLDS, at, seed);
    let template = template.replace('G', gold).replace('U', argument);
    filled(&template, at, seed)
}

/// Pairs that differ.
pub(super) fn forged() -> Pairs {
    let mut pairs = Vec::new();
    for seed in 0..2 {
        for (place, argument) in ARGUMENTS.into_iter().enumerate() {
            for shift in 0..2 {
                let at = place + 100 * shift;
                let bump = chosen(&BUMPS, at, seed);
                let text = |template| with_argument(template, at, argument, seed);
                pairs.push(pair(text("G"), text(bump)));
            }
        }
        for (at, (gold, answer)) in LEVELS.iter().chain(&INTEGERS).enumerate() {
            pairs.push(pair(filled(gold, at, seed), filled(answer, at, seed)));
        }
    }
    let integers = r",\ k\in\mathbb{Z}";
    for family in FAMILIES {
        for parameter in OTHER_PARAMETERS {
            let answer = family.replace('k', parameter);
            pairs.push(pair(
                format!("{family}{integers}"),
                format!("{answer}{integers}"),
            ));
        }
        for set in [r"\mathbb{R}", r"\mathbb{N}", r"\mathbb{Q}"] {
            pairs.push(pair(
                format!("{family}{integers}"),
                format!(r"{family},\ k\in{set}"),
            ));
        }
    }
    for (at, curve) in CURVES.into_iter().enumerate() {
        for condition in CONDITIONS {
            let curve = filled(curve, at, 0);
            pairs.push(pair(curve.clone(), format!("{curve}, {condition}")));
        }
    }
    pairs
}

/// Pairs that are equal.
pub(super) fn equal() -> Pairs {
    let mut pairs = Vec::new();
    // A definition by cases is not read as a part of other definitions and products.
    let arguments = ARGUMENTS.iter().filter(|text| !text.contains("cases"));
    for (place, argument) in arguments.enumerate() {
        for shift in 0..2 {
            let at = place + 100 * shift;
            let (gold, answer) = chosen(&EQUAL, at, 0);
            let text = |template| with_argument(template, at, argument, 0);
            pairs.push(pair(text(gold), text(answer)));
        }
    }
    for seed in 0..2 {
        for (at, (gold, answer)) in IDENTITIES.iter().enumerate() {
            pairs.push(pair(filled(gold, at, seed), filled(answer, at, seed)));
        }
    }
    for family in FAMILIES {
        for parameter in ["n", "(-k)", "(k+5)", "(3-k)"] {
            let answer = family.replace('k', parameter);
            let name = if parameter == "n" { "n" } else { "k" };
            pairs.push(pair(
                format!(r"{family},\ k\in\mathbb{{Z}}"),
                format!(r"{answer},\ {name}\in\mathbb{{Z}}"),
            ));
        }
    }
    for (at, curve) in CURVES.into_iter().enumerate() {
        let curve = filled(curve, at, 0);
        let condition = CONDITIONS[at];
        pairs.push(pair(
            format!("{curve}, {condition}"),
            format!("{curve}, {condition}"),
        ));
        let (left, right) = curve.split_once('=').expect("an equation");
        pairs.push(pair(curve.clone(), format!("{right}={left}")));
    }
    pairs
}
