//! Token ids of texts, and the rows that are read.

use super::*;

#[test]
fn adds_special_tokens_to_raw_texts_but_not_to_chats() {
    let reader = Files::with_bos()
        .with("chat_template.jinja", CHATML)
        .reader(InputKind::Rollout, LONG);
    assert_eq!(
        read(&reader, &ModelInput::Text("ab".into())).unwrap().ids,
        ids("<s>ab")
    );
    assert_eq!(
        read(&reader, &rollout("q", "a")).unwrap().ids[0],
        id("<|im_start|>")
    );
}

#[test]
fn never_adds_a_second_bos_token() {
    let files = Files::with_bos().with(
        "chat_template.jinja",
        "{{ bos_token }}{{ messages[0].content }}",
    );
    assert_eq!(
        read(&files.reader(InputKind::Rollout, LONG), &rollout("q", "a"))
            .unwrap()
            .ids,
        ids("<s>q")
    );
    let custom = options(json!({"template": "{{ bos_token }}{{ completion }}"}));
    let reader = files
        .open(&custom, &properties(InputKind::Rollout, 3))
        .unwrap();
    assert_eq!(
        read(&reader, &rollout("q", "ab")).unwrap().ids,
        ids("<s>ab")
    );
    assert_eq!(
        read(&reader, &ModelInput::Text("<s>ab".into()))
            .unwrap()
            .ids,
        ids("<s>ab")
    );
    let pair = reader
        .read(
            &ModelInput::Pair("<s>a".into(), "b".into()),
            Truncate::Reject,
        )
        .unwrap();
    assert_eq!((pair.ids, pair.second), (ids("<s>ab"), 2));
    let truncated = reader
        .read(&ModelInput::Text("<s>abc".into()), Truncate::Left)
        .unwrap();
    assert_eq!(
        (truncated.ids, truncated.truncated_tokens),
        (ids("<s>bc"), 1)
    );
}

#[test]
fn adds_the_tokens_that_the_configuration_declares() {
    let files = Files::with_bos().with(
        "tokenizer_config.json",
        r#"{"bos_token": "<s>", "eos_token": "</s>",
            "add_bos_token": false, "add_eos_token": true}"#,
    );
    let reader = files.reader(InputKind::Rollout, LONG);
    assert_eq!(
        read(&reader, &ModelInput::Text("ab".into())).unwrap().ids,
        ids("ab</s>")
    );
    let pair = read(&reader, &ModelInput::Pair("a".into(), "b".into())).unwrap();
    assert_eq!((pair.ids, pair.second), (ids("a</s>b</s>"), 2));
}

#[test]
fn reports_the_start_of_the_second_text_of_a_pair() {
    let reader = Files::encoder().reader(InputKind::Pair, LONG);
    let pair = read(&reader, &ModelInput::Pair("ab".into(), "c".into())).unwrap();
    assert_eq!((pair.ids, pair.second), (ids("<s>ab</s>c</s>"), 4));
    let same = read(&reader, &rollout("ab", "c")).unwrap();
    assert_eq!((same.ids, same.second), (ids("<s>ab</s>c</s>"), 4));
    let alone = ModelInput::Rollout {
        prompt: None,
        completion: text("c"),
        reference: None,
    };
    assert!(unreadable(read(&reader, &alone)).contains("prompt"));
}

#[test]
fn embeds_the_completion_without_the_prompt() {
    let reader = Files::encoder().reader(InputKind::Embedding, LONG);
    assert_eq!(
        read(&reader, &rollout("ab", "c")).unwrap().ids,
        ids("<s>c</s>")
    );
}

#[test]
fn reads_ids_unchanged_and_checks_the_vocabulary() {
    let reader = Files::encoder().reader(InputKind::Embedding, LONG);
    assert_eq!(
        read(&reader, &ModelInput::Ids(vec![1, 2])).unwrap(),
        Sequence::whole(vec![1, 2])
    );
    assert!(unreadable(read(&reader, &ModelInput::Ids(vec![1, 270]))).contains("token 270"));
    assert!(unreadable(read(&reader, &ModelInput::Ids(Vec::new()))).contains("no tokens"));
    assert!(
        unreadable(read(
            &Files::bytes().reader(InputKind::Rollout, 9),
            &ModelInput::Text("".into())
        ))
        .contains("no tokens")
    );
}

#[test]
fn uses_the_declared_pooling() {
    let files = Files::bytes().with("tokenizer_config.json", r#"{"pad_token": "</s>"}"#);
    let row = |pooling: &str| {
        let reader = files
            .open(
                &options(json!({"pooling": pooling})),
                &properties(InputKind::Rollout, LONG),
            )
            .unwrap();
        rows(&read(&reader, &ModelInput::Text("a</s>bc</s>".into())).unwrap())[0]
    };
    assert_eq!(
        ["last", "hf_nonpad", "first_pad", "cls", "token:</s>"].map(row),
        [4, 3, 0, 0, 4]
    );
    let pad = ModelProperties {
        pad: Some(ids("c")[0]),
        ..properties(InputKind::Rollout, LONG)
    };
    let reader = files
        .open(&options(json!({"pooling": "hf_nonpad"})), &pad)
        .unwrap();
    assert_eq!(reader.pooling(), Pooling::HfNonPad { pad: ids("c")[0] });
}

#[test]
fn a_label_must_be_one_token_at_the_start_of_the_answer() {
    let reader = Files::chatml()
        .open(
            &options(json!({"question": "{{ prompt }}"})),
            &properties(InputKind::Rollout, 9),
        )
        .unwrap();
    assert_eq!(reader.token_id("A"), Ok(ids("A")[0]));
    let problem = reader.token_id("AB").unwrap_err().to_string();
    assert!(problem.contains(&format!("{:?}", ids("AB"))), "{problem}");
    assert!(reader.token_id("").is_err());
}

#[test]
fn rejects_broken_tokenizers() {
    let open = |files: Files| {
        files
            .open(&ModelOptions::default(), &properties(InputKind::Rollout, 9))
            .unwrap_err()
            .to_string()
    };
    assert!(open(Files::bytes().with("tokenizer.json", "{}")).starts_with("tokenizer.json: "));
    let mut randomised = super::super::fixture::tokenizer(&serde_json::Value::Null);
    randomised["model"]["dropout"] = json!(0.1);
    assert!(open(Files::new(&randomised)).contains("at random"));
    let inconsistent = json!({"type": "TemplateProcessing", "special_tokens": {},
                      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}], "pair": []});
    assert!(
        open(Files::new(&super::super::fixture::tokenizer(&inconsistent)))
            .starts_with("tokenizer.json: ")
    );
}
