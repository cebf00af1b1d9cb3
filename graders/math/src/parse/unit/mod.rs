//! Units of measurement: which texts after a number are units, and what they measure. Reads printed
//! text. [`table`] defines the units, [`counted`] the words that are not units but name what is
//! counted.

pub(crate) mod counted;
pub(crate) mod siunitx;
mod symbols;
mod table;

use crate::number::Rational;
use crate::parse::number_words;
use crate::parse::printed::printed;
use table::{Dimensions, lookup};

/// Longest text that is read as a unit, in bytes.
const MAX_BYTES: usize = 80;

/// Largest absolute value of the power of one unit.
const MAX_POWER: i8 = 9;

/// The names of the coherent units of the base quantities, in the order of [`Dimensions`].
pub(crate) const COHERENT: [&str; 21] = [
    "m", "kg", "s", "A", "K", "mol", "rad", "bit", "cd", "unit", "$", "€", "£", "¥", "yuan", "₹",
    "₩", "₽", "franc", "peso", "฿",
];

/// A unit: `scale · π^half_turns` coherent units. For temperatures `zero` is the absolute value of
/// absolute zero in this unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) dimensions: Dimensions,
    pub(crate) scale: Rational,
    pub(crate) half_turns: i8,
    pub(crate) zero: Rational,
}

impl Unit {
    fn new(dimensions: Dimensions, scale: Rational) -> Self {
        Self {
            dimensions,
            scale,
            half_turns: 0,
            zero: Rational::small(0),
        }
    }

    /// Multiplies the unit by a power of `other`; `None` on overflow.
    fn times(&mut self, other: &Self, power: i8) -> Option<()> {
        for (sum, one) in self.dimensions.iter_mut().zip(other.dimensions) {
            *sum = sum.checked_add(one.checked_mul(power)?)?;
        }
        self.scale = self.scale.mul(&other.scale.pow(i64::from(power), 4_000)?)?;
        self.half_turns = self
            .half_turns
            .checked_add(other.half_turns.checked_mul(power)?)?;
        Some(())
    }

    /// Whether both are units of one kind, such as length or time, that can be added.
    pub(crate) fn same_kind(&self, other: &Self) -> bool {
        self.dimensions == other.dimensions
            && self.half_turns == other.half_turns
            && self.zero == other.zero
    }
}

/// The meaning of a text after a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Measure {
    /// A unit, or all units with this name, the usual one first: `pounds` are a mass and money.
    Units(Vec<Unit>),
    /// Words that are not a unit, in a comparable form.
    Words(String),
}

/// The meaning of a text after a number: `km/h`, `cm^2`, `square inches`, `kg m s^{-2}`, or words.
pub(crate) fn measure(text: &str) -> Measure {
    // In other texts a dollar sign only delimits mathematics.
    let units = if text.trim() == "$" {
        units("$")
    } else {
        printed(text).and_then(|text| all_units(&text))
    };
    units.map_or_else(
        || Measure::Words(super::text::comparable(text)),
        Measure::Units,
    )
}

/// Whether a text after a number is a unit.
pub(crate) fn is_unit(text: &str) -> bool {
    matches!(measure(text), Measure::Units(_))
}

/// Whether a bare word after a number begins a unit. Single letters do not: they are variables.
pub(crate) fn begins(word: &str) -> bool {
    word.len() > 1 && (lookup(word).is_some() || matches!(word, "square" | "cubic" | "sq" | "cu"))
        || word.chars().count() > 3
            && word.is_ascii()
            && word.bytes().all(|b| b.is_ascii_lowercase())
            && super::names::function_name(word).is_none()
            && super::names::greek(word).is_none()
            && !matches!(
                word,
                "sqrt" | "cbrt" | "infinity" | "infty" | "binom" | "binomial"
            )
        || matches!(word, "th" | "st" | "nd" | "rd")
        || !word.is_ascii()
}

/// Whether a single upright letter is the symbol of a unit.
pub(crate) fn is_letter(letter: &str) -> bool {
    letter.len() == 1 && "mgshLlAVWNJKCTtFHSB".contains(letter)
}

/// The units that a printed text may be.
pub(crate) fn units(text: &str) -> Option<Vec<Unit>> {
    let text = text.trim();
    // A percentage is not a number of cents.
    if text.is_empty() || text.len() > MAX_BYTES || number_words::percentage(text).is_some() {
        return None;
    }
    // Only a name alone has all its meanings, and only then a temperature has its own zero.
    if let Some(units) = lookup(text.trim_end_matches('.')) {
        return Some(units);
    }
    Reader::read(text, Glued::Never).map(|unit| vec![unit])
}

/// The units that a printed text after a number may be, if it cannot be a product of variables:
/// symbols of units may follow each other without a blank.
fn all_units(text: &str) -> Option<Vec<Unit>> {
    let mut all = units(text);
    let text = text.trim();
    if text.len() > MAX_BYTES || !text.contains(|c: char| c.is_ascii_uppercase() || c == '^') {
        return all;
    }
    let modes: &[Glued] = match all {
        Some(_) => &[Glued::Raised],
        None => &[Glued::Unknown, Glued::Raised],
    };
    for unit in modes.iter().filter_map(|glued| Reader::read(text, *glued)) {
        let all = all.get_or_insert_default();
        if !all.contains(&unit) {
            all.push(unit);
        }
    }
    all
}

