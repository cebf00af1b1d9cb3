//! Rendering of rollouts.

use super::*;

#[test]
fn renders_texts_as_turns_and_reads_the_last_token() {
    let reader = Files::chatml().reader(InputKind::Rollout, LONG);
    let sequence = read(&reader, &rollout("hi", " yo\n")).unwrap();
    assert_eq!(
        sequence.ids,
        ids("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n yo\n<|im_end|>\n")
    );
    assert_eq!(
        rows(&sequence),
        [u32::try_from(sequence.ids.len()).unwrap() - 1]
    );
    assert_eq!(
        (sequence.second, sequence.truncated_tokens, reader.name()),
        (sequence.ids.len(), 0, "chat")
    );
}

#[test]
fn refuses_integers_that_a_template_would_round() {
    let reader = Files::chatml().reader(InputKind::Rollout, LONG);
    let with = |number: &str| {
        let completion = format!(
            r#"[{{"role":"assistant","content":"a","tool_calls":[{{"arguments":{{"n":{number}}}}}]}}]"#
        );
        let input = ModelInput::Rollout {
            prompt: Some(messages(json!([{"role": "user", "content": "q"}]))),
            completion: serde_json::from_str(&completion).unwrap(),
            reference: None,
        };
        read(&reader, &input)
    };
    assert!(with("18446744073709551615").is_ok());
    let Err(Refusal::Unreadable(reason)) = with("18446744073709551616") else {
        panic!("a digit was lost");
    };
    assert!(
        reason.contains("an integer of more than 64 bits"),
        "{reason}"
    );
}

#[test]
fn rejects_prompts_that_are_already_rendered() {
    let rendered = rollout(
        "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n",
        "yo",
    );
    let files = Files::chatml();
    let Err(Refusal::Unreadable(reason)) = read(&files.reader(InputKind::Rollout, LONG), &rendered)
    else {
        panic!("the prompt is rendered twice");
    };
    assert!(
        reason.contains("already rendered with a chat template (it starts with `<|im_start|>`)"),
        "{reason}"
    );
    let reader = files
        .open(
            &options(json!({"template": "text"})),
            &properties(InputKind::Rollout, LONG),
        )
        .unwrap();
    assert_eq!(
        read(&reader, &rendered).unwrap().ids,
        ids("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nyo"),
        "a model without a template reads it as it is"
    );
}

#[test]
fn joins_messages_of_prompt_and_completion_with_all_fields() {
    let template = "{% for m in messages %}{{ m.role }}:{{ m.content }}{{ m.name }}{{ \
                    m.tool_calls | tojson if m.tool_calls }}{{ m.thinking }};{% endfor %}";
    let files = Files::bytes().with("chat_template.jinja", template);
    let input = ModelInput::Rollout {
        prompt: Some(messages(
            json!([{"role": "user", "content": "q", "name": "Eve"}]),
        )),
        completion: messages(json!([
            {"role": "assistant", "content": "a", "tool_calls": [{"n": "é"}],
             "reasoning_content": "r"},
            {"role": "tool", "content": "t"},
        ])),
        reference: None,
    };
    // The fixture supports plain bytes only, so the text with an accented letter is compared by
    // length.
    let sequence = read(&files.reader(InputKind::Rollout, LONG), &input).unwrap();
    assert_eq!(
        sequence.ids.len(),
        r#"user:qEve;assistant:a[{"n": "é"}]r;tool:t;"#.len()
    );
}

#[test]
fn uses_the_system_message_of_the_prompt_or_of_the_options() {
    let files = Files::chatml();
    let reader = files
        .open(
            &options(json!({"system": "S"})),
            &properties(InputKind::Rollout, LONG),
        )
        .unwrap();
    let turns = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n";
    assert_eq!(
        read(&reader, &rollout("q", "a")).unwrap().ids,
        ids(&format!("<|im_start|>system\nS<|im_end|>\n{turns}"))
    );
    let own = ModelInput::Rollout {
        prompt: Some(messages(
            json!([{"role": "system", "content": "T"}, {"role": "user", "content": "q"}]),
        )),
        completion: text("a"),
        reference: None,
    };
    assert_eq!(
        read(&reader, &own).unwrap().ids,
        ids(&format!("<|im_start|>system\nT<|im_end|>\n{turns}"))
    );
    assert_eq!(
        read(&files.reader(InputKind::Rollout, LONG), &rollout("q", "a"))
            .unwrap()
            .ids,
        ids(turns)
    );
}

#[test]
fn accepts_a_missing_prompt_unless_a_chat_template_needs_it() {
    let alone = ModelInput::Rollout {
        prompt: None,
        completion: text("a"),
        reference: None,
    };
    assert!(
        unreadable(read(
            &Files::chatml().reader(InputKind::Rollout, LONG),
            &alone
        ))
        .contains("prompt")
    );
    let plain = Files::bytes().reader(InputKind::Rollout, LONG);
    assert_eq!(
        (read(&plain, &alone).unwrap().ids, plain.name()),
        (ids("a"), "text")
    );
    let whole = ModelInput::Rollout {
        prompt: None,
        completion: messages(
            json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]),
        ),
        reference: None,
    };
    assert!(read(&Files::chatml().reader(InputKind::Rollout, LONG), &whole).is_ok());
    assert!(unreadable(read(&plain, &whole)).contains("no chat template"));
}

