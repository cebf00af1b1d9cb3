//! Right `math` answers in other forms than the gold. Only forms that are right whatever the
//! question is: a row whose grader rejects one of them has a gold that is too specific.

/// Maximum length of a gold that has variants, in bytes.
const MAX_GOLD: usize = 200;

/// Words after a number that belong to its value, so that the number alone is another answer.
const NOT_UNITS: &[&str] = &[
    "and", "dozen", "e", "hundred", "i", "million", "billion", "mod", "or", "percent", "pi",
    "thousand", "to", "x",
];

/// The variants of a gold, each with a description.
pub(super) fn right_variants(gold: &str) -> Vec<(&'static str, String)> {
    let gold = gold.trim();
    if gold.is_empty() || gold.len() > MAX_GOLD {
        return Vec::new();
    }
    let inner = without_dollars(gold);
    let candidates = [
        ("the gold without its note", without_note(inner)),
        ("the number without its unit", without_unit(inner)),
        (
            "the letter of the option",
            option(inner).map(|(letter, _)| letter),
        ),
        (
            "the text of the option",
            option(inner).map(|(_, text)| text),
        ),
        ("the number without its currency", without_currency(inner)),
        ("the number without separators", without_separators(inner)),
        ("the fraction as a decimal", fraction_as_decimal(inner)),
        ("the decimal as a fraction", decimal_as_fraction(inner)),
        ("the right side of the equation", right_side(inner)),
    ];
    let variants = candidates
        .into_iter()
        .filter_map(|(form, variant)| Some((form, variant?)))
        .filter(|(_, variant)| variant != gold && !variant.is_empty());
    variants.collect()
}

fn without_dollars(gold: &str) -> &str {
    let inner = gold
        .strip_prefix('$')
        .and_then(|rest| rest.strip_suffix('$'));
    inner
        .filter(|inner| !inner.is_empty())
        .unwrap_or(gold)
        .trim()
}

/// Whether a text is a plain number, such as `-1,200.5`.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.ends_with(|c: char| c.is_ascii_digit())
        && digits
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
        && digits.matches('.').count() <= 1
}

/// `9` of `9 (apples)`, if the note in parentheses is made of words.
fn without_note(gold: &str) -> Option<String> {
    let (before, note) = gold.strip_suffix(')')?.rsplit_once('(')?;
    let before = before.trim_end();
    let is_note = note.chars().any(char::is_alphabetic)
        && note
            .chars()
            .all(|c| c.is_alphabetic() || c.is_whitespace() || matches!(c, '-' | '\'' | ','))
        && note.chars().filter(|c| c.is_alphabetic()).count() > 2;
    (is_note && is_number(before)).then(|| before.to_owned())
}

/// `9` of `9 apples`.
fn without_unit(gold: &str) -> Option<String> {
    let end = gold.find(|c: char| c.is_whitespace())?;
    let (number, unit) = gold.split_at(end);
    let unit = unit.trim();
    let unit = unit
        .strip_prefix("\\text{")
        .and_then(|rest| rest.strip_suffix('}'))
        .unwrap_or(unit);
    let mut words = unit.split_whitespace();
    let is_unit = unit.chars().all(|c| c.is_alphabetic() || c == ' ')
        && words.clone().count() <= 3
        && unit.len() > 1
        && !words.any(|word| NOT_UNITS.contains(&word.to_ascii_lowercase().as_str()));
    (is_number(number) && is_unit).then(|| number.to_owned())
}

/// The letter and the text of `(B) 12` or `B. 12`.
fn option(gold: &str) -> Option<(String, String)> {
    let rest = gold.strip_prefix('(').unwrap_or(gold);
    let letter = rest.chars().next().filter(|c| ('A'..='E').contains(c))?;
    let after = &rest[1..];
    let text = after
        .strip_prefix(") ")
        .or_else(|| after.strip_prefix(". "))
        .or_else(|| after.strip_prefix(": "))?;
    let text = text.trim();
    is_number(text).then(|| (letter.to_string(), text.to_owned()))
}

