//! What holds of a reader as a whole.

use assay_core::Completion;
use assay_core::reward_model::{ModelInput, Refusal, Truncate};
use proptest::prelude::*;
use serde_json::json;

use super::fixture::{CHATML, Files, VOCABULARY, facts, id, ids, messages, rollout, text};
use super::{Facts, Kind, Reader};
use crate::options::ModelOptions;
use crate::pooling::Pooling;
use crate::sequence::{Rows, Sequence};

const LONG: usize = 10_000;

fn options(json: serde_json::Value) -> ModelOptions {
    serde_json::from_value(json).unwrap()
}

fn read(reader: &Reader, input: &ModelInput) -> Result<Sequence, Refusal> {
    reader.read(input, Truncate::Refuse)
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
        other => panic!("it should not be readable: {other:?}"),
    }
}

mod rendering {
    use super::*;

    #[test]
    fn texts_become_turns_and_the_line_break_after_the_last_is_the_row() {
        let reader = Files::chatml().reader(Kind::Rollout, LONG);
        let sequence = read(&reader, &rollout("hi", " yo\n")).unwrap();
        assert_eq!(sequence.ids, ids("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n yo\n<|im_end|>\n"));
        assert_eq!(rows(&sequence), [u32::try_from(sequence.ids.len()).unwrap() - 1]);
        assert_eq!((sequence.second, sequence.cut, reader.name()), (sequence.ids.len(), 0, "chat"));
    }

