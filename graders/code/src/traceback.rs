//! Finds lines of a program in the text of an exception. A program can forge the text, so the lines
//! are only a hint.

/// Start of a frame of the program.
const FRAME: &str = "File \"main.py\", line ";

/// Line before the frames of an exception. An exception that was raised from another one follows
/// it.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// Most frames that are returned: the last ones.
const MAX_FRAMES: usize = 20;

/// Bytes that are searched, at the end of the text.
const MAX_BYTES: usize = 64 << 10;

/// Lines of the program, outermost first, of the last exception that has any.
pub(crate) fn lines(text: &str) -> Vec<usize> {
    let mut start = text.len().saturating_sub(MAX_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let mut lines: Vec<usize> = Vec::new();
    let mut starts_exception = false;
    for line in text[start..].lines().map(str::trim_start) {
        // In the traceback of a test, the program's exception is a note, whose lines have these
        // prefixes.
        let line = line.trim_start_matches(['|', '+', '-', ' ']);
        if line.starts_with(TRACEBACK) {
            starts_exception = true;
        }
        let Some(number) = line.strip_prefix(FRAME).and_then(leading_number) else {
            continue;
        };
        if std::mem::take(&mut starts_exception) {
            lines.clear();
        }
        lines.push(number);
    }
    lines.drain(..lines.len().saturating_sub(MAX_FRAMES));
    lines
}

fn leading_number(text: &str) -> Option<usize> {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_lines_of_the_last_exception() {
        let text = r#"Traceback (most recent call last):
  File "test.py", line 1, in <module>
  File "main.py", line 9, in early
ValueError: first

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "main.py", line 12, in <module>
    f()
  File "lib.py", line 5, in g
  File "main.py", line 3, in f
ZeroDivisionError: division by zero
"#;
        assert_eq!(lines(text), [12, 3]);
        let noted = format!(
            "{text}Traceback (most recent call last):\n  File \"test.py\", line 2, in <module>\nE\n"
        );
        assert_eq!(
            lines(&noted),
            [12, 3],
            "the last exception with frames of the program"
        );
        assert_eq!(
            lines("  File \"main.py\", line 4\n    x = = 1\nSyntaxError: invalid syntax"),
            [4]
        );
    }

    #[test]
    fn bounds_forged_tracebacks() {
        assert!(
            lines("File \"main.py\", line , File \"main.py\", line 99999999999999999999999999\n")
                .is_empty()
        );
        let many = "File \"main.py\", line 7\n".repeat(1_000_000);
        assert_eq!(lines(&many), [7; MAX_FRAMES]);
        let text = "é".repeat(MAX_BYTES);
        assert!(lines(&text).is_empty());
    }
}
