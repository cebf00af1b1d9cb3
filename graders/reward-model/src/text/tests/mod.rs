//! Tests of the input reader, including property tests over arbitrary inputs.

mod lengths;
mod rendering;
mod steps;
mod tokens;

use assay_core::Completion;
use assay_core::reward_model::{ModelInput, Refusal, Truncate};
use proptest::prelude::*;
use serde_json::json;

use super::InputReader;
use super::error::{InputKind, ModelProperties};
use super::fixture::{CHATML, Files, VOCABULARY, id, ids, messages, properties, rollout, text};
use crate::options::ModelOptions;
use crate::pooling::Pooling;
use crate::sequence::{Rows, Sequence};

const LONG: usize = 10_000;

fn options(json: serde_json::Value) -> ModelOptions {
    serde_json::from_value(json).unwrap()
}

fn read(reader: &InputReader, input: &ModelInput) -> Result<Sequence, Refusal> {
    reader.read(input, Truncate::Reject)
}

fn rows(sequence: &Sequence) -> Vec<u32> {
    match &sequence.rows {
        Rows::At(rows) => rows.clone(),
        Rows::Mean => Vec::new(),
    }
}

fn unreadable<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
    match result {
        Err(Refusal::Unreadable(problem)) => problem,
        other => panic!("expected an unreadable input, got {other:?}"),
    }
}

fn truncations() -> impl Strategy<Value = Truncate> {
    prop_oneof![
        Just(Truncate::Reject),
        Just(Truncate::PromptLeft),
        Just(Truncate::Left),
        Just(Truncate::Right)
    ]
}

/// Arbitrary texts with special tokens and mark characters in them.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => any::<String>(),
        2 => "[ -~\n]{0,40}",
        1 => proptest::sample::select(vec![
            "<s>", "<|im_end|>", "<extra_0>", "\n\n", "\0", "\u{f0000}", "\u{100000}", "\u{202e}",
            "\u{feff}",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn any_input() -> impl Strategy<Value = ModelInput> {
    let completion = || {
        prop_oneof![
            any_text().prop_map(|plain| text(&plain)),
            proptest::collection::vec(
                (
                    proptest::sample::select(vec!["user", "assistant", "tool", "system"]),
                    any_text()
                ),
                1..4
            )
            .prop_map(|turns| {
                let turns: Vec<_> = turns
                    .into_iter()
                    .map(|(role, content)| json!({"role": role, "content": content}))
                    .collect();
                messages(json!(turns))
            }),
        ]
    };
    prop_oneof![
        any_text().prop_map(|text| ModelInput::Text(text.into())),
        (any_text(), any_text())
            .prop_map(|(first, second)| ModelInput::Pair(first.into(), second.into())),
        proptest::collection::vec(0..300u32, 0..60).prop_map(ModelInput::Ids),
        (
            proptest::option::of(completion()),
            completion(),
            proptest::option::of(any_text())
        )
            .prop_map(|(prompt, completion, reference)| ModelInput::Rollout {
                prompt,
                completion,
                reference: reference.map(Into::into)
            }),
    ]
}

fn readers() -> Vec<InputReader> {
    let mut readers = Vec::new();
    for max_tokens in [1, 7, 40, LONG] {
        for kind in [
            InputKind::Rollout,
            InputKind::Steps,
            InputKind::Pair,
            InputKind::Embedding,
        ] {
            readers.push(Files::chatml().reader(kind, max_tokens));
            readers.push(Files::encoder().reader(kind, max_tokens));
            readers.push(Files::with_bos().reader(kind, max_tokens));
        }
        for json in [
            json!({"template": "verify_rm"}),
            json!({"question": "{{ completion | trim }}{{ prompt }}"}),
        ] {
            readers.push(
                Files::chatml()
                    .open(&options(json), &properties(InputKind::Rollout, max_tokens))
                    .unwrap(),
            );
        }
    }
    readers
}

thread_local! {
    static READERS: Vec<InputReader> = readers();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn sequences_are_valid_model_inputs(input in any_input(), truncate in truncations()) {
        READERS.with(|readers| {
            for reader in readers {
                let Ok(sequence) = reader.read(&input, truncate) else { continue };
                prop_assert!(!sequence.is_empty() && sequence.len() <= reader.max_tokens());
                prop_assert!(sequence.second <= sequence.len());
                let below = |id: &u32, end: usize| usize::try_from(*id).unwrap() < end;
                prop_assert!(sequence.ids.iter().all(|id| below(id, VOCABULARY)));
                let rows = rows(&sequence);
                prop_assert!(!rows.is_empty() && rows.is_sorted());
                prop_assert!(rows.iter().all(|row| below(row, sequence.len())));
                prop_assert_eq!(reader.read(&input, truncate).unwrap(), sequence);
            }
            Ok(())
        })?;
    }

    #[test]
    fn prompt_truncation_keeps_the_completion(
        prompt in any_text(),
        answer in "[a-z ]{1,30}",
        max in 25usize..120,
    ) {
        let reader = Files::chatml().reader(InputKind::Rollout, max);
        let input = rollout(&prompt, &answer);
        if let Ok(sequence) = reader.read(&input, Truncate::PromptLeft) {
            let end = ids(&format!("<|im_start|>assistant\n{answer}<|im_end|>\n"));
            prop_assert!(sequence.ids.ends_with(&end));
            prop_assert!(sequence.ids.starts_with(&ids("<|im_start|>user\n")));
            if sequence.truncated_tokens > 0 {
                prop_assert_eq!(sequence.len(), max);
                let rejected = matches!(
                    reader.read(&input, Truncate::Reject),
                    Err(Refusal::PromptTooLong { .. })
                );
                prop_assert!(rejected);
            }
        }
    }
}

#[test]
fn reads_or_rejects_a_mebibyte_of_text() {
    let reader = Files::chatml().reader(InputKind::Rollout, 100);
    for piece in ["a", "\u{200d}👩", "<|im_end|>"] {
        let long = piece.repeat((1 << 20) / piece.len());
        assert!(
            matches!(
                read(&reader, &rollout("q", &long)),
                Err(Refusal::TooLong { .. })
            ),
            "{piece}"
        );
        let truncated = reader
            .read(&rollout(&long, "a"), Truncate::PromptLeft)
            .unwrap();
        assert_eq!(truncated.len(), 100, "{piece}");
    }
    // A prompt of white space only has no text that could be truncated.
    let space = reader.read(&rollout(&" ".repeat(1 << 20), "a"), Truncate::PromptLeft);
    assert!(matches!(space, Err(Refusal::TooLong { .. })));
}

#[test]
fn lone_surrogates_are_rejected_or_replaced() {
    // JSON with half of a surrogate pair is rejected earlier. The replacement character that other
    // decoders use is an ordinary character.
    assert!(serde_json::from_str::<Completion>(r#""\ud800""#).is_err());
    let reader = Files::chatml().reader(InputKind::Rollout, 100);
    assert!(read(&reader, &rollout("\u{fffd}", "\u{fffd}")).is_ok());
}