/// Which runs of letters are several symbols.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Glued {
    Never,
    /// Those that are not a unit: `Nm`.
    Unknown,
    /// Also units before a negative power: `ms^{-1}`.
    Raised,
}

struct Reader<'a> {
    rest: &'a str,
    /// -1 after `/` and `per`, where powers are negative.
    sign: i8,
    /// The power from a word before the unit.
    raised: i8,
    open: usize,
    all: Unit,
    any: bool,
    glued: Glued,
    /// Lengths of the symbols that the letters at the start of `rest` are, last one first.
    symbols: Vec<usize>,
    /// Whether a run of letters was several symbols.
    splits: bool,
}

impl<'a> Reader<'a> {
    /// The unit that a whole text is. Except with [`Glued::Never`] it contains a run of symbols.
    fn read(text: &'a str, glued: Glued) -> Option<Unit> {
        let mut reader = Self {
            rest: text,
            sign: 1,
            raised: 1,
            open: 0,
            all: Unit::new([0; 21], Rational::small(1)),
            any: false,
            glued,
            symbols: Vec::new(),
            splits: false,
        };
        while !reader.rest.is_empty() {
            reader.step()?;
        }
        let complete = reader.any && reader.open == 0 && reader.raised == 1;
        (complete && reader.splits == (glued != Glued::Never)).then_some(reader.all)
    }

    fn step(&mut self) -> Option<()> {
        let c = self.rest.chars().next()?;
        match c {
            ' ' | '·' | '.' => {}
            '-' if self.any => {}
            '(' => self.open += 1,
            ')' => self.open = self.open.checked_sub(1)?,
            '/' | '每' => self.sign = -1,
            _ => return self.word(),
        }
        self.rest = self.rest.get(c.len_utf8()..)?;
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let in_word = |c: char| c.is_alphabetic() || "°$€£¥¢₹₩₽฿".contains(c);
        let len = self
            .rest
            .find(|c: char| !in_word(c))
            .unwrap_or(self.rest.len());
        let word = self.rest.get(..len).filter(|word| !word.is_empty())?;
        let power = match word {
            "per" | "par" | "pro" | "por" => {
                self.sign = -1;
                return self.skip(len);
            }
            "of" | "de" => return self.skip(len),
            "square" | "sq" | "Square" => 2,
            "cubic" | "cu" | "Cubic" => 3,
            _ => 1,
        };
        if power > 1 {
            if self.raised > 1 {
                return None;
            }
            self.raised = power;
            return self.skip(len);
        }
        for (prefix, power) in [
            ("平方", 2),
            ("立方", 3),
            ("Quadrat", 2),
            ("quadrat", 2),
            ("Kubik", 3),
            ("kubik", 3),
        ] {
            if self.raised == 1 && word.len() > prefix.len() && word.starts_with(prefix) {
                self.raised = power;
                return self.skip(prefix.len());
            }
        }
        if self.symbols.is_empty() && self.glued != Glued::Never {
            self.symbols = self.glued_symbols(word).unwrap_or_default();
            self.splits |= !self.symbols.is_empty();
        }
        let (units, len) = match self.symbols.pop() {
            Some(len) => (lookup(word.get(..len)?)?, len),
            None => self.longest(word)?,
        };
        let unit = units.first()?;
        self.skip(len)?;
        let power = self.power()?;
        self.any = true;
        self.all.times(unit, power)
    }

    /// The lengths of the symbols that a word is, last one first. A word of lower-case letters is
    /// several symbols only before a negative power.
    fn glued_symbols(&self, word: &str) -> Option<Vec<usize>> {
        let negative = self.rest.get(word.len()..)?.starts_with("^-");
        let capital = word.contains(|c: char| c.is_ascii_uppercase());
        let splits = match lookup(word) {
            Some(_) => negative && self.glued == Glued::Raised,
            None => negative || capital,
        };
        if !splits {
            return None;
        }
        symbols::split(word)
    }

    /// The longest name at this position: two words, one, or a prefix of a word in a script without
    /// blanks.
    fn longest(&self, word: &str) -> Option<(Vec<Unit>, usize)> {
        let after = self.rest.get(word.len()..)?;
        let blanks = after.len() - after.trim_start_matches([' ', '-']).len();
        if blanks > 0 {
            let next = after.get(blanks..)?;
            let end = next
                .find(|c: char| !c.is_alphabetic())
                .unwrap_or(next.len());
            let second = next.get(..end)?;
            let both = if word == "°" {
                format!("{word}{second}")
            } else {
                format!("{word} {second}")
            };
            if end > 0
                && let Some(units) = lookup(&both)
            {
                return Some((units, word.len() + blanks + end));
            }
        }
        if let Some(units) = lookup(word) {
            return Some((units, word.len()));
        }
        if word.is_ascii() {
            return None;
        }
        let mut ends = word
            .char_indices()
            .map(|(at, _)| at)
            .skip(1)
            .collect::<Vec<_>>();
        ends.reverse();
        ends.into_iter()
            .find_map(|end| lookup(word.get(..end)?).map(|units| (units, end)))
    }