/// `5` of `\$5` or `$5`.
fn without_currency(gold: &str) -> Option<String> {
    let number = gold
        .strip_prefix("\\$")
        .or_else(|| gold.strip_prefix('$'))
        .or_else(|| gold.strip_prefix('€'))
        .or_else(|| gold.strip_prefix('£'))?
        .trim();
    is_number(number).then(|| number.to_owned())
}

/// `1200` of `1,200`.
fn without_separators(gold: &str) -> Option<String> {
    let (digits, fraction) = gold.split_once('.').unwrap_or((gold, ""));
    let mut groups = digits.strip_prefix('-').unwrap_or(digits).split(',');
    let first = groups.next()?;
    let are_thousands = (1..=3).contains(&first.len())
        && groups.clone().count() > 0
        && groups.all(|group| group.len() == 3)
        && !fraction.contains(',');
    (are_thousands && is_number(gold)).then(|| gold.replace(',', ""))
}

/// `0.75` of `\frac{3}{4}` or `3/4`, if the decimal is exact and short.
fn fraction_as_decimal(gold: &str) -> Option<String> {
    let (sign, gold) = gold
        .strip_prefix('-')
        .map_or(("", gold), |rest| ("-", rest));
    let (over, under) = gold
        .strip_prefix("\\frac{")
        .or_else(|| gold.strip_prefix("\\dfrac{"))
        .and_then(|rest| rest.strip_suffix('}')?.split_once("}{"))
        .or_else(|| gold.split_once('/'))?;
    let (over, under): (u64, u64) = (over.trim().parse().ok()?, under.trim().parse().ok()?);
    let scaled = over.checked_mul(10_000)?;
    if under < 2 || scaled % under != 0 || over % under == 0 {
        return None;
    }
    let scaled = scaled / under;
    let decimal = format!("{}.{:04}", scaled / 10_000, scaled % 10_000);
    Some(format!("{sign}{}", decimal.trim_end_matches('0')))
}

/// `\frac{3}{4}` of `0.75`, for at most three decimals.
fn decimal_as_fraction(gold: &str) -> Option<String> {
    let (sign, gold) = gold
        .strip_prefix('-')
        .map_or(("", gold), |rest| ("-", rest));
    let (whole, fraction) = gold.split_once('.')?;
    let is_short = (1..=3).contains(&fraction.len())
        && [whole, fraction]
            .iter()
            .all(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        && whole.len() <= 6
        && !whole.is_empty();
    if !is_short {
        return None;
    }
    let under = 10u64.pow(u32::try_from(fraction.len()).ok()?);
    let over = whole.parse::<u64>().ok()? * under + fraction.parse::<u64>().ok()?;
    let divisor = greatest_common_divisor(over, under);
    (over > 0).then(|| format!("{sign}\\frac{{{}}}{{{}}}", over / divisor, under / divisor))
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// `5` of `x = 5`.
fn right_side(gold: &str) -> Option<String> {
    let (left, right) = gold.split_once('=')?;
    let (left, right) = (left.trim(), right.trim());
    let is_name = left.len() == 1 && left.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_name && is_number(right)).then(|| right.to_owned())
}

#[cfg(test)]
mod tests {
    use super::right_variants;

    #[test]
    fn writes_right_answers_in_other_forms() {
        for (gold, variant) in [
            ("9 (apples)", "9"),
            ("12 apples", "12"),
            ("(B) 12", "B"),
            ("$5", "5"),
            ("1,200", "1200"),
            ("\\frac{3}{4}", "0.75"),
            ("-1/8", "-0.125"),
            ("0.75", "\\frac{3}{4}"),
            ("x = 5", "5"),
        ] {
            let variants = right_variants(gold);
            assert!(
                variants.iter().any(|(_, found)| found == variant),
                "{gold}: {variants:?}"
            );
        }
    }

    #[test]
    fn leaves_golds_whose_parts_are_other_answers() {
        for gold in [
            "5",
            "f(x)",
            "1/3",
            "2 and 3",
            "3 million",
            "(1, 2)",
            "x^2",
            "2 (x)",
            "1,2",
        ] {
            assert_eq!(right_variants(gold), [], "{gold}");
        }
    }
}
