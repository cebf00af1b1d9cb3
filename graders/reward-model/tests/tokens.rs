//! Compares the token ids of difficult texts, pairs and conversations with those of `transformers`,
//! which `tests/reference/make.py` recorded.

#![expect(
    clippy::unwrap_used,
    reason = "test support functions panic on failure, as tests do"
)]

use std::path::{Path, PathBuf};

use assay_core::reward_model::{ModelInput, Refusal, Truncate};
use assay_core::{Completion, Message};
use assay_reward_model::{
    InputKind, InputReader, ModelOptions, ModelProperties, Pooling, Sequence,
};
use serde_json::Value;

/// Beginning-of-sequence tokens. A text that starts with one gets a second one from `transformers`,
/// but not from the reader.
const BEGINNINGS: [&str; 2] = ["<|begin_of_text|>", "<s>"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference")
}

fn reference() -> Value {
    serde_json::from_slice(&std::fs::read(folder().join("tokens.json")).unwrap()).unwrap()
}

fn reader(name: &str, kind: InputKind, options: &ModelOptions) -> InputReader {
    let properties = ModelProperties {
        kind,
        pooling: Pooling::Last,
        pad: None,
        max_tokens: 100_000,
        vocabulary: 100_000,
    };
    InputReader::open(
        &folder().join("tokenizers").join(name),
        options,
        &properties,
    )
    .unwrap()
}

/// Compares ids with the reference, which has either the ids or, for a long list, their count and
/// FNV-1a-64.
fn same(ids: &[u32], expected: &Value) -> bool {
    let Some(list) = expected.as_array() else {
        let fnv = ids
            .iter()
            .flat_map(|id| id.to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325, |value: u64, byte| {
                (value ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        return expected["count"] == ids.len() && expected["fnv"] == format!("{fnv:016x}");
    };
    list.iter()
        .map(|id| id.as_u64().unwrap())
        .eq(ids.iter().map(|id| u64::from(*id)))
}

/// The ids of a sequence. An input without tokens is unreadable and has no ids.
fn ids(read: Result<Sequence, Refusal>) -> Vec<u32> {
    match read {
        Ok(sequence) => sequence.ids,
        Err(Refusal::Unreadable(problem)) if problem == "the input has no tokens" => Vec::new(),
        Err(other) => panic!("{other}"),
    }
}

fn for_each_tokenizer(mut compare: impl FnMut(&Value, &str, &Value)) {
    let reference = reference();
    for (name, case) in reference["tokenizers"].as_object().unwrap() {
        compare(&reference, name, case);
    }
}

#[test]
fn token_ids_of_texts_agree_with_transformers() {
    for_each_tokenizer(|reference, name, case| {
        let reader = reader(
            name,
            InputKind::Rollout,
            &ModelOptions {
                template: Some("text".to_owned()),
                ..ModelOptions::default()
            },
        );
        for (text, expected) in reference["strings"]
            .as_array()
            .unwrap()
            .iter()
            .zip(case["texts"].as_array().unwrap())
        {
            let text = text.as_str().unwrap();
            let mut ids = ids(reader.read(&ModelInput::Text(text.into()), Truncate::Reject));
            if BEGINNINGS
                .iter()
                .any(|token| text.starts_with(token) && expected[0] == expected[1])
            {
                ids.insert(0, ids[0]);
            }
            assert!(
                same(&ids, expected),
                "{name} {text:?}: {ids:?}, expected {expected}"
            );
        }
    });
}

#[test]
fn token_ids_of_pairs_agree_with_transformers() {
    for_each_tokenizer(|reference, name, case| {
        let reader = reader(name, InputKind::Pair, &ModelOptions::default());
        for (pair, expected) in reference["pairs"]
            .as_array()
            .unwrap()
            .iter()
            .zip(case["pairs"].as_array().unwrap())
        {
            if pair[1] == "" {
                // For a single pair, `transformers` treats an empty second text as missing. For a
                // batch of pairs, it does not.
                continue;
            }
            let text = |at: usize| pair[at].as_str().unwrap().into();
            let read = reader.read(&ModelInput::Pair(text(0), text(1)), Truncate::Reject);
            let types = expected["types"].as_array().unwrap();
            let second = types
                .iter()
                .position(|kind| kind == 1)
                .unwrap_or(types.len());
            if let Ok(sequence) = &read {
                assert_eq!(sequence.second, second, "{name} {pair}");
            }
            let ids = ids(read);
            assert!(
                same(&ids, &expected["ids"]),
                "{name} {pair}: {ids:?}, expected {expected}"
            );
        }
    });
}

#[test]
fn token_ids_of_conversations_agree_with_transformers() {
    let mut wrong = Vec::new();
    for_each_tokenizer(|reference, name, case| {
        let Some(conversations) = case.get("conversations") else {
            return;
        };
        let sorted = &case["sorted"];
        let reader = reader(name, InputKind::Rollout, &ModelOptions::default());
        assert_eq!(reader.name(), "chat");
        for (key, conversation) in reference["conversations"].as_object().unwrap() {
            let mut messages: Vec<Message> = serde_json::from_value(conversation.clone()).unwrap();
            let completion = vec![messages.pop().unwrap()];
            let prompt = (!messages.is_empty()).then(|| Completion::Messages(messages.into()));
            let input = ModelInput::Rollout {
                prompt,
                completion: Completion::Messages(completion.into()),
                reference: None,
            };
            let read = reader.read(&input, Truncate::Reject);
            // `transformers` keeps the order of the keys of objects, the service sorts them.
            let expected = sorted.get(key).unwrap_or(&conversations[key]["ids"]);
            match (conversations[key].get("error"), read) {
                (Some(_), Err(Refusal::Unreadable(_))) => {}
                (None, Ok(sequence)) if same(&sequence.ids, expected) => {}
                (expected, read) => wrong.push(format!(
                    "{name} {key}: {read:?}, expected {:?}",
                    expected.unwrap_or(&conversations[key]["text"])
                )),
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn token_ids_of_an_open_assistant_turn_agree_with_transformers() {
    for_each_tokenizer(|reference, name, case| {
        let Some(case) = case.get("conversations") else {
            return;
        };
        let reader = reader(
            name,
            InputKind::Rollout,
            &ModelOptions {
                question: Some("{{ prompt }}".to_owned()),
                ..ModelOptions::default()
            },
        );
        let key = "ends with user";
        let question = reference["conversations"][key][0]["content"]
            .as_str()
            .unwrap();
        let completion = Completion::Text("unused".into());
        let input = ModelInput::Rollout {
            prompt: Some(Completion::Text(question.into())),
            completion,
            reference: None,
        };
        let sequence = reader.read(&input, Truncate::Reject).unwrap();
        assert!(
            same(&sequence.ids, &case[key]["opened"]),
            "{name}: {:?}",
            sequence.ids
        );
    });
}
