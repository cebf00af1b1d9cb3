//! Units of measurement: which words are units, and what they measure. Scales are exact (BIPM, "The International System of
//! Units", 9th edition; NIST Handbook 44 for customary units).

use crate::number::Rational;
use crate::tree::Expr;

/// Powers of length, mass, time, current, temperature, amount, money, angle and information.
pub(crate) type Dimensions = [i8; 9];

/// What a text after a number measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Measure {
    /// A unit: its dimensions and how many coherent units it is.
    Unit(Dimensions, Rational),
    /// Words that are no unit, in a comparable form.
    Words(String),
}

const LENGTH: Dimensions = [1, 0, 0, 0, 0, 0, 0, 0, 0];
const AREA: Dimensions = [2, 0, 0, 0, 0, 0, 0, 0, 0];
const VOLUME: Dimensions = [3, 0, 0, 0, 0, 0, 0, 0, 0];
const MASS: Dimensions = [0, 1, 0, 0, 0, 0, 0, 0, 0];
const TIME: Dimensions = [0, 0, 1, 0, 0, 0, 0, 0, 0];
const CURRENT: Dimensions = [0, 0, 0, 1, 0, 0, 0, 0, 0];
const KELVIN: Dimensions = [0, 0, 0, 0, 1, 0, 0, 0, 0];
const AMOUNT: Dimensions = [0, 0, 0, 0, 0, 1, 0, 0, 0];
const DOLLAR: Dimensions = [0, 0, 0, 0, 0, 0, 1, 0, 0];
const EURO: Dimensions = [0, 0, 0, 0, 0, 0, 2, 0, 0];
const POUND: Dimensions = [0, 0, 0, 0, 0, 0, 3, 0, 0];
const YEN: Dimensions = [0, 0, 0, 0, 0, 0, 4, 0, 0];
const YUAN: Dimensions = [0, 0, 0, 0, 0, 0, 5, 0, 0];
const RUPEE: Dimensions = [0, 0, 0, 0, 0, 0, 6, 0, 0];
const DEGREE: Dimensions = [0, 0, 0, 0, 0, 0, 0, 1, 0];
const RADIAN: Dimensions = [0, 0, 0, 0, 0, 0, 0, 2, 0];
const BYTE: Dimensions = [0, 0, 0, 0, 0, 0, 0, 0, 1];
const FORCE: Dimensions = [1, 1, -2, 0, 0, 0, 0, 0, 0];
const ENERGY: Dimensions = [2, 1, -2, 0, 0, 0, 0, 0, 0];
const POWER: Dimensions = [2, 1, -3, 0, 0, 0, 0, 0, 0];
const PRESSURE: Dimensions = [-1, 1, -2, 0, 0, 0, 0, 0, 0];
const VOLTAGE: Dimensions = [2, 1, -3, -1, 0, 0, 0, 0, 0];
const RESISTANCE: Dimensions = [2, 1, -3, -2, 0, 0, 0, 0, 0];
const CHARGE: Dimensions = [0, 0, 1, 1, 0, 0, 0, 0, 0];
const FREQUENCY: Dimensions = [0, 0, -1, 0, 0, 0, 0, 0, 0];

/// Units with SI prefixes: symbol, name, dimensions, numerator and denominator of the scale to the coherent unit.
const PREFIXED: &[(&str, &str, Dimensions, i64, i64)] = &[
    ("m", "meter", LENGTH, 1, 1),
    ("m", "metre", LENGTH, 1, 1),
    ("g", "gram", MASS, 1, 1_000),
    ("g", "gramme", MASS, 1, 1_000),
    ("s", "second", TIME, 1, 1),
    ("A", "ampere", CURRENT, 1, 1),
    ("K", "kelvin", KELVIN, 1, 1),
    ("mol", "mole", AMOUNT, 1, 1),
    ("N", "newton", FORCE, 1, 1),
    ("J", "joule", ENERGY, 1, 1),
    ("W", "watt", POWER, 1, 1),
    ("Pa", "pascal", PRESSURE, 1, 1),
    ("V", "volt", VOLTAGE, 1, 1),
    ("C", "coulomb", CHARGE, 1, 1),
    ("Hz", "hertz", FREQUENCY, 1, 1),
    ("ohm", "ohm", RESISTANCE, 1, 1),
    ("L", "liter", VOLUME, 1, 1_000),
    ("l", "litre", VOLUME, 1, 1_000),
    ("B", "byte", BYTE, 8, 1),
    ("bit", "bit", BYTE, 1, 1),
    ("cal", "calorie", ENERGY, 523, 125),
    ("eV", "electronvolt", ENERGY, 0, 1),
];

