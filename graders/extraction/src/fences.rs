//! Fenced blocks of Markdown, parsed as loosely as models write them. Beyond CommonMark, a fence
//! may open after text in a line (``So: ```python``), and a block may end on a line of its content.

use std::ops::Range;

/// A run of three or more backticks or tildes at the end of a line, possibly with an info string.
#[derive(Debug, Clone)]
pub struct Fence<'a> {
    /// Byte range of the line in the text, with its line break.
    pub line: Range<usize>,
    mark: char,
    length: usize,
    place: Place,
    margin: Margin,
    /// The info string: the trimmed text after the marks.
    pub info: &'a str,
    /// Where the content of a block begins. In the line itself if code follows the language there,
    /// as in `` ```python x = 1 ``.
    content: usize,
}

/// What precedes the marks in their line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At most blanks and marks of a quotation.
    Line,
    /// Also the mark of a list item.
    Item,
    /// Other text.
    Text,
    /// Nothing, but text and another fence follow, so it can only close a block.
    Closing,
}

/// What precedes the lines of a block: the marks of quotations, then blanks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Margin {
    quotes: usize,
    indent: usize,
}

/// A fenced block.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// The info string of the opening fence, usually the name of a language.
    pub info: &'a str,
    /// What precedes its lines, for example in a list.
    pub margin: Margin,
    /// Start of the line of the opening fence.
    pub start: usize,
    /// Byte range of the content in the text.
    pub inside: Range<usize>,
    /// Whether a fence ends the block. Otherwise it ends with the text.
    pub is_closed: bool,
}

/// Code that is not in lines of its own, as in `` ```sql select 1``` ``.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inline {
    /// Byte range of the content in the text.
    pub inside: Range<usize>,
    /// Whether marks end the code. Otherwise it ends with the text.
    pub is_closed: bool,
}

impl<'a> Fence<'a> {
    /// A fence in `line`, which has the byte range `range` in the text. The info string ends it.
    fn new(
        range: &Range<usize>,
        place: Place,
        (mark, length): (char, usize),
        margin: Margin,
        info: &'a str,
        line: &str,
    ) -> Self {
        let code = code_after_language(info).map(|code| line.trim_end().len() - code.len());
        Self {
            line: range.clone(),
            mark,
            length,
            place,
            margin,
            info,
            content: code.map_or(range.end, |code| range.start + code),
        }
    }

    /// Whether the fence has neither an info string nor text before it, and so may close a block.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.place == Place::Line && self.info.is_empty()
    }

    fn closes(&self, opening: &Fence<'_>) -> bool {
        (self.is_bare() || self.place == Place::Closing)
            && self.mark == opening.mark
            && self.length >= opening.length
            && self.margin.quotes <= opening.margin.quotes
    }
}

impl Margin {
    /// Whether marks of quotations precede the lines.
    #[must_use]
    pub fn has_quotes(self) -> bool {
        self.quotes > 0
    }
}

impl Block<'_> {
    /// The first word of the info string.
    #[must_use]
    pub fn language(&self) -> Option<&str> {
        language(self.info)
    }
}

/// The first word of an info string, such as `python` in `{.python title="a.py"}`.
fn language(info: &str) -> Option<&str> {
    info.split(|c: char| !is_of_language(c))
        .find(|word| !word.is_empty())
}

fn is_of_language(c: char) -> bool {
    c.is_alphanumeric() || "+#".contains(c)
}

/// Returns every fence of `text` that may open or close a block.
#[must_use]
pub fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        if line.contains("```") || line.contains("~~~") {
            match at_start(line, &range) {
                Some(fence) => found.push(fence),
                None => {
                    found.extend(closing(line, &range));
                    found.extend(after_text(line, &range));
                }
            }
        }
    }
    found
}

/// Marks of quotations and lists at the start of a line: the place and margin of what follows, and
/// the rest of the line.
fn prefix(line: &str) -> (Place, Margin, &str) {
    let (mut at, mut after_quotes, mut quotes) = (0, 0, 0);
    let mut place = Place::Line;
    loop {
        at += blanks(&line[at..]);
        let rest = &line[at..];
        if let Some(quoted) = rest.strip_prefix('>') {
            at += 1 + usize::from(quoted.starts_with(' '));
            quotes += 1;
            after_quotes = at;
        } else if let Some(length) = list_mark(rest) {
            at += length;
            place = Place::Item;
        } else {
            let indent = at - after_quotes;
            return (place, Margin { quotes, indent }, rest);
        }
    }
}

