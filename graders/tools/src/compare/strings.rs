//! Equality of strings.

use serde::Deserialize;
use unicode_normalization::UnicodeNormalization as _;

/// How strings are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Strings {
    /// Character by character.
    #[default]
    Exact,
    /// Ignores case, white space and compatibility variants (NFKC).
    Folded,
}

impl Strings {
    pub(crate) fn same(self, a: &str, b: &str) -> bool {
        match self {
            Self::Exact => a == b,
            Self::Folded => a == b || folded(a).eq(folded(b)),
        }
    }
}

/// The text in lower case and NFKC, with runs of white space as one blank and trimmed.
fn folded(text: &str) -> impl Iterator<Item = char> + '_ {
    let words = text.split_whitespace().enumerate();
    let spaced = words.flat_map(|(at, word)| [if at == 0 { "" } else { " " }, word]);
    spaced.flat_map(|word| word.nfkc().flat_map(char::to_lowercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_ignores_case_white_space_and_variants() {
        assert!(Strings::Folded.same(" New  York\n", "new york"));
        assert!(Strings::Folded.same("ﬁle", "FILE"));
        assert!(!Strings::Folded.same("1.5", "15"));
        assert!(!Strings::Exact.same("a", "A"));
    }
}
