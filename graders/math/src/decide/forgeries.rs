//! Expressions that differ from a gold only where few look: on a short interval, at a point, at
//! large integers, in a digit far behind the point. None may be accepted. For each kind there are
//! equalities of the same shape, all of which must be.

use super::forged_pieces;
use crate::{Options, equivalent};

/// Pairs of a gold and an answer.
pub(super) type Pairs = Vec<(String, String)>;

const NAMES: [&str; 5] = ["x", "t", "u", "y", "z"];
const PLACES: [(&str, &str); 6] = [
    ("3", "4"),
    ("5", "6"),
    ("50", "51"),
    ("-17", "-16"),
    ("1/3", "1/2"),
    ("1000", "1001"),
];

pub(super) fn pair(gold: impl Into<String>, answer: impl Into<String>) -> (String, String) {
    (gold.into(), answer.into())
}

/// A function that is not 0 only between two places.
fn bumps() -> Pairs {
    let mut pairs = Vec::new();
    for (at, (low, high)) in PLACES.into_iter().enumerate() {
        let x = NAMES[at % NAMES.len()];
        for gold in [
            format!("{x}^2"),
            format!(r"\sin {x}"),
            x.to_owned(),
            "1".to_owned(),
        ] {
            let bump = format!(r"\max(0,({x}-({low}))(({high})-{x}))");
            pairs.push(pair(gold.clone(), format!("{gold}+{bump}")));
            let tent = format!(r"|{x}-({low})|+|{x}-({high})|-|2{x}-({low})-({high})|");
            pairs.push(pair(gold.clone(), format!("{gold}+{tent}")));
        }
        pairs.push(pair(
            format!("{x}^2"),
            format!(r"{x}^2+10^{{-40}}\max(0,1-|{x}-({low})|)"),
        ));
        pairs.push(pair(
            x.to_owned(),
            format!(r"{x}+\max(0,10^{{-9}}-|{x}-({low})|)"),
        ));
        pairs.push(pair(
            format!("({x}-({low}))({x}-({high}))"),
            format!("|({x}-({low}))({x}-({high}))|"),
        ));
        pairs.push(pair(
            format!(r"\operatorname{{sgn}}({x}-({low}))"),
            format!(r"\operatorname{{sgn}}({x}-({high}))"),
        ));
        pairs.push(pair(
            format!(r"|{x}-({low})|+|{x}-({high})|"),
            format!(r"\begin{{cases}}({low})+({high})-2{x}&{x}<{low}\\2{x}-({low})-({high})&{x}\ge {low}\end{{cases}}"),
        ));
        pairs.push(pair(
            x.to_owned(),
            format!(r"{x}+\max(0,1-|{x}-({low})|)\cdot({x}-({low}))"),
        ));
    }
    pairs
}

fn true_bumps() -> Pairs {
    let mut pairs = Vec::new();
    for (at, (low, high)) in PLACES.into_iter().enumerate() {
        let x = NAMES[at % NAMES.len()];
        let (a, b) = (format!("({x}-({low}))"), format!("({x}-({high}))"));
        for (gold, answer) in [
            (format!(r"\max({a},0)"), format!(r"\frac{{|{a}|+{a}}}{{2}}")),
            (
                format!(r"\min({a},{b})"),
                format!(r"\frac{{{a}+{b}-|{a}-{b}|}}{{2}}"),
            ),
            (format!("|{a}{b}|"), format!("|{a}||{b}|")),
            (format!(r"\sqrt{{{a}^2}}"), format!("|({low})-{x}|")),
            (
                format!(r"\frac{{|{a}|}}{{{a}}}"),
                format!(r"\operatorname{{sgn}}{a}"),
            ),
            (format!("|{a}|^2"), format!("{a}^2")),
            (
                format!("|{a}|"),
                format!(r"\begin{{cases}}{a}&{x}\ge {low}\\-{a}&{x}<{low}\end{{cases}}"),
            ),
            (
                format!("|{a}|+|{b}|"),
                format!(r"\max({a}+{b},-{a}-{b},{a}-{b},{b}-{a})"),
            ),
            (
                format!("|{a}|-|{b}|"),
                format!("|({low})-{x}|-|({high})-{x}|"),
            ),
            (
                format!(r"\sin {x}+|{a}|"),
                format!(r"\cos(\frac{{\pi}}{{2}}-{x})+\sqrt{{{a}^2}}"),
            ),
        ] {
            pairs.push((gold, answer));
        }
        for gold in [
            format!("{x}^2"),
            format!(r"\sin {x}"),
            x.to_owned(),
            "1".to_owned(),
        ] {
            let zero = format!(r"\max(0,{a})-\max(0,-{a})-{a}");
            pairs.push(pair(gold.clone(), format!("{gold}+{zero}")));
        }
    }
    pairs
}