/// A fence with nothing but marks of quotations and lists before it.
fn at_start<'a>(line: &'a str, range: &Range<usize>) -> Option<Fence<'a>> {
    let (place, margin, body) = prefix(line);
    let (mark, length) = run(body)?;
    let info = body[length..].trim();
    (!(mark == '`' && info.contains('`')))
        .then(|| Fence::new(range, place, (mark, length), margin, info, line))
}

/// Marks at the start of a line in which another fence opens after text, as in
/// ```` ``` and then ```python ````.
fn closing<'a>(line: &'a str, range: &Range<usize>) -> Option<Fence<'a>> {
    let (place, margin, body) = prefix(line);
    let (mark, length) = run(body)?;
    let rest = &body[length..];
    let last = rest.trim_end().rfind(&mark.to_string().repeat(3))?;
    let opens = is_info(rest[last + 3..].trim()) && count_runs(rest, mark) == 1;
    (place == Place::Line && opens && rest.starts_with([' ', '\t']))
        .then(|| Fence::new(range, Place::Closing, (mark, length), margin, "", line))
}

/// A fence after text. Its info string must look like one; without an info string, blanks must
/// precede it, or a colon.
fn after_text<'a>(line: &'a str, range: &Range<usize>) -> Option<Fence<'a>> {
    let last = line.rfind("```").max(line.rfind("~~~"))?;
    let mark = line[last..].chars().next()?;
    let start = line[..last].trim_end_matches(mark).len();
    let (before, info) = (&line[..start], line[last + 3..].trim());
    let introduces = before.ends_with([' ', ':', '：']);
    let opens =
        is_info(info) || code_after_language(info).is_some() || info.is_empty() && introduces;
    // After an odd number of runs, this one ends code within the line, unless the first one closes
    // a block.
    let runs = count_runs(before, mark) - usize::from(closing(line, range).is_some());
    let marks = (mark, last + 3 - start);
    let margin = prefix(line).1;
    (opens && runs.is_multiple_of(2))
        .then(|| Fence::new(range, Place::Text, marks, margin, info, line))
}

/// The number of blanks at the start.
fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// The length of the mark of a list item at the start.
fn list_mark(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mark: &[char] = if digits == 0 {
        &['-', '*', '+']
    } else {
        &['.', ')']
    };
    let rest = text[digits..].strip_prefix(mark)?;
    (digits < 10 && rest.starts_with([' ', '\t'])).then_some(digits + 1)
}

/// The mark and the length of a run of three or more marks at the start.
fn run(text: &str) -> Option<(char, usize)> {
    let mark = text.chars().next().filter(|mark| "`~".contains(*mark))?;
    let length = text.len() - text.trim_start_matches(mark).len();
    (length >= 3).then_some((mark, length))
}

/// The number of runs of three or more marks.
fn count_runs(text: &str, mark: char) -> usize {
    let (mut count, mut length) = (0, 0);
    for c in text.chars() {
        length = if c == mark { length + 1 } else { 0 };
        count += usize::from(length == 3);
    }
    count
}

/// Whether a text looks like an info string rather than prose: one word, possibly with attributes
/// (`python title="a.py"`).
fn is_info(text: &str) -> bool {
    let (word, attributes) = text
        .split_once(char::is_whitespace)
        .map_or((text, ""), |(word, rest)| (word, rest.trim()));
    let name = word.strip_prefix("{.").unwrap_or(word);
    let is_name = |c: char| c.is_alphanumeric() || "+#._-:/}".contains(c);
    name.starts_with(char::is_alphabetic)
        && name.chars().all(is_name)
        && !name.ends_with(['.', ':'])
        && (attributes.is_empty() || attributes.starts_with('{') || attributes.contains('='))
}

/// Words with which a line of code begins and no info string goes on.
const KEYWORDS: &[&str] = &[
    "#include", "async", "class", "const", "create", "def", "for", "from", "function", "if",
    "import", "let", "return", "select", "using", "var", "while", "with",
];

