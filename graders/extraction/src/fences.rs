//! Fenced blocks of Markdown, parsed as loosely as models write them.

use std::ops::Range;

/// A line of three or more backticks or tildes.
#[derive(Debug, Clone)]
pub struct Fence<'a> {
    /// Byte range of the line in the text, with its line break.
    pub line: Range<usize>,
    mark: char,
    length: usize,
    indent: usize,
    /// The info string: the trimmed text after the marks.
    pub info: &'a str,
}

/// A fenced block.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// The info string of the opening fence, usually the name of a language.
    pub info: &'a str,
    /// Blanks before the opening fence, for example of a block in a list.
    pub indent: usize,
    /// Byte range of the content in the text.
    pub inside: Range<usize>,
}

/// Returns every line of `text` that may open or close a block.
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

/// Pairs fences into blocks. A block ends at a fence with the same mark, at least the same length
/// and no info string. An unclosed block ends at `end`, the end of the text.
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

/// Removes the indentation of the opening fence from every line of `text`.
#[must_use]
pub fn without_indent(text: &str, indent: usize) -> String {
    if indent == 0 {
        return text.to_owned();
    }
    let line = |line: &str| {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        line[blank.min(indent)..].to_owned()
    };
    text.split_inclusive('\n').map(line).collect()
}
