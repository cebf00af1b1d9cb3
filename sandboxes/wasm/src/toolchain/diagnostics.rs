//! Reads messages of the compiler.

/// The option that writes the ranges of the text that a message is about.
pub(super) const WITH_RANGES: &str = "-fdiagnostics-print-source-range-info";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Error,
    Warning,
    Note,
}

/// A line and a column, from 1. Columns count bytes.
pub(super) type Position = (usize, usize);

/// A message about a place in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Diagnostic<'a> {
    pub(super) severity: Severity,
    pub(super) path: &'a str,
    pub(super) position: Position,
    /// Begin and end of each range, which are in the same file.
    pub(super) ranges: Vec<(Position, Position)>,
    pub(super) text: &'a str,
}

/// All messages of an output, in order.
pub(super) fn diagnostics(output: &str) -> Vec<Diagnostic<'_>> {
    output.lines().filter_map(diagnostic).collect()
}

/// Reads `main.c:3:20:{3:12-3:14}{3:20-3:21}: warning: text`. Other lines show the source.
fn diagnostic(line: &str) -> Option<Diagnostic<'_>> {
    let severities = [
        (": error: ", Severity::Error),
        (": fatal error: ", Severity::Error),
        (": warning: ", Severity::Warning),
        (": note: ", Severity::Note),
    ];
    let found = severities.iter().filter_map(|(mark, severity)| {
        let (place, text) = line.split_once(mark)?;
        Some((place, *severity, text))
    });
    let (place, severity, text) = found.min_by_key(|(place, ..)| place.len())?;
    let (place, ranges) = match place.split_once(":{") {
        Some((place, ranges)) => (place, ranges.trim_end_matches([':', '}'])),
        None => (place, ""),
    };
    let (rest, column) = place.rsplit_once(':')?;
    let (path, number) = rest.rsplit_once(':')?;
    let ranges = ranges.split("}{").filter_map(|range| {
        let (start, end) = range.split_once('-')?;
        Some((position(start)?, position(end)?))
    });
    Some(Diagnostic {
        severity,
        path,
        position: (number.parse().ok()?, column.parse().ok()?),
        ranges: ranges.collect(),
        text,
    })
}

fn position(text: &str) -> Option<Position> {
    let (line, column) = text.split_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// An output without warnings and their notes, and without ranges, as with `-w`.
pub(super) fn without_warnings(output: &str) -> String {
    let mut kept = String::with_capacity(output.len());
    let (mut included, mut dropping) = (String::new(), false);
    for line in output.split_inclusive('\n') {
        if line.starts_with("In file included from ") {
            included.push_str(line);
            continue;
        }
        match diagnostic(line.trim_end()).map(|message| message.severity) {
            Some(Severity::Warning) => dropping = true,
            Some(Severity::Error) => dropping = false,
            Some(Severity::Note) => {}
            None if line.contains("error") && !line.starts_with(' ') => dropping = false,
            None => {}
        }
        let included = std::mem::take(&mut included);
        if !dropping {
            kept.push_str(&included);
            kept.push_str(&without_ranges(line));
        }
    }
    kept
}

/// A line without the ranges of its message, and without the number of warnings.
fn without_ranges(line: &str) -> String {
    if let Some((place, rest)) = line.split_once(":{")
        && let Some((_, text)) = rest.split_once("}: ")
        && diagnostic(line).is_some()
    {
        return format!("{place}: {text}");
    }
    match line.split_once(" and ") {
        Some((warnings, errors))
            if errors.ends_with(" generated.\n") && warnings.contains(" warning") =>
        {
            errors.to_owned()
        }
        _ => line.to_owned(),
    }
}

/// The text in the first pair of quotes.
pub(super) fn quoted(text: &str) -> Option<&str> {
    text.split('\'').nth(1)
}

/// A source with the places that its `#line` directives define.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    /// The name of the file.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

/// A line of a source.
pub(super) struct Line<'a> {
    /// Where messages say that it is.
    pub(super) path: &'a str,
    pub(super) number: usize,
    /// Offset of its first byte in the source.
    pub(super) start: usize,
    pub(super) text: &'a str,
}

impl<'a> Source<'a> {
    pub(super) fn lines(self) -> impl Iterator<Item = Line<'a>> {
        let (mut path, mut number, mut start) = (self.name, 1, 0);
        self.text.split_inclusive('\n').filter_map(move |text| {
            let line = Line {
                path,
                number,
                start,
                text,
            };
            start += text.len();
            let directive = text.strip_prefix("#line ").and_then(|rest| {
                let (next, name) = rest.trim_end().split_once(' ')?;
                Some((next.parse().ok()?, name.trim_matches('"')))
            });
            if let Some((next, name)) = directive {
                (number, path) = (next, name);
                return None;
            }
            number += 1;
            Some(line)
        })
    }

    /// The offset of a position of a message; `None` if it is in another file.
    pub(super) fn offset(self, path: &str, (line, column): Position) -> Option<usize> {
        let mut lines = self.lines();
        let found = lines.find(|found| found.path == path && found.number == line)?;
        let offset = found.start + column.checked_sub(1)?;
        (offset <= found.start + found.text.len() && self.text.is_char_boundary(offset))
            .then_some(offset)
    }
}

/// The identifier at the beginning of a text; empty if there is none.
pub(super) fn identifier(text: &str) -> &str {
    let end = text.find(|character: char| !character.is_alphanumeric() && character != '_');
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_messages_with_ranges() {
        let output = "main.c:3:20:{3:12-3:14}{3:20-3:21}: warning: has type 'int' [-Wformat]\n    \
                      3 | a: error: b\nfile:x: error: c\nd.h:1:2: note: here\n1 error generated.\n";
        let read = diagnostics(output);
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].path, read[0].position), ("main.c", (3, 20)));
        assert_eq!(read[0].ranges, [((3, 12), (3, 14)), ((3, 20), (3, 21))]);
        assert_eq!(quoted(read[0].text), Some("int"));
        assert_eq!(
            (read[1].path, read[1].severity, read[1].text),
            ("d.h", Severity::Note, "here")
        );
    }

    #[test]
    fn warnings_are_removed_with_their_notes() {
        let output = "In file included from a.h:1:\n\
                      b.h:2:3:{2:1-2:3}: warning: unused [-W]\n    2 | x\nb.h:1:1: note: here\n\
                      In file included from a.h:2:\n\
                      main.c:3:1:{3:1-3:4}{3:5-3:6}: error: no type\n    3 | y: {1\n\
                      main.c:2:1: note: declared here\n    2 | z\n\
                      1 warning and 2 errors generated.\n";
        let expected = "In file included from a.h:2:\nmain.c:3:1: error: no type\n    3 | y: {1\n\
                        main.c:2:1: note: declared here\n    2 | z\n2 errors generated.\n";
        assert_eq!(without_warnings(output), expected);
    }

    #[test]
    fn finds_places_of_parts() {
        let text = "#line 1 \"a.c\"\nint x;\n#line 1 \"b.c\"\nint y;\nint z;\n";
        let source = Source { name: "b.c", text };
        assert_eq!(source.offset("a.c", (1, 5)), text.find('x'));
        assert_eq!(source.offset("b.c", (2, 5)), text.find('z'));
        assert_eq!(source.offset("b.c", (3, 1)), None);
        assert_eq!(source.offset("b.c", (2, 9)), None);
        assert_eq!(identifier("y1+2"), "y1");
    }
}
