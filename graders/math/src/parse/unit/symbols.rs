//! Symbols of units that follow each other without a blank: `Nm`, `kJmol^{-1}`, `ms^{-2}`.

/// Symbols that are written without a blank before the next one.
const SYMBOLS: &[&str] = &[
    "m", "g", "s", "A", "K", "mol", "N", "J", "W", "Pa", "V", "C", "Hz", "Ω", "T", "F", "Wb",
    "rad", "eV", "L",
];

/// Prefixes that such symbols have.
const PREFIXES: &[&str] = &["k", "M", "G", "m", "μ", "n", "c", "d"];

/// Words of such letters that are not units.
const WORDS: &[&str] = &["TV", "CM", "GM", "AC", "VAT", "FM", "AM", "WC"];

/// Longest run of symbols, in bytes.
const LONGEST: usize = 10;

fn is_symbol(text: &str) -> bool {
    SYMBOLS.contains(&text)
        || PREFIXES.iter().any(|prefix| {
            text.strip_prefix(prefix)
                .is_some_and(|symbol| SYMBOLS.contains(&symbol))
        })
}

/// The lengths of the symbols that a run of letters is, last one first; `None` if it is not at
/// least two. A final `s` is the second: `kgms` ends with metres and seconds.
pub(super) fn split(word: &str) -> Option<Vec<usize>> {
    if !(2..=LONGEST).contains(&word.len()) || WORDS.contains(&word) {
        return None;
    }
    match word.strip_suffix('s') {
        Some(head) => {
            let mut symbols = vec![1];
            symbols.extend(longest_first(head)?);
            Some(symbols)
        }
        None => longest_first(word).filter(|symbols| symbols.len() > 1),
    }
}

/// The symbols with the longest first one, last one first.
fn longest_first(word: &str) -> Option<Vec<usize>> {
    if word.is_empty() {
        return Some(Vec::new());
    }
    let ends = word.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.collect::<Vec<_>>().into_iter().rev().find_map(|end| {
        let (head, tail) = word.split_at_checked(end)?;
        let mut symbols = is_symbol(head).then(|| longest_first(tail))??;
        symbols.push(head.len());
        Some(symbols)
    })
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn splits_runs_of_symbols() {
        for (word, lengths) in [
            ("Nm", vec![1, 1]),
            ("kgms", vec![1, 1, 2]),
            ("kJmol", vec![3, 2]),
            ("mNm", vec![1, 2]),
            ("Pas", vec![1, 2]),
        ] {
            assert_eq!(split(word), Some(lengths), "{word}");
        }
        for word in ["N", "TV", "cats", "km", "kJ", "apples"] {
            assert_eq!(split(word), None, "{word}");
        }
    }
}
