//! Numbered multiple-choice questions.

use std::sync::LazyLock;

use regex::Regex;

use crate::finding::Finding;

/// The start of a question.
static QUESTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^[\s*#]*Question\b[ \t]*\d*[\*.):;]*").ok());

/// An option on its own line.
static OPTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^[\s*-]*\(?[A-Za-z][.):]\s*\S[^\n]*$").ok());

/// Whether the text is only questions, each with `options` options and longer than the one before.
pub(super) fn check(text: &str, questions: usize, options: usize) -> Finding {
    let (Some(question), Some(option)) = (&*QUESTION, &*OPTION) else {
        return Finding::new(false);
    };
    let starts: Vec<_> = question.find_iter(text).collect();
    let is_first = starts
        .first()
        .is_some_and(|first| text[..first.start()].trim().is_empty());
    let mut found =
        Finding::new(is_first && starts.len() == questions).with("questions", starts.len());
    let mut longest = 0;
    for (at, start) in starts.iter().enumerate() {
        let end = starts.get(at + 1).map_or(text.len(), regex::Match::start);
        let body = &text[start.end()..end];
        let count = option.find_iter(body).count();
        let asked = option
            .find(body)
            .map_or(body, |first| &body[..first.start()])
            .trim();
        let length = asked.chars().count();
        if count != options || length <= longest {
            found.met = false;
            found = found
                .with("number", at + 1)
                .with("options", count)
                .with("length", length);
            break;
        }
        longest = length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_questions_and_options() {
        let text = "Question 1: Who?\nA) x\nB) y\nQuestion 2: Who else?\nA) x\nB) y";
        assert!(check(text, 2, 2).met);
        assert!(!check(&format!("Here they are:\n{text}"), 2, 2).met);
        assert!(!check(text, 2, 3).met);
        assert!(!check("", 0, 0).met);
    }
}