const FORGED: &[(&str, &str)] = &[
    // Several variables.
    ("x+y", r"x+y+\max(0,1-|x-50|-|y-50|)"),
    ("x+y", r"x+y+\max(0,1-(x-50)^2-(y-7)^2)"),
    ("x+y", r"x+y+\max(0,1-|x+y-100|-|x-y-3|)"),
    ("x", r"x+\max(0,1-|x-50|-|y-50|)"),
    ("x", r"x+\max(0,1-|x-50|-|y-7|-|z+3|)"),
    ("x", r"x+\max(0,1-|x-50|-|y-7|-|z+3|-|w-20|)"),
    ("ab", r"\frac{ab+|ab|}{2}"),
    ("|a|+|b|", "|a+b|"),
    ("|a|-|b|", "||a|-|b||"),
    // Roots, exponentials, logarithms.
    ("x", r"x+\sqrt{(1-|x-50|)^2}+1-|x-50|"),
    ("x^2", r"x^2+\max(0,e^{-(x-50)^2}-\frac12)"),
    ("x^2", r"x^2+\max(0,\sin(x)-1+10^{-9})"),
    ("x", r"x+\max(0,10^{-20}-|e^x-50|)"),
    ("x", r"x+\max(0,1-|\ln x-5|)"),
    ("x", r"x+\max(0,1-|x^3-1000|)"),
    ("e^x", r"e^x+\max(0,1-|e^x-50|)"),
    ("x", r"\log_{10}(10^x+\max(0,1-|x-50|))"),
    (r"\frac{\pi}{2}", r"\arctan x+\arctan\frac1x"),
    ("x", r"\arcsin(\sin x)"),
    ("x", r"\arctan(\tan x)"),
    (r"\sqrt{x-2\sqrt{x-1}}", r"\sqrt{x-1}-1"),
    (r"|\sin x|", r"\sin x"),
    ("x", r"x\cdot\frac{|x+50|}{x+50}"),
    // The sides of a condition and single points.
    ("x", r"x\cdot\operatorname{sgn}((x-50)^2)"),
    ("x", r"x+\lfloor e^{-x^2}\rfloor"),
    ("1", r"\operatorname{sgn}(x^2-101x+2550)"),
    ("x^2", r"\begin{cases}x^2&x\ne50\\0&x=50\end{cases}"),
    ("x^2", r"\begin{cases}x^2&x<50\\x^2+1&x\ge50\end{cases}"),
    ("x", r"\begin{cases}x&x>100\\x&x>200\end{cases}"),
    (r"\lceil x\rceil", r"\lfloor x\rfloor+1"),
    (r"\lfloor x\rfloor", r"\lfloor x+10^{-9}\rfloor"),
    // Decoys: numbers and identities that have nothing to do with the difference.
    (
        "x^2",
        r"x^2+\sin^2(5x)+\cos^2(5x)-1+\sin^2(6x)+\cos^2(6x)-1+\sin^2(7x)+\cos^2(7x)-1+\max(0,x-10^{12})",
    ),
    ("x^2+1", r"x^2+1+\max(0,1-|x+50|)+i-i"),
    ("x", r"x+5-5+7-7+9-9+11-11+13-13+\max(0,x-10^9)"),
    // Integers.
    ("n!", r"n!+\lfloor n/30\rfloor"),
    ("2^n", r"2^n+\lfloor n/100\rfloor"),
    (r"\binom{n}{2}", r"\frac{n(n-1)}{2}+\lfloor n/64\rfloor"),
    ("n!", r"n!+\prod_{k=1}^{30}(n-k)"),
    ("n!", r"n!+\prod_{k=1}^{300}(n-k)"),
    (r"\sum_{k=1}^n k", r"\frac{n(n+1)}{2}+\prod_{k=1}^{20}(n-k)"),
    ("(-1)^n", r"(-1)^{n(n+1)/2}"),
    ("a_n=2n-1", r"a_n=2n-1+\lfloor n/10^9\rfloor"),
    // Tails of exponentials.
    ("1", r"\tanh(500)"),
    ("-1", r"\tanh(-500)"),
    ("x", r"x\tanh(500)"),
    ("x", r"x+\operatorname{sech}(500)"),
    ("1", r"\coth(500)"),
    ("2", r"1+\tanh(500)"),
    (r"\pi", r"\pi+e^{-500\pi}"),
    ("1", r"\tanh(e^{x^2+20})"),
    ("x", r"x+e^{-1000-x^2}"),
    ("1", r"\sqrt{1+e^{-500\pi}}"),
    // Statements, integrals, sums.
    ("y=x^2", r"y=x^2+\max(0,1-|x-50|)"),
    ("y-x^2=0", r"y-x^2-\max(0,1-|x-50|)=0"),
    (r"\int_0^x t\,dt", r"\int_0^x t\,dt+\max(0,1-|x-50|)"),
    (r"\frac{x^2}{2}", r"\int_0^x t\,dt+\max(0,1-|x-50|)"),
    (r"\sum_{k=1}^3|x-k|", "6"),
    // Indices that are not bound.
    (r"\sum_{i=1}^n a_i", "n a_i"),
    (r"\sum_{i=1}^n a_i", r"\sum_{i=1}^n a_j"),
    (r"\sum_{i=1}^n a_i", r"\sum_{i=1}^n b_i"),
    (r"\prod_{i=1}^n p_i", "p_i^n"),
    (r"\sum_{i=1}^n\sum_{j=1}^n a_{ij}", "n^2a_{ij}"),
    (
        r"\sum_{i=1}^n\sum_{j=1}^m a_{ij}",
        r"\sum_{i=1}^n\sum_{j=1}^m a_{ji}",
    ),
    (r"\sum_{i=1}^n a_ib_i", r"\sum_{i=1}^n a_i\sum_{i=1}^n b_i"),
    (r"\sum_{i=1}^n f(x_i)", "n f(x_i)"),
    (r"\sum_{k=1}^n f(k)", "n f(k)"),
    (r"\sum_{i=1}^3 a_i", "a_1+a_2+a_4"),
    (r"\sum_{k=0}^n a_kx^k", r"\sum_{k=1}^n a_kx^k"),
    // Parameters.
    (r"\frac{\pi}{2}+k\pi", r"\frac{\pi}{2}+2n\pi"),
    (
        r"\frac{\pi}{2}+k\pi, k\in\mathbb{Z}",
        r"\frac{\pi}{2}+2n\pi",
    ),
    (r"\pi n^2", r"\pi k^2"),
    ("2n+1", "2k+1"),
    (r"2\pi n", r"2\pi r"),
    ("a_n=3n+1", "a_n=3k+1"),
    ("x=3k+1", "x=3n+2"),
    ("P=kx", "P=mx"),
    (r"V=k\pi r^2", r"V=m\pi r^2"),
    ("(3+2t,5-t)", "(3+2s,5-t)"),
    ("(3+2t,5-t)", "(3+2s,5+s)"),
    ("x=1+2t, y=3-t", "x=1+2s, y=3-r"),
    ("(x,y+1)", "(u,y+1)"),
    ("C_1e^t+C_2e^{-t}", "Ae^t+Ae^{-t}"),
    ("C_1e^t+C_2e^{-t}", "Ae^t+Be^{-2t}"),
    ("C_1V_1+C_2V_2", "C_1V_2+C_2V_1"),
    ("y=Ce^{-2x}", "y=Ke^{-3x}"),
    ("f(x)=ax+b", "f(x)=bx+a"),
    ("f(x)=ax+b", "f(x)=mx+m"),
    ("f(x)=ax^2", "f(x)=kx"),
    ("E=mc^2", "E=mk^2"),
    (r"E=\frac12mv^2", r"E=\frac12kx^2"),
    ("ct", "kt"),
    ("F=ma", "F=mb"),
    ("y=mx+b", "y=ax+c"),
];

