//! The program of a completion with line numbers, and the lines at which it fails.

use serde_json::Value;

use crate::display::{MAX_TEXT_CHARACTERS, SafeText, count};

/// Maximum number of lines on a page.
const MAX_LINES: usize = 500;

/// A line of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceLine {
    pub(crate) number: usize,
    pub(crate) text: String,
    /// Whether an error names the line.
    pub(crate) fails: bool,
}

/// The lines of a program around the first one that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) lines: Vec<SourceLine>,
    /// A sentence about the lines that are not shown.
    pub(crate) left: Option<String>,
}

impl Source {
    /// The program in the evidence of a grade; `None` if there is none.
    pub(super) fn of(evidence: &Value) -> Option<Self> {
        let program = evidence["program"].as_str()?;
        let failing = failing_lines(evidence);
        let all = program.lines().count();
        let first = failing.iter().min().map_or(0, |first| first - 1);
        let from = first
            .saturating_sub(MAX_LINES / 2)
            .min(all.saturating_sub(MAX_LINES));
        let mut room = MAX_TEXT_CHARACTERS;
        let lines: Vec<SourceLine> = program
            .lines()
            .enumerate()
            .skip(from)
            .take(MAX_LINES)
            .map_while(|(at, line)| {
                let taken = line.chars().count();
                room = (room > 0).then(|| room.saturating_sub(taken))?;
                let shown: String = line.chars().take(MAX_TEXT_CHARACTERS).collect();
                Some(SourceLine {
                    number: at + 1,
                    text: SafeText(&shown).to_string(),
                    fails: failing.contains(&(at + 1)),
                })
            })
            .collect();
        let left = all - lines.len();
        Some(Self {
            lines,
            left: (left > 0).then(|| format!("{} more lines are not shown.", count(left as u64))),
        })
    }
}

/// Numbers of lines of the program, from those of the completion in the evidence.
fn failing_lines(evidence: &Value) -> Vec<usize> {
    let Some(first) = evidence["first_line"].as_u64() else {
        return Vec::new();
    };
    let lines = evidence["lines"]
        .as_array()
        .or_else(|| evidence["first_failure"]["lines"].as_array());
    let of_program = |line: &Value| {
        let line = line.as_u64()?.checked_sub(first)?;
        usize::try_from(line).ok()?.checked_add(1)
    };
    lines.into_iter().flatten().filter_map(of_program).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marks_the_lines_that_an_error_names() {
        let program = "def f():\n    return 1 / 0\n";
        for evidence in [
            json!({ "program": program, "first_line": 3, "lines": [4] }),
            json!({ "program": program, "first_line": 3, "first_failure": { "lines": [4] } }),
        ] {
            let source = Source::of(&evidence).unwrap();
            let lines: Vec<_> = source
                .lines
                .iter()
                .map(|line| (line.number, line.text.as_str(), line.fails))
                .collect();
            assert_eq!(
                lines,
                [(1, "def f():", false), (2, "    return 1 / 0", true)]
            );
            assert_eq!(source.left, None);
        }
        assert_eq!(Source::of(&json!({ "extracted": "4" })), None);
    }

    #[test]
    fn shows_the_lines_around_an_error_of_a_long_program() {
        let evidence = json!({ "program": "x\n".repeat(3_000), "first_line": 1, "lines": [2_000] });
        let source = Source::of(&evidence).unwrap();
        assert_eq!(source.lines.len(), MAX_LINES);
        assert!(source.lines.iter().any(|line| line.fails));
        assert_eq!(
            source.left.as_deref(),
            Some("2,500 more lines are not shown.")
        );
        let long = json!({ "program": "xy".repeat(40_000) });
        let source = Source::of(&long).unwrap();
        assert_eq!(source.lines[0].text.len(), MAX_TEXT_CHARACTERS);
    }
}
