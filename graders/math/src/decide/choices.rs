//! Options of a multiple choice: letters, their texts, and several letters at once.

use std::collections::BTreeMap;

use super::Context;
use crate::budget::{Budget, Exhausted};
use crate::compare::{charge_reading, equivalent_within};
use crate::options::Options;
use crate::parse::{self, text};
use crate::tree::Expr;

/// Most options selected at once.
const MAX_LETTERS: usize = 5;

/// Longest text that may list letters, in bytes.
const MAX_LABELS_BYTES: usize = 40;

/// Numerals of statements.
const NUMERALS: &[&str] = &["I", "II", "III", "IV", "V", "VI", "VII", "VIII"];

/// Whether two answers select the same options; `None` if neither selects any.
pub(crate) fn same(
    gold: &Expr,
    answer: &Expr,
    cx: &Context<'_>,
) -> Result<Option<bool>, Exhausted> {
    if let (Expr::List(_), Expr::Word(_) | Expr::Text(_))
    | (Expr::Word(_) | Expr::Text(_), Expr::List(_)) = (gold, answer)
    {
        let letters = letter_set(gold).zip(letter_set(answer));
        if let Some((gold, answer)) = letters {
            return Ok(Some(gold == answer));
        }
        let listed = listed_words(gold).zip(listed_words(answer));
        return Ok(listed.map(|(gold, answer)| gold == answer));
    }
    if let (Expr::Text(_), Expr::Text(_)) = (gold, answer)
        && let (Some(a), Some(b)) = (listed_words(gold), listed_words(answer))
        && a == b
        && a.iter().all(|word| is_numeral(word))
    {
        return Ok(Some(true));
    }
    let map = &cx.options.choices;
    let letter = |expr: &Expr| -> Option<char> {
        let letter = letter_of(expr)?;
        let chosen = map.is_empty() || matches!(expr, Expr::Choice(..));
        Some(if chosen {
            letter
        } else {
            letter.to_ascii_uppercase()
        })
    };
    if !matches!(gold, Expr::Choice(..)) && !matches!(answer, Expr::Choice(..)) && map.is_empty() {
        return Ok(None);
    }
    Ok(match (letter(gold), letter(answer)) {
        (Some(a), Some(b)) => Some(a == b && texts_agree(a, gold, answer, cx)?),
        (Some(letter), None) => {
            answer_text(answer).map(|text| is_text_of(letter, gold, &text, map))
        }
        (None, Some(letter)) => {
            answer_text(gold).map(|text| is_text_of(letter, answer, &text, map))
        }
        (None, None) => None,
    })
}

/// Whether an option and a value are the same answer; `None` if this does not decide: neither side
/// is the option of the other.
///
/// A letter is the value of its option, and a value with a letter, as in `(B) 12`, is that value.
/// If the task has options, the letter must have it.
pub(crate) fn by_value(
    gold: &Expr,
    answer: &Expr,
    cx: &Context<'_>,
) -> Result<Option<bool>, Exhausted> {
    let map = &cx.options.choices;
    let (gold_letter, answer_letter) = (option_letter(gold, map), option_letter(answer, map));
    let (letter, chosen, value) = match (gold_letter, answer_letter) {
        // `b` and `B`
        (Some(a), Some(b)) => {
            let plain = !map.is_empty()
                && !matches!(gold, Expr::Choice(..))
                && !matches!(answer, Expr::Choice(..));
            return Ok(plain.then_some(a == b));
        }
        (Some(letter), None) => (letter, gold, answer),
        (None, Some(letter)) => (letter, answer, gold),
        (None, None) => return Ok(None),
    };
    if matches!(value, Expr::Text(_) | Expr::Word(_)) {
        return Ok(None);
    }
    let own = match chosen {
        Expr::Choice(_, own) if !own.is_empty() => Some(&**own),
        _ => None,
    };
    let equal = match (own, option_of(letter, map)) {
        (Some(own), Some(option)) => {
            is_value(option, value, cx)? && same_text(option, own, cx.budget)?
        }
        (Some(text), None) if map.is_empty() => !retracts(text) && is_value(text, value, cx)?,
        (None, Some(option)) => is_value(option, value, cx)?,
        _ => false,
    };
    Ok(equal.then_some(true))
}

