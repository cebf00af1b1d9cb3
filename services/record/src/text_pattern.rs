//! Regular expressions in searches for texts.

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind, Look};

/// Most memory of a compiled expression, and of what matching caches, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// A regular expression that must, or must not, match in a completion or prompt. Matching takes
/// time linear in the text.
#[derive(Debug, Clone)]
pub(crate) struct TextPattern {
    regex: Regex,
    /// Whether it must not match.
    pub(crate) is_excluded: bool,
}

impl PartialEq for TextPattern {
    fn eq(&self, other: &Self) -> bool {
        (self.regex.as_str(), self.is_excluded) == (other.regex.as_str(), other.is_excluded)
    }
}

impl Eq for TextPattern {}

impl TextPattern {
    /// Compiles a regular expression, or says why it is rejected.
    pub(crate) fn new(pattern: &str, is_excluded: bool) -> Result<Self, String> {
        let regex = RegexBuilder::new(pattern)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => {
                    "it takes too much memory; use smaller repetitions".to_owned()
                }
                // The last line of the report says what is wrong, the others where.
                error => {
                    let report = error.to_string();
                    let last = report.lines().next_back().unwrap_or_default();
                    last.trim_start_matches("error: ").to_owned()
                }
            })?;
        Ok(Self { regex, is_excluded })
    }

    /// Whether a grade with these texts passes.
    pub(crate) fn passes(&self, completion: &str, prompt: &str) -> bool {
        let matches = self.regex.is_match(completion) || self.regex.is_match(prompt);
        matches != self.is_excluded
    }

    /// Words that every text contains in which it matches: those of letters and digits in ASCII
    /// between other characters in ASCII, in the parts that must occur as they are.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut literals = Literals::default();
        if let Ok(hir) = regex_syntax::parse(self.regex.as_str()) {
            literals.add(&hir);
            literals.end();
        }
        literals.words
    }
}

/// Collects the words of the literal parts of an expression.
#[derive(Default)]
struct Literals {
    /// The bytes of the current part. What precedes and follows it is not known.
    part: Vec<u8>,
    words: Vec<String>,
}

impl Literals {
    fn add(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => self.part.extend(&*literal.0),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.add(part)),
            HirKind::Capture(capture) => self.add(&capture.sub),
            // Words end at the ends of the text and of lines.
            HirKind::Look(
                Look::Start
                | Look::End
                | Look::StartLF
                | Look::EndLF
                | Look::StartCRLF
                | Look::EndCRLF,
            ) => self.part.push(b'\n'),
            HirKind::Repetition(repeated) if repeated.min > 0 => {
                self.end();
                self.add(&repeated.sub);
                self.end();
            }
            HirKind::Look(_)
            | HirKind::Class(_)
            | HirKind::Repetition(_)
            | HirKind::Alternation(_) => self.end(),
        }
    }

    /// Ends the current part.
    fn end(&mut self) {
        let part = std::mem::take(&mut self.part);
        let is_between = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric())
        };
        let mut at = 0;
        for word in part.split(|byte| !byte.is_ascii_alphanumeric()) {
            let (start, end) = (at, at + word.len());
            at = end + 1;
            let before = start.checked_sub(1).and_then(|before| part.get(before));
            if !word.is_empty() && is_between(before) && is_between(part.get(end)) {
                self.words.push(String::from_utf8_lossy(word).into_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_words_that_must_occur() {
        for (pattern, words) in [
            (r"integer overflow at \d+", &["overflow", "at"][..]),
            (r"(a \{boxed\} )+", &["boxed"]),
            (r"^So it is (not )?so$", &["So", "it", "is"]),
            (r"overflow", &[]),
            (r" a (b c )?d ", &["a"]),
            (r" x | y ", &[]),
            (r"(?i) word ", &[]),
            (r" word\b", &[]),
            (r" é word ü ", &["word"]),
            (r" éword ", &[]),
            (r" 42 {3}", &[]),
        ] {
            let found = TextPattern::new(pattern, false).unwrap().words();
            assert_eq!(found, words, "{pattern}");
        }
    }

    #[test]
    fn rejects_invalid_and_large_expressions() {
        let reason = |pattern: &str| TextPattern::new(pattern, false).unwrap_err();
        assert_eq!(reason("(a"), "unclosed group");
        assert!(reason(r"\w{1000}{100}").contains("memory"));
        assert!(reason("(?=a)").contains("look-around"));
    }

    #[test]
    fn passes_by_either_text() {
        let pattern = |excluded| TextPattern::new(r"o+ps", excluded).unwrap();
        for (completion, prompt, matches) in
            [("oops", "", true), ("", "ooops", true), ("ps", "o", false)]
        {
            assert_eq!(pattern(false).passes(completion, prompt), matches);
            assert_eq!(pattern(true).passes(completion, prompt), !matches);
        }
    }
}