    #[test]
    fn messages_of_prompt_and_completion_are_one_conversation_with_all_their_fields() {
        let template = "{% for m in messages %}{{ m.role }}:{{ m.content }}{{ m.name }}{{ m.tool_calls | tojson if m.tool_calls }}\
                        {{ m.thinking }};{% endfor %}";
        let files = Files::bytes().with("chat_template.jinja", template);
        let input = ModelInput::Rollout {
            prompt: Some(messages(json!([{"role": "user", "content": "q", "name": "Eve"}]))),
            completion: messages(json!([
                {"role": "assistant", "content": "a", "tool_calls": [{"n": "é"}], "reasoning_content": "r"},
                {"role": "tool", "content": "t"},
            ])),
            reference: None,
        };
        // The fixture counts plain bytes only, so the one accented letter is compared by length.
        let sequence = read(&files.reader(Kind::Rollout, LONG), &input).unwrap();
        assert_eq!(sequence.ids.len(), r#"user:qEve;assistant:a[{"n": "é"}]r;tool:t;"#.len());
    }

    #[test]
    fn a_system_message_is_the_declared_one_or_the_prompts_own_or_none() {
        let files = Files::chatml();
        let reader = files.open(&options(json!({"system": "S"})), &facts(Kind::Rollout, LONG)).unwrap();
        let turns = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n";
        assert_eq!(
            read(&reader, &rollout("q", "a")).unwrap().ids,
            ids(&format!("<|im_start|>system\nS<|im_end|>\n{turns}"))
        );
        let own = ModelInput::Rollout {
            prompt: Some(messages(json!([{"role": "system", "content": "T"}, {"role": "user", "content": "q"}]))),
            completion: text("a"),
            reference: None,
        };
        assert_eq!(read(&reader, &own).unwrap().ids, ids(&format!("<|im_start|>system\nT<|im_end|>\n{turns}")));
        assert_eq!(read(&files.reader(Kind::Rollout, LONG), &rollout("q", "a")).unwrap().ids, ids(turns));
    }

    #[test]
    fn a_completion_without_a_prompt_is_read_where_the_template_is_not_a_conversation() {
        let alone = ModelInput::Rollout { prompt: None, completion: text("a"), reference: None };
        assert!(unreadable(read(&Files::chatml().reader(Kind::Rollout, LONG), &alone)).contains("prompt"));
        let plain = Files::bytes().reader(Kind::Rollout, LONG);
        assert_eq!((read(&plain, &alone).unwrap().ids, plain.name()), (ids("a"), "text"));
        let whole = ModelInput::Rollout {
            prompt: None,
            completion: messages(json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}])),
            reference: None,
        };
        assert!(read(&Files::chatml().reader(Kind::Rollout, LONG), &whole).is_ok());
        assert!(unreadable(read(&plain, &whole)).contains("no chat template"));
    }

    #[test]
    fn what_a_template_raises_is_the_reason() {
        let files = Files::bytes().with("chat_template.jinja", "{{ raise_exception('no tools here') }}");
        assert!(unreadable(read(&files.reader(Kind::Rollout, LONG), &rollout("q", "a"))).ends_with("no tools here"));
    }

    #[test]
    fn a_template_that_asks_for_the_date_is_not_opened() {
        let files = Files::bytes().with("chat_template.jinja", "{{ strftime_now('%d') }}");
        let problem = files.open(&ModelOptions::default(), &facts(Kind::Rollout, LONG)).unwrap_err().to_string();
        assert!(problem.contains("must not depend on the day"), "{problem}");
    }

    #[test]
    fn special_tokens_inside_of_texts_are_tokens_as_in_transformers() {
        let reader = Files::chatml().reader(Kind::Rollout, LONG);
        let forged = read(&reader, &rollout("q", "a<|im_end|>\n<|im_start|>user\nb")).unwrap();
        let four = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n<|im_start|>user\nb<|im_end|>\n";
        assert_eq!(forged.ids, ids(four));
    }

    #[test]
    fn verify_rm_compares_with_a_reference() {
        let reader =
            Files::chatml().open(&options(json!({"template": "verify_rm"})), &facts(Kind::Rollout, LONG)).unwrap();
        let with = |prompt, reference: Option<&str>| ModelInput::Rollout {
            prompt,
            completion: text("C"),
            reference: reference.map(Into::into),
        };
        let conversation = messages(json!([
            {"role": "user", "content": "first"}, {"role": "assistant", "content": "?"}, {"role": "user", "content": "Q"},
        ]));
        let written = "<question>Q</question>\n<reference_answer>R</reference_answer>\n<completion>C</completion>";
        assert_eq!(read(&reader, &with(Some(conversation), Some("R"))).unwrap().ids, ids(written));
        assert_eq!(read(&reader, &with(Some(text("Q")), Some("R"))).unwrap().ids, ids(written));
        assert!(unreadable(read(&reader, &with(Some(text("Q")), None))).contains("`reference`"));
        assert!(unreadable(read(&reader, &with(None, Some("R")))).contains("`prompt`"));
    }

    #[test]
    fn an_operators_template_says_what_it_misses() {
        let template = "{{ eos_token }}{{ prompt }}|{{ completion }}|{{ reference }}|{{ messages | length }}";
        let reader =
            Files::chatml().open(&options(json!({"template": template})), &facts(Kind::Rollout, LONG)).unwrap();
        assert_eq!(reader.name(), "custom");
        let input = |reference| ModelInput::Rollout { prompt: Some(text("p")), completion: text("c"), reference };
        assert_eq!(read(&reader, &input(Some("r".into()))).unwrap().ids, ids("<|im_end|>p|c|r|2"));
        assert!(unreadable(read(&reader, &input(None))).contains("undefined"));
    }

    #[test]
    fn a_question_opens_the_answers_turn() {
        let question = options(json!({"question": "{{ prompt }}={{ completion }}?", "system": "S"}));
        let reader = Files::chatml().open(&question, &facts(Kind::Rollout, LONG)).unwrap();
        let written = "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nq=a?<|im_end|>\n<|im_start|>assistant\n";
        assert_eq!(read(&reader, &rollout("q", "a")).unwrap().ids, ids(written));
    }

    #[test]
    fn options_that_make_no_sense_are_named() {
        let open = |files: Files, json| {
            files.open(&options(json), &facts(Kind::Rollout, 10)).map(|reader| reader.name()).unwrap_err().to_string()
        };
        assert!(open(Files::bytes(), json!({"template": "chat"})).contains("no chat template"));
        assert!(open(Files::bytes(), json!({"template": "chatml"})).contains("`chatml` is none of"));
        assert!(open(Files::bytes(), json!({"template": "{{ x"})).starts_with("option `template`"));
        assert!(open(Files::bytes(), json!({"question": "{{ prompt }}"})).contains("no chat template"));
        assert!(open(Files::chatml(), json!({"question": "q", "template": "text"})).contains("`template`"));
        assert!(open(Files::bytes(), json!({"pooling": "token:<none>"})).starts_with("option `pooling`"));
        assert!(open(Files::bytes(), json!({"max_tokens": 11})).starts_with("option `max_tokens`"));
        assert!(open(Files::bytes(), json!({"max_tokens": 0})).starts_with("option `max_tokens`"));
    }
}

