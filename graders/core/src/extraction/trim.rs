//! Cuts what surrounds an answer and is not part of it: blank space, delimiters, emphasis, closing
//! punctuation. Changes nothing inside.

/// Delimiters that are cut where one stands on each side and none inside.
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

/// Spacing commands of LaTeX, which a trim takes for blank space.
const SPACES: &[&str] = &["\\,", "\\;", "\\!", "\\:", "\\ ", "\\quad", "\\qquad", "~"];

/// Most layers around an answer that are cut; text with more of them is no answer.
const MOST_LAYERS: usize = 64;

/// The answer inside `text`.
pub(super) fn tidy(mut text: &str) -> &str {
    for _ in 0..MOST_LAYERS {
        let before = text.len();
        text = unwrapped(blank(text));
        text = blank(closing(text));
        if text.len() == before {
            break;
        }
    }
    text
}

/// Without blank space and spacing commands at either end.
fn blank(mut text: &str) -> &str {
    loop {
        let before = text.len();
        text = text.trim();
        for space in SPACES {
            text = text.strip_prefix(space).unwrap_or(text);
            // `\\` followed by the character of a spacing command ends a line, it does not space.
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

/// Without one mark of the end of a sentence. "P.M." stays whole. `!` stays: it may be a factorial.
/// An ellipsis stays: it may continue a decimal.
fn closing(text: &str) -> &str {
    let rest = text
        .strip_suffix(['.', '。', '．', ';', '；', ',', '，', '、', ':', '：'])
        .unwrap_or(text);
    let abbreviates = rest.ends_with(".M") || rest.ends_with(".m");
    if abbreviates || rest.ends_with(['.', '\\']) {
        text
    } else {
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_emphasis_and_punctuation_go() {
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
    fn what_belongs_to_the_answer_stays() {
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
