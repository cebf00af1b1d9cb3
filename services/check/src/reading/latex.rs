//! Broken LaTeX.

/// Commands that are often written without their backslash.
const COMMANDS: &[&str] = &[
    "frac{",
    "dfrac{",
    "sqrt{",
    "boxed{",
    "begin{",
    "text{",
    "overline{",
];

/// What is broken in the LaTeX of a text; `None` if nothing is, or it has no commands.
pub(crate) fn broken(text: &str) -> Option<String> {
    if !text.contains('{') && !text.contains("\\left") && !text.contains("\\right") {
        return None;
    }
    for command in COMMANDS {
        for (at, _) in text.match_indices(command) {
            let before = &text[..at];
            let slashes = before.len() - before.trim_end_matches('\\').len();
            if slashes == 0 && !before.ends_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                let has_others = text.contains('\\') || text.contains('$');
                if has_others {
                    return Some(format!("`{command}…}}` has no backslash"));
                }
            }
            if slashes == 2 {
                return Some(format!("`\\\\{command}…}}` has two backslashes"));
            }
        }
    }
    if !text.contains('\\') {
        return None;
    }
    let (left, right) = (count(text, "\\left"), count(text, "\\right"));
    if left != right {
        return Some(format!("{left} `\\left` and {right} `\\right`"));
    }
    let (begin, end) = (
        text.matches("\\begin{").count(),
        text.matches("\\end{").count(),
    );
    if begin != end {
        return Some(format!("{begin} `\\begin` and {end} `\\end`"));
    }
    let has_command = COMMANDS
        .iter()
        .any(|command| text.contains(&format!("\\{command}")));
    let depth = braces(text)?;
    (has_command && depth != 0).then(|| "its braces are not balanced".to_owned())
}

/// The number of uses of a delimiter command, without longer commands such as `\leftarrow`.
fn count(text: &str, command: &str) -> usize {
    let uses = text.match_indices(command);
    uses.filter(|(at, _)| {
        !text[at + command.len()..].starts_with(|c: char| c.is_ascii_alphabetic())
    })
    .count()
}

/// The number of open braces at the end of a text, without escaped ones; `None` for code.
fn braces(text: &str) -> Option<i64> {
    if text.contains("```") || text.contains("[asy]") {
        return None;
    }
    let (mut depth, mut escaped) = (0i64, false);
    for c in text.chars() {
        match c {
            '\\' => {
                escaped = !escaped;
                continue;
            }
            '{' if !escaped => depth += 1,
            '}' if !escaped => depth -= 1,
            _ => {}
        }
        escaped = false;
        if depth < 0 {
            return Some(depth);
        }
    }
    Some(depth)
}

#[cfg(test)]
mod tests {
    use super::broken;

    #[test]
    fn finds_broken_latex() {
        for text in [
            "\\frac{1}{2",
            "\\left( x",
            "\\begin{matrix} 1",
            "$frac{1}{2}$ and $x$",
            "\\\\frac{1}{2}",
            "\\sqrt{2}}",
        ] {
            assert!(broken(text).is_some(), "{text}");
        }
    }

    #[test]
    fn leaves_other_texts() {
        for text in [
            "\\frac{1}{2}",
            "\\left( x \\right)",
            "\\leftarrow x",
            "{1, 2}",
            "\\{1, 2\\}",
            "a \\\\ \\frac{1}{2}",
            "if (x) { return 1; }",
            "f\"{x\"",
            "\\left\\{ 1 \\right.",
            "\\\\\\frac{1}{2}",
        ] {
            assert_eq!(broken(text), None, "{text}");
        }
    }
}