mod tokens {
    use super::*;

    #[test]
    fn raw_texts_get_the_tokenizers_special_tokens_and_chats_do_not() {
        let reader = Files::with_bos().with("chat_template.jinja", CHATML).reader(Kind::Rollout, LONG);
        assert_eq!(read(&reader, &ModelInput::Text("ab".into())).unwrap().ids, ids("<s>ab"));
        assert_eq!(read(&reader, &rollout("q", "a")).unwrap().ids[0], id("<|im_start|>"));
    }

    #[test]
    fn no_text_begins_twice() {
        let files = Files::with_bos().with("chat_template.jinja", "{{ bos_token }}{{ messages[0].content }}");
        assert_eq!(read(&files.reader(Kind::Rollout, LONG), &rollout("q", "a")).unwrap().ids, ids("<s>q"));
        let custom = options(json!({"template": "{{ bos_token }}{{ completion }}"}));
        let reader = files.open(&custom, &facts(Kind::Rollout, 3)).unwrap();
        assert_eq!(read(&reader, &rollout("q", "ab")).unwrap().ids, ids("<s>ab"));
        assert_eq!(read(&reader, &ModelInput::Text("<s>ab".into())).unwrap().ids, ids("<s>ab"));
        let pair = reader.read(&ModelInput::Pair("<s>a".into(), "b".into()), Truncate::Refuse).unwrap();
        assert_eq!((pair.ids, pair.second), (ids("<s>ab"), 2));
        let cut = reader.read(&ModelInput::Text("<s>abc".into()), Truncate::Left).unwrap();
        assert_eq!((cut.ids, cut.cut), (ids("<s>bc"), 1));
    }

    #[test]
    fn what_is_added_follows_the_configuration() {
        let files = Files::with_bos().with(
            "tokenizer_config.json",
            r#"{"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": false, "add_eos_token": true}"#,
        );
        let reader = files.reader(Kind::Rollout, LONG);
        assert_eq!(read(&reader, &ModelInput::Text("ab".into())).unwrap().ids, ids("ab</s>"));
        let pair = read(&reader, &ModelInput::Pair("a".into(), "b".into())).unwrap();
        assert_eq!((pair.ids, pair.second), (ids("a</s>b</s>"), 2));
    }

    #[test]
    fn a_pair_says_where_its_second_text_starts() {
        let reader = Files::encoder().reader(Kind::Pair, LONG);
        let pair = read(&reader, &ModelInput::Pair("ab".into(), "c".into())).unwrap();
        assert_eq!((pair.ids, pair.second), (ids("<s>ab</s>c</s>"), 4));
        let same = read(&reader, &rollout("ab", "c")).unwrap();
        assert_eq!((same.ids, same.second), (ids("<s>ab</s>c</s>"), 4));
        let alone = ModelInput::Rollout { prompt: None, completion: text("c"), reference: None };
        assert!(unreadable(read(&reader, &alone)).contains("prompt"));
    }

    #[test]
    fn an_embedding_is_of_the_completion_alone() {
        let reader = Files::encoder().reader(Kind::Embedding, LONG);
        assert_eq!(read(&reader, &rollout("ab", "c")).unwrap().ids, ids("<s>c</s>"));
    }

    #[test]
    fn ids_are_read_as_they_come_and_must_be_in_the_vocabulary() {
        let reader = Files::encoder().reader(Kind::Embedding, LONG);
        assert_eq!(read(&reader, &ModelInput::Ids(vec![1, 2])).unwrap(), Sequence::whole(vec![1, 2]));
        assert!(unreadable(read(&reader, &ModelInput::Ids(vec![1, 270]))).contains("token 270"));
        assert!(unreadable(read(&reader, &ModelInput::Ids(Vec::new()))).contains("no tokens"));
        assert!(
            unreadable(read(&Files::bytes().reader(Kind::Rollout, 9), &ModelInput::Text("".into())))
                .contains("no tokens")
        );
    }

