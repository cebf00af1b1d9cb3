//! Texts that repeat another text, as it is or with changes.

use std::collections::HashSet;

use crate::finding::Finding;
use crate::limits::whole;

/// White space as one space, in lower case.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Whether a text starts with `own` and has words after it.
pub(super) fn repeats(text: &str, own: &str) -> Finding {
    let (text, own) = (plain(text), plain(own));
    let Some(rest) = text.strip_prefix(&own) else {
        let same = text
            .chars()
            .zip(own.chars())
            .take_while(|(a, b)| a == b)
            .count();
        return Finding::new(false).with("equal_characters", same);
    };
    Finding::new(rest.chars().any(char::is_alphanumeric)).with("bytes_after", rest.len())
}

/// Whether a text is `own` with another first word.
pub(super) fn changed_first_word(text: &str, own: &str) -> Finding {
    let mut given = text.split_whitespace();
    let mut wanted = own.split_whitespace();
    let (first, old) = (
        given.next().unwrap_or_default(),
        wanted.next().unwrap_or_default(),
    );
    let rest_equal = given.eq(wanted);
    Finding::new(rest_equal && !first.is_empty() && first != old)
        .with("first", first)
        .with("rest_equal", rest_equal)
}

/// Whether a text is the characters `start` to `end` of `own`, both included.
pub(super) fn span(text: &str, own: &str, start: f64, end: f64) -> Finding {
    // Negative numbers become 0, so that a malformed span is the start of the text.
    let (start, end) = (start as usize, end as usize);
    let wanted: String = own
        .chars()
        .skip(start)
        .take((end + 1).saturating_sub(start))
        .collect();
    let equal = !wanted.trim().is_empty() && plain(text) == plain(&wanted);
    Finding::new(equal).with("expected", wanted.chars().take(60).collect::<String>())
}

/// Whether `phrase` occurs exactly `times` times, each time with one word in the middle replaced.
pub(super) fn changed_phrase(text: &str, phrase: &str, times: f64) -> Finding {
    let bare = |text: &str| -> Vec<String> {
        text.split_whitespace()
            .map(|word| {
                word.trim_matches(|c: char| !c.is_alphanumeric())
                    .to_lowercase()
            })
            .filter(|word| !word.is_empty())
            .collect()
    };
    let (words, phrase) = (bare(text), bare(phrase));
    let differing = |window: &[String]| window.iter().zip(&phrase).filter(|(a, b)| a != b).count();
    let mut count = 0;
    let mut variants = HashSet::new();
    let mut at = 0;
    while phrase.len() >= 3 && at + phrase.len() <= words.len() {
        let window = &words[at..at + phrase.len()];
        let ends = window.first() == phrase.first() && window.last() == phrase.last();
        if ends && differing(window) == 1 {
            count += 1;
            variants.insert(window.to_vec());
            at += phrase.len();
        } else {
            at += 1;
        }
    }
    Finding::new(f64::from(count) == times && variants.len() as f64 == times)
        .with("count", count)
        .with("different", variants.len())
        .with("exactly", whole(times))
}

/// Whether the percentage of trigrams of characters of the text that occur in the reference is
/// within 2 of `percentage`.
pub(super) fn trigram_overlap(text: &str, reference: &str, percentage: f64) -> Finding {
    let (own, other) = (trigrams(text), trigrams(reference));
    let shared = own
        .iter()
        .filter(|trigram| other.contains(*trigram))
        .count();
    let percent = 100.0 * shared as f64 / own.len().max(1) as f64;
    Finding::new(!own.is_empty() && (percent - percentage).abs() <= 2.0)
        .with("percent", whole(percent))
        .with("expected", whole(percentage))
}

fn trigrams(text: &str) -> HashSet<[char; 3]> {
    let characters: Vec<char> = text.chars().collect();
    characters
        .windows(3)
        .map(|window| [window[0], window[1], window[2]])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_request_needs_an_answer() {
        assert!(repeats("Write a poem.\nRoses are red", "Write a  poem.").met);
        assert!(!repeats("write a poem.", "Write a poem.").met);
        assert!(!repeats("Roses. Write a poem.", "Write a poem.").met);
        assert!(!repeats("", "Write a poem.").met);
    }

    #[test]
    fn changed_words_and_spans() {
        assert!(changed_first_word("Read a poem.", "Write a poem.").met);
        assert!(!changed_first_word("Write a poem.", "Write a poem.").met);
        assert!(span("bcd", "abcdef", 1.0, 3.0).met);
        assert!(!span("", "abcdef", 4.0, 2.0).met);
        assert!(changed_phrase("I like tea. I drink tea.", "I want tea", 2.0).met);
        // The phrase itself has no change, and the same change twice is one.
        assert!(!changed_phrase("I want tea. I want tea.", "I want tea", 2.0).met);
        assert!(!changed_phrase("I like tea. I like tea.", "I want tea", 2.0).met);
    }
}
