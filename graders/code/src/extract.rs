//! Extracts the program from a completion: the last fenced block in the task's language, else the
//! last block that names no language, else code within a line that names the language, else the
//! last block, else the whole text if it compiles. A blank block is only read if there is no other.

use std::ops::Range;

use assay_extraction::fences::{Block, Fence, blocks, fences, inline, without_margin};

use crate::language;

/// How many later fences are tried as the end of a block that does not compile: strings of a
/// program may contain fences.
const MAX_LATER_FENCES: usize = 4;

/// A text that may be the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) text: String,
    /// Its byte range in the text that was searched.
    pub(crate) span: Range<usize>,
    pub(crate) rule: Rule,
}

/// How a program was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A fenced block, or code within a line, that names the language.
    Fenced,
    /// A fenced block that names no language, or another one.
    OtherFence,
    /// The rest of a line after marks that nothing closes, which may be prose.
    Mention,
    /// The whole completion, or what precedes marks at its end.
    Whole,
}

impl Rule {
    /// Whether a text that does not compile is prose rather than a program.
    pub(crate) fn may_be_prose(self) -> bool {
        matches!(self, Self::Mention | Self::Whole)
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Fenced => "fenced",
            Self::OtherFence => "other_fence",
            Self::Mention => "mention",
            Self::Whole => "whole",
        }
    }
}

/// Texts that may be the program, in the order in which they are tried until one compiles. Empty if
/// there is no code.
pub(crate) fn candidates(text: &str, language: &str) -> Vec<Candidate> {
    let is_language = |word: &str| {
        language::named(word).is_some_and(|language_of_word| language_of_word.name == language)
    };
    let is_blank = |part: Range<usize>| text[part].trim().is_empty();
    let fences = fences(text);
    let all = blocks(text, &fences);
    let blocks = || all.iter().filter(|block| !is_blank(block.inside.clone()));
    let in_language = |block: &&Block<'_>| block.language().is_some_and(is_language);
    let named = blocks()
        .rfind(in_language)
        .map(|block| (block, Rule::Fenced));
    let other = blocks()
        .rfind(|block| block.info.is_empty())
        .map(|block| (block, Rule::OtherFence));
    let begins_line = |block: &&Block<'_>| is_at_start_of_line(text, block);
    if let Some((block, rule)) = named.or(other) {
        let mut found = block_candidates(text, &fences, block, rule);
        if !block.is_closed && !begins_line(&block) {
            // It may be a mention of a fence.
            let earlier =
                blocks().rfind(|earlier| earlier.start < block.start && in_language(earlier));
            found.extend(
                earlier
                    .into_iter()
                    .flat_map(|earlier| block_candidates(text, &fences, earlier, Rule::Fenced)),
            );
        }
        return found;
    }
    if let Some(code) = inline(text, is_language).filter(|code| !is_blank(code.inside.clone())) {
        let is_mention = !code.is_closed && !text[code.inside.clone()].starts_with(['\r', '\n']);
        return vec![Candidate {
            text: text[code.inside.clone()].trim_start_matches(' ').to_owned(),
            span: code.inside,
            rule: if is_mention {
                Rule::Mention
            } else {
                Rule::Fenced
            },
        }];
    }
    if let Some(block) = blocks().next_back() {
        return block_candidates(text, &fences, block, Rule::OtherFence);
    }
    if let Some(block) = all.iter().filter(begins_line).rfind(in_language) {
        return block_candidates(text, &fences, block, Rule::Fenced);
    }
    // The prompt may have opened the block that marks at the end close.
    let end = match all.as_slice() {
        [] => text.len(),
        [block] if block.info.is_empty() && !block.is_closed => block.start,
        _ => return Vec::new(),
    };
    if is_blank(0..end) {
        return Vec::new();
    }
    vec![Candidate {
        text: text[..end].to_owned(),
        span: 0..end,
        rule: Rule::Whole,
    }]
}

/// Whether nothing but marks of quotations and lists precedes the marks of a block.
fn is_at_start_of_line(text: &str, block: &Block<'_>) -> bool {
    text[block.start..]
        .trim_start_matches(|c: char| c.is_ascii_digit() || " \t>-*+.)".contains(c))
        .starts_with(['`', '~'])
}

