//! Answers that are words: synonyms, sentences about one subject, and letters that may be factors
//! or a name.

use super::rule::Rule;
use super::{Context, choices, real_set};
use crate::budget::Exhausted;
use crate::normal::fold;
use crate::parse::{is_product, letters, sentence, text};
use crate::tree::Expr;

/// Longest text that is compared by meaning, in bytes. Longer texts must be identical.
const MAX_BYTES: usize = 1_000;

/// Steps of a byte of a text that is compared by meaning: it is split into words several times.
const TEXT_STEPS: u64 = 4;

/// Whether two answers are the same words, choices or letters; `None` if they are none of these.
pub(crate) fn same(
    gold: &Expr,
    answer: &Expr,
    cx: &Context<'_>,
) -> Result<Option<bool>, Exhausted> {
    charge_texts(gold, answer, cx)?;
    if let Some(equal) = choices::same(gold, answer, cx)? {
        cx.set_rule(Rule::Choice);
        return Ok(Some(equal));
    }
    Ok(match (gold, answer) {
        // `mgh` and `mhg`
        (Expr::Word(a), Expr::Word(b)) if is_product_of_letters(a) && is_product_of_letters(b) => {
            let sorted = |word: &str| {
                let mut letters = word.as_bytes().to_vec();
                letters.sort_unstable();
                letters
            };
            cx.set_rule(Rule::Text);
            Some(sorted(a) == sorted(b))
        }
        (Expr::Text(a) | Expr::Word(a), Expr::Text(b) | Expr::Word(b)) => {
            cx.set_rule(Rule::Text);
            let short = a.len() <= MAX_BYTES && b.len() <= MAX_BYTES;
            Some(
                a == b
                    || short
                        && (canonical(a) == canonical(b)
                            || sentence_answers(a, b)
                            || sentence_answers(b, a)),
            )
        }
        // `xy` and `x·y`
        (Expr::Word(word), other) if real_set::is_scalar(other) && is_product(word) => {
            let factors = fold(&letters(word), cx.budget)?;
            Some(cx.same_values(&factors, other)?)
        }
        (other, Expr::Word(word)) if real_set::is_scalar(other) && is_product(word) => {
            let factors = fold(&letters(word), cx.budget)?;
            Some(cx.same_values(other, &factors)?)
        }
        // `\text{Maximum}` and a symbol of that name
        (Expr::Symbol(name), Expr::Word(word) | Expr::Text(word))
        | (Expr::Word(word) | Expr::Text(word), Expr::Symbol(name)) => {
            cx.set_rule(Rule::Text);
            let primes = |text: &str| text.matches('\'').count();
            let alike = || text::cased(name) == text::cased(word) && primes(name) == primes(word);
            Some(**name == **word || name.len() > 2 && alike())
        }
        _ => None,
    })
}

/// Whether a word can only be a product: two or three small consonants.
fn is_product_of_letters(word: &str) -> bool {
    let consonant = |byte: u8| byte.is_ascii_lowercase() && !b"aeiouy".contains(&byte);
    (2..=3).contains(&word.len()) && word.bytes().all(consonant)
}

/// Charges the comparison of two texts, or of a text with an option.
fn charge_texts(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<(), Exhausted> {
    let length = |expr: &Expr| match expr {
        Expr::Text(text) | Expr::Word(text) | Expr::Choice(_, text) => Some(text.len()),
        _ => None,
    };
    let steps = |length: usize| TEXT_STEPS * length.min(MAX_BYTES) as u64 + length as u64 / 16;
    match length(gold).zip(length(answer)) {
        Some((gold, answer)) => cx.budget.charge(steps(gold) + steps(answer)),
        None => Ok(()),
    }
}

/// Whether a sentence gives `word` as its answer.
fn sentence_answers(sentence: &str, word: &str) -> bool {
    if sentence.len() <= word.len() {
        return false;
    }
    let word_cased = text::cased(word);
    sentence::predicate(sentence)
        .is_some_and(|predicate| canonical(&predicate) == canonical(&word_cased))
        || sentence::is_about(sentence, word)
}

/// Whether a word means yes or no.
pub(crate) fn is_truth_value(word: &str) -> bool {
    word.len() <= MAX_BYTES && matches!(&*canonical(word), "true" | "false")
}

/// One spelling for all words with the same meaning.
pub(crate) fn canonical(words: &str) -> String {
    // A chemical formula is not a sentence.
    if words.starts_with("\\ce") {
        return words.to_owned();
    }
    let words = text::cased(words);
    let known = match words.as_str() {
        "yes" | "true" | "是" | "是的" | "对" | "正确" | "真" | "oui" | "vrai" | "ja" | "wahr"
        | "sí" | "vero" | "verdadero" | "да" => "true",
        "no" | "false" | "否" | "不是" | "不对" | "错误" | "错" | "假" | "non" | "nein"
        | "falsch" | "faux" | "falso" | "нет" => "false",
        "no solution"
        | "no solutions"
        | "no real solution"
        | "no real solutions"
        | "there is no solution"
        | "there are no solutions"
        | "there are no real solutions"
        | "there is no real solution"
        | "无解"
        | "无实数解"
        | "方程无解" => "no solution",
        "dne"
        | "DNE"
        | "does not exist"
        | "doesnt exist"
        | "limit does not exist"
        | "不存在"
        | "极限不存在" => "does not exist",
        "mon" => "monday",
        "tue" | "tues" => "tuesday",
        "wed" => "wednesday",
        "thu" | "thur" | "thurs" => "thursday",
        "fri" => "friday",
        "sat" => "saturday",
        "sun" => "sunday",
        _ => return words,
    };
    known.to_owned()
}
