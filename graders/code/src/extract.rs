//! Extracts the program from a completion: the last fenced block in the task's language, else the
//! last block that names no language, else the last block, else the whole text if it compiles.

use std::ops::Range;

use assay_extraction::fences::{Block, blocks, fences, without_indent};

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
    /// A fenced block that names the language.
    Fenced,
    /// A fenced block that names no language, or another one.
    OtherFence,
    /// The whole completion.
    Whole,
}

impl Rule {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Fenced => "fenced",
            Self::OtherFence => "other_fence",
            Self::Whole => "whole",
        }
    }
}

/// Texts that may be the program, in the order in which they are tried until one compiles. Empty if
/// there is no code.
pub(crate) fn candidates(text: &str, language: &str) -> Vec<Candidate> {
    let fences = fences(text);
    let blocks = blocks(&fences, text.len());
    let in_language = |block: &&Block<'_>| language_of(block.info) == Some(language);
    let chosen = blocks
        .iter()
        .rfind(in_language)
        .map(|block| (block, Rule::Fenced));
    let unnamed = || {
        blocks
            .iter()
            .rfind(|block| block.info.is_empty())
            .map(|block| (block, Rule::OtherFence))
    };
    let any = || blocks.last().map(|block| (block, Rule::OtherFence));
    let Some((block, rule)) = chosen.or_else(unnamed).or_else(any) else {
        let whole = Candidate {
            text: text.to_owned(),
            span: 0..text.len(),
            rule: Rule::Whole,
        };
        return if text.trim().is_empty() {
            Vec::new()
        } else {
            vec![whole]
        };
    };
    let later = fences
        .iter()
        .filter(|fence| fence.line.start > block.inside.end && fence.info.is_empty());
    let ends = std::iter::once(block.inside.end)
        .chain(later.map(|fence| fence.line.start).take(MAX_LATER_FENCES));
    ends.map(|end| {
        let span = block.inside.start..end.max(block.inside.start);
        Candidate {
            text: without_indent(&text[span.clone()], block.indent),
            span,
            rule,
        }
    })
    .collect()
}

/// The name of the language that an info string refers to.
fn language_of(info: &str) -> Option<&'static str> {
    let word = info
        .split(|c: char| !(c.is_alphanumeric() || "+#".contains(c)))
        .find(|word| !word.is_empty())?;
    language::named(word).map(|language| language.name)
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
    fn blocks_may_contain_fences_in_strings() {
        let text = "```python\ns='''\n```\n'''\nprint(1)\n```\n";
        let found: Vec<String> = candidates(text, "python")
            .into_iter()
            .map(|found| found.text)
            .collect();
        assert_eq!(found, ["s='''\n", "s='''\n```\n'''\nprint(1)\n"]);
    }
}
