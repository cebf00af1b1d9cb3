//! Normalised words of a text and their sequences (shingles), by which prompts are compared.

use unicode_normalization::UnicodeNormalization;

/// 64-bit FNV-1a (Fowler, Noll and Vo) with a final mix. It is fast and the same on all machines.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    mix(hash)
}

/// The finaliser of MurmurHash3 (Appleby): each input bit affects all output bits.
pub(crate) fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// A word of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) hash: u64,
    /// Whether the word contains characters other than letters, such as digits, operators or code.
    pub(crate) exact: bool,
}

/// The words of a text. Unicode compatibility forms, case and punctuation around words are ignored.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let folded: String = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.nfkc().flat_map(char::to_lowercase).collect()
    };
    let punctuation = |c: char| {
        matches!(
            c,
            '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '(' | ')' | '…' | '“' | '”' | '’'
        )
    };
    let words = folded
        .split_whitespace()
        .map(|word| word.trim_matches(punctuation))
        .filter(|word| !word.is_empty());
    words
        .map(|word| Word {
            hash: hash(word.as_bytes()),
            exact: !word
                .chars()
                .all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’')),
        })
        .collect()
}

/// The words of a text with one word for all numbers and one for all names, which are words with a
/// capital letter within a sentence.
pub(crate) fn masked_words(text: &str) -> Vec<Word> {
    let mut starts_sentence = true;
    let mut masked = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let letters = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name = !starts_sentence && letters.starts_with(char::is_uppercase);
        let is_number = letters.starts_with(|c: char| c.is_ascii_digit());
        masked.push_str(if is_number {
            "0"
        } else if is_name {
            "@"
        } else {
            word
        });
        masked.push(' ');
        starts_sentence = word.ends_with(['.', '?', '!', ':']);
    }
    words(&masked)
}

/// The hashes of all sequences of `length` words. A shorter text is one sequence; an empty text has
/// none.
pub(crate) fn shingles(words: &[Word], length: usize) -> impl Iterator<Item = u64> + '_ {
    let length = length.clamp(1, words.len().max(1));
    words.windows(length).map(|window| {
        window
            .iter()
            .fold(0u64, |sum, word| mix(sum.rotate_left(7) ^ word.hash))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_ignore_case_and_punctuation() {
        assert_eq!(
            words("What is  Two (squared)?"),
            words("what is two squared")
        );
        assert_ne!(words("2 + 3"), words("2 - 3"));
        let exact: Vec<bool> = words("Add 2+3 well-known.")
            .iter()
            .map(|word| word.exact)
            .collect();
        assert_eq!(exact, [false, true, false]);
    }

    #[test]
    fn masked_words_ignore_numbers_and_names() {
        assert_eq!(
            masked_words("Today Ann has 5 apples."),
            masked_words("Today Bob has 12 apples.")
        );
        assert_ne!(
            masked_words("Today Ann has 5 apples."),
            masked_words("Today Ann has 5 pears.")
        );
    }

    #[test]
    fn short_text_is_one_shingle() {
        assert_eq!(shingles(&words("one two"), 8).count(), 1);
        assert_eq!(shingles(&words("a b c d"), 2).count(), 3);
        assert_eq!(shingles(&words(""), 2).count(), 0);
    }
}