const EQUAL: &[(&str, &str)] = &[
    ("|x|+|y|", r"\max(x,-x)+\max(y,-y)"),
    (r"\max(a,b)", r"\frac{a+b+|a-b|}{2}"),
    (r"\max(a,b,c)", r"\max(c,\max(b,a))"),
    ("|x-y|+|y-z|", r"\sqrt{(x-y)^2}+\sqrt{(z-y)^2}"),
    (
        r"\frac12|a(b-c)+d(c-a)+k(a-b)|",
        r"\frac12|a(c-b)+d(a-c)+k(b-a)|",
    ),
    ("|ab|", "|a||b|"),
    (r"\sqrt{x^2-2x+1}", "|1-x|"),
    (r"|e^x-50|", r"\max(e^x-50,50-e^x)"),
    (r"|\ln x-3|+|\sin x|", r"\sqrt{(\ln x-3)^2}+\sqrt{\sin^2x}"),
    (r"|\sin x|", r"\sqrt{1-\cos^2 x}"),
    (r"\sqrt{x+2\sqrt{x-1}}", r"1+\sqrt{x-1}"),
    (r"\sqrt{x-2\sqrt{x-1}}", r"|1-\sqrt{x-1}|"),
    (r"\arcsin(\sin(\arcsin x))", r"\arcsin x"),
    ("|x-1|+|x-2|+|x-3|", r"\sum_{k=1}^3|x-k|"),
    ("|x|^3", "x^2|x|"),
    (r"\min(x,1-x)", r"\frac{1-|2x-1|}{2}"),
    (r"\lfloor x\rfloor+1", r"\lfloor x+1\rfloor"),
    (r"\lceil x\rceil", r"-\lfloor -x\rfloor"),
    (
        r"\lfloor 2x\rfloor",
        r"\lfloor x\rfloor+\lfloor x+\frac12\rfloor",
    ),
    (
        r"\operatorname{sgn}(x)",
        r"\begin{cases}1&x>0\\0&x=0\\-1&x<0\end{cases}",
    ),
    (r"\frac{|x|}{x}", r"\begin{cases}1&x>0\\-1&x<0\end{cases}"),
    (
        r"\max(x,2)",
        r"\begin{cases}x&\text{if }x\ge2\\2&\text{otherwise}\end{cases}",
    ),
    (
        "f(x)=|x-1|",
        r"f(x)=\begin{cases}x-1,&x\ge1\\1-x,&x<1\end{cases}",
    ),
    (r"\min(x,5)", r"\begin{cases}x&x<5\\5&x\ge5\end{cases}"),
    // Narrow domains.
    (r"\sqrt{p(1-p)}", r"\sqrt{p-p^2}"),
    (r"\sqrt{x}\sqrt{1-x}", r"\sqrt{x-x^2}"),
    (r"2\arcsin\sqrt{a}", r"\arccos(1-2a)"),
    (r"\sqrt{(x-20)(22-x)}", r"\sqrt{-x^2+42x-440}"),
    (r"\ln(x-30)+\ln(31-x)", r"\ln((x-30)(31-x))"),
    (r"\arccos(x-5)", r"\frac{\pi}{2}-\arcsin(x-5)"),
    (r"-p\ln p-(1-p)\ln(1-p)", r"-\ln(1-p)+p\ln\frac{1-p}{p}"),
    (r"\sqrt{\frac{2(E-V)}{m}}", r"\sqrt{\frac{2E-2V}{m}}"),
    (r"\sqrt{1-x^2-y^2}", r"(1-y^2-x^2)^{1/2}"),
    // Integers.
    (r"\frac{n!}{(n-2)!}", "n(n-1)"),
    (r"\binom{n}{2}", r"\frac{n(n-1)}{2}"),
    (r"\sum_{k=1}^n k", r"\frac{n(n+1)}{2}"),
    (r"\sum_{k=0}^n\binom{n}{k}", "2^n"),
    ("(-1)^n", r"\cos(n\pi)"),
    ("(n+1)!", "(n+1)n!"),
    // Exponentials.
    ("10(1-e^{-1000t})", "10-10e^{-1000t}"),
    (
        r"\frac{V}{R}(1-e^{-Rt/L})",
        r"\frac{V-Ve^{-\frac{R}{L}t}}{R}",
    ),
    ("e^{2000x}", "(e^{1000x})^2"),
    (r"\tanh x", r"\frac{e^{2x}-1}{e^{2x}+1}"),
    (r"\sinh(x+y)", r"\sinh x\cosh y+\cosh x\sinh y"),
    ("e^{x+100}", "e^{100}e^x"),
    // Sums and unknown functions.
    (r"\sum_{i=1}^n a_i", r"\sum_{k=1}^n a_k"),
    (r"\sum_{i=1}^n a_i", r"\sum_{i=0}^{n-1} a_{i+1}"),
    (r"\sum_{i=1}^n a_j", "n a_j"),
    (r"\sum_{i=1}^3 a_i", "a_1+a_2+a_3"),
    (r"\prod_{i=1}^3 x_i", "x_1x_2x_3"),
    (
        r"\sum_{i=1}^n\sum_{j=1}^n a_{ij}",
        r"\sum_{p=1}^n\sum_{q=1}^n a_{pq}",
    ),
    (
        r"\sum_{i=1}^2\sum_{j=1}^2 a_{ij}",
        "a_{11}+a_{12}+a_{21}+a_{22}",
    ),
    (
        r"\frac1n\sum_{i=1}^n(x_i-\mu)^2",
        r"\frac1n\sum_{j=1}^n(\mu-x_j)^2",
    ),
    (
        r"\sum_{i=1}^n(a_i+b_i)",
        r"\sum_{i=1}^n a_i+\sum_{i=1}^n b_i",
    ),
    (r"\sum_{i=1}^n c a_i", r"c\sum_{k=1}^n a_k"),
    (r"\sum_{i=1}^n f(x_i)", r"\sum_{k=1}^n f(x_k)"),
    (r"\sum_{k=0}^n a_kx^k", r"\sum_{i=0}^n a_ix^i"),
    (r"\sum_{k=1}^n f(k)", r"\sum_{k=0}^{n-1} f(k+1)"),
    (r"\int_0^1 f(t)\,dt", r"\int_0^1 f(u)\,du"),
    ("f(2x)", "f(x+x)"),
    // Parameters.
    (r"x=\frac{\pi}{4}+n\pi", r"x=\frac{\pi}{4}+k\pi"),
    (r"45^\circ+180^\circ n", r"45^\circ+180^\circ k"),
    (
        r"x=\frac{\pi}{4}+n\pi, n\in\mathbb{Z}",
        r"x=\frac{\pi}{4}+k\pi",
    ),
    (r"\frac{\pi}{2}+k\pi, k\in\mathbb{Z}", r"\frac{\pi}{2}+n\pi"),
    (r"x=\alpha+k\pi", r"x=\alpha+n\pi"),
    ("x=3k+1", "x=3n+1"),
    ("(3+2t,5-t)", "(3+2s,5-s)"),
    ("x=1+2t, y=3-t", "x=1+2s, y=3-s"),
    (r"\vec r=(1,3)+t(2,-1)", r"\vec r=(1,3)+\lambda(2,-1)"),
    (r"C_1\cos t+C_2\sin t", r"C_1\sin t+C_2\cos t"),
    ("C_1e^t+C_2e^{-t}", "Ae^t+Be^{-t}"),
    ("C_1e^t+C_2e^{-t}", "c_1e^t+c_2e^{-t}"),
    ("y=Ce^{-2x}", "y=ce^{-2x}"),
    ("y=Ce^{-2x}", "y=Ke^{-2x}"),
    ("c1*e^(2*x)+c2*e^(-x)", "C_1 e^{2x} + C_2 e^{-x}"),
    ("f(x)=cx", "f(x)=kx"),
    ("f(x)=ax+b", "f(x)=mx+n"),
    (
        "f(x)=cx for any real constant $c$",
        r"f(x)=kx, k\in\mathbb{R}",
    ),
];

