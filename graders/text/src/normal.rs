//! Normal forms of texts in which they are compared.

use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The text in lower case, with compatibility variants unified (NFKC), runs of white space as one
/// space, and without punctuation at both ends.
pub(crate) fn normalise(text: &str) -> String {
    let lower = text.nfkc().collect::<String>().to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    words
        .join(" ")
        .trim_matches(|character: char| {
            character.is_ascii_punctuation() || "…“”‘’«»¿¡。，！？、".contains(character)
        })
        .trim()
        .to_owned()
}

/// The text in lower case and without marks on its letters: "José" is "jose".
pub(crate) fn unmarked(text: &str) -> String {
    // Composed again, because the syllables of Hangul are decomposed too.
    text.nfkd()
        .filter(|c| !is_combining_mark(*c))
        .nfc()
        .collect::<String>()
        .to_lowercase()
}

static ARTICLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b(?:a|an|the)\b").ok());

/// The tokens of the SQuAD script: lower case, without the punctuation of ASCII, then without
/// articles, split at white space.
pub(crate) fn squad_tokens(text: &str) -> Vec<String> {
    let lower: String = text
        .to_lowercase()
        .chars()
        .filter(|c| !c.is_ascii_punctuation())
        .collect();
    let plain = match &*ARTICLE {
        Some(article) => article.replace_all(&lower, " "),
        None => lower.as_str().into(),
    };
    plain.split_whitespace().map(str::to_owned).collect()
}

/// The F1 of the tokens of a text and a gold. Tokens are counted as often as they occur in both. If
/// one of them has no tokens, it is 1 if neither has.
pub(crate) fn token_f1(text: &[String], gold: &[String]) -> f64 {
    if text.is_empty() || gold.is_empty() {
        return f64::from(u8::from(text.is_empty() && gold.is_empty()));
    }
    let mut left: Vec<&String> = gold.iter().collect();
    left.sort_unstable();
    let mut same = 0_usize;
    let mut own: Vec<&String> = text.iter().collect();
    own.sort_unstable();
    let mut at = 0;
    for token in own {
        while at < left.len() && left[at] < token {
            at += 1;
        }
        if at < left.len() && left[at] == token {
            same += 1;
            at += 1;
        }
    }
    if same == 0 {
        return 0.0;
    }
    let precision = same as f64 / text.len() as f64;
    let recall = same as f64 / gold.len() as f64;
    2.0 * precision * recall / (precision + recall)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalises_case_space_variants_and_final_marks() {
        assert_eq!(normalise("  “New\n YORK!” "), "new york");
        assert_eq!(normalise("ﬁne"), "fine");
        assert_eq!(normalise("3.5"), "3.5");
    }

    #[test]
    fn squad_removes_punctuation_before_articles() {
        assert_eq!(squad_tokens("The U.S.A., a-n!"), ["usa"]);
        assert_eq!(squad_tokens("an theory"), ["theory"]);
    }

    #[test]
    fn f1_counts_repeated_tokens() {
        let f1 = |text: &str, gold: &str| token_f1(&squad_tokens(text), &squad_tokens(gold));
        assert_eq!(f1("x x y", "x y y"), 2.0 / 3.0);
        assert_eq!(f1("the", "a"), 1.0);
        assert_eq!(f1("", "x"), 0.0);
        assert_eq!(f1("red car", "blue bike"), 0.0);
    }
}
