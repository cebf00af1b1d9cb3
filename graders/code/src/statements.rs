//! Whether a text is a program at all. A text without statements is none: a test that only uses
//! names of the language, such as `assert sum([1, 2]) == 3`, would accept it.

/// Whether a Python program has a statement that does something.
pub(crate) fn in_python(text: &str) -> bool {
    let does_nothing = |line: &str| {
        let code = line.split('#').next().unwrap_or_default().trim();
        ["", "pass", "..."].contains(&code)
    };
    !text.lines().all(does_nothing)
}

/// Whether a JavaScript or TypeScript program has a statement.
pub(crate) fn in_javascript(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        let end = if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map(|end| end + 4)
        } else if rest.starts_with("//") {
            rest.find('\n')
        } else {
            return !rest.is_empty();
        };
        match end {
            Some(end) => rest = &rest[end..],
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_not_statements() {
        for text in ["", "\n", "# x", "pass", "  # x\n\npass  # y\n...\n"] {
            assert!(!in_python(text), "{text}");
        }
        for text in [
            "x",
            "'#'",
            "pass; x = 1",
            "def f():\n    pass",
            "# x\nimport a",
        ] {
            assert!(in_python(text), "{text}");
        }
        for text in ["", ";;", "// x", "/* x */ ;\n// y\n", "/* x\n y"] {
            assert!(!in_javascript(text), "{text}");
        }
        for text in ["x", "{}", "/* x */ f()", "// x\n'use strict'", "/"] {
            assert!(in_javascript(text), "{text}");
        }
    }
}
