//! Bold text: `**…**` and `__…__` within one line. Distinguishes values from labels such as "**Step
//! 3:**".

/// The bold texts of `paragraph` that are not labels, in order and without their marks.
pub(super) fn bold(paragraph: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in paragraph.lines() {
        for mark in ["**", "__"] {
            collect_from_line(line, mark, &mut found);
        }
    }
    found.sort_by_key(|bold| bold.as_ptr().addr());
    found
}

fn collect_from_line<'a>(line: &'a str, mark: &str, found: &mut Vec<&'a str>) {
    let mut from = 0;
    while let Some(open) = line[from..].find(mark) {
        let start = from + open + mark.len();
        let Some(length) = line[start..].find(mark) else {
            return;
        };
        let inner = &line[start..start + length];
        let after = &line[start + length + mark.len()..];
        let padded = inner.is_empty()
            || inner.starts_with(char::is_whitespace)
            || inner.ends_with(char::is_whitespace);
        // Markdown requires that marks touch their text. "2 ** 3 ** 4" contains powers, not
        // emphasis.
        if padded {
            // The second mark may open the next bold text.
            from = start + length.max(1).min(line.len() - start);
            while !line.is_char_boundary(from) {
                from += 1;
            }
            continue;
        }
        let opens_line = line[..start - mark.len()]
            .chars()
            .all(|c| c.is_whitespace() || "-*#>".contains(c));
        if !is_label(inner, after, opens_line) {
            found.push(inner);
        }
        from = start + length + mark.len();
    }
}

/// Whether bold text is a label: it ends with or is followed by a colon ("**Step 3:**",
/// "**结论**："), or numbers a line that continues ("**1.** Add them").
fn is_label(inner: &str, after: &str, opens_line: bool) -> bool {
    let numbered = inner
        .trim_end_matches(['.', ')'])
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        && inner.ends_with(['.', ')']);
    inner.ends_with([':', '：'])
        || after.trim_start().starts_with([':', '：'])
        || opens_line && numbered && !after.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_labels_and_powers() {
        assert_eq!(bold("**Step 3:** add **5** and **6**."), ["5", "6"]);
        assert_eq!(bold("1. **结论**：总共有 **99颗** 弹珠"), ["99颗"]);
        assert_eq!(bold("**1.** Add them"), Vec::<&str>::new());
        assert_eq!(bold("2 ** 3 ** 4"), Vec::<&str>::new());
    }
}
