//! Numbers in words: English, small numbers in French, German and Spanish, Chinese numerals, and
//! words that multiply a number in digits. A sentence that only begins with a number is not one.

mod chinese;
mod table;

use crate::number::Rational;
use crate::tree::Expr;
use table::{denominator, factor, share, simple};

/// A number in words at the start of a text, and the rest.
pub(crate) fn leading(text: &str) -> Option<(Expr, &str)> {
    let text = text.trim();
    if let Some((value, rest)) = chinese::leading(text) {
        return Some((value, rest.trim_start()));
    }
    // Formulas begin with letters as well.
    let first = text
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(text.len());
    if first == 0
        || first == 1 && !text.starts_with(['a', 'A'])
        || text
            .get(first..)
            .is_some_and(|rest| !rest.is_empty() && !rest.starts_with([' ', '-']))
    {
        return None;
    }
    let words = NumberWords::of(text);
    let (value, next) = words.number()?;
    Some((Expr::Number(value), words.after(next)))
}

/// Whether a word is a number or multiplies one.
pub(crate) fn counts(word: &str) -> bool {
    simple(word).is_some()
        || denominator(word).is_some()
        || factor(word).is_some()
        || share(word).is_some()
        || matches!(word, "cent" | "prozent" | "ciento" | "percentage")
        || word.chars().any(|c| {
            "零〇一二两三四五六七八九十百千万萬亿億半".contains(c)
                || word.starts_with("分之")
                || c == '成'
        })
}

/// The effect of a word after a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Multiplier {
    /// A hundredth.
    Percent,
    /// This many times.
    Times(Rational),
}

/// A percent or per mille sign or word at the start of the text after a number, and the rest.
pub(crate) fn percentage(text: &str) -> Option<(Multiplier, &str)> {
    const NAMES: &[&str] = &[
        "percent",
        "per cent",
        "pour cent",
        "prozent",
        "por ciento",
        "pct",
        "%",
    ];
    const THOUSANDTHS: &[&str] = &[
        "‰",
        "per mille",
        "per mil",
        "promille",
        "pour mille",
        "por mil",
    ];
    let after = |names: &[&str]| {
        names.iter().find_map(|name| {
            let head = text.get(..name.len())?;
            let rest = text.get(name.len()..)?;
            let ends = !rest.starts_with(char::is_alphanumeric);
            (head.eq_ignore_ascii_case(name) && ends).then(|| rest.trim_start())
        })
    };
    after(NAMES)
        .map(|rest| (Multiplier::Percent, rest))
        .or_else(|| {
            after(THOUSANDTHS).map(|rest| (Multiplier::Times(Rational::ratio(1, 1_000)), rest))
        })
}

/// A multiplying word at the start of the text after a number, and the rest.
pub(crate) fn multiplier(text: &str) -> Option<(Multiplier, &str)> {
    if let Some(found) = percentage(text) {
        return Some(found);
    }
    for (sign, power) in [
        ("万亿", 12),
        ("百万", 6),
        ("千万", 7),
        ("十万", 5),
        ("万", 4),
        ("亿", 8),
        ("千", 3),
        ("百", 2),
        ("成", -1),
    ] {
        if let Some(rest) = text.strip_prefix(sign) {
            return Some((
                Multiplier::Times(Rational::small(10).pow(power, 64)?),
                rest.trim_start(),
            ));
        }
    }
    let end = text
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(text.len());
    let word = text.get(..end)?.to_lowercase();
    let value = factor(&word)
        .map(Rational::small)
        .or_else(|| share(&word))
        .or_else(|| denominator(&word).map(|parts| Rational::ratio(1, parts)))?;
    let rest = text.get(end..)?.trim_start();
    let rest = ["of a ", "of ", "de "]
        .iter()
        .find_map(|of| rest.strip_prefix(of))
        .unwrap_or(rest);
    Some((Multiplier::Times(value), rest))
}