/// Units without prefixes: spellings, dimensions, scale.
const PLAIN: &[(&[&str], Dimensions, i64, i64)] = &[
    (&["min", "minute", "mins"], TIME, 60, 1),
    (&["h", "hr", "hour", "hrs"], TIME, 3_600, 1),
    (&["day"], TIME, 86_400, 1),
    (&["week", "wk"], TIME, 604_800, 1),
    (&["year", "yr"], TIME, 31_557_600, 1),
    (&["sec", "secs"], TIME, 1, 1),
    (&["in", "inch", "inches"], LENGTH, 127, 5_000),
    (&["ft", "foot", "feet"], LENGTH, 381, 1_250),
    (&["yd", "yard"], LENGTH, 1_143, 1_250),
    (&["mi", "mile"], LENGTH, 201_168, 125),
    (&["are"], AREA, 100, 1),
    (&["ha", "hectare"], AREA, 10_000, 1),
    (&["acre"], AREA, 316_160_658, 78_125),
    (&["gal", "gallon"], VOLUME, 473_176_473, 125_000_000_000),
    (&["oz", "ounce"], MASS, 45_359_237, 1_600_000_000),
    (&["lb", "lbs", "pound"], MASS, 45_359_237, 100_000_000),
    (&["t", "ton", "tonne"], MASS, 1_000, 1),
    (&["kph", "kmh"], [1, 0, -1, 0, 0, 0, 0, 0, 0], 5, 18),
    (&["mph"], [1, 0, -1, 0, 0, 0, 0, 0, 0], 1_397, 3_125),
    (&["atm"], PRESSURE, 101_325, 1),
    (&["cc"], VOLUME, 1, 1_000_000),
    (&["dollar", "$", "usd", "USD"], DOLLAR, 1, 1),
    (&["cent", "¢"], DOLLAR, 1, 100),
    (&["euro", "€", "EUR"], EURO, 1, 1),
    (&["£", "GBP"], POUND, 1, 1),
    (&["yen", "¥", "JPY"], YEN, 1, 1),
    (&["yuan", "RMB", "元"], YUAN, 1, 1),
    (&["rupee", "Rs", "₹"], RUPEE, 1, 1),
    (&["°", "degree", "deg"], DEGREE, 1, 1),
    (&["arcmin"], DEGREE, 1, 60),
    (&["rad", "radian"], RADIAN, 1, 1),
];

const PREFIXES: &[(&str, &str, i32)] = &[
    ("k", "kilo", 3),
    ("c", "centi", -2),
    ("m", "milli", -3),
    ("d", "deci", -1),
    ("M", "mega", 6),
    ("G", "giga", 9),
    ("T", "tera", 12),
    ("μ", "micro", -6),
    ("u", "micro", -6),
    ("n", "nano", -9),
    ("p", "pico", -12),
    ("h", "hecto", 2),
    ("da", "deca", 1),
];

/// Whether a bare word after a number begins a unit. Single letters do not: they are variables.
pub(crate) fn begins(word: &str) -> bool {
    word.len() > 1 && (lookup(word).is_some() || matches!(word, "square" | "cubic" | "sq" | "cu"))
        || word.chars().count() > 3
            && word.is_ascii()
            && word.bytes().all(|b| b.is_ascii_lowercase())
            && super::names::function_name(word).is_none()
            && super::names::greek(word).is_none()
            && !matches!(word, "sqrt" | "cbrt" | "infinity" | "infty" | "binom" | "binomial")
        || matches!(word, "th" | "st" | "nd" | "rd")
        || !word.is_ascii()
}

