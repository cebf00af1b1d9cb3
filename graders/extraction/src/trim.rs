//! Removes what surrounds an answer and is not part of it: white space, delimiters, emphasis and
//! closing punctuation. Changes nothing inside the answer.

/// Pairs of delimiters. A pair is removed if it surrounds the answer and neither delimiter occurs
/// inside it: `$5$ and $6$` keeps its dollars. Longer delimiters precede their prefixes.
const PAIRS: &[(&str, &str)] = &[
    ("$$", "$$"),
    ("$", "$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ("***", "***"),
    ("**", "**"),
    ("__", "__"),
    ("*", "*"),
    ("`", "`"),
    ("\"", "\""),
    ("“", "”"),
    ("«", "»"),
    ("「", "」"),
];

/// LaTeX spacing commands, which are removed like white space.
const SPACES: &[&str] = &["\\,", "\\;", "\\!", "\\:", "\\ ", "\\quad", "\\qquad", "~"];

/// Maximum number of nested layers of delimiters that are removed. A text with more is not an
/// answer.
const MAX_LAYERS: usize = 64;

/// Returns the answer inside `text`.
pub(super) fn tidy(mut text: &str) -> &str {
    for _ in 0..MAX_LAYERS {
        let before = text.len();
        text = unwrapped(without_white_space(text));
        text = without_white_space(without_closing_mark(text));
        if text.len() == before {
            break;
        }
    }
    text
}

/// Removes white space and spacing commands at both ends.
fn without_white_space(mut text: &str) -> &str {
    loop {
        let before = text.len();
        text = text.trim();
        for space in SPACES {
            text = text.strip_prefix(space).unwrap_or(text);
            // `\\` followed by such a character is a line break and not a spacing command.
            if let Some(rest) = text.strip_suffix(space)
                && !rest.ends_with('\\')
            {
                text = rest;
            }
        }
        if text.len() == before {
            return text;
        }
    }
}

/// Removes one pair of delimiters.
fn unwrapped(text: &str) -> &str {
    for (open, close) in PAIRS {
        if let Some(inner) = text
            .strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close))
            && !inner.ends_with('\\')
            && !inner.is_empty()
            && !inner.contains(open)
            && !inner.contains(close)
        {
            return inner;
        }
    }
    text
}

/// Removes one mark at the end of a sentence or clause. These stay:
/// - `!`, which may be a factorial;
/// - the last of several dots, which may continue a decimal ("0.333...");
/// - the dot of "P.M.".
fn without_closing_mark(text: &str) -> &str {
    let rest = text
        .strip_suffix(['.', '。', '．', ';', '；', ',', '，', '、', ':', '：'])
        .unwrap_or(text);
    let is_abbreviation = rest.ends_with(".M") || rest.ends_with(".m");
    if is_abbreviation || rest.ends_with(['.', '\\']) {
        text
    } else {
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_delimiters_emphasis_and_punctuation() {
        for text in [
            "5",
            " **5**. ",
            "$5$.",
            "$$ 5. $$",
            "\\(5\\)。",
            "\\[ 5 \\, \\]",
            "`5`",
            "**$5$**",
            "\\quad 5",
        ] {
            assert_eq!(tidy(text), "5", "{text}");
        }
    }

    #[test]
    fn keeps_characters_of_the_answer() {
        for text in [
            "5!",
            "0.333...",
            "$5$ and $6$",
            "\\$5\\$",
            "(1, 2)",
            "2*3",
            "5\\%",
        ] {
            assert_eq!(tidy(text), text);
        }
    }
}
