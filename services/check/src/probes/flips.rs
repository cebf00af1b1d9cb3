//! One token changed at a time: what programs and queries have in common as far as it goes.

/// What becomes of a token.
pub(super) struct Flip {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) what: &'static str,
}

/// Most changes of one text.
const MOST: usize = 4;

/// The texts that differ from `source` in the first place where a flip applies: outside of quotes
/// and comments, case ignored, words whole.
pub(super) fn changed(
    source: &str,
    flips: &'static [Flip],
    comment: &str,
) -> Vec<(&'static str, String)> {
    let masked = masked(source, comment);
    let applied = flips.iter().filter_map(|flip| {
        let at = find(&masked, flip.from)?;
        let changed = format!(
            "{}{}{}",
            &source[..at],
            flip.to,
            &source[at + flip.from.len()..]
        );
        Some((flip.what, changed))
    });
    applied.take(MOST).collect()
}

/// The same bytes in lower case, with blanks for whatever stands in quotes or comments.
fn masked(source: &str, comment: &str) -> Vec<u8> {
    let mut masked = source.to_ascii_lowercase().into_bytes();
    let mut at = 0;
    while at < masked.len() {
        let rest = &masked[at..];
        let end = if rest.starts_with(comment.as_bytes()) {
            at + rest
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len())
        } else if rest.starts_with(b"\"\"\"") || rest.starts_with(b"'''") {
            at + 3 + find_from(&rest[3..], &rest[..3]).map_or(rest.len() - 3, |end| end + 3)
        } else if matches!(rest[0], b'"' | b'\'') {
            quoted_end(rest).map_or(masked.len(), |end| at + end)
        } else {
            at += 1;
            continue;
        };
        masked[at..end].fill(b' ');
        at = end;
    }
    masked
}

fn find_from(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

/// The byte behind the quote that ends the text in quotes at the start of `rest`.
fn quoted_end(rest: &[u8]) -> Option<usize> {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == rest[0] => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

fn find(masked: &[u8], wanted: &str) -> Option<usize> {
    let wanted = wanted.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut places = (0..masked.len().saturating_sub(wanted.len() - 1))
        .filter(|at| masked[*at..].starts_with(wanted));
    places.find(|at| {
        let (first, last) = (wanted[0], wanted[wanted.len() - 1]);
        let before = at.checked_sub(1).map(|before| masked[before]);
        let after = masked.get(at + wanted.len()).copied();
        let splits = |edge: u8, beside: Option<u8>| !is_word(edge) || !beside.is_some_and(is_word);
        splits(first, before) && splits(last, after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLIPS: &[Flip] = &[
        Flip {
            from: "max(",
            to: "min(",
            what: "max",
        },
        Flip {
            from: "and",
            to: "or",
            what: "and",
        },
    ];

    #[test]
    fn quotes_comments_and_parts_of_words_stay() {
        let source = "select 'and', candle -- and\nfrom t where a AND b";
        let changed = changed(source, FLIPS, "--");
        assert_eq!(
            changed,
            [(
                "and",
                "select 'and', candle -- and\nfrom t where a or b".to_owned()
            )]
        );
    }

    #[test]
    fn texts_of_several_lines_and_open_quotes_end() {
        assert!(changed("\"\"\" max( and", FLIPS, "#").is_empty());
        assert_eq!(changed("'''and''' max(x)", FLIPS, "#").len(), 1);
        assert!(changed("'\\", FLIPS, "#").is_empty());
    }
}
