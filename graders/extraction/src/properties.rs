//! Properties of every extraction from any text, and tests across rules.

use std::borrow::Cow;

use proptest::prelude::*;

use crate::rule::{Mode, Options, Rule};
use crate::{extract, reasoning};

fn read(text: &str) -> Option<(String, Rule)> {
    extract(text, &Options::default()).map(|found| (found.text.into_owned(), found.rule))
}

/// Texts made of the pieces that rules look for, in any order, so that every state of every scanner
/// is reached.
fn texts() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "\\boxed{",
        "\\boxed",
        "}",
        "{",
        "$",
        "$$",
        "\\(",
        "\\)",
        "\\[",
        "\\]",
        "<think>",
        "</think>",
        "<answer>",
        "</answer>",
        "####",
        "**",
        "__",
        "The answer is ",
        "Answer: ",
        "答案是",
        "réponse est ",
        "所以",
        "7",
        "1,234.5",
        "-3/4",
        "A",
        "(B)",
        " or ",
        " and ",
        "不是",
        ", ",
        ". ",
        "\n",
        "\n\n",
        "=",
        "\\frac{1}{2}",
        "\\text{x}",
        "x",
        "²",
        "é",
        "क्",
        "\\",
        "_",
        "'",
        "’",
        "5th",
        "minus ",
        "- ",
        "less than ",
        " to ",
        " or more",
        "No, ",
        "Wait, that's wrong. ",
        "if ",
        "maybe ",
        "7 m",
        "^2",
        "/",
        ": ",
        ".7",
        "\\begin{align}",
        "\\end{align}",
        "&",
        "not ",
        "because ",
        "%",
        "€",
        "…",
        "½",
        "１",
        "\u{8}oxed{3}",
        "<|im_end|>",
        "!",
        "?",
    ];
    let piece = prop_oneof![
        8 => proptest::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[a-z ]{0,8}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn options() -> impl Strategy<Value = Options<'static>> {
    (
        prop_oneof![
            Just(Mode::Auto),
            Just(Mode::Boxed),
            Just(Mode::Unboxed),
            Just(Mode::Whole)
        ],
        any::<bool>(),
        any::<bool>(),
        prop_oneof![Just(None), Just(Some("fr")), Just(Some("english"))],
    )
        .prop_map(|(mode, think_open, choices, language)| Options {
            mode,
            think_open,
            choices,
            yes_no: choices,
            language,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn returns_visible_spans_and_non_empty_answers(text in texts(), options in options()) {
        let found = extract(&text, &options);
        prop_assert_eq!(&found, &extract(&text, &options));
        if let Some(found) = found {
            prop_assert!(text.get(found.span.clone()).is_some());
            prop_assert!(!found.text.is_empty());
            let parts = reasoning::visible(&text, options.think_open);
            let span = &found.span;
            let is_visible = parts
                .iter()
                .any(|part| part.start <= span.start && span.end <= part.end);
            prop_assert!(is_visible);
        }
    }

    #[test]
    fn returns_span_that_contains_the_answer(text in texts(), options in options()) {
        if let Some(found) = extract(&text, &options) {
            let source = &text[found.span.clone()];
            if let Cow::Borrowed(slice) = found.text {
                prop_assert!(source.contains(slice));
            }
            // Joiners, signs and units are rewritten. Digits stay as written, in order.
            let mut written = source.chars().filter(|c| c.is_numeric());
            let raised = |c: char| match c { '²' => '2', '³' => '3', other => other };
            for digit in found.text.chars().filter(|c| c.is_numeric()) {
                let is_written = written.any(|c| c == digit || raised(c) == digit);
                prop_assert!(is_written, "{} in {source}", found.text);
            }
        }
    }

    #[test]
    fn accepts_any_text(text in any::<String>(), options in options()) {
        let found = extract(&text, &options);
        prop_assert!(found.is_none_or(|found| found.span.end <= text.len()));
    }

    #[test]
    fn ignores_reasoning(thought in "[a-z0-9 ={}$]{0,40}") {
        let text = format!("<think>{thought} \\boxed{{41}}");
        prop_assert_eq!(extract(&text, &Options::default()), None);
    }
}

#[test]
fn prefers_boxes_to_every_other_rule() {
    for rest in [
        "The final answer is $7$.",
        "<answer>7</answer>",
        "#### 7",
        "**7**",
    ] {
        assert_eq!(
            read(&format!("\\boxed{{9}} {rest}")),
            Some(("9".into(), Rule::Boxed))
        );
        assert_eq!(
            read(&format!("{rest} \\boxed{{9}}")),
            Some(("9".into(), Rule::Boxed))
        );
    }
}

#[test]
fn finds_no_answer_where_none_is_stated() {
    for text in [
        "",
        " ",
        "$$",
        "\\boxed{}",
        "\\boxed{3",
        "6 + 1 is \n\n",
        "$$$$$$3",
        "<think>5",
        "I have been thinking about it for long",
    ] {
        let found = read(text);
        assert!(
            found.is_none() || text.starts_with('6'),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn reads_whole_tags_and_hashes() {
    for (text, answer, rule) in [
        ("Then <answer>63</answer> and a 4", "63", Rule::AnswerTag),
        ("<ANSWER> $x = 3$ </ANSWER >", "x = 3", Rule::AnswerTag),
        ("<answer>The answer is 4.</answer>", "4", Rule::AnswerTag),
        ("<answer>41 or 42</answer>", "41 or 42", Rule::AnswerTag),
        (
            "<answer>5</answer> or <answer>6</answer>",
            "5 or 6",
            Rule::AnswerTag,
        ),
        (
            "The final answer is #### 3,870.25.",
            "3,870.25",
            Rule::Hashes,
        ),
        (
            "#### Step 1: add\n3\n#### 18 dollars",
            "18 dollars",
            Rule::Hashes,
        ),
    ] {
        assert_eq!(read(text), Some((answer.to_owned(), rule)), "{text}");
    }
    assert_eq!(
        read("#### Conclusion\nThere are 12 of them."),
        Some(("12".into(), Rule::LastNumber))
    );
}

#[test]
fn reads_letters_only_for_multiple_choice() {
    let choices = Options {
        choices: true,
        ..Options::default()
    };
    let chosen = |text| extract(text, &choices).map(|found| found.text.into_owned());
    assert_eq!(
        chosen("The number is 36, but the option is (C).").as_deref(),
        Some("C")
    );
    assert_eq!(
        read("The number is 36, but the option is (C).")
            .map(|found| found.0)
            .as_deref(),
        Some("36")
    );
    assert_eq!(
        chosen("The answer is for sure E, that can't be B or C").as_deref(),
        Some("E")
    );
    for text in [
        "The answer is A. No, B.",
        "The answer is A.\nWait, B",
        "Answer: A. Wait, I mean B.",
    ] {
        assert_eq!(chosen(text).as_deref(), Some("B"), "{text}");
    }
    assert_eq!(
        chosen("The answer is A. No, B is wrong.").as_deref(),
        Some("A")
    );
    assert_eq!(chosen("The answer is 42.").as_deref(), Some("42"));
}

#[test]
fn restricts_rules_by_mode() {
    let boxed = Options {
        mode: Mode::Boxed,
        ..Options::default()
    };
    assert_eq!(extract("The answer is 5.", &boxed), None);
    let whole = Options {
        mode: Mode::Whole,
        ..Options::default()
    };
    let found = extract("<think>x</think> a sentence. ", &whole);
    assert_eq!(
        found.map(|found| found.text.into_owned()).as_deref(),
        Some("a sentence.")
    );
}

#[test]
fn reads_unmarked_answers_only_near_the_end() {
    let prose = "so it goes on and on. ".repeat(5_000);
    assert_eq!(read(&format!("The answer is 7. {prose}")), None);
    assert_eq!(
        read(&format!("{prose}The answer is 7. {}", &prose[..50_000])),
        Some(("7".into(), Rule::Stated))
    );
    for marked in ["\\boxed{7}", "<answer>7</answer>", "#### 7"] {
        assert_eq!(
            read(&format!("{marked}\n{prose}"))
                .map(|found| found.0)
                .as_deref(),
            Some("7"),
            "{marked}"
        );
    }
    // A number that starts before the last 64 KiB is not read from its middle.
    assert_eq!(read(&"1".repeat(100_000)), None);
    assert_eq!(
        read(&format!("{} 7", "1".repeat(100_000)))
            .map(|found| found.0)
            .as_deref(),
        Some("7")
    );
}

/// Work that is quadratic in the length of the text would run for minutes here.
#[test]
fn reads_repeated_marks_in_linear_time() {
    for mark in [
        "$",
        "$$",
        "{",
        "\\boxed{",
        "\\boxed{3}",
        "<think>",
        "</think>",
        "<answer>",
        "answer is ",
        "答案是",
        "(",
        "1 or ",
        "A ",
        "A is ",
        "**",
        "####",
        "\\begin{align}",
        "\\frac{",
        "\n\n1",
        "1. ",
        "a+",
        "\\end{a}",
        "1e",
        "$a ",
        "#### a b c d e f ",
        "#### a b c d e f\n",
        "\\boxed",
        "\\boxed ",
        "</think>1<think>",
        "<answer>a+",
        "- ",
        "minus ",
        "not ",
        "7 to ",
        "less than ",
        "No, B. ",
        "Wait, that's wrong. ",
        "that is wrong. ",
        "No, 7. ",
        "7 m/s^2, ",
        "if 7 ",
        "7, maybe ",
        "**7** or ",
        "- **7**\n",
    ] {
        let text = mark.repeat(300_000 / mark.len());
        for choices in [false, true] {
            let options = Options {
                choices,
                ..Options::default()
            };
            let found = extract(&text, &options);
            assert!(found.is_none_or(|found| found.span.end <= text.len()));
        }
    }
}
