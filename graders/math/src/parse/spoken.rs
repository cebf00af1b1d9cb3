//! Calculations in words: `the square root of 42`, `twice 21`, `40 plus 2`, `one more than 41`. A
//! text is only rewritten if it is such a calculation and nothing else.

/// Longest text that is read, in bytes.
const MAX_BYTES: usize = 160;

/// Most operations in one text: `half of the square root of 42` has two.
const MAX_DEPTH: usize = 3;

/// Phrases before an operand, with the formula in which `@` is the operand. One that begins another
/// is after it.
const BEFORE: &[(&str, &str)] = &[
    ("square root of", r"\sqrt{@}"),
    ("cube root of", r"\sqrt[3]{@}"),
    ("half of", r"\frac{@}{2}"),
    ("one half of", r"\frac{@}{2}"),
    ("half", r"\frac{@}{2}"),
    ("one third of", r"\frac{@}{3}"),
    ("third of", r"\frac{@}{3}"),
    ("two thirds of", r"\frac{2(@)}{3}"),
    ("one quarter of", r"\frac{@}{4}"),
    ("quarter of", r"\frac{@}{4}"),
    ("one fourth of", r"\frac{@}{4}"),
    ("fourth of", r"\frac{@}{4}"),
    ("one fifth of", r"\frac{@}{5}"),
    ("fifth of", r"\frac{@}{5}"),
    ("one tenth of", r"\frac{@}{10}"),
    ("tenth of", r"\frac{@}{10}"),
    ("double", "2(@)"),
    ("twice", "2(@)"),
    ("triple", "3(@)"),
    ("thrice", "3(@)"),
    ("square of", "(@)^2"),
    ("cube of", "(@)^3"),
    ("reciprocal of", r"\frac{1}{@}"),
    ("inverse of", r"\frac{1}{@}"),
    ("negative of", "-(@)"),
    ("opposite of", "-(@)"),
    ("factorial of", "(@)!"),
];

/// Phrases after an operand.
const AFTER: &[(&str, &str)] = &[
    ("squared", "(@)^2"),
    ("cubed", "(@)^3"),
    ("factorial", "(@)!"),
    ("doubled", "2(@)"),
    ("tripled", "3(@)"),
    ("halved", r"\frac{@}{2}"),
];

/// Phrases between two operands, with the formula in which `@` is the first and `#` the second.
const BETWEEN: &[(&str, &str)] = &[
    ("plus", "(@)+(#)"),
    ("minus", "(@)-(#)"),
    ("times", "(@)(#)"),
    ("multiplied by", "(@)(#)"),
    ("divided by", r"\frac{@}{#}"),
    ("more than", "(#)+(@)"),
    ("less than", "(#)-(@)"),
    ("to the power of", "(@)^{#}"),
];

/// Phrases before two operands that `and` joins.
const OF_TWO: &[(&str, &str)] = &[
    ("sum of", "(@)+(#)"),
    ("product of", "(@)(#)"),
    ("difference between", "(@)-(#)"),
    ("difference of", "(@)-(#)"),
    ("quotient of", r"\frac{@}{#}"),
    ("average of", r"\frac{(@)+(#)}{2}"),
    ("mean of", r"\frac{(@)+(#)}{2}"),
];

/// Numbers in words that may be operands.
const NUMBERS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

/// The text as a formula, if it is a calculation in words.
pub(super) fn rewritten(text: &str) -> Option<String> {
    if text.len() > MAX_BYTES || !text.contains(' ') {
        return None;
    }
    let text = text.trim().trim_end_matches('.');
    calculation(text, MAX_DEPTH)
}