/// A few more members of the families of exponentials, integers and linear sums.
fn seeded(equal: bool) -> Pairs {
    let mut pairs = Vec::new();
    for at in 1i64..=20 {
        let x = NAMES[usize::try_from(at).expect("small and positive") % NAMES.len()];
        let (a, b) = (7 * at - 40, 3 * at % 11 + 1);
        let forged = [
            pair(
                format!("{b}{x}"),
                format!(
                    r"{b}{x}+\lfloor\frac{{|{x}-{a}|}}{{|{x}-{a}|+1}}+\frac{{1}}{{10^{{{at}}}}}\rfloor"
                ),
            ),
            pair(
                format!(r"\cos {x}"),
                format!(r"\cos {x}+\max(0,{b}-|{x}-({a})|)"),
            ),
            pair(format!("({x}-{b})^2"), format!("({x}-{b})|{x}-{b}|")),
        ];
        let genuine = [
            pair(format!("{b}|{x}-({a})|"), format!("|{b}({a})-{b}{x}|")),
            pair(
                format!(r"\cos {x}+\max(0,{b}-|{x}-({a})|)"),
                format!(r"\cos(-{x})+\frac{{{b}-|{x}-({a})|+|{b}-|({a})-{x}||}}{{2}}"),
            ),
            pair(
                format!("({x}-{b})|{x}-{b}|"),
                format!(r"\begin{{cases}}({x}-{b})^2&{x}\ge{b}\\-({x}-{b})^2&{x}<{b}\end{{cases}}"),
            ),
        ];
        pairs.extend(if equal { genuine } else { forged });
    }
    pairs
}