/// The letter of an option: marked, or the key of an option of the task in any case.
fn option_letter(expr: &Expr, map: &BTreeMap<String, String>) -> Option<char> {
    match expr {
        Expr::Choice(letter, _) => Some(*letter),
        _ => letter_of(expr)
            .map(|letter| letter.to_ascii_uppercase())
            .filter(|letter| option_of(*letter, map).is_some()),
    }
}

/// Whether the text of an option is a value. Reading it is charged.
fn is_value(text: &str, value: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    charge_reading(text.len(), cx.budget)?;
    let Some(reading) = parse::read(text) else {
        return Ok(false);
    };
    // Without the options of the task, the value cannot be an option again.
    let options = Options::default();
    let inner = Context::new(&options, cx.budget);
    let option = super::normal(&reading.expr, &inner)?;
    super::same(value, &option, &inner)
}

/// The letters of `A, C`, `A and C` and `AC`, or the numerals of `I and III only`, sorted; `None`
/// if one repeats.
fn letter_set(expr: &Expr) -> Option<Vec<String>> {
    let mut labels: Vec<String> = match expr {
        Expr::List(items) if items.len() <= MAX_LETTERS => items
            .iter()
            .map(|item| match item {
                Expr::Choice(letter, text) if text.is_empty() => Some(letter.to_string()),
                Expr::Symbol(name) | Expr::Word(name) | Expr::Text(name) => Some(name.to_string()),
                _ => None,
            })
            .collect::<Option<_>>()?,
        Expr::Word(word) if word.len() <= MAX_LETTERS => {
            word.chars().map(|letter| letter.to_string()).collect()
        }
        Expr::Text(text) if text.len() <= MAX_LABELS_BYTES => {
            let words: Vec<&str> = text.split_whitespace().collect();
            match words.as_slice() {
                [word] => word.chars().map(|letter| letter.to_string()).collect(),
                words => words
                    .iter()
                    .filter(|word| !matches!(**word, "and" | "only" | "both"))
                    .map(|word| (*word).to_owned())
                    .collect(),
            }
        }
        _ => return None,
    };
    let given = labels.len();
    labels.sort_unstable();
    labels.dedup();
    let letters = |label: &String| label.len() == 1 && ("A".."K").contains(&label.as_str());
    let numerals = |label: &String| NUMERALS.contains(&label.as_str());
    let alike = labels.iter().all(letters) || labels.iter().all(numerals);
    (given > 1 && labels.len() == given && labels.len() <= MAX_LETTERS && alike).then_some(labels)
}

/// Longest text that is read as a list, in bytes.
const MAX_LIST: usize = 200;

/// The items of a list of words, sorted: of `red, blue`, `blue and red`, `I and III only`.
fn listed_words(expr: &Expr) -> Option<Vec<String>> {
    let mut items: Vec<String> = match expr {
        Expr::List(items) if items.len() <= MAX_LETTERS => items
            .iter()
            .map(|item| match item {
                Expr::Symbol(text) | Expr::Word(text) | Expr::Text(text) => Some(text.to_string()),
                Expr::Choice(letter, text) if text.is_empty() => Some(letter.to_string()),
                _ => None,
            })
            .collect::<Option<_>>()?,
        Expr::Text(text) if text.len() <= MAX_LIST => {
            let parts: Vec<&str> = text.split(" and ").collect();
            match parts.as_slice() {
                [_] => text.split(' ').map(str::to_owned).collect(),
                // `I, II and III` has lost its commas.
                [first, last] if first.split(' ').all(is_numeral) => {
                    first.split(' ').chain([*last]).map(str::to_owned).collect()
                }
                parts => parts.iter().map(|part| (*part).to_owned()).collect(),
            }
        }
        _ => return None,
    };
    if let Some(last) = items.last_mut()
        && let Some(stem) = last.strip_suffix(" only")
    {
        *last = stem.to_owned();
    }
    if items.last().is_some_and(|last| last == "only") {
        items.pop();
    }
    // A text without `and` is a list only of numerals.
    let spoken = matches!(expr, Expr::Text(text) if !text.contains(" and "));
    if items.len() < 2 || spoken && !items.iter().all(|item| is_numeral(item)) {
        return None;
    }
    let mut items: Vec<String> = items.iter().map(|item| text::cased(item)).collect();
    items.sort_unstable();
    Some(items)
}