/// Whether words after a number only say what is counted. Words that negate, compare, calculate or offer something else do not:
/// `7 or 8`, `7 squared` and `7 is wrong` are not 7.
pub(crate) fn describes(text: &str) -> bool {
    const OTHERWISE: &str = "\
        nope and or maybe perhaps possibly probably about around approximately roughly nearly incorrect wrong \
        false to more less least most fewer plus minus times squared cubed factorial over divided multiplied \
        mod modulo power pi half third quarter halves thirds quarters double twice negative positive root \
        per either neither nor but instead except versus vs between inclusive exclusive i zero one two three \
        four five six seven eight nine ten infinity respectively otherwise else unknown undefined base \
        eleven twelve dozen hundred thousand million billion trillion percent many few several up down above \
        below under beyond greater smaller larger without never nothing cannot isnt wait actually sorry \
        rather correction another also both";
    let words = super::text::comparable(text);
    words.split(' ').count() <= 3
        && !words.contains(|c: char| c.is_ascii_digit() || "+*/^=<>_%\\".contains(c))
        && words.split(' ').all(|word| {
            let neutral = matches!(word, "any" | "every" | "each" | "of");
            neutral || !OTHERWISE.split(' ').any(|other| other == word) && !super::prose::is_function_word(word)
        })
}

/// A word after a number that changes its value.
pub(crate) enum Multiplier {
    /// A hundredth.
    Percent,
    /// This many times.
    Times(Expr),
}

/// The multiplier a word is.
pub(crate) fn multiplier(word: &str) -> Option<Multiplier> {
    let power = match word {
        "percent" => return Some(Multiplier::Percent),
        "dozen" => 12,
        "hundred" => 100,
        "thousand" => 1_000,
        "million" => 1_000_000,
        "billion" => 1_000_000_000,
        "trillion" => 1_000_000_000_000,
        _ => return None,
    };
    Some(Multiplier::Times(Expr::int(power)))
}

/// Whether a single letter is a unit's symbol, for letters that are set upright.
pub(crate) fn is_letter(letter: &str) -> bool {
    letter.len() == 1 && !matches!(letter, "e" | "i" | "d") && lookup(letter).is_some()
}

fn lookup(word: &str) -> Option<(Dimensions, Rational)> {
    let plain = |word: &str| {
        PLAIN
            .iter()
            .find(|(names, ..)| names.contains(&word))
            .map(|(_, dimensions, num, den)| (*dimensions, Rational::ratio(*num, *den)))
    };
    let prefixed = |word: &str| {
        PREFIXED.iter().find_map(|(symbol, name, dimensions, num, den)| {
            if *num == 0 {
                return None;
            }
            let scale = |power: i32| {
                Rational::small(10)
                    .pow(i64::from(power), 64)
                    .and_then(|ten| ten.mul(&Rational::ratio(*num, *den)))
                    .map(|scale| (*dimensions, scale))
            };
            if word == *symbol || word == *name {
                return scale(0);
            }
            PREFIXES.iter().find_map(|(short, long, power)| {
                let matches = word.strip_prefix(short) == Some(symbol) || word.strip_prefix(long) == Some(name);
                if matches { scale(*power) } else { None }
            })
        })
    };
    let lower = word.to_lowercase();
    let singular = |word: &str| -> Option<String> {
        let stem = word.strip_suffix('s')?;
        (stem.len() > 1).then(|| stem.to_owned())
    };
    plain(word)
        .or_else(|| prefixed(word))
        .or_else(|| plain(&lower))
        .or_else(|| prefixed(&lower).filter(|_| lower.len() > 3))
        .or_else(|| {
            let stem = singular(&lower)?;
            plain(&stem).or_else(|| prefixed(&stem))
        })
}

/// What a text after a number measures: `km/h`, `cm^2`, `square inches`, `kg m s^{-2}`, or words.
pub(crate) fn measure(text: &str) -> Measure {
    // Elsewhere a dollar sign only delimits mathematics.
    if text.trim() == "$" {
        return Measure::Unit(DOLLAR, Rational::small(1));
    }
    parse(text).map_or_else(
        || Measure::Words(super::text::comparable(text)),
        |(dimensions, scale)| Measure::Unit(dimensions, scale),
    )
}