/// Code that follows the language in the line of a fence, as in `` ```python x = 1 ``.
fn code_after_language(info: &str) -> Option<&str> {
    let (word, rest) = info.split_once(char::is_whitespace)?;
    let code = rest.trim_start();
    let first = code.split(|c: char| c.is_whitespace() || c == '<').next()?;
    let is_keyword = KEYWORDS
        .iter()
        .any(|keyword| first.eq_ignore_ascii_case(keyword));
    let is_name = |text: &str| {
        text.chars()
            .all(|c| c.is_alphanumeric() || "_.".contains(c))
    };
    let is_assignment = code
        .split_once(" = ")
        .is_some_and(|(name, _)| name.split(',').all(|name| is_name(name.trim())));
    let is_call = code.split_once('(').is_some_and(|(name, rest)| {
        !name.is_empty() && is_name(name) && rest.trim_end().ends_with([')', '(', ',', ';'])
    });
    let goes_on = code.len() > first.len();
    (word.chars().all(is_of_language) && (is_keyword && goes_on || is_assignment || is_call))
        .then_some(code)
}

/// Pairs fences into blocks. A block ends at a fence with the same mark, at least the same length
/// and no info string. A fence after text opens a block only if the next fence at the start of a
/// line ends it, or if it has an info string and lines of content but no such fence follows. A
/// block without such an end is closed by the first run of marks that ends a line
/// of its content, or that blanks and text follow; otherwise it ends with the text.
#[must_use]
pub fn blocks<'a>(text: &str, fences: &[Fence<'a>]) -> Vec<Block<'a>> {
    let mut found = Vec::new();
    let mut open: Option<&Fence<'a>> = None;
    let block = |opening: &Fence<'a>, end: usize, is_closed: bool| Block {
        info: opening.info,
        margin: opening.margin,
        start: opening.line.start,
        inside: opening.content..end.max(opening.content),
        is_closed,
    };
    // The marks of the last fence, before text: ```` ``` Done ````.
    let ends_loosely = |fence: &Fence<'_>, next: &Fence<'_>| {
        let line = text[next.line.clone()].trim_start();
        let is_last = fences.last().is_some_and(|last| last.line == next.line);
        let after = line.trim_start_matches(fence.mark);
        let is_end = line.starts_with(fence.mark) && after.starts_with([' ', '\t']);
        is_last && is_end && !fence.info.is_empty()
    };
    let opens = |fence: &Fence<'_>, next: Option<&Fence<'_>>| match (fence.place, next) {
        (Place::Line | Place::Item, _) => true,
        (Place::Closing, _) => false,
        (Place::Text, Some(next)) => next.closes(fence) || ends_loosely(fence, next),
        (Place::Text, None) => {
            !fence.info.is_empty() && !text[fence.line.end.min(text.len())..].trim().is_empty()
        }
    };
    for (fence, next) in fences.iter().zip(next_at_start(fences)) {
        match open {
            None if opens(fence, next) => open = Some(fence),
            Some(opening) if fence.closes(opening) => {
                found.push(block(opening, fence.line.start, true));
                open = None;
            }
            _ => {}
        }
    }
    if let Some(opening) = open {
        let end = loose_end(text, opening);
        found.push(block(opening, end.unwrap_or(text.len()), end.is_some()));
    }
    found
}

/// For each fence, the next one at the start of a line.
fn next_at_start<'a, 'f>(fences: &'f [Fence<'a>]) -> Vec<Option<&'f Fence<'a>>> {
    let mut next = None;
    let mut found: Vec<_> = fences
        .iter()
        .rev()
        .map(|fence| {
            let following = next;
            if matches!(fence.place, Place::Line | Place::Closing) {
                next = Some(fence);
            }
            following
        })
        .collect();
    found.reverse();
    found
}

/// Where a block ends whose marks are not on a line of their own: ``print(1)``` `` or
/// ```` ``` Done.````.
fn loose_end(text: &str, opening: &Fence<'_>) -> Option<usize> {
    let marks = opening.mark.to_string().repeat(opening.length);
    let mut start = opening.content;
    for line in text[start.min(text.len())..].split_inclusive('\n') {
        let body = line.trim_start_matches([' ', '\t']);
        let after = body.trim_start_matches(opening.mark);
        // A word right after the marks may be an info string.
        let is_end = !after.starts_with(char::is_alphanumeric) || start + line.len() == text.len();
        if body.starts_with(&marks) && is_end {
            return Some(start);
        }
        if let Some(end) = end_within(line, &marks) {
            return Some(start + end);
        }
        let content = line.trim_end();
        if content.ends_with(&marks) {
            return Some(start + content.trim_end_matches(opening.mark).len());
        }
        start += line.len();
    }
    None
}

