//! `prompt-incomplete`: the prompt is empty or a placeholder, is cut off, or refers to an image, a
//! passage or a question that it does not contain.

use std::sync::LazyLock;

use regex::Regex;

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::{GradedRow, excerpt};
use crate::reading::any_phrase;

pub(super) const CODE: Code = code!("prompt-incomplete", Warning);

/// Whole prompts that stand for a missing one, in lower case.
const PLACEHOLDERS: &[&str] = &[
    "todo",
    "tbd",
    "n/a",
    "na",
    "none",
    "null",
    "nan",
    "...",
    "…",
    "-",
    "?",
    "undefined",
    "question",
    "prompt",
    "problem",
    "[question]",
    "<question>",
    "test",
    "xxx",
    "placeholder",
    "question:",
];

/// Parts of templates that were not filled in, in lower case.
static SLOTS: LazyLock<Regex> = LazyLock::new(|| {
    any_phrase(&[
        "{question}",
        "{problem}",
        "{prompt}",
        "{{question}}",
        "{{problem}}",
        "{{ question }}",
        "{{ prompt }}",
        "{{prompt}}",
        "{{ problem }}",
        "[insert",
        "<insert",
        "lorem ipsum",
        "{input}",
        "%(question)s",
        "[question here]",
        "[removed]",
        "[deleted]",
    ])
});

/// Last words of a text that goes on.
const OPEN_ENDS: &[&str] = &[
    "the", "an", "and", "or", "if", "because", "whose", "my", "your", "than", "their",
];

/// References to an image, in lower case.
static IMAGES: LazyLock<Regex> = LazyLock::new(|| {
    any_phrase(&[
        "in the figure",
        "the figure below",
        "the figure above",
        "figure shown",
        "shown in the figure",
        "following figure",
        "accompanying figure",
        "in the diagram",
        "the diagram below",
        "the diagram above",
        "diagram shown",
        "following diagram",
        "accompanying diagram",
        "graph shown",
        "graph below",
        "graph above",
        "picture below",
        "picture above",
        "in the picture shown",
        "image below",
        "image above",
        "image shown",
        "attached image",
        "as pictured",
        "pictured below",
        "pictured above",
        "shown in the diagram",
        "chart below",
        "chart above",
        "map below",
        "see figure",
        "photo below",
        "in the photo",
        "the figure shows",
        "the diagram shows",
        "the picture shows",
        "the image shows",
    ])
});

/// Signs that an image is in the text, as code or as a link.
const DRAWN: &[&str] = &[
    "[asy]",
    "![",
    "<image",
    "tikz",
    "http://",
    "https://",
    "<img",
    "\\includegraphics",
    "<svg",
];

/// References to a passage, in lower case.
static PASSAGES: LazyLock<Regex> = LazyLock::new(|| {
    any_phrase(&[
        "according to the passage",
        "in the passage",
        "the passage above",
        "passage below",
        "the author of the passage",
        "according to the text",
        "the text above",
        "according to the article",
        "the article above",
        "the table below",
        "the table above",
        "following table",
        "according to the table",
        "the data below",
        "the paragraph above",
    ])
});

/// References to another question, in lower case.
static OTHERS: LazyLock<Regex> = LazyLock::new(|| {
    any_phrase(&[
        "previous problem",
        "previous question",
        "preceding problem",
        "preceding question",
        "problem above",
        "question above",
        "the last problem",
        "from problem 1",
        "answer to part",
    ])
});

/// Maximum number of words of a prompt that is too short to contain a passage or a table.
const SHORT: usize = 40;

/// Types of tasks whose prompts are questions in prose. Others are about figures and texts as such.
const PROSE: &[&str] = &["math", "text"];

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let Ok(subject) = &row.subject else { return };
    let Some(prompt) = &subject.prompt else {
        return;
    };
    let is_prose = PROSE.contains(&subject.task.kind.as_str());
    if let Some(problem) = problem(prompt, is_prose) {
        sink.add(&CODE, &row.location, &row.key, problem);
    }
}

fn problem(prompt: &str, is_prose: bool) -> Option<String> {
    let text = prompt.trim().to_lowercase();
    if text.is_empty() {
        return Some("the prompt is empty".to_owned());
    }
    if PLACEHOLDERS.contains(&text.as_str()) {
        return Some(format!("the prompt `{}` is a placeholder", excerpt(prompt)));
    }
    if let Some(slot) = SLOTS.find(&text) {
        let slot = slot.as_str();
        return Some(format!("`{slot}` in the prompt was not filled in"));
    }
    if !is_prose {
        return None;
    }
    if let Some(end) = open_end(&text) {
        return Some(format!(
            "the prompt ends with `{end}`, so it seems to be cut off"
        ));
    }
    let missing = |what: &str, phrase: &str| {
        Some(format!(
            "the prompt says `{phrase}`, but contains no {what}"
        ))
    };
    if let Some(phrase) = IMAGES.find(&text)
        && !DRAWN.iter().any(|sign| text.contains(sign))
    {
        return missing("image", phrase.as_str());
    }
    let is_short = || text.split_whitespace().take(SHORT + 1).count() <= SHORT;
    let has_table =
        || text.contains('|') || text.contains("\\begin{") || text.matches('\n').count() > 2;
    if let Some(phrase) = PASSAGES.find(&text)
        && is_short()
        && !has_table()
    {
        return missing("such passage or table", phrase.as_str());
    }
    let phrase = OTHERS.find(&text).filter(|_| is_short())?;
    missing("other question", phrase.as_str())
}

/// The end of a text that is cut off.
fn open_end(text: &str) -> Option<&str> {
    let last = text.split_whitespace().next_back()?;
    let words = text.split_whitespace().take(6).count();
    let is_open = last.ends_with(',') || OPEN_ENDS.contains(&last);
    (is_open && words > 5).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn finds_incomplete_prompts() {
        for prompt in [
            "",
            " \n",
            "TODO",
            "Solve: {question}",
            "Tom has 5 apples and gives two to the",
            "What is the area of the triangle in the figure?",
            "According to the passage, why did he leave?",
            "Using your result from the previous problem, find x.",
        ] {
            assert!(problem(prompt, true).is_some(), "{prompt}");
        }
    }

    #[test]
    fn leaves_complete_prompts() {
        for prompt in [
            "What is 2 + 2?",
            "Solve for a",
            "Find the area in the figure. [asy] draw((0,0)--(1,1)); [/asy]",
            "What is 12 divided by",
            "On the map, one inch is 5 miles. How far is 3 inches?",
            "none of them is prime?",
        ] {
            assert_eq!(problem(prompt, true), None, "{prompt}");
        }
        assert_eq!(problem("Draw the points in the figure", false), None);
    }
}