fn parse(text: &str) -> Option<(Dimensions, Rational)> {
    let mut dimensions = [0; 9];
    let mut scale = Rational::small(1);
    let mut sign = 1i8;
    let mut raised: Option<i8> = None;
    let mut rest = text.trim();
    let mut any = false;
    if rest.len() > 80 {
        return None;
    }
    while let Some(c) = rest.chars().next() {
        let skip = |rest: &'_ str, len: usize| rest.get(len..).unwrap_or_default().to_owned();
        if c.is_whitespace() || matches!(c, '~' | '{' | '}' | '.' | '·' | '*' | '⋅' | '(' | ')' | '$' | ',') {
            rest = rest.get(c.len_utf8()..)?;
            continue;
        }
        if c == '/' {
            sign = -1;
            rest = rest.get(1..)?;
            continue;
        }
        if c == '\\' {
            let after = skip(rest, 1);
            let len = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len()).max(1);
            match after.get(..len)? {
                "cdot" | "times" | "text" | "mathrm" | "textbf" | "mbox" | "," | ";" | " " | "!" | ":" | "mathbf"
                | "rm" | "textnormal" | "textit" | "quad" | "operatorname" => {}
                "circ" | "degree" => {
                    any = true;
                    for (own, more) in dimensions.iter_mut().zip(DEGREE) {
                        *own += more;
                    }
                }
                "$" => {
                    any = true;
                    for (own, more) in dimensions.iter_mut().zip(DOLLAR) {
                        *own += more;
                    }
                }
                _ => return None,
            }
            rest = rest.get(1 + len..)?;
            continue;
        }
        let len = rest
            .find(|c: char| !(c.is_alphabetic() || matches!(c, '°' | '$' | '€' | '£' | '¥' | '¢' | '₹')))
            .unwrap_or(rest.len());
        let word = rest.get(..len)?;
        match word {
            "" => return None,
            "per" => sign = -1,
            "of" => {}
            "square" | "squared" | "sq" if word != "squared" => raised = Some(2),
            "cubic" | "cu" => raised = Some(3),
            _ => {
                let (own, own_scale) = lookup(word)?;
                any = true;
                rest = rest.get(len..)?;
                let mut power = raised.take().unwrap_or(1);
                let after = rest.trim_start_matches([' ', '}']);
                if let Some(exponent) = after.strip_prefix('^') {
                    let exponent = exponent.trim_start_matches(['{', ' ']);
                    let end = exponent.find(|c: char| !(c.is_ascii_digit() || c == '-')).unwrap_or(exponent.len());
                    power = exponent.get(..end)?.parse().ok()?;
                    rest = exponent.get(end..)?;
                } else if let Some(tail) = after.strip_prefix('²') {
                    (power, rest) = (2, tail);
                } else if let Some(tail) = after.strip_prefix('³') {
                    (power, rest) = (3, tail);
                } else if let Some(tail) = after.strip_prefix("squared") {
                    (power, rest) = (2, tail);
                } else if let Some(tail) = after.strip_prefix("cubed") {
                    (power, rest) = (3, tail);
                }
                if !(-9..=9).contains(&power) {
                    return None;
                }
                let power = power * sign;
                for (sum, one) in dimensions.iter_mut().zip(own) {
                    *sum = i8::checked_add(*sum, one.checked_mul(power)?)?;
                }
                scale = scale.mul(&own_scale.pow(i64::from(power), 4_000)?)?;
                continue;
            }
        }
        rest = rest.get(len..)?;
    }
    any.then_some((dimensions, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        matches!(measure(a), Measure::Unit(..)) && measure(a) == measure(b)
    }

    #[test]
    fn spellings_of_one_unit_agree() {
        assert!(same("km/h", "kilometers per hour"));
        assert!(same("cm^2", "square centimeters"));
        assert!(same("m s^{-1}", "m/s"));
        assert!(same("N", "kg m/s^2"));
        assert!(same("degrees", "°"));
    }

    #[test]
    fn scales_are_exact() {
        let (Measure::Unit(_, km), Measure::Unit(_, m)) = (measure("km"), measure("m")) else {
            panic!("units");
        };
        assert_eq!(km.div(&m), Some(Rational::small(1_000)));
        assert!(matches!(measure("apples"), Measure::Words(_)));
    }
}