/// The content of a block, then its extensions to later closing fences.
fn block_candidates(
    text: &str,
    fences: &[Fence<'_>],
    block: &Block<'_>,
    rule: Rule,
) -> Vec<Candidate> {
    let later = fences
        .iter()
        .filter(|fence| fence.line.start > block.inside.end && fence.is_bare());
    let ends = std::iter::once(block.inside.end)
        .chain(later.map(|fence| fence.line.start).take(MAX_LATER_FENCES));
    ends.map(|end| {
        let span = block.inside.start..end;
        Candidate {
            text: without_margin(text, span.clone(), block.margin),
            span,
            rule,
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<(String, &'static str)> {
        candidates(text, "python")
            .into_iter()
            .next()
            .map(|found| (found.text, found.rule.as_str()))
    }

    #[test]
    fn takes_the_last_block_in_the_language() {
        let text = "```python\na\n```\n```py\nb\n```\n```text\nc\n```\n";
        assert_eq!(first(text), Some(("b\n".to_owned(), "fenced")));
        assert_eq!(
            first("```\nx\n```\n```json\n{}\n```"),
            Some(("x\n".to_owned(), "other_fence"))
        );
        assert_eq!(
            first("```text\nx\n```\n"),
            Some(("x\n".to_owned(), "other_fence"))
        );
        assert_eq!(first("print(1)"), Some(("print(1)".to_owned(), "whole")));
        assert_eq!(first(" \n"), None);
    }

    #[test]
    fn accepts_variants_of_info_strings() {
        for info in [
            "python",
            "Python",
            "py",
            "python3",
            "{.python}",
            "python title=\"a.py\"",
            " python",
        ] {
            assert_eq!(
                first(&format!("```{info}\nx\n```")).unwrap().1,
                "fenced",
                "{info}"
            );
        }
        let text = "```js\na\n```\n```python\nb\n```\n```JavaScript\nc\n```\n";
        assert_eq!(candidates(text, "javascript")[0].text, "c\n");
        assert_eq!(first(text), Some(("b\n".to_owned(), "fenced")));
        assert_eq!(first("```pythonic\nx\n```").unwrap().1, "other_fence");
    }

    #[test]
    fn accepts_long_tilde_indented_and_unclosed_fences() {
        assert_eq!(first("````python\n```\n````").unwrap().0, "```\n");
        assert_eq!(first("~~~python\nx\n~~~").unwrap().0, "x\n");
        assert_eq!(
            first("1. Do\n   ```python\n   if x:\n       y\n   ```")
                .unwrap()
                .0,
            "if x:\n    y\n"
        );
        assert_eq!(first("```python\nx = 1\n").unwrap().0, "x = 1\n");
        assert_eq!(first("```python\r\nx\r\n```\r\n").unwrap().0, "x\r\n");
    }

    #[test]
    fn finds_code_after_text_and_within_lines() {
        let fenced = |text: &str| Some((text.to_owned(), "fenced"));
        assert_eq!(first("So: ```python\nx\n```\nDone."), fenced("x\n"));
        assert_eq!(
            first("```python\ndraft\n```\nNow: ```python\nx\n```"),
            fenced("x\n")
        );
        assert_eq!(first("> 1. ```py\n>    x\n>    ```"), fenced("x\n"));
        assert_eq!(first("```python\nx```"), fenced("x"));
        assert_eq!(first("It is ```python x = 1```."), fenced("x = 1"));
        assert_eq!(first("So ```python\nx\n``` as asked"), fenced("x\n"));
        // Code within a line may be a mention; a block is not.
        let mention = "Unlike ```python y```:\n```\nx\n```";
        assert_eq!(first(mention), Some(("x\n".to_owned(), "other_fence")));
    }

    #[test]
    fn finds_code_after_the_language_and_between_fences_of_a_line() {
        let fenced = |text: &str| Some((text.to_owned(), "fenced"));
        assert_eq!(first("So: ```python x = 1\ny\n```"), fenced("x = 1\ny\n"));
        assert_eq!(
            first("```python import sys\nx\n```"),
            fenced("import sys\nx\n")
        );
        assert_eq!(first("```python print(1)\nx\n```"), fenced("print(1)\nx\n"));
        assert_eq!(first("```python main.py\nx\n```"), fenced("x\n"));
        assert_eq!(first("```python title=\"a\"\nx\n```"), fenced("x\n"));
        let two = "First ```python\nx\n``` then ```python\ny\n```";
        assert_eq!(first(two), fenced("y\n"));
        assert_eq!(
            first("Sure ```\nx\n```"),
            Some(("x\n".to_owned(), "other_fence"))
        );
        let last = "First: ```python\nx\n```\nBetter: ```python\ny\n";
        assert_eq!(first(last), fenced("y\n"));
        let mention = "```python\nx\n```\nI like ```python\nBye.";
        let found = candidates(mention, "python");
        let found: Vec<&str> = found.iter().map(|found| found.text.as_str()).collect();
        assert_eq!(found, ["Bye.", "x\n"]);
        assert_eq!(first("```python\nx\n```</answer>"), fenced("x\n"));
    }

    #[test]
    fn code_may_end_with_the_fence_that_the_prompt_opened() {
        assert_eq!(first("x\n```"), Some(("x\n".to_owned(), "whole")));
        assert_eq!(first("x\n```\n```"), None);
    }

    #[test]
    fn a_mention_of_a_fence_is_no_program() {
        assert_eq!(first("So: ```python\n```"), None);
        assert_eq!(
            first("I write ```python").map(|found| found.1),
            Some("whole")
        );
        let rule = |text: &str| candidates(text, "python")[0].rule;
        assert!(rule("I write ```python code.").may_be_prose());
        assert!(!rule("I write ```python\ncode.").may_be_prose());
    }

    #[test]
    fn ignores_blank_blocks() {
        assert_eq!(
            first("```python\nx\n```\n```python\n\n```"),
            Some(("x\n".to_owned(), "fenced"))
        );
        assert_eq!(first("I do not know.\n```\n```"), None);
        // An empty program in its language is a program.
        let empty = Some((" \n".to_owned(), "fenced"));
        assert_eq!(first("```python\n \n```\n```\n```"), empty);
    }

    #[test]
    fn blocks_may_contain_fences_in_strings() {
        let text = "```python\ns='''\n```\n'''\nprint(1)\n```\n";
        let found: Vec<String> = candidates(text, "python")
            .into_iter()
            .map(|found| found.text)
            .collect();
        assert_eq!(found, ["s='''\n", "s='''\n```\n'''\nprint(1)\n"]);
    }
}
