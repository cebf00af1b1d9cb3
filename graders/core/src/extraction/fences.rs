//! Fenced blocks, as Markdown has them, read as loosely as models write them.

use std::ops::Range;

/// A line of three or more backticks or tildes.
#[derive(Debug, Clone)]
pub struct Fence<'a> {
    /// The line with its end, in bytes of the text.
    pub line: Range<usize>,
    mark: char,
    length: usize,
    indent: usize,
    /// What stands behind the marks, trimmed.
    pub info: &'a str,
}

/// What stands between two fences.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// What stands behind the opening marks, trimmed: as a rule the name of a language.
    pub info: &'a str,
    /// Blanks before the opening marks, as in a list.
    pub indent: usize,
    /// The text between, in bytes of the whole.
    pub inside: Range<usize>,
}

/// Every line of a text that may open or close a block.
#[must_use]
pub fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let body = line.trim_start_matches([' ', '\t']);
        let Some(mark) = body.chars().next().filter(|mark| "`~".contains(*mark)) else {
            continue;
        };
        let length = body.chars().take_while(|c| *c == mark).count();
        let info = body[length..].trim();
        if length >= 3 && !(mark == '`' && info.contains('`')) {
            found.push(Fence {
                line: range,
                mark,
                length,
                indent: line.len() - body.len(),
                info,
            });
        }
    }
    found
}

/// Pairs fences: a block ends at a bare fence of its own mark, at least as long; one that never
/// ends goes to the end of the text.
#[must_use]
pub fn blocks<'a>(fences: &[Fence<'a>], end: usize) -> Vec<Block<'a>> {
    let mut found = Vec::new();
    let mut open: Option<&Fence<'a>> = None;
    for fence in fences {
        match open {
            None => open = Some(fence),
            Some(opening) => {
                if fence.info.is_empty()
                    && fence.mark == opening.mark
                    && fence.length >= opening.length
                {
                    let inside = opening.line.end..fence.line.start;
                    found.push(Block {
                        info: opening.info,
                        indent: opening.indent,
                        inside,
                    });
                    open = None;
                }
            }
        }
    }
    if let Some(opening) = open {
        found.push(Block {
            info: opening.info,
            indent: opening.indent,
            inside: opening.line.end..end,
        });
    }
    found
}

/// The text without the indentation of its opening fence, as in a list.
#[must_use]
pub fn outdented(text: &str, indent: usize) -> String {
    if indent == 0 {
        return text.to_owned();
    }
    let line = |line: &str| {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        line[blank.min(indent)..].to_owned()
    };
    text.split_inclusive('\n').map(line).collect()
}