/// Whether a word is the letter or the Roman numeral of an option.
fn is_numeral(word: &str) -> bool {
    let letter = word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    letter || !word.is_empty() && word.bytes().all(|byte| b"IVX".contains(&byte))
}

fn letter_of(expr: &Expr) -> Option<char> {
    match expr {
        Expr::Choice(letter, _) => Some(*letter),
        Expr::Symbol(name) | Expr::Word(name) | Expr::Text(name) if name.chars().count() == 1 => {
            name.chars().next()
        }
        _ => None,
    }
}

/// The text of an answer without a letter.
fn answer_text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Text(text) | Expr::Word(text) => Some(text::comparable(text)),
        _ => None,
    }
}

fn option_of(letter: char, map: &BTreeMap<String, String>) -> Option<&str> {
    map.iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(&letter.to_string()))
        .map(|(_, text)| text.as_str())
}

/// Whether `text` is the text of the option that the other side selects.
fn is_text_of(letter: char, chosen: &Expr, text: &str, map: &BTreeMap<String, String>) -> bool {
    let own = match chosen {
        Expr::Choice(_, own) if !own.is_empty() => Some(text::comparable(own)),
        _ => None,
    };
    own.as_deref() == Some(text)
        || option_of(letter, map).is_some_and(|option| text::comparable(option) == text)
}

/// Whether the texts after the same letter agree: with each other, or with the text of the option
/// if the task has it. If only one side has a text and the option is unknown, the text may be
/// anything that does not retract the letter.
fn texts_agree(
    letter: char,
    gold: &Expr,
    answer: &Expr,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    fn own(expr: &Expr) -> Option<&str> {
        match expr {
            Expr::Choice(_, text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }
    let option = option_of(letter, &cx.options.choices);
    Ok(match (own(gold), own(answer)) {
        (None, None) => true,
        (Some(text), None) | (None, Some(text)) => match option {
            Some(option) => same_text(option, text, cx.budget)?,
            None => !retracts(text),
        },
        (Some(a), Some(b)) => {
            same_text(a, b, cx.budget)?
                || match option {
                    Some(option) => same_text(option, b, cx.budget)?,
                    None => false,
                }
        }
    })
}

fn same_text(a: &str, b: &str, budget: &Budget) -> Result<bool, Exhausted> {
    Ok(text::comparable(a) == text::comparable(b)
        || equivalent_within(a, b, &Options::default(), budget)?)
}

/// Whether the words after a letter retract it or add another choice. `None of these` and `A and C`
/// are texts of options.
fn retracts(text: &str) -> bool {
    const FIRST: &str = "or and but isnt nor wait wrong incorrect maybe perhaps rather instead \
                         also not except than";
    const ANYWHERE: &str = "wait actually sorry correction instead wrong incorrect maybe perhaps";
    let text = text::cased(text);
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let among = |list: &str, word: &str| list.split(' ').any(|other| other == word);
    let is_letter = |word: &str| word.len() == 1 && word.bytes().all(|b| b.is_ascii_uppercase());
    let names_options = words
        .iter()
        .all(|word| is_letter(word) || among("and or both neither nor either only all of", word));
    let offers = words
        .windows(2)
        .any(|pair| matches!(pair, [join, letter] if among("or and not than nor", join) && is_letter(letter)));
    let denied = matches!(words.as_slice(), ["is" | "was" | "are", "not" | "no", ..]);
    let first = denied
        || words
            .first()
            .is_some_and(|word| among(FIRST, word) && !text.starts_with("not enough"));
    first || words.iter().any(|word| among(ANYWHERE, word)) || offers && !names_options
}
