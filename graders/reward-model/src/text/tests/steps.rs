//! Steps of a completion and the rows that score them.

use super::*;

fn reader(max_tokens: usize) -> InputReader {
    Files::chatml().reader(InputKind::Steps, max_tokens)
}

#[test]
fn selects_the_tokens_after_the_steps() {
    let sequence = read(&reader(LONG), &rollout("q", "a\n\n\n\nb")).unwrap();
    let expected_ids = ids(
        "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<extra_0>b<extra_0><|im_end|>\n",
    );
    assert_eq!(sequence.ids, expected_ids);
    let expected: Vec<u32> = (0u32..)
        .zip(&expected_ids)
        .filter(|(_, token)| **token == id("<extra_0>"))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(rows(&sequence), expected);
    assert_eq!(
        reader(LONG).steps().unwrap().split("a\n\n\n\nb"),
        ["a", "b"]
    );
}

#[test]
fn rejects_forged_step_tokens_in_any_message() {
    assert!(unreadable(read(&reader(LONG), &rollout("q<extra_0>", "a"))).contains("step token"));
    assert!(unreadable(read(&reader(LONG), &rollout("q", "a<extra_0>"))).contains("step token"));
    let hidden = ModelInput::Rollout {
        prompt: Some(text("q")),
        completion: messages(json!([
            {"role": "tool", "content": "<extra_0>"},
            {"role": "assistant", "content": "a"},
        ])),
        reference: None,
    };
    assert!(unreadable(read(&reader(LONG), &hidden)).contains("step token"));
}

#[test]
fn rejects_inputs_that_lost_steps() {
    let truncated = reader(12).read(&rollout("q", "a\n\nb\n\nccccccccccc"), Truncate::Left);
    assert!(unreadable(truncated).contains("of 3 steps remain"));
    assert!(unreadable(read(&reader(LONG), &rollout("q", "\n\n"))).contains("no steps"));
    assert_eq!(
        rows(&read(&reader(LONG), &ModelInput::Text("a<extra_0>".into())).unwrap()),
        [1]
    );
    assert!(
        unreadable(read(&reader(LONG), &ModelInput::Text("a".into()))).contains("no step token")
    );
}

#[test]
fn accepts_only_added_tokens_as_step_token() {
    let open = |json| {
        Files::chatml()
            .open(&options(json), &properties(InputKind::Steps, LONG))
            .map(|reader| reader.steps().cloned())
    };
    assert_eq!(
        open(json!({"step_token": "</s>"})).unwrap().unwrap().id(),
        id("</s>")
    );
    assert!(
        open(json!({"step_token": "a"}))
            .unwrap_err()
            .to_string()
            .contains("added token")
    );
}
