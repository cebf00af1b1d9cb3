//! Truncation and rejection of inputs that are too long.

use super::*;

const TURNS: usize = "1user\n2\n1assistant\n2\n".len();

fn reader(max_tokens: usize) -> InputReader {
    Files::chatml().reader(InputKind::Rollout, max_tokens)
}

#[test]
fn blames_the_prompt_if_the_completion_fits() {
    let max = TURNS + 4;
    assert!(read(&reader(max), &rollout("qq", "aa")).is_ok());
    let tokens = max + 1;
    assert_eq!(
        read(&reader(max), &rollout("qqq", "aa")),
        Err(Refusal::PromptTooLong { tokens, max })
    );
    assert_eq!(
        read(&reader(max), &rollout("", "aaaaa")),
        Err(Refusal::TooLong { tokens, max })
    );
}

#[test]
fn truncates_only_the_start_of_the_prompt_text() {
    let truncated = reader(TURNS + 5)
        .read(&rollout("01234567", "ab"), Truncate::PromptLeft)
        .unwrap();
    assert_eq!(
        truncated.ids,
        ids("<|im_start|>user\n567<|im_end|>\n<|im_start|>assistant\nab<|im_end|>\n")
    );
    assert_eq!(truncated.truncated_tokens, 5);
    let max = TURNS + 1;
    let rejected = reader(max).read(&rollout("0123", "ab"), Truncate::PromptLeft);
    assert_eq!(
        rejected,
        Err(Refusal::TooLong {
            tokens: TURNS + 6,
            max
        })
    );
}

#[test]
fn truncates_the_first_messages_first() {
    let input = ModelInput::Rollout {
        prompt: Some(messages(json!([
            {"role": "user", "content": "abc"},
            {"role": "assistant", "content": "def"},
            {"role": "user", "content": "ghi"},
        ]))),
        completion: text("abc"),
        reference: None,
    };
    let whole = read(&reader(LONG), &input).unwrap().ids.len();
    let truncated = reader(whole - 4)
        .read(&input, Truncate::PromptLeft)
        .unwrap();
    let turns = "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\nef<|im_end|>\n\
                 <|im_start|>user\nghi<|im_end|>\n";
    assert_eq!(
        truncated.ids,
        ids(&format!("{turns}<|im_start|>assistant\nabc<|im_end|>\n"))
    );
}

#[test]
fn truncates_prompts_in_every_template_style() {
    for (json, whole) in [
        (json!({"template": "text"}), "0123ab"),
        (
            json!({"template": "verify_rm"}),
            "<question>0123</question>\n<reference_answer>R</reference_answer>\n\
             <completion>ab</completion>",
        ),
        (
            json!({"template": "{{ prompt }}|{{ prompt }}{{ completion }}"}),
            "0123|0123ab",
        ),
        (
            json!({"question": "{{ prompt | trim }}?"}),
            "<|im_start|>user\n0123?<|im_end|>\n<|im_start|>assistant\n",
        ),
    ] {
        let max = ids(whole).len() - 3;
        let reader = Files::chatml()
            .open(&options(json.clone()), &properties(InputKind::Rollout, max))
            .unwrap();
        let input = ModelInput::Rollout {
            prompt: Some(text("0123")),
            completion: text("ab"),
            reference: Some("R".into()),
        };
        let truncated = reader.read(&input, Truncate::PromptLeft).unwrap();
        assert_eq!(truncated.ids, ids(&whole.replacen("012", "", 1)), "{json}");
        assert_eq!(truncated.truncated_tokens, 3);
    }
}

#[test]
fn cannot_truncate_a_prompt_that_the_template_rewrites() {
    let rewriting = Files::bytes().with(
        "chat_template.jinja",
        "{% for m in messages %}{{ m.content[:5] }}{% endfor %}",
    );
    let reader = rewriting.reader(InputKind::Rollout, 8);
    let input = rollout("0123456789", "abcde");
    assert!(unreadable(reader.read(&input, Truncate::PromptLeft)).contains("does not preserve"));
    assert_eq!(
        read(&reader, &input),
        Err(Refusal::PromptTooLong { tokens: 10, max: 8 })
    );
    assert_eq!(
        read(&rewriting.reader(InputKind::Rollout, 4), &input),
        Err(Refusal::TooLong { tokens: 10, max: 4 })
    );
}

#[test]
fn keeps_special_tokens_at_the_truncated_end() {
    let reader = Files::encoder().reader(InputKind::Embedding, 5);
    let input = ModelInput::Text("abcdef".into());
    assert_eq!(
        reader.read(&input, Truncate::Left).unwrap().ids,
        ids("<s>def</s>")
    );
    assert_eq!(
        reader.read(&input, Truncate::Right).unwrap().ids,
        ids("<s>abc</s>")
    );
    assert_eq!(
        reader.read(&input, Truncate::PromptLeft),
        Err(Refusal::TooLong { tokens: 8, max: 5 })
    );
    let raw = ModelInput::Ids(ids("<s>abcdef</s>"));
    assert_eq!(
        reader.read(&raw, Truncate::Left).unwrap().ids,
        ids("<s>def</s>")
    );
    assert_eq!(
        reader.read(&raw, Truncate::Right).unwrap().ids,
        ids("<s>abc</s>")
    );
}

#[test]
fn truncates_the_longer_text_of_a_pair_and_only_the_prompt_of_a_rollout() {
    let reader = Files::encoder().reader(InputKind::Pair, 8);
    let pair = ModelInput::Pair("abcdef".into(), "xy".into());
    assert_eq!(
        reader.read(&pair, Truncate::Right).unwrap().ids,
        ids("<s>abc</s>xy</s>")
    );
    let truncated = reader
        .read(&rollout("abc", "uvwx"), Truncate::PromptLeft)
        .unwrap();
    assert_eq!(
        (truncated.ids, truncated.second, truncated.truncated_tokens),
        (ids("<s>c</s>uvwx</s>"), 3, 2)
    );
    assert_eq!(
        read(&reader, &rollout("abc", "uvwx")),
        Err(Refusal::PromptTooLong { tokens: 10, max: 8 })
    );
    assert_eq!(
        read(&reader, &rollout("a", "uvwxyz")),
        Err(Refusal::TooLong { tokens: 10, max: 8 })
    );
    assert_eq!(
        read(&reader, &pair),
        Err(Refusal::TooLong { tokens: 11, max: 8 })
    );
}

#[test]
fn rejects_right_truncation_for_models_that_score_at_the_end() {
    for input in [
        rollout("qqqq", "aaaa"),
        ModelInput::Text("abcdefghi".into()),
        ModelInput::Ids(ids("abcdefghi")),
    ] {
        assert!(unreadable(reader(8).read(&input, Truncate::Right)).contains("prompt_left"));
    }
    let left = reader(8)
        .read(&rollout("q", "abcdefghi"), Truncate::Left)
        .unwrap();
    assert_eq!(left.ids, ids("<|im_start|>efghi<|im_end|>\n"));
}