/// Where marks end code in a line that goes on with prose, as in ``print(1)``` That is all.``.
/// Marks in a string of the code do not.
fn end_within(line: &str, marks: &str) -> Option<usize> {
    let mark = marks.chars().next()?;
    let (mut from, mut quotes) = (0, [0; 2]);
    while let Some(next) = line[from..].find(marks) {
        let (at, before) = (from + next, &line[from..from + next]);
        for (count, quote) in quotes.iter_mut().zip(['"', '\'']) {
            *count += before.matches(quote).count();
        }
        let after = line[at..].trim_start_matches(mark);
        let is_open = quotes.iter().any(|count| !count.is_multiple_of(2));
        if !is_open && after.starts_with([' ', '\t']) && !after.trim().is_empty() {
            return Some(at);
        }
        from = line.len() - after.len();
    }
    None
}

/// The last code after backticks and a word that `is_named` accepts, up to the next backticks. Use
/// it for texts without a block.
#[must_use]
pub fn inline(text: &str, is_named: impl Fn(&str) -> bool) -> Option<Inline> {
    // A search from the start is several times as fast as one from the end.
    if !text.contains("```") {
        return None;
    }
    let mut end = text.len();
    while let Some(last) = text[..end].rfind("```") {
        let start = text[..last].trim_end_matches('`').len();
        let rest = &text[last + 3..];
        let word = rest
            .split(|c| !is_of_language(c))
            .next()
            .unwrap_or_default();
        if rest[word.len()..].starts_with(char::is_whitespace) && is_named(word) {
            let content = last + 3 + word.len();
            let close = text[content..].find(&text[start..last + 3]);
            return Some(Inline {
                inside: content..close.map_or(text.len(), |close| content + close),
                is_closed: close.is_some(),
            });
        }
        end = start;
    }
    None
}

/// The lines of a part of `text` without a margin, as byte ranges. Blanks are removed up to the
/// indentation of the fence, but at most as many as the first nonblank line has, because models
/// also write blocks of lists without indentation.
#[must_use]
pub fn lines(text: &str, part: Range<usize>, margin: Margin) -> Vec<Range<usize>> {
    let mut start = part.start;
    let mut found = Vec::new();
    for line in text[part].split_inclusive('\n') {
        let end = start + line.len();
        let mut rest = line;
        for _ in 0..margin.quotes {
            let Some(quoted) = rest.trim_start_matches([' ', '\t']).strip_prefix('>') else {
                break;
            };
            rest = quoted.strip_prefix(' ').unwrap_or(quoted);
        }
        found.push(end - rest.len()..end);
        start = end;
    }
    let has_content = |line: &&Range<usize>| !text[(*line).clone()].trim().is_empty();
    let first = found.iter().find(has_content);
    let indent = first
        .map_or(0, |line| blanks(&text[line.clone()]))
        .min(margin.indent);
    for line in &mut found {
        line.start += blanks(&text[line.clone()]).min(indent);
    }
    found
}