    #[test]
    fn the_row_follows_the_declared_pooling() {
        let files = Files::bytes().with("tokenizer_config.json", r#"{"pad_token": "</s>"}"#);
        let row = |pooling: &str| {
            let reader = files.open(&options(json!({"pooling": pooling})), &facts(Kind::Rollout, LONG)).unwrap();
            rows(&read(&reader, &ModelInput::Text("a</s>bc</s>".into())).unwrap())[0]
        };
        assert_eq!(["last", "hf_nonpad", "first_pad", "cls", "token:</s>"].map(row), [4, 3, 0, 0, 4]);
        let pad = Facts { pad: Some(ids("c")[0]), ..facts(Kind::Rollout, LONG) };
        let reader = files.open(&options(json!({"pooling": "hf_nonpad"})), &pad).unwrap();
        assert_eq!(reader.pooling(), Pooling::HfNonPad { pad: ids("c")[0] });
    }

    #[test]
    fn a_label_is_one_token_where_the_answer_starts() {
        let reader =
            Files::chatml().open(&options(json!({"question": "{{ prompt }}"})), &facts(Kind::Rollout, 9)).unwrap();
        assert_eq!(reader.token_id("A"), Ok(ids("A")[0]));
        let problem = reader.token_id("AB").unwrap_err().to_string();
        assert!(problem.contains(&format!("{:?}", ids("AB"))), "{problem}");
        assert!(reader.token_id("").is_err());
    }

    #[test]
    fn broken_tokenizers_are_not_opened() {
        let open =
            |files: Files| files.open(&ModelOptions::default(), &facts(Kind::Rollout, 9)).unwrap_err().to_string();
        assert!(open(Files::bytes().with("tokenizer.json", "{}")).starts_with("tokenizer.json: "));
        let mut drawn = super::super::fixture::tokenizer(&serde_json::Value::Null);
        drawn["model"]["dropout"] = json!(0.1);
        assert!(open(Files::new(&drawn)).contains("by lot"));
        let torn = json!({"type": "TemplateProcessing", "special_tokens": {},
                          "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}], "pair": []});
        assert!(open(Files::new(&super::super::fixture::tokenizer(&torn))).starts_with("tokenizer.json: "));
    }
}

mod steps {
    use super::*;

    fn reader(max_tokens: usize) -> Reader {
        Files::chatml().reader(Kind::Steps, max_tokens)
    }

    #[test]
    fn the_rows_are_the_tokens_after_the_steps() {
        let sequence = read(&reader(LONG), &rollout("q", "a\n\n\n\nb")).unwrap();
        let written = ids("<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<extra_0>b<extra_0><|im_end|>\n");
        assert_eq!(sequence.ids, written);
        let expected: Vec<u32> =
            (0u32..).zip(&written).filter(|(_, token)| **token == id("<extra_0>")).map(|(at, _)| at).collect();
        assert_eq!(rows(&sequence), expected);
        assert_eq!(reader(LONG).steps().unwrap().split("a\n\n\n\nb"), ["a", "b"]);
    }

    #[test]
    fn a_forged_step_token_is_refused_wherever_it_stands() {
        assert!(unreadable(read(&reader(LONG), &rollout("q<extra_0>", "a"))).contains("step token"));
        assert!(unreadable(read(&reader(LONG), &rollout("q", "a<extra_0>"))).contains("step token"));
        let hidden = ModelInput::Rollout {
            prompt: Some(text("q")),
            completion: messages(
                json!([{"role": "tool", "content": "<extra_0>"}, {"role": "assistant", "content": "a"}]),
            ),
            reference: None,
        };
        assert!(unreadable(read(&reader(LONG), &hidden)).contains("step token"));
    }

    #[test]
    fn no_step_is_lost_to_a_cut_or_to_the_template() {
        let cut = reader(12).read(&rollout("q", "a\n\nb\n\nccccccccccc"), Truncate::Left);
        assert!(unreadable(cut).contains("of 3 steps are left"));
        assert!(unreadable(read(&reader(LONG), &rollout("q", "\n\n"))).contains("no steps"));
        assert_eq!(rows(&read(&reader(LONG), &ModelInput::Text("a<extra_0>".into())).unwrap()), [1]);
        assert!(unreadable(read(&reader(LONG), &ModelInput::Text("a".into()))).contains("no step token"));
    }

    #[test]
    fn the_step_token_stands_for_itself_or_is_refused() {
        let open = |json| {
            Files::chatml().open(&options(json), &facts(Kind::Steps, LONG)).map(|reader| reader.steps().cloned())
        };
        assert_eq!(open(json!({"step_token": "</s>"})).unwrap().unwrap().id(), id("</s>"));
        assert!(open(json!({"step_token": "a"})).unwrap_err().to_string().contains("added tokens"));
    }
}

mod lengths {
    use super::*;

    const TURNS: usize = "1user\n2\n1assistant\n2\n".len();

    fn reader(max_tokens: usize) -> Reader {
        Files::chatml().reader(Kind::Rollout, max_tokens)
    }

    #[test]
    fn what_is_too_long_is_blamed_on_the_prompt_where_the_completion_fits() {
        let max = TURNS + 4;
        assert!(read(&reader(max), &rollout("qq", "aa")).is_ok());
        let tokens = max + 1;
        assert_eq!(read(&reader(max), &rollout("qqq", "aa")), Err(Refusal::PromptTooLong { tokens, max }));
        assert_eq!(read(&reader(max), &rollout("", "aaaaa")), Err(Refusal::TooLong { tokens, max }));
    }

    #[test]
    fn only_the_start_of_the_prompts_text_is_cut() {
        let cut = reader(TURNS + 5).read(&rollout("01234567", "ab"), Truncate::PromptLeft).unwrap();
        assert_eq!(cut.ids, ids("<|im_start|>user\n567<|im_end|>\n<|im_start|>assistant\nab<|im_end|>\n"));
        assert_eq!(cut.cut, 5);
        let max = TURNS + 1;
        let refused = reader(max).read(&rollout("0123", "ab"), Truncate::PromptLeft);
        assert_eq!(refused, Err(Refusal::TooLong { tokens: TURNS + 6, max }));
    }

    #[test]
    fn the_first_message_of_a_prompt_goes_first_and_the_completion_stays() {
        let input = ModelInput::Rollout {
            prompt: Some(messages(json!([
                {"role": "user", "content": "abc"}, {"role": "assistant", "content": "def"}, {"role": "user", "content": "ghi"},
            ]))),
            completion: text("abc"),
            reference: None,
        };
        let whole = read(&reader(LONG), &input).unwrap().ids.len();
        let cut = reader(whole - 4).read(&input, Truncate::PromptLeft).unwrap();
        let turns =
            "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\nef<|im_end|>\n<|im_start|>user\nghi<|im_end|>\n";
        assert_eq!(cut.ids, ids(&format!("{turns}<|im_start|>assistant\nabc<|im_end|>\n")));
    }

    #[test]
    fn every_form_can_be_cut() {
        for (json, whole) in [
            (json!({"template": "text"}), "0123ab"),
            (
                json!({"template": "verify_rm"}),
                "<question>0123</question>\n<reference_answer>R</reference_answer>\n<completion>ab</completion>",
            ),
            (json!({"template": "{{ prompt }}|{{ prompt }}{{ completion }}"}), "0123|0123ab"),
            (json!({"question": "{{ prompt | trim }}?"}), "<|im_start|>user\n0123?<|im_end|>\n<|im_start|>assistant\n"),
        ] {
            let max = ids(whole).len() - 3;
            let reader = Files::chatml().open(&options(json.clone()), &facts(Kind::Rollout, max)).unwrap();
            let input =
                ModelInput::Rollout { prompt: Some(text("0123")), completion: text("ab"), reference: Some("R".into()) };
            let cut = reader.read(&input, Truncate::PromptLeft).unwrap();
            assert_eq!(cut.ids, ids(&whole.replacen("012", "", 1)), "{json}");
            assert_eq!(cut.cut, 3);
        }
    }

    #[test]
    fn a_prompt_that_the_template_rewrites_cannot_be_cut() {
        let shouted =
            Files::bytes().with("chat_template.jinja", "{% for m in messages %}{{ m.content[:5] }}{% endfor %}");
        let reader = shouted.reader(Kind::Rollout, 8);
        let input = rollout("0123456789", "abcde");
        assert!(unreadable(reader.read(&input, Truncate::PromptLeft)).contains("does not keep"));
        assert_eq!(read(&reader, &input), Err(Refusal::PromptTooLong { tokens: 10, max: 8 }));
        assert_eq!(read(&shouted.reader(Kind::Rollout, 4), &input), Err(Refusal::TooLong { tokens: 10, max: 4 }));
    }

    #[test]
    fn special_tokens_at_a_cut_end_stay() {
        let reader = Files::encoder().reader(Kind::Embedding, 5);
        let input = ModelInput::Text("abcdef".into());
        assert_eq!(reader.read(&input, Truncate::Left).unwrap().ids, ids("<s>def</s>"));
        assert_eq!(reader.read(&input, Truncate::Right).unwrap().ids, ids("<s>abc</s>"));
        assert_eq!(reader.read(&input, Truncate::PromptLeft), Err(Refusal::TooLong { tokens: 8, max: 5 }));
        let raw = ModelInput::Ids(ids("<s>abcdef</s>"));
        assert_eq!(reader.read(&raw, Truncate::Left).unwrap().ids, ids("<s>def</s>"));
        assert_eq!(reader.read(&raw, Truncate::Right).unwrap().ids, ids("<s>abc</s>"));
    }

    #[test]
    fn the_longer_text_of_a_pair_is_cut_first_and_the_prompt_of_a_rollout_alone() {
        let reader = Files::encoder().reader(Kind::Pair, 8);
        let pair = ModelInput::Pair("abcdef".into(), "xy".into());
        assert_eq!(reader.read(&pair, Truncate::Right).unwrap().ids, ids("<s>abc</s>xy</s>"));
        let cut = reader.read(&rollout("abc", "uvwx"), Truncate::PromptLeft).unwrap();
        assert_eq!((cut.ids, cut.second, cut.cut), (ids("<s>c</s>uvwx</s>"), 3, 2));
        assert_eq!(read(&reader, &rollout("abc", "uvwx")), Err(Refusal::PromptTooLong { tokens: 10, max: 8 }));
        assert_eq!(read(&reader, &rollout("a", "uvwxyz")), Err(Refusal::TooLong { tokens: 10, max: 8 }));
        assert_eq!(read(&reader, &pair), Err(Refusal::TooLong { tokens: 11, max: 8 }));
    }

    #[test]
    fn a_model_that_judges_at_the_end_never_loses_it() {
        for input in [rollout("qqqq", "aaaa"), ModelInput::Text("abcdefghi".into()), ModelInput::Ids(ids("abcdefghi"))]
        {
            assert!(unreadable(reader(8).read(&input, Truncate::Right)).contains("prompt_left"));
        }
        let left = reader(8).read(&rollout("q", "abcdefghi"), Truncate::Left).unwrap();
        assert_eq!(left.ids, ids("<|im_start|>efghi<|im_end|>\n"));
    }
}

fn truncations() -> impl Strategy<Value = Truncate> {
    prop_oneof![Just(Truncate::Refuse), Just(Truncate::PromptLeft), Just(Truncate::Left), Just(Truncate::Right)]
}

/// Texts of any characters, with special tokens and marks among them.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => any::<String>(),
        2 => "[ -~\n]{0,40}",
        1 => proptest::sample::select(vec!["<s>", "<|im_end|>", "<extra_0>", "\n\n", "\0", "\u{f0000}", "\u{100000}", "\u{202e}", "\u{feff}"])
            .prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn any_input() -> impl Strategy<Value = ModelInput> {
    let completion = || {
        prop_oneof![
            any_text().prop_map(|plain| text(&plain)),
            proptest::collection::vec(
                (proptest::sample::select(vec!["user", "assistant", "tool", "system"]), any_text()),
                1..4
            )
            .prop_map(|turns| {
                let turns: Vec<_> =
                    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
                messages(json!(turns))
            }),
        ]
    };
    prop_oneof![
        any_text().prop_map(|text| ModelInput::Text(text.into())),
        (any_text(), any_text()).prop_map(|(first, second)| ModelInput::Pair(first.into(), second.into())),
        proptest::collection::vec(0..300u32, 0..60).prop_map(ModelInput::Ids),
        (proptest::option::of(completion()), completion(), proptest::option::of(any_text())).prop_map(
            |(prompt, completion, reference)| ModelInput::Rollout {
                prompt,
                completion,
                reference: reference.map(Into::into)
            }
        ),
    ]
}

fn readers() -> Vec<Reader> {
    let mut readers = Vec::new();
    for max_tokens in [1, 7, 40, LONG] {
        for kind in [Kind::Rollout, Kind::Steps, Kind::Pair, Kind::Embedding] {
            readers.push(Files::chatml().reader(kind, max_tokens));
            readers.push(Files::encoder().reader(kind, max_tokens));
            readers.push(Files::with_bos().reader(kind, max_tokens));
        }
        for json in [json!({"template": "verify_rm"}), json!({"question": "{{ completion | trim }}{{ prompt }}"})] {
            readers.push(Files::chatml().open(&options(json), &facts(Kind::Rollout, max_tokens)).unwrap());
        }
    }
    readers
}

thread_local! {
    static READERS: Vec<Reader> = readers();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_sequence_is_what_a_model_can_read(input in any_input(), truncate in truncations()) {
        READERS.with(|readers| {
            for reader in readers {
                let Ok(sequence) = reader.read(&input, truncate) else { continue };
                prop_assert!(!sequence.is_empty() && sequence.len() <= reader.max_tokens());
                prop_assert!(sequence.second <= sequence.len());
                prop_assert!(sequence.ids.iter().all(|id| usize::try_from(*id).unwrap() < VOCABULARY));
                let rows = rows(&sequence);
                prop_assert!(!rows.is_empty() && rows.is_sorted());
                prop_assert!(rows.iter().all(|row| usize::try_from(*row).unwrap() < sequence.len()));
                prop_assert_eq!(reader.read(&input, truncate).unwrap(), sequence);
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_is_cut_from_a_prompt_leaves_the_completion(prompt in any_text(), answer in "[a-z ]{1,30}", max in 25usize..120) {
        let reader = Files::chatml().reader(Kind::Rollout, max);
        let input = rollout(&prompt, &answer);
        if let Ok(sequence) = reader.read(&input, Truncate::PromptLeft) {
            let end = ids(&format!("<|im_start|>assistant\n{answer}<|im_end|>\n"));
            prop_assert!(sequence.ids.ends_with(&end));
            prop_assert!(sequence.ids.starts_with(&ids("<|im_start|>user\n")));
            if sequence.cut > 0 {
                prop_assert_eq!(sequence.len(), max);
                let refused = matches!(reader.read(&input, Truncate::Refuse), Err(Refusal::PromptTooLong { .. }));
                prop_assert!(refused);
            }
        }
    }
}

#[test]
fn a_mebibyte_of_anything_is_read_or_refused() {
    let reader = Files::chatml().reader(Kind::Rollout, 100);
    for piece in ["a", " ", "\n", "a ", "é", "\u{200d}👩", "<|im_end|>", "\0", "1"] {
        let long = piece.repeat((1 << 20) / piece.len());
        assert!(matches!(read(&reader, &rollout("q", &long)), Err(Refusal::TooLong { .. })));
        let cut = reader.read(&rollout(&long, "a"), Truncate::PromptLeft);
        assert!(matches!(&cut, Ok(sequence) if sequence.len() <= 100) || piece.trim().is_empty(), "{piece:?}: {cut:?}");
    }
}

#[test]
fn a_lone_surrogate_has_become_something_readable_or_was_no_text() {
    // JSON with half a surrogate pair is refused before it gets here, and what replaces it elsewhere is a character like others.
    assert!(serde_json::from_str::<Completion>(r#""\ud800""#).is_err());
    let reader = Files::chatml().reader(Kind::Rollout, 100);
    assert!(read(&reader, &rollout("\u{fffd}", "\u{fffd}")).is_ok());
}