/// The words of a text, each with the index at which it ends.
struct NumberWords<'a> {
    text: &'a str,
    words: Vec<(String, usize)>,
}

/// Most words of a number.
const MAX_WORDS: usize = 30;

impl<'a> NumberWords<'a> {
    fn of(text: &'a str) -> Self {
        let mut words = Vec::new();
        let mut at = 0;
        for part in text.split_inclusive([' ', '-']).take(MAX_WORDS) {
            let word = part.trim_end_matches([' ', '-']);
            if !word.is_empty() {
                words.push((word.to_lowercase(), at + word.len()));
            }
            at += part.len();
        }
        Self { text, words }
    }

    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |(word, _)| word)
    }

    /// The text after the first `count` words.
    fn after(&self, count: usize) -> &'a str {
        let end = count
            .checked_sub(1)
            .and_then(|last| self.words.get(last))
            .map_or(0, |(_, end)| *end);
        self.text.get(end..).unwrap_or_default().trim_start()
    }

    /// A number at the start, and how many words it has.
    fn number(&self) -> Option<(Rational, usize)> {
        if let Some(found) = self.fraction(0) {
            return Some(found);
        }
        let (whole, mut next) = self.cardinal(0)?;
        let mut value = Rational::small(whole);
        if matches!(self.word(next), "point" | "virgule" | "komma" | "coma") {
            let digit = |at: usize| simple(self.word(at)).filter(|digit| *digit < 10);
            let mut unit = Rational::small(1);
            let mut at = next + 1;
            while let Some(digit) = digit(at) {
                unit = unit.mul(&Rational::ratio(1, 10))?;
                value = value.add(&unit.mul(&Rational::small(digit))?)?;
                at += 1;
            }
            return (at > next + 1).then_some((value, at));
        }
        if matches!(self.word(next), "and" | "et" | "y" | "und")
            && let Some((part, end)) = self.fraction(next + 1)
        {
            value = value.add(&part)?;
            next = end;
        }
        Some((value, next))
    }

    /// `three quarters`, `a half`, `ein Drittel`, `half`.
    fn fraction(&self, at: usize) -> Option<(Rational, usize)> {
        if matches!(
            self.word(at),
            "half" | "halb" | "medio" | "demi" | "media" | "demie"
        ) {
            return Some((Rational::ratio(1, 2), at + 1));
        }
        let (parts, next) = match self.word(at) {
            "a" | "an" | "la" | "die" => (1, at + 1),
            _ => self.cardinal(at)?,
        };
        let whole = denominator(self.word(next))?;
        Some((Rational::ratio(parts, whole), next + 1))
    }

    /// An integer from the word `at` on, and the index of the word after it.
    fn cardinal(&self, at: usize) -> Option<(i64, usize)> {
        let (mut total, mut group, mut scale) = (0i64, 0i64, i64::MAX);
        let mut at = at;
        let mut any = false;
        let mut zero = false;
        loop {
            let word = self.word(at);
            // `soixante-dix`, `quatre-vingts`
            let paired = match (word, self.word(at + 1)) {
                ("soixante", "dix") => Some(70),
                ("quatre", "vingt" | "vingts") => Some(80),
                _ => None,
            };
            if let Some(value) = simple(word).filter(|_| paired.is_none()).or(paired) {
                let fits = match value {
                    0 => !any,
                    1..10 => group % 10 == 0 && group % 100 != 10,
                    _ => group % 100 == 0,
                };
                if !fits || zero {
                    break;
                }
                zero = value == 0;
                group += value;
                at += if paired.is_some() { 2 } else { 1 };
                any = true;
                continue;
            }
            let times = factor(word).filter(|_| !word.ends_with('s'));
            if word == "a" && !any && factor(self.word(at + 1)).is_some() {
                group = 1;
                at += 1;
                any = true;
                continue;
            }
            match times {
                Some(100) if (1..100).contains(&group) => group *= 100,
                Some(100) if group == 0 && !any && matches!(word, "hundert") => group = 100,
                Some(1_000) if !any && matches!(word, "mille" | "mil" | "tausend") => {
                    (total, scale) = (1_000, 1_000);
                }
                Some(12 | 20 | 144)
                    if any && total == 0 && matches!(word, "dozen" | "score" | "gross") =>
                {
                    return group.checked_mul(times?).map(|value| (value, at + 1));
                }
                Some(times @ 1_000..) if group > 0 && times < scale => {
                    total = total.checked_add(group.checked_mul(times)?)?;
                    (group, scale) = (0, times);
                }
                _ => {
                    let next = simple(self.word(at + 1)).unwrap_or(0);
                    let joins = match word {
                        "and" => any && group % 100 == 0 && (group > 0 || total > 0) && next > 0,
                        "et" | "y" => {
                            group % 100 >= 20 && group % 10 == 0 && (1..=11).contains(&next)
                        }
                        _ => false,
                    };
                    // `one hundred and a half`, `one hundred and three quarters`
                    if !joins || self.fraction_follows(at + 1) {
                        break;
                    }
                }
            }
            any = true;
            at += 1;
        }
        any.then_some((total.checked_add(group)?, at))
    }

    /// Whether a number of one word and a denominator follow.
    fn fraction_follows(&self, at: usize) -> bool {
        simple(self.word(at)).is_some() && denominator(self.word(at + 1)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_number(text: &str) -> String {
        match leading(text) {
            Some((value, "")) => value.to_string(),
            Some((value, rest)) => format!("{value} then {rest}"),
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn reads_english_numbers() {
        for (text, value) in [
            ("zero", "0"),
            ("Twenty-one", "21"),
            ("nineteen", "19"),
            ("one hundred and twenty-five", "125"),
            ("one hundred twenty five", "125"),
            ("two thousand three hundred", "2300"),
            ("seven million", "7000000"),
            ("fifteen hundred", "1500"),
            ("a dozen", "12"),
            ("two dozen", "24"),
            ("a half", "1/2"),
            ("half", "1/2"),
            ("one-third", "1/3"),
            ("three quarters", "3/4"),
            ("one and a half", "3/2"),
            ("two and one third", "7/3"),
            ("three point one four", "157/50"),
            ("five dollars", "5 then dollars"),
            ("twenty and five", "20 then and five"),
            ("one two", "1 then two"),
            ("nobody", "nothing"),
            ("a", "nothing"),
            ("hundred", "nothing"),
        ] {
            assert_eq!(read_number(text), value, "{text}");
        }
    }

    #[test]
    fn reads_numbers_in_other_languages() {
        for (text, value) in [
            ("vingt et un", "21"),
            ("un tiers", "1/3"),
            ("einundzwanzig", "21"),
            ("drei Viertel", "3/4"),
            ("un tercio", "1/3"),
            ("treinta y uno", "31"),
            ("三", "3"),
            ("二十一", "21"),
            ("一千", "1000"),
            ("一万", "10000"),
            ("两百零五", "205"),
            ("一亿二千万", "120000000"),
            ("三分之一", "1/3"),
            ("百分之六十", "60%"),
            ("三点五", "7/2"),
            ("三又二分之一", "7/2"),
            ("5分之一", "1/5"),
            ("三角形", "3 then 角形"),
            ("千米", "nothing"),
        ] {
            assert_eq!(read_number(text), value, "{text}");
        }
    }

    #[test]
    fn reads_multipliers() {
        assert_eq!(
            multiplier("million dollars"),
            Some((Multiplier::Times(Rational::small(1_000_000)), "dollars"))
        );
        assert_eq!(multiplier("pour cent"), Some((Multiplier::Percent, "")));
        assert_eq!(
            multiplier("万元"),
            Some((Multiplier::Times(Rational::small(10_000)), "元"))
        );
        assert_eq!(multiplier("apples"), None);
    }
}
