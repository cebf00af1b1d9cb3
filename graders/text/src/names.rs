//! Names of persons: without titles and marks, in either order, with initials.

use crate::normal::unmarked;

/// Titles and suffixes, without marks and full stops.
const TITLES: &[&str] = &[
    "mr",
    "mrs",
    "ms",
    "miss",
    "dr",
    "prof",
    "professor",
    "sir",
    "dame",
    "lord",
    "lady",
    "saint",
    "st",
    "president",
    "king",
    "queen",
    "prince",
    "princess",
    "pope",
    "herr",
    "frau",
    "mme",
    "mlle",
    "monsieur",
    "madame",
    "don",
    "dona",
    "senor",
    "senora",
    "sr",
    "sra",
    "jr",
    "phd",
    "md",
    "esq",
    "ii",
    "iii",
    "iv",
];

/// The words of a name without titles, first name first.
pub(crate) fn parts(name: &str) -> Vec<String> {
    let plain = unmarked(name);
    let ordered = match plain.split_once(',') {
        // "Curie, Marie"; a suffix after the comma is no first name.
        Some((last, first)) if !words(first).is_empty() => format!("{first} {last}"),
        _ => plain,
    };
    words(&ordered)
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || c == '.')
        .map(|word| {
            word.trim_matches(|c: char| !c.is_alphanumeric())
                .replace(['\'', '’'], "")
        })
        .filter(|word| !word.is_empty() && !TITLES.contains(&word.as_str()))
        .collect()
}

/// Whether two names are of the same person: the last names are equal, the first names are equal or
/// one is the initial of the other, and middle names do not differ.
pub(crate) fn agree(a: &[String], b: &[String]) -> bool {
    let (Some((last, before)), Some((other_last, other_before))) = (a.split_last(), b.split_last())
    else {
        return false;
    };
    if last != other_last || before.is_empty() != other_before.is_empty() {
        return false;
    }
    let (shorter, longer) = if before.len() <= other_before.len() {
        (before, other_before)
    } else {
        (other_before, before)
    };
    if shorter.is_empty() {
        return true;
    }
    // The middle names of the shorter one occur in the longer one, in order.
    let mut rest = longer.iter();
    same_word(&shorter[0], &longer[0])
        && shorter
            .iter()
            .all(|word| rest.any(|other| same_word(word, other)))
}

/// Whether two words are equal, or one is the initial of the other.
fn same_word(a: &str, b: &str) -> bool {
    let initial = |short: &str, long: &str| short.chars().count() == 1 && long.starts_with(short);
    a == b || initial(a, b) || initial(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_without_titles_and_with_initials() {
        let same = |a: &str, b: &str| agree(&parts(a), &parts(b));
        assert!(same("Dr. José García", "jose garcia"));
        assert!(same("Curie, Marie", "Marie Curie"));
        assert!(same("J. R. R. Tolkien", "John Ronald Reuel Tolkien"));
        assert!(same("George Bush", "George W. Bush"));
        assert!(!same("Curie", "Marie Curie"));
        assert!(!same("Pierre Curie", "Marie Curie"));
        assert!(!same("George H. Bush", "George W. Bush"));
        assert!(!same("", "Marie Curie"));
    }
}
