//! Finds lines of a program in the text of an exception. A program can forge the text, so the lines
//! are only a hint.

/// Start of a frame of the program in a traceback of Python.
const FRAME: &str = "File \"main.py\", line ";

/// The place of a frame in a stack trace of JavaScript, followed by the line and the column.
const PLACE: &str = "main.js:";

/// The beginnings of places in the messages of the compiler of C and C++, followed by the line.
const SOURCES: [&str; 2] = ["main.cpp:", "main.c:"];

/// Line before the frames of an exception in Python. An exception that was raised from another one
/// follows it.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// Most frames that are returned: the innermost ones.
const MAX_FRAMES: usize = 20;

/// Bytes that are searched, at the end of the text.
const MAX_BYTES: usize = 64 << 10;

/// Lines of the program, outermost first, of the last exception that has any.
pub(crate) fn lines(text: &str) -> Vec<usize> {
    let mut start = text.len().saturating_sub(MAX_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let text = &text[start..];
    let lines = frames(text);
    if lines.is_empty() { stack(text) } else { lines }
}

/// Lines to which a message of the compiler of C and C++ refers, in its order.
pub(crate) fn lines_of_diagnostics(message: &str) -> Vec<usize> {
    let place = |line: &str| {
        let mut sources = SOURCES.iter();
        sources.find_map(|source| leading_number(line.strip_prefix(source)?))
    };
    let mut lines = Vec::new();
    for line in message.lines().filter_map(place) {
        if !lines.contains(&line) {
            lines.push(line);
        }
        if lines.len() == MAX_FRAMES {
            break;
        }
    }
    lines
}

/// Lines of the last traceback of Python.
fn frames(text: &str) -> Vec<usize> {
    let mut lines: Vec<usize> = Vec::new();
    let mut starts_exception = false;
    for line in text.lines().map(str::trim_start) {
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

/// Lines of the first stack trace of JavaScript, which begins with the innermost frame.
fn stack(text: &str) -> Vec<usize> {
    let frames = text.lines().map(str::trim_start);
    let frames = frames
        .skip_while(|line| !line.starts_with("at "))
        .take_while(|line| line.starts_with("at "));
    let place = |line: &str| leading_number(line.split_once(PLACE)?.1);
    let mut lines: Vec<usize> = frames.filter_map(place).take(MAX_FRAMES).collect();
    lines.reverse();
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
    fn returns_lines_of_a_stack_trace() {
        let text = "main.js:3\n  throw new Error();\n  ^\n\nError: at main.js:9:1\n    at f \
                    (main.js:3:9)\n    at Array.map (<anonymous>)\n    at main.js:12:1 {\n  code: \
                    1\n}\n    at g (main.js:99:1)\n";
        assert_eq!(lines(text), [12, 3]);
        assert_eq!(lines("SyntaxError: no\n    at main.js:7:2"), [7]);
        assert_eq!(
            lines(&"    at main.js:7:2\n".repeat(1_000)),
            [7; MAX_FRAMES]
        );
    }

    #[test]
    fn returns_lines_of_diagnostics() {
        let text = "main.cpp:7:5: error: no matching function\nmain.cpp:2:16: note: \
                    candidate\nmain.cpp:7:9: error: again\ncall.cpp:3:1: error: other file\n  main.cpp:9\n";
        assert_eq!(lines_of_diagnostics(text), [7, 2]);
        assert_eq!(lines_of_diagnostics("main.c:3:1: error: x"), [3]);
        let many: String = (1..100).map(|line| format!("main.c:{line}:\n")).collect();
        assert_eq!(lines_of_diagnostics(&many).len(), MAX_FRAMES);
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