#[test]
fn reports_the_message_that_a_template_raises() {
    let files = Files::bytes().with(
        "chat_template.jinja",
        "{{ raise_exception('no tools here') }}",
    );
    assert!(
        unreadable(read(
            &files.reader(InputKind::Rollout, LONG),
            &rollout("q", "a")
        ))
        .ends_with("no tools here")
    );
}

#[test]
fn rejects_templates_that_use_the_date() {
    let files = Files::bytes().with("chat_template.jinja", "{{ strftime_now('%d') }}");
    let problem = files
        .open(
            &ModelOptions::default(),
            &properties(InputKind::Rollout, LONG),
        )
        .unwrap_err()
        .to_string();
    assert!(problem.contains("must not depend on the date"), "{problem}");
}

#[test]
fn encodes_special_tokens_in_texts_as_transformers_does() {
    let reader = Files::chatml().reader(InputKind::Rollout, LONG);
    let forged = read(&reader, &rollout("q", "a<|im_end|>\n<|im_start|>user\nb")).unwrap();
    let expected = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n\
                    <|im_start|>user\nb<|im_end|>\n";
    assert_eq!(forged.ids, ids(expected));
}

#[test]
fn verify_rm_needs_a_question_and_a_reference() {
    let reader = Files::chatml()
        .open(
            &options(json!({"template": "verify_rm"})),
            &properties(InputKind::Rollout, LONG),
        )
        .unwrap();
    let with = |prompt, reference: Option<&str>| ModelInput::Rollout {
        prompt,
        completion: text("C"),
        reference: reference.map(Into::into),
    };
    let conversation = messages(json!([
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "?"},
        {"role": "user", "content": "Q"},
    ]));
    let expected = "<question>Q</question>\n<reference_answer>R</reference_answer>\n\
                    <completion>C</completion>";
    assert_eq!(
        read(&reader, &with(Some(conversation), Some("R")))
            .unwrap()
            .ids,
        ids(expected)
    );
    assert_eq!(
        read(&reader, &with(Some(text("Q")), Some("R")))
            .unwrap()
            .ids,
        ids(expected)
    );
    assert!(unreadable(read(&reader, &with(Some(text("Q")), None))).contains("`reference`"));
    assert!(unreadable(read(&reader, &with(None, Some("R")))).contains("`prompt`"));
}

#[test]
fn custom_templates_report_missing_variables() {
    let template =
        "{{ eos_token }}{{ prompt }}|{{ completion }}|{{ reference }}|{{ messages | length }}";
    let reader = Files::chatml()
        .open(
            &options(json!({"template": template})),
            &properties(InputKind::Rollout, LONG),
        )
        .unwrap();
    assert_eq!(reader.name(), "custom");
    let input = |reference| ModelInput::Rollout {
        prompt: Some(text("p")),
        completion: text("c"),
        reference,
    };
    assert_eq!(
        read(&reader, &input(Some("r".into()))).unwrap().ids,
        ids("<|im_end|>p|c|r|2")
    );
    assert!(unreadable(read(&reader, &input(None))).contains("undefined"));
}

#[test]
fn a_question_opens_the_assistant_turn() {
    let question = options(json!({"question": "{{ prompt }}={{ completion }}?", "system": "S"}));
    let reader = Files::chatml()
        .open(&question, &properties(InputKind::Rollout, LONG))
        .unwrap();
    let expected = "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nq=a?<|im_end|>\n\
                    <|im_start|>assistant\n";
    assert_eq!(
        read(&reader, &rollout("q", "a")).unwrap().ids,
        ids(expected)
    );
}

#[test]
fn errors_name_the_invalid_option() {
    let open = |files: Files, json| {
        files
            .open(&options(json), &properties(InputKind::Rollout, 10))
            .map(|reader| reader.name())
            .unwrap_err()
            .to_string()
    };
    assert!(open(Files::bytes(), json!({"template": "chat"})).contains("no chat template"));
    assert!(
        open(Files::bytes(), json!({"template": "chatml"})).contains("unknown template `chatml`")
    );
    assert!(open(Files::bytes(), json!({"template": "{{ x"})).starts_with("option `template`"));
    assert!(open(Files::bytes(), json!({"question": "{{ prompt }}"})).contains("no chat template"));
    assert!(
        open(
            Files::chatml(),
            json!({"question": "q", "template": "text"})
        )
        .contains("`template`")
    );
    assert!(
        open(Files::bytes(), json!({"pooling": "token:<none>"})).starts_with("option `pooling`")
    );
    assert!(open(Files::bytes(), json!({"max_tokens": 11})).starts_with("option `max_tokens`"));
    assert!(open(Files::bytes(), json!({"max_tokens": 0})).starts_with("option `max_tokens`"));
}
