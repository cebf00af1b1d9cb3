//! The answer to a question that is yes or no: "No, because 4 is even", "So yes, it converges".

use std::borrow::Cow;

use crate::phrases::YES_NO;
use crate::rule::{Rule, RuleMatch};
use crate::slices::head;
use crate::tokens::{Lexed, TokenKind};
use crate::word_roles::lower;

/// The last sentence that starts with "yes" or "no" in the sense of an answer.
pub(super) fn last(text: &str) -> Option<RuleMatch<'_>> {
    let lexed = Lexed::read(text);
    let starts = (0..lexed.tokens.len())
        .rev()
        .filter(|at| *at == 0 || lexed.kind(at - 1) == Some(TokenKind::Stop));
    starts
        .filter_map(|start| {
            // "So yes": a conclusion or an opener may precede the word.
            let first = (start..lexed.tokens.len()).find(|at| {
                let roles = lexed.roles(*at);
                let leads = (roles.conclusion() || roles.opener())
                    || lexed.kind(*at) == Some(TokenKind::Separator)
                    || lexed.kind(*at) == Some(TokenKind::Other);
                !leads
            })?;
            at(&lexed, first)
        })
        .next()
}

/// A boxed answer without the reason after it: `\text{Yes, because } 3 > 1`.
pub(super) fn without_reason(found: RuleMatch<'_>) -> RuleMatch<'_> {
    const MAX_BYTES: usize = 512;
    let text = head(found.text.trim_start(), MAX_BYTES);
    let words = [r"\text{", r"\textbf{", r"\mathrm{", r"\textrm{"]
        .iter()
        .find_map(|command| text.strip_prefix(command))
        .unwrap_or(text);
    let answer = at(&Lexed::read(words), 0).map(|answer| answer.text.into_owned());
    match answer {
        Some(answer) => RuleMatch {
            text: Cow::Owned(answer),
            ..found
        },
        None => found,
    }
}

/// The word at a token, if it is an answer by itself and not a part of its sentence: "no, …", but
/// not "no other value".
pub(super) fn at<'a>(lexed: &Lexed<'a>, first: usize) -> Option<RuleMatch<'a>> {
    let word = || lexed.str(first);
    if lexed.kind(first) != Some(TokenKind::Word) || !YES_NO.contains(&&*lower(word())) {
        return None;
    }
    let next = first + 1;
    let set_off = match lexed.kind(next) {
        None | Some(TokenKind::Separator | TokenKind::Stop | TokenKind::Other) => true,
        _ => lexed.roles(next).subordinate() || lower(lexed.str(next)) == "as",
    };
    let asks = lexed.kind(next) == Some(TokenKind::Stop) && matches!(lexed.str(next), "?" | "？");
    (set_off && !asks).then(|| RuleMatch::slice(word(), Rule::Stated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_answers_before_reasons() {
        for (text, answer) in [
            ("Yes. For $n=4$ it holds.", "Yes"),
            ("No, because $n=4$ gives $16$.", "No"),
            ("**Yes**\n\nThe series converges because $p=2>1$.", "Yes"),
            ("So yes, it converges.", "yes"),
            ("No since 4 is even.", "No"),
            ("Yes, at first sight. But no, 4 is even.", "no"),
            ("Nein, denn 4 ist gerade.", "Nein"),
        ] {
            let found = last(text).map(|found| found.text.into_owned());
            assert_eq!(found.as_deref(), Some(answer), "{text}");
        }
    }

    #[test]
    fn ignores_words_that_are_part_of_a_sentence() {
        for text in [
            "No other value works.",
            "Is it prime? Yes or no?",
            "Yes and no.",
            "There is no limit.",
            "True values are rare.",
            "Yes? It is 4.",
        ] {
            assert!(last(text).is_none(), "{text}");
        }
    }
}