fn calculation(text: &str, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let text = without_article(text);
    let of_one = |formula: &str, operand: &str| Some(formula.replace('@', &value(operand, depth)?));
    let of_two = |formula: &str, first: &str, second: &str| {
        let first = value(first, depth)?;
        let formula = formula.replace('#', &value(second, depth)?);
        Some(formula.replace('@', &first))
    };
    let before = || {
        let (operand, formula) = BEFORE
            .iter()
            .find_map(|(phrase, formula)| Some((after_phrase(text, phrase)?, formula)))?;
        of_one(formula, operand)
    };
    let of_pair = || {
        let (operands, formula) = OF_TWO
            .iter()
            .find_map(|(phrase, formula)| Some((after_phrase(text, phrase)?, formula)))?;
        let (first, second) = operands.split_once(" and ")?;
        of_two(formula, first, second)
    };
    let after = || {
        let (operand, last) = text.rsplit_once(' ')?;
        let (_, formula) = AFTER.iter().find(|(word, _)| *word == last)?;
        of_one(formula, operand)
    };
    let between = || {
        let parts = BETWEEN.iter().filter_map(|(phrase, formula)| {
            let (first, rest) = text.split_once(phrase)?;
            Some((first.strip_suffix(' ')?, rest.strip_prefix(' ')?, formula))
        });
        // `2 plus 3 times 4` may mean either order.
        let (first, second, formula) = parts.min_by_key(|(first, ..)| first.len())?;
        let single = !BETWEEN.iter().any(|(phrase, _)| second.contains(phrase));
        single.then(|| of_two(formula, first, second)).flatten()
    };
    before().or_else(of_pair).or_else(after).or_else(between)
}

/// An operand as a formula: a number, a short formula or another calculation.
fn value(text: &str, depth: usize) -> Option<String> {
    let text = without_article(text.trim());
    if let Some(number) = NUMBERS.iter().position(|word| *word == text) {
        return Some(number.to_string());
    }
    let formula = text.trim_matches('$');
    if !formula.contains('$') && is_formula(formula) {
        return Some(formula.to_owned());
    }
    calculation(text, depth)
}

/// Whether a text has digits and no words other than commands and single letters.
fn is_formula(text: &str) -> bool {
    let mut before = ' ';
    let mut letters = 0;
    let mut command = false;
    for c in text.chars() {
        if c.is_alphabetic() {
            command = before == '\\' || command && letters > 0;
            letters += 1;
        } else {
            letters = 0;
        }
        if letters > 1 && !command || matches!(c, ',' | ';' | '=' | '<' | '>' | ':') {
            return false;
        }
        before = c;
    }
    let depth = text.matches('{').count() == text.matches('}').count();
    let brackets = text.matches('(').count() == text.matches(')').count();
    text.contains(|c: char| c.is_ascii_digit()) && depth && brackets
}

fn without_article(text: &str) -> &str {
    ["the ", "a ", "The ", "A "]
        .iter()
        .find_map(|article| text.strip_prefix(article))
        .unwrap_or(text)
}

/// The text after a phrase and a blank at its start.
fn after_phrase<'a>(text: &'a str, phrase: &str) -> Option<&'a str> {
    let head = text.get(..phrase.len())?;
    let rest = text.get(phrase.len()..)?;
    head.eq_ignore_ascii_case(phrase)
        .then(|| rest.strip_prefix(' '))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewrites_calculations() {
        for (text, formula) in [
            ("the square root of 42", r"\sqrt{42}"),
            ("Half of 84", r"\frac{84}{2}"),
            ("twice $x + 1$", "2(x + 1)"),
            ("three times 14", "(3)(14)"),
            ("21 doubled", "2(21)"),
            ("one more than 41", "(41)+(1)"),
            ("the sum of 40 and 2", "(40)+(2)"),
            ("half of the square root of 16", r"\frac{\sqrt{16}}{2}"),
            (r"a third of \frac{1}{2}", r"\frac{\frac{1}{2}}{3}"),
        ] {
            assert_eq!(rewritten(text).as_deref(), Some(formula), "{text}");
        }
    }

    #[test]
    fn keeps_other_words() {
        for text in [
            "less than 7",
            "18 times",
            "twice as many as 7",
            "half of the 84 apples",
            "2 plus 3 times 4",
            "the square root of two variables",
            "7 more than her sister",
            "the sum of 1, 2 and 3",
            "double check",
        ] {
            assert_eq!(rewritten(text), None, "{text}");
        }
    }
}