/// A function that is not 0 only at one point, beyond large values of the gold, or near one period
/// of a wave.
fn spikes() -> Pairs {
    let mut pairs = Vec::new();
    for (at, place) in ["17.41", "-80/9", "1563", "-4", "1/3", "2855"]
        .into_iter()
        .enumerate()
    {
        let x = NAMES[at % NAMES.len()];
        let away = format!("({x}-({place}))");
        for gold in [format!("{x}^2+1"), format!(r"\arctan {x}"), "7".to_owned()] {
            for spike in [
                format!(r"1-|\operatorname{{sgn}}{away}|"),
                format!(r"\left\lfloor\frac{{1}}{{1+{away}^2}}\right\rfloor"),
                format!("0^{{|{away}|}}"),
                format!(r"\max(0,\sin{away}-0.99)"),
                format!(r"\max(0,e^{{-{away}^2}}-\frac12)"),
                format!(r"\max(0,{away}-10^6)\cdot(1+\sqrt{{|{away}|-{away}}})"),
            ] {
                pairs.push(pair(gold.clone(), format!("{gold}+{spike}")));
            }
        }
        for gold in [format!("e^{{{x}}}"), format!("e^{{e^{{{x}}}}}")] {
            let far = 1_000 * (at + 2);
            pairs.push(pair(gold.clone(), format!(r"{gold}+\max(0,{x}-{far})")));
        }
    }
    pairs
}

