//! Similarity of texts by the number of changed characters.

/// Longest text that is compared, in characters. The work is the product of the lengths.
pub(crate) const MAX_CHARACTERS: usize = 2_000;

/// 1 minus the edit distance (Levenshtein) over the length of the longer text, in characters; 0 for
/// texts of more than [`MAX_CHARACTERS`] characters.
pub(crate) fn similarity(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let longer = a.len().max(b.len());
    if longer == 0 {
        return 1.0;
    }
    if longer > MAX_CHARACTERS {
        return 0.0;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    1.0 - row[b.len()] as f64 / longer as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_changed_characters() {
        assert_eq!(similarity("kitten", "sitting"), 1.0 - 3.0 / 7.0);
        assert_eq!(similarity("", ""), 1.0);
        assert_eq!(similarity("abc", ""), 0.0);
        assert_eq!(similarity(&"a".repeat(2_001), "a"), 0.0);
    }
}
