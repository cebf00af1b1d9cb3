//! Changes single tokens of programs and queries.

/// Replacement of a token.
pub(super) struct TokenChange {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) description: &'static str,
}

impl TokenChange {
    pub(super) const fn new(
        from: &'static str,
        to: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            from,
            to,
            description,
        }
    }
}

/// Maximum number of changed texts.
const MAX_CHANGES: usize = 4;

/// Applies each change to its first match in `source`. Returns the descriptions and the changed
/// texts. Quotes and comments are skipped, case is ignored, and words match as a whole.
pub(super) fn change_tokens(
    source: &str,
    changes: &'static [TokenChange],
    comment: &str,
) -> Vec<(&'static str, String)> {
    let masked = mask(source, comment);
    let changed = changes.iter().filter_map(|change| {
        let at = find(&masked, change.from)?;
        let text = format!(
            "{}{}{}",
            &source[..at],
            change.to,
            &source[at + change.from.len()..]
        );
        Some((change.description, text))
    });
    changed.take(MAX_CHANGES).collect()
}

/// The source in lower case, with quotes and comments replaced by blanks. Offsets are unchanged.
fn mask(source: &str, comment: &str) -> Vec<u8> {
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

fn find_from(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len())
        .position(|window| window == pattern)
}

/// The offset after the closing quote of the quoted text at the start of `rest`.
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

fn find(masked: &[u8], token: &str) -> Option<usize> {
    let token = token.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut offsets = (0..masked.len().saturating_sub(token.len() - 1))
        .filter(|at| masked[*at..].starts_with(token));
    offsets.find(|at| {
        let (first, last) = (token[0], token[token.len() - 1]);
        let before = at.checked_sub(1).map(|before| masked[before]);
        let after = masked.get(at + token.len()).copied();
        let is_boundary =
            |edge: u8, adjacent: Option<u8>| !is_word(edge) || !adjacent.is_some_and(is_word);
        is_boundary(first, before) && is_boundary(last, after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGES: &[TokenChange] = &[
        TokenChange::new("max(", "min(", "max"),
        TokenChange::new("and", "or", "and"),
    ];

    #[test]
    fn skips_quotes_comments_and_parts_of_words() {
        let source = "select 'and', candle -- and\nfrom t where a AND b";
        let changed = change_tokens(source, CHANGES, "--");
        assert_eq!(
            changed,
            [(
                "and",
                "select 'and', candle -- and\nfrom t where a or b".to_owned()
            )]
        );
    }

    #[test]
    fn skips_multi_line_strings_and_open_quotes() {
        assert!(change_tokens("\"\"\" max( and", CHANGES, "#").is_empty());
        assert_eq!(change_tokens("'''and''' max(x)", CHANGES, "#").len(), 1);
        assert!(change_tokens("'\\", CHANGES, "#").is_empty());
    }
}
