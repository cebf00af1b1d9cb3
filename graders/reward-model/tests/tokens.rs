//! Token ids of hard texts, pairs and conversations are those of `transformers`, which
//! `tests/reference/make.py` wrote down.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use std::path::{Path, PathBuf};

use assay_core::reward_model::{ModelInput, Refusal, Truncate};
use assay_core::{Completion, Message};
use assay_reward_model::{Facts, Kind, ModelOptions, Pooling, Reader, Sequence};
use serde_json::Value;

/// Tokens that begin a text. One that brings its own gets no second from the reader, and does from
/// `transformers`.
const BEGINNINGS: [&str; 2] = ["<|begin_of_text|>", "<s>"];

/// Conversations whose tool calls are written as JSON with keys in another order than the
/// alphabet's. The service keeps the keys of objects sorted, so these tokens differ from those of
/// `transformers`, which keeps them as they came.
const SORTED: [(&str, &str); 9] = [
    ("qwen2", "call with floats"),
    ("qwen2", "call with unordered arguments"),
    ("qwen2", "calls"),
    ("llama3", "call with floats"),
    ("llama3", "call with unordered arguments"),
    ("mistral", "call with floats"),
    ("mistral", "call with text"),
    ("mistral", "call with unordered arguments"),
    ("mistral", "call without content"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference")
}

fn reference() -> Value {
    serde_json::from_slice(&std::fs::read(folder().join("tokens.json")).unwrap()).unwrap()
}

fn reader(name: &str, kind: Kind, options: &ModelOptions) -> Reader {
    let facts = Facts {
        kind,
        pooling: Pooling::Last,
        pad: None,
        max_tokens: 100_000,
        vocabulary: 100_000,
    };
    Reader::open(&folder().join("tokenizers").join(name), options, &facts).unwrap()
}

/// The ids as the reference keeps them: themselves, or count and FNV-1a-64 of a long list.
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

/// No tokens are an input that nothing reads.
fn ids(read: Result<Sequence, Refusal>) -> Vec<u32> {
    match read {
        Ok(sequence) => sequence.ids,
        Err(Refusal::Unreadable(problem)) if problem == "the input has no tokens" => Vec::new(),
        Err(other) => panic!("{other}"),
    }
}

fn each_tokenizer(mut look: impl FnMut(&Value, &str, &Value)) {
    let reference = reference();
    for (name, told) in reference["tokenizers"].as_object().unwrap() {
        look(&reference, name, told);
    }
}

#[test]
fn texts() {
    each_tokenizer(|reference, name, told| {
        let reader = reader(
            name,
            Kind::Rollout,
            &ModelOptions {
                template: Some("text".to_owned()),
                ..ModelOptions::default()
            },
        );
        for (text, expected) in reference["strings"]
            .as_array()
            .unwrap()
            .iter()
            .zip(told["texts"].as_array().unwrap())
        {
            let text = text.as_str().unwrap();
            let mut ids = ids(reader.read(&ModelInput::Text(text.into()), Truncate::Refuse));
            if BEGINNINGS
                .iter()
                .any(|token| text.starts_with(token) && expected[0] == expected[1])
            {
                ids.insert(0, ids[0]);
            }
            assert!(
                same(&ids, expected),
                "{name} {text:?}: {ids:?} instead of {expected}"
            );
        }
    });
}

#[test]
fn pairs() {
    each_tokenizer(|reference, name, told| {
        let reader = reader(name, Kind::Pair, &ModelOptions::default());
        for (pair, expected) in reference["pairs"]
            .as_array()
            .unwrap()
            .iter()
            .zip(told["pairs"].as_array().unwrap())
        {
            if pair[1] == "" {
                // Asked about one pair, `transformers` takes an empty second text for none; asked
                // about several, it does not.
                continue;
            }
            let text = |at: usize| pair[at].as_str().unwrap().into();
            let read = reader.read(&ModelInput::Pair(text(0), text(1)), Truncate::Refuse);
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
                "{name} {pair}: {ids:?} instead of {expected}"
            );
        }
    });
}

#[test]
fn conversations() {
    let mut wrong = Vec::new();
    each_tokenizer(|reference, name, told| {
        let Some(told) = told.get("conversations") else {
            return;
        };
        let reader = reader(name, Kind::Rollout, &ModelOptions::default());
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
            let read = reader.read(&input, Truncate::Refuse);
            match (told[key].get("error"), read) {
                (Some(_), Err(Refusal::Unreadable(_))) => {}
                (None, Ok(sequence)) if same(&sequence.ids, &told[key]["ids"]) => {}
                (None, Ok(_)) if SORTED.contains(&(name, key)) => {}
                (expected, read) => wrong.push(format!(
                    "{name} {key}: {read:?} instead of {:?}",
                    expected.unwrap_or(&told[key]["text"])
                )),
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_open_turn() {
    each_tokenizer(|reference, name, told| {
        let Some(told) = told.get("conversations") else {
            return;
        };
        let reader = reader(
            name,
            Kind::Rollout,
            &ModelOptions {
                question: Some("{{ prompt }}".to_owned()),
                ..ModelOptions::default()
            },
        );
        let key = "ends with user";
        let question = reference["conversations"][key][0]["content"]
            .as_str()
            .unwrap();
        let completion = Completion::Text("not asked about".into());
        let input = ModelInput::Rollout {
            prompt: Some(Completion::Text(question.into())),
            completion,
            reference: None,
        };
        let sequence = reader.read(&input, Truncate::Refuse).unwrap();
        assert!(
            same(&sequence.ids, &told[key]["opened"]),
            "{name}: {:?}",
            sequence.ids
        );
    });
}
