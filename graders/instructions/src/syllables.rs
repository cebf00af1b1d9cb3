//! Counts the syllables of English words by a rule: groups of vowels, except silent ones.
//! `docs/graders/instructions.md` states its error, which the example `syllables` measures.

/// Number of syllables of a word; at least 1. Characters other than letters of ASCII are ignored.
#[must_use]
pub fn count(word: &str) -> usize {
    let word: Vec<u8> = word
        .bytes()
        .filter(u8::is_ascii_alphabetic)
        .map(|byte| byte.to_ascii_lowercase())
        .collect();
    let vowel = |at: usize| match word[at] {
        b'y' => at > 0,
        letter => b"aeiou".contains(&letter),
    };
    let mut count = 0_usize;
    for at in 0..word.len() {
        if vowel(at) && (at == 0 || !vowel(at - 1) || splits(&word, at)) {
            count += 1;
        }
    }
    (count.saturating_sub(silent(&word))).max(1)
}

/// Whether a vowel starts a new syllable after another vowel: "sci-ence", "cre-ate", "vide-o".
fn splits(word: &[u8], at: usize) -> bool {
    let rest = &word[at..];
    match (word[at - 1], word[at]) {
        // "nation" and "special" are excluded: the letter before the "i" is soft.
        (b'i', b'a' | b'o' | b'u') => {
            let soft = at >= 2 && matches!(word[at - 2], b't' | b'c' | b's' | b'g' | b'x');
            !soft || rest.starts_with(b"ate") && word[at - 2] != b's'
        }
        (b'i', b'e') => {
            rest.starts_with(b"et")
                || rest.starts_with(b"en") && !rest.starts_with(b"end")
                || rest == b"er"
        }
        (b'e', b'o') => !rest.starts_with(b"ou") && !rest.starts_with(b"op"),
        // "tea" is one syllable, "area" three.
        (b'e', b'a') => {
            let has_vowel = word[..at - 1]
                .iter()
                .any(|letter| b"aeiou".contains(letter));
            rest.starts_with(b"ate") || rest.starts_with(b"ati") || rest == b"a" && has_vowel
        }
        (b'u', b'a') => !(at >= 2 && matches!(word[at - 2], b'q' | b'g')),
        (b'u', b'o') => !(at >= 2 && matches!(word[at - 2], b'q')),
        (b'u', b'e') => {
            at >= 2 && matches!(word[at - 2], b'l' | b'n' | b'r') && rest.starts_with(b"en")
        }
        (b'y', b'a' | b'o' | b'i') => true,
        (b'o', b'e') => rest.starts_with(b"et") || rest.starts_with(b"em"),
        (b'a' | b'o', b'i') => rest.starts_with(b"ing") || rest.starts_with(b"ist"),
        (b'e' | b'u', b'i') => rest.starts_with(b"ing"),
        _ => false,
    }
}

/// Number of vowels at the end that are written and not spoken: "make", "makes", "walked".
fn silent(word: &[u8]) -> usize {
    let consonant = |from_end: usize| {
        word.len()
            .checked_sub(from_end)
            .and_then(|at| word.get(at))
            .is_some_and(|letter| !b"aeiouy".contains(letter))
    };
    let ends = |end: &[u8]| word.ends_with(end);
    if ends(b"e") {
        // "table" and "acre" have a syllable that the "e" writes.
        let syllabic = ends(b"le") && consonant(3);
        return usize::from(consonant(2) && !syllabic);
    }
    if ends(b"es") && consonant(3) {
        let sibilant = word.len() >= 3
            && matches!(word[word.len() - 3], b's' | b'z' | b'x' | b'c' | b'g')
            || ends(b"ches")
            || ends(b"shes");
        let syllabic = ends(b"les") && consonant(4);
        return usize::from(!sibilant && !syllabic);
    }
    if ends(b"ed") && consonant(3) {
        let spoken = ends(b"ted") || ends(b"ded");
        let syllabic = ends(b"led") && consonant(4);
        return usize::from(!spoken && !syllabic);
    }
    // "careful", "useless", "movement", "lonely"
    let inner = [&b"eful"[..], b"eless", b"ement", b"ely", b"eness"];
    let has_silent = inner
        .iter()
        .any(|end| ends(end) && word.len() > end.len() + 1 && consonant(end.len() + 1));
    usize::from(has_silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_groups_of_vowels_that_are_spoken() {
        for (word, syllables) in [
            ("cat", 1),
            ("the", 1),
            ("make", 1),
            ("makes", 1),
            ("table", 2),
            ("walked", 1),
            ("wanted", 2),
            ("science", 2),
            ("nation", 2),
            ("create", 2),
            ("video", 3),
            ("beautiful", 3),
            ("boxes", 2),
            ("rhythm", 1),
            ("yellow", 2),
            ("area", 3),
            ("lonely", 2),
            ("radio", 3),
            ("going", 2),
            ("idea", 3),
        ] {
            assert_eq!(count(word), syllables, "{word}");
        }
    }
}