    /// The power of the unit just read, in any notation.
    fn power(&mut self) -> Option<i8> {
        let mut power = std::mem::replace(&mut self.raised, 1);
        let after = self.rest.trim_start();
        let mut taken = None;
        if let Some(exponent) = after.strip_prefix('^') {
            let exponent = exponent.trim_start();
            let end = exponent
                .find(|c: char| !(c.is_ascii_digit() || c == '-'))
                .unwrap_or(exponent.len());
            taken = Some((exponent.get(..end)?.parse().ok()?, exponent.get(end..)?));
        } else if self.rest.starts_with(['2', '3'])
            && !self
                .rest
                .get(1..)?
                .starts_with(|c: char| c.is_alphanumeric())
        {
            taken = Some((
                if self.rest.starts_with('2') { 2 } else { 3 },
                self.rest.get(1..)?,
            ));
        } else {
            const SUFFIXES: &[(&str, i8)] = &[
                ("squared", 2),
                ("cubed", 3),
                ("carrés", 2),
                ("carré", 2),
                ("cuadrados", 2),
                ("cuadrado", 2),
                ("cubes", 3),
                ("cúbicos", 3),
            ];
            for (suffix, own) in SUFFIXES {
                if let Some(tail) = after.strip_prefix(suffix) {
                    taken = Some((*own, tail));
                    break;
                }
            }
        }
        if let Some((own, tail)) = taken {
            if power != 1 {
                return None;
            }
            (power, self.rest) = (own, tail);
        }
        (-MAX_POWER..=MAX_POWER)
            .contains(&power)
            .then_some(power * self.sign)
    }

    fn skip(&mut self, len: usize) -> Option<()> {
        self.rest = self.rest.get(len..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        matches!(measure(a), Measure::Units(_)) && measure(a) == measure(b)
    }

    #[test]
    fn notations_of_a_unit_agree() {
        for (a, b) in [
            ("km/h", "kilometers per hour"),
            ("cm^2", "square centimeters"),
            ("m s^{-1}", "m/s"),
            ("m/s/s", "m/s²"),
            ("N", "kg m/s^2"),
            ("degrees", "°"),
            (r"\frac{J}{mol\cdot K}", r"J/(mol K)"),
            (r"\frac{\text{miles}}{\text{hour}}", "mph"),
            (r"\text{ k}\Omega", "kilo-ohms"),
            (r"\mu\text F", "uF"),
            ("g/cm^3", "g/mL"),
            ("mol/L", "M"),
            ("J/s", "W"),
            ("N/kg", "m/s^2"),
            ("rev/min", "rpm"),
            (r"^\circ\text C", "degrees Celsius"),
            ("square units", r"\text{units}^2"),
            ("平方厘米", "cm²"),
            ("米/秒", "m/s"),
            ("千米每小时", "km/h"),
            ("mètres carrés", "Quadratmeter"),
            ("sq. ft.", "ft2"),
            ("Nm", "N m"),
            ("kJmol^{-1}", "kJ/mol"),
            (r"Jkg^{-1}K^{-1}", "J/(kg K)"),
            (r"kgms^{-1}", "kg m/s"),
            ("VA", "W"),
        ] {
            assert!(
                same(a, b),
                "{a} against {b}: {:?} {:?}",
                measure(a),
                measure(b)
            );
        }
    }

    #[test]
    fn reads_both_meanings_of_a_name() {
        let Measure::Units(pounds) = measure("pounds") else {
            panic!("a unit")
        };
        assert_eq!(pounds.len(), 2);
    }

    #[test]
    fn symbols_before_negative_power_are_a_product() {
        for (text, product) in [
            ("ms^{-1}", "m/s"),
            ("kms^{-2}", "km/s^2"),
            ("rads^{-1}", "rad/s"),
            ("mNm^{-1}", "mN/m"),
        ] {
            let Measure::Units(units) = measure(text) else {
                panic!("a unit: {text}")
            };
            let last = units.last().cloned().map(|unit| Measure::Units(vec![unit]));
            assert_eq!(last, Some(measure(product)), "{text}");
        }
    }

    #[test]
    fn reads_other_texts_as_words() {
        for text in [
            "apples", "cats", "gems", "CDs", "cm, 6", "min(2", "dB", "m^2^2", "square", "/", "x",
        ] {
            assert!(!is_unit(text), "{text}");
        }
    }

    #[test]
    fn scales_are_exact() {
        let (Measure::Units(km), Measure::Units(m)) = (measure("km"), measure("m")) else {
            panic!("units");
        };
        assert_eq!(km[0].scale.div(&m[0].scale), Some(Rational::small(1_000)));
    }
}