/// A part of `text` whose lines have no margin.
#[must_use]
pub fn without_margin(text: &str, part: Range<usize>, margin: Margin) -> String {
    lines(text, part, margin)
        .into_iter()
        .map(|line| &text[line])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks as info string, content and whether they are closed.
    fn read(text: &str) -> Vec<(&str, String, bool)> {
        let block = |block: Block<'_>| {
            let content = without_margin(text, block.inside.clone(), block.margin);
            let info = text
                .find(block.info)
                .map_or("", |at| &text[at..at + block.info.len()]);
            (info, content, block.is_closed)
        };
        blocks(text, &fences(text)).into_iter().map(block).collect()
    }

    fn one(text: &str) -> (&str, String) {
        let found = read(text);
        let [(info, content, true)] = found.as_slice() else {
            panic!("{text}: {found:?}");
        };
        (info, content.clone())
    }

    #[test]
    fn blocks_may_begin_after_text() {
        for text in [
            "So: ```python\nx\n```",
            "So ~~~python\nx\n~~~\n",
            "Take `y` and ```z``` as in ```python\nx\n```\nDone.",
            "It is: ````python\nx\n````",
            "So: ```python\r\nx\n```\r\n",
            "So: ```{.python}\nx\n```",
            "So: ```python title=\"a b.py\"\nx\n```",
            "  So: ```python\n  x\n  ```",
            "- So: ```python\n  x\n  ```",
            "1. So: ```python\nx\n```",
            "> So: ```python\n> x\n> ```",
            "> - So: ```python\n>   x\n>   ```",
        ] {
            let (info, content) = one(text);
            assert!(info.contains("python"), "{text}: {info}");
            assert_eq!(content, "x\n", "{text}");
        }
        assert_eq!(one("The answer is: ```\nx\n```"), ("", "x\n".to_owned()));
        assert_eq!(
            read("First ```a\n1\n```\nthen ```b\n2\n```\n"),
            [("a", "1\n".to_owned(), true), ("b", "2\n".to_owned(), true)]
        );
    }

    #[test]
    fn a_mention_of_a_fence_opens_no_block() {
        for text in [
            "Put it into ```python\n\n```python\nx\n```",
            "Put it between ``` and ```\n\n```python\nx\n```",
            "I write ```python.\n```python\nx\n```",
            "I write ```python blocks\n```python\nx\n```",
            "```python\nx\n```\nThat is all I can say about ```python\n",
        ] {
            assert_eq!(one(text), ("python", "x\n".to_owned()), "{text}");
        }
        // The marks inside a block are its content.
        let nested = "````md\nSo: ```python\nx\n```\n````";
        assert_eq!(one(nested), ("md", "So: ```python\nx\n```\n".to_owned()));
    }

    #[test]
    fn blocks_may_be_in_lists_and_quotations() {
        for text in [
            "1. ```py\n   x\n     y\n   ```",
            "- ```py\n  x\n    y\n  ```",
            "- a\n\n  ```py\n  x\n    y\n  ```",
            "> ```py\n> x\n>   y\n> ```",
            "> > ~~~py\n> > x\n> >   y\n> > ~~~",
            "> 1. ```py\n>    x\n>      y\n>    ```",
            "10) ```py\nx\n  y\n```",
            "   ```py\nx\n  y\n   ```",
            "> ```py\nx\n  y\n```",
        ] {
            assert_eq!(one(text), ("py", "x\n  y\n".to_owned()), "{text}");
        }
    }

    #[test]
    fn marks_on_a_line_of_the_content_end_a_block_without_another_end() {
        for text in [
            "```py\nx```",
            "```py\nx ``` \n",
            "```py\nx\n``` Done.",
            "```py\nx``` Done.",
            "```py\nx ```` Done and ```py y",
            "```py\nx\n``` That is all.\nBye",
        ] {
            let (info, content) = one(text);
            assert_eq!((info, content.trim_end()), ("py", "x"), "{text}");
        }
        for text in ["s = '``` x'", "s = \"a ``` x\""] {
            let block = format!("```py\n{text}");
            assert_eq!(read(&block), [("py", text.to_owned(), false)]);
        }
        assert_eq!(read("```py\nx"), [("py", "x".to_owned(), false)]);
        assert_eq!(read("```py"), [("py", String::new(), false)]);
        assert_eq!(
            one("```py\ns = '```'\nx ```\n```"),
            ("py", "s = '```'\nx ```\n".to_owned())
        );
    }

    #[test]
    fn finds_the_last_code_within_a_line() {
        let found = |text: &str| {
            let found = inline(text, |word| word == "py")?;
            Some((text[found.inside].to_owned(), found.is_closed))
        };
        let closed = |content: &str| Some((content.to_owned(), true));
        assert_eq!(found("It is ```py x```."), closed(" x"));
        assert_eq!(
            found("```py x``` or ```py y``` or ```js z```"),
            closed(" y")
        );
        assert_eq!(found("````py s = '```'````"), closed(" s = '```'"));
        assert_eq!(found("so ```py\nx\n``` done"), closed("\nx\n"));
        assert_eq!(found("so ```py x"), Some((" x".to_owned(), false)));
        assert_eq!(found("```pyx x``` ```py``` py"), None);
    }

    #[test]
    fn reads_many_marks_in_linear_time() {
        for mark in [
            "a ```b\n", "```", "> ", "- ", "a: ```\n", "```py\n", "``` a\n",
        ] {
            let text = mark.repeat(300_000);
            let found = fences(&text);
            assert!(blocks(&text, &found).len() <= 300_000, "{mark}");
            assert_eq!(inline(&text, |word| word == "none"), None, "{mark}");
        }
    }
}
