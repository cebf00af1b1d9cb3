//! Suggestions for misspelled names.

/// The known name that is most similar to `name`; the first of several.
pub fn nearest<N: AsRef<str>>(name: &str, known: impl IntoIterator<Item = N>) -> Option<N> {
    known
        .into_iter()
        .min_by_key(|known| distance(name, known.as_ref()))
}

/// The end of an error message about an unknown name: `; did you mean …?` with the most similar
/// known name, or nothing if none is similar.
pub fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    // At most a third of the letters differ. A name that differs more is probably not a typo.
    let is_similar = |known: &&str| {
        let letters = name.chars().count().max(known.chars().count());
        distance(name, known) * 3 <= letters
    };
    nearest(name, known)
        .filter(is_similar)
        .map_or_else(String::new, |known| format!("; did you mean `{known}`?"))
}

/// The same for a message of serde about an unknown field or variant, which lists the known ones.
pub fn did_you_mean_in(message: &str) -> String {
    // The last, because the unknown name can contain anything.
    let Some((unknown, expected)) = message.rsplit_once("`, expected ") else {
        return String::new();
    };
    let name = ["unknown field `", "unknown variant `"]
        .iter()
        .find_map(|start| unknown.strip_prefix(start));
    // Every other part is between backticks.
    name.map_or_else(String::new, |name| {
        did_you_mean(name, expected.split('`').skip(1).step_by(2))
    })
}

/// The Levenshtein distance of two names, in characters.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    // Bounds the cost: names that users write can have any length, known names are short.
    for (i, left) in one.chars().take(256).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, right) in other.iter().enumerate() {
            let substituted = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_similar_names() {
        let known = ["math", "code", "sql", "structured"];
        for (name, suggested) in [
            ("maths", "; did you mean `math`?"),
            ("Math", "; did you mean `math`?"),
            ("structred", "; did you mean `structured`?"),
            ("sq", "; did you mean `sql`?"),
            ("python", ""),
            ("", ""),
        ] {
            assert_eq!(did_you_mean(name, known), suggested, "{name}");
        }
        assert_eq!(did_you_mean("math", []), "");
    }

    #[test]
    fn reads_the_known_names_of_serde() {
        for (message, suggested) in [
            (
                "unknown field `answr`, expected one of `tests`, `answer`, `form`",
                "; did you mean `answer`?",
            ),
            (
                "unknown variant `pyton`, expected `python` or `javascript`",
                "; did you mean `python`?",
            ),
            (
                "unknown field `answr`, expected `answer`",
                "; did you mean `answer`?",
            ),
            (
                "unknown field ``, expected `math``, expected one of `tests`, `answer`",
                "",
            ),
            ("unknown field `answr`, there are no fields", ""),
            ("missing field `answer`", ""),
        ] {
            assert_eq!(did_you_mean_in(message), suggested, "{message}");
        }
    }

    #[test]
    fn distances_count_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
