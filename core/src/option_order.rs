//! The order in which the options of a question are shown if a key shuffles them.

use crate::Hash;

/// Texts that refer to the other options and stay in their place, in lower case.
const REFERRING: &[&str] = &[
    "none of the",
    "all of the",
    "both of the",
    "none of these",
    "all of these",
    "neither of",
];

/// The order of options that `key` shuffles: position `i` shows the option `order[i]`. Options are
/// ordered by the hash of the key and their index. Those that refer to others, such as "none of the
/// above", stay in their place.
#[must_use]
pub fn option_order(key: &str, texts: &[&str]) -> Vec<usize> {
    let moves = |at: &usize| {
        let lower = texts[*at].trim().to_lowercase();
        !REFERRING.iter().any(|start| lower.starts_with(start))
    };
    let mut moved: Vec<usize> = (0..texts.len()).filter(moves).collect();
    moved.sort_by_key(|at| {
        let hash = Hash::of_parts(&[key.as_bytes(), &(*at as u64).to_le_bytes()]);
        *hash.as_bytes()
    });
    let mut moved = moved.into_iter();
    (0..texts.len())
        .map(|at| {
            if moves(&at) {
                moved.next().unwrap_or(at)
            } else {
                at
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_by_key_and_keeps_references() {
        let texts = ["red", "green", "blue", "None of the above"];
        let orders: std::collections::BTreeSet<Vec<usize>> = (0..100)
            .map(|key| option_order(&key.to_string(), &texts))
            .collect();
        // All orders of three.
        assert_eq!(orders.len(), 6);
        assert!(orders.iter().all(|order| order[3] == 3));
        assert_eq!(option_order("k", &texts), option_order("k", &texts));
    }
}