fn true_spikes() -> Pairs {
    let mut pairs = Vec::new();
    for (at, place) in ["17.41", "-80/9", "1563", "-4", "1/3", "2855"]
        .into_iter()
        .enumerate()
    {
        let x = NAMES[at % NAMES.len()];
        let away = format!("({x}-({place}))");
        for (gold, answer) in [
            (
                format!(r"\operatorname{{sgn}}{away}^2"),
                format!(r"|\operatorname{{sgn}}{away}|"),
            ),
            (
                format!(r"\lfloor{away}\rfloor"),
                format!(r"-\lceil({place})-{x}\rceil"),
            ),
            (
                format!(r"\max(0,\sin{away})"),
                format!(r"\frac{{\sin{away}+|\sin{away}|}}{{2}}"),
            ),
            (
                format!(r"e^{{{x}}}+|{away}|"),
                format!(r"\sqrt{{{away}^2}}+\frac{{1}}{{e^{{-{x}}}}}"),
            ),
            (format!(r"\max({away},0)-\max(-{away},0)"), away.clone()),
        ] {
            pairs.push((gold, answer));
        }
    }
    pairs
}

fn wrong(pairs: &Pairs, expected: bool) -> Vec<String> {
    let options = Options::default();
    let is_wrong = |(gold, answer): &&(String, String)| {
        equivalent(gold, answer, &options).equal != expected
            || equivalent(answer, gold, &options).equal != expected
    };
    let shown = |(gold, answer): &(String, String)| format!("{gold}   {answer}");
    pairs.iter().filter(is_wrong).map(shown).collect()
}

/// Pairs that differ.
pub(super) fn forged() -> Pairs {
    [
        bumps(),
        spikes(),
        written(FORGED),
        seeded(false),
        forged_pieces::forged(),
    ]
    .concat()
}

/// Pairs that are equal.
pub(super) fn equal() -> Pairs {
    [
        true_bumps(),
        true_spikes(),
        written(EQUAL),
        seeded(true),
        forged_pieces::equal(),
    ]
    .concat()
}

fn written(pairs: &[(&str, &str)]) -> Pairs {
    pairs
        .iter()
        .map(|(gold, answer)| pair(*gold, *answer))
        .collect()
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "the number of pairs is part of the result"
)]
fn rejects_forgeries() {
    let pairs = forged();
    println!("{} forgeries", pairs.len());
    assert!(pairs.len() >= 500, "only {} pairs", pairs.len());
    let accepted = wrong(&pairs, false);
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "the number of pairs is part of the result"
)]
fn accepts_equalities_of_the_same_shapes() {
    let pairs = equal();
    println!("{} equalities", pairs.len());
    assert!(pairs.len() >= 300, "only {} pairs", pairs.len());
    let rejected = wrong(&pairs, true);
    assert!(rejected.is_empty(), "{}", rejected.join("\n"));
}
