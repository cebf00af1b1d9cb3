//! Built-in templates on made-up rows in the layout of their datasets, and errors of templates.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use assay_templates::{Row, RowError, Template, TemplateError, Templates, source};
use serde_json::{Value, json};

/// Name, row, expected task and expected solution of each template.
fn cases() -> Vec<(&'static str, Value, Value, Option<Value>)> {
    vec![
        (
            "aime",
            json!({ "id": 60, "problem": "Find m + n.", "answer": 204, "url": "", "year": "2024" }),
            json!({ "type": "math", "answer": "204" }),
            None,
        ),
        (
            "apps",
            json!({
                "problem_id": 3, "question": "Double a number.", "difficulty": "interview",
                "starter_code": "",
                "input_output": "{\"inputs\": [\"2\\n\", \"5\\n\"], \"outputs\": [\"4\\n\", \
                                 \"10\\n\"]}",
                "solutions": "[\"print(2 * int(input()))\", \"print(int(input()) * 2)\"]",
            }),
            json!({ "type": "code", "language": "python",
                "tests": [
                    { "stdin": "2\n", "stdout": "4\n" },
                    { "stdin": "5\n", "stdout": "10\n" },
                ] }),
            Some(json!("print(2 * int(input()))")),
        ),
        (
            "bfcl",
            json!({
                "id": "simple_7", "question": [[{ "role": "user", "content": "Weather in Oslo?" }]],
                "function": [{
                    "name": "weather",
                    "parameters": { "type": "dict", "properties": { "city": { "type": "string" } } },
                }],
                "ground_truth": [{ "weather": { "city": ["Oslo"] } }],
            }),
            json!({ "type": "tools", "mode": "bfcl",
                "tools": [{
                    "name": "weather",
                    "parameters": { "type": "dict", "properties": { "city": { "type": "string" } } },
                }],
                "expected": [{ "weather": { "city": ["Oslo"] } }] }),
            None,
        ),
        (
            "gsm8k",
            json!({
                "question": "Six crates of seven?",
                "answer": "6 * 7 = <<6*7=42>>42\n#### 42",
            }),
            json!({ "type": "math", "answer": "42" }),
            Some(json!("6 * 7 = <<6*7=42>>42\n#### 42")),
        ),
        (
            "humaneval",
            json!({
                "task_id": "HumanEval/999", "prompt": "def add(a, b):\n    \"\"\" Add. \"\"\"\n",
                "canonical_solution": "    return a + b\n", "entry_point": "add",
                "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n",
            }),
            json!({ "type": "code", "language": "python",
                "tests": [{ "assert": "def check(candidate):\n    assert candidate(1, 2) == \
                                       3\n\ncheck(add)" }] }),
            Some(json!(
                "def add(a, b):\n    \"\"\" Add. \"\"\"\n    return a + b\n"
            )),
        ),
        (
            "math",
            json!({ "problem": "Half of one?", "level": "Level 1", "type": "Algebra",
                "solution": "Not $\\boxed{1}$ but $\\boxed{\\frac{1}{2}}$." }),
            json!({ "type": "math", "answer": "\\frac{1}{2}" }),
            Some(json!("Not $\\boxed{1}$ but $\\boxed{\\frac{1}{2}}$.")),
        ),
        (
            "math-500",
            json!({ "problem": "Two squared?", "solution": "It is $\\boxed{4}$.", "answer": "4",
                "subject": "Algebra", "level": 1, "unique_id": "test/algebra/1.json" }),
            json!({ "type": "math", "answer": "4" }),
            Some(json!("It is $\\boxed{4}$.")),
        ),
        (
            "mbpp",
            json!({ "task_id": 11, "text": "Write a function to double.",
                "code": "def double(x):\r\n    return 2 * x",
                "test_list": ["assert double(2) == 4"], "test_setup_code": "",
                "challenge_test_list": [] }),
            json!({ "type": "code", "language": "python", "test_setup": "",
                "tests": [{ "assert": "assert double(2) == 4" }] }),
            Some(json!("def double(x):\r\n    return 2 * x")),
        ),
        (
            "mbpp-sanitized",
            json!({ "source_file": "x", "task_id": 11, "prompt": "Write a function to double.",
                "code": "def double(x):\n    return 2 * x",
                "test_imports": ["import math", "import re"],
                "test_list": ["assert double(2) == 4"] }),
            json!({ "type": "code", "language": "python", "test_setup": "import math\nimport re",
                "tests": [{ "assert": "assert double(2) == 4" }] }),
            Some(json!("def double(x):\n    return 2 * x")),
        ),
        (
            "mmlu",
            json!({ "question": "Which is even?", "subject": "arithmetic",
                "choices": ["1", "2", "3", "5"], "answer": 1 }),
            json!({ "type": "choice", "answer": "B", "options": ["1", "2", "3", "5"] }),
            None,
        ),
        (
            "sql-create-context",
            json!({ "question": "How many?", "context": "CREATE TABLE head (age INTEGER)",
                "answer": "SELECT COUNT(*) FROM head WHERE age > 56" }),
            json!({ "type": "sql", "dialect": "sqlite", "gold": "SELECT COUNT(*) FROM head WHERE \
                age > 56",
                "database": { "schema": "CREATE TABLE head (age INTEGER)",
                    "variants": { "generate": 8 } } }),
            None,
        ),
        (
            "verl-math",
            json!({ "data_source": "openai/gsm8k",
                "prompt": [{ "role": "user", "content": "Six times seven?" }], "ability": "math",
                "reward_model": { "style": "rule", "ground_truth": "42" },
                "extra_info": { "index": 0 } }),
            json!({ "type": "math", "answer": "42" }),
            None,
        ),
    ]
}

fn row(value: &Value) -> Row {
    value.as_object().unwrap().clone()
}

#[test]
fn makes_the_task_of_each_dataset() {
    for (name, columns, task, solution) in cases() {
        let template = Template::named(name).unwrap();
        let columns = row(&columns);
        let actual: Value =
            serde_json::from_str(template.task(&columns).unwrap().body.get()).unwrap();
        assert_eq!(actual, task, "{name}");
        assert_eq!(template.solution(&columns).unwrap(), solution, "{name}");
        assert!(template.prompt(&columns).unwrap().is_some(), "{name}");
    }
}

#[test]
fn rejects_rows_whose_tests_or_answer_would_be_misread() {
    let error = |name: &str, columns: Value| {
        let template = Template::named(name).unwrap();
        template.task(&row(&columns)).unwrap_err().to_string()
    };
    for tests in [json!("assert True"), json!({ "a": 1 })] {
        assert!(error("acecode", json!({ "test_cases": tests })).contains("expected a list"));
    }
    let listed = json!({ "problem": "?", "answer": ["1", "2"] });
    assert!(error("deepscaler", listed).contains("expected a text or a number"));
    let unlabelled = json!({ "choices": ["1", "2", "3", "5"], "answer": -1 });
    assert!(error("mmlu", unlabelled).contains("not one of 0, 1, 2 and 3"));
    let large = r#"{"fn_name": "f", "inputs": [[36893488147419103233]], "outputs": [1]}"#;
    assert!(error("taco", json!({ "input_output": large })).contains("more than 64 bits"));
}

#[test]
fn missing_column_is_reported_with_the_pointer_that_reads_it() {
    let template = Template::named("gsm8k").unwrap();
    let missing = RowError::Missing {
        column: "answer".to_owned(),
        pointer: "/task/answer".to_owned(),
    };
    assert_eq!(
        template
            .task(&row(&json!({ "question": "?" })))
            .unwrap_err(),
        missing
    );
    assert_eq!(
        template
            .task(&row(&json!({ "question": "?", "answer": null })))
            .unwrap_err(),
        missing
    );
    let tests = Template::named("mbpp-sanitized").unwrap();
    let error = |columns: &Value| tests.task(&row(columns)).unwrap_err().to_string();
    assert!(error(&json!({ "test_imports": [] })).contains("missing column `test_list`"));
    let other = template
        .task(&row(&json!({ "question": "?", "answer": "no marks" })))
        .unwrap_err();
    assert!(matches!(other, RowError::Failed { .. }), "{other}");
}

#[test]
fn null_in_a_text_is_missing_and_texts_are_not_escaped() {
    let template = Template::from_json(r#"{"type":"math","a.html":"{{ a }} & {{ b }}"}"#).unwrap();
    let missing = RowError::Missing {
        column: "b".to_owned(),
        pointer: "/a.html".to_owned(),
    };
    assert_eq!(
        template
            .task(&row(&json!({ "a": "<", "b": null })))
            .unwrap_err(),
        missing
    );
    assert_eq!(
        template.task(&row(&json!({ "a": "<" }))).unwrap_err(),
        missing
    );
    assert_eq!(
        template
            .task(&row(&json!({ "a": "<", "b": 1 })))
            .unwrap()
            .body
            .get(),
        r#"{"a.html":"< & 1","type":"math"}"#
    );
}

#[test]
fn unknown_name_lists_the_available_names() {
    let Err(error) = Template::named("gsm9k") else {
        panic!("there is no such template")
    };
    assert!(matches!(error, TemplateError::Unknown { .. }));
    assert!(error.to_string().contains("`gsm8k`"), "{error}");
}

#[test]
fn invalid_templates_are_reported_with_a_pointer() {
    let error = |json: &str| {
        Template::from_json(json)
            .err()
            .map(|error| error.to_string())
            .unwrap()
    };
    assert!(error(r#"{"type":"math","answer":"{{ a + }}"}"#).contains("`/answer`"));
    assert!(error(r#"{"answer":"{{ a }}"}"#).contains("neither `type`, `task` nor `tasks`"));
    assert!(error(r#"{"tasks":[]}"#).contains("`tasks` is not an array with elements"));
    assert!(error(r#"{"tasks":[{"when":"{{ a }}"}]}"#).contains("`/tasks/0` must have either"));
    assert!(
        error(r#"{"tasks":[{"when":"yes","refuse":"x"}]}"#)
            .contains("`/tasks/0/when` must be a single expression")
    );
    assert!(error(r#"{"task":{"type":"math"},"promt":"{{ a }}"}"#).contains("`promt`"));
    assert!(error("[1]").contains("not an object"));
    assert!(error("{").starts_with("the template is not JSON"));
}

#[test]
fn endless_template_fails() {
    let template = Template::from_json(
        r#"{"type":"math","answer":"{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"}"#,
    )
    .unwrap();
    let error = template.task(&Row::new()).unwrap_err();
    assert!(
        error.to_string().contains("more than 1000000 instructions"),
        "{error}"
    );
}

#[test]
fn template_that_exceeds_the_memory_limit_fails() {
    for text in [
        "{{ '%9999999999d' | format(n) }}",
        "{{ '{:>9999999999}'.format(n) }}",
        "{{ a | indent(9999999999) }}",
        "{{ a * n }}",
        "x{{ a * n }}",
        "{% set ns = namespace(a=a) %}{% for i in range(60) %}{% set ns.a = ns.a ~ ns.a %}{% \
         endfor %}{{ ns.a }}",
    ] {
        let template =
            Template::from_json(&json!({ "type": "math", "answer": text }).to_string()).unwrap();
        let error = template
            .task(&row(&json!({ "a": "ab", "n": 90_000_000 })))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("produces more than 128 MiB"),
            "{text}: {error}"
        );
    }
}

#[test]
fn single_expression_keeps_its_type() {
    let template = Template::from_json(
        r#"{"type":"math","a":"{{ n }}","b":"{{ n + 1 }}","c":"n is {{ n }}","d":"{n}"}"#,
    )
    .unwrap();
    let task = template.task(&row(&json!({ "n": 2 }))).unwrap();
    assert_eq!(
        task.body.get(),
        r#"{"a":2,"b":3,"c":"n is 2","d":"{n}","type":"math"}"#
    );
}

#[test]
fn first_true_condition_decides() {
    let template = Template::from_json(
        r#"{"tasks":[
            {"when":"{{ n > 2 }}","task":{"type":"math","answer":"{{ n }}"}},
            {"when":"{{ n > 1 }}","refuse":"{{ n }} is refused"},
            {"when":"{{ n }}","refuse":"never"}]}"#,
    )
    .unwrap();
    let task = |n: i32| template.task(&row(&json!({ "n": n })));
    assert_eq!(task(3).unwrap().body.get(), r#"{"answer":3,"type":"math"}"#);
    assert_eq!(
        task(2).unwrap_err().to_string(),
        "no task for this row: 2 is refused"
    );
    assert_eq!(
        task(1).unwrap_err().to_string(),
        "the template fails at `/tasks/2/when`: the condition is neither true nor false: 1"
    );
    assert!(matches!(
        template.task(&Row::new()).unwrap_err(),
        RowError::Missing { column, .. } if column == "n"
    ));
}

#[test]
fn names_of_added_templates_are_distinct() {
    let mut templates = Templates::default();
    let json = r#"{"type":"math","answer":"{{ total }}"}"#;
    templates.add("inventory", json).unwrap();
    assert_eq!(templates.source("inventory").unwrap(), json);
    let taken = templates.add("gsm8k", json).unwrap_err();
    assert_eq!(taken, TemplateError::Taken("gsm8k".to_owned()));
    assert_eq!(
        templates.suggestion(&row(&json!({ "total": 3, "gone": null })), "gsm8k"),
        "; the columns `total` fit template `inventory`"
    );
}

#[test]
fn json_with_too_many_values_is_refused() {
    let template = Template::from_json(r#"{"type":"math","answer":"{{ a | fromjson }}"}"#).unwrap();
    let made = |text: String| template.task(&row(&json!({ "a": text })));
    let error = made(format!("[{}0]", "0,".repeat(2_000_000))).unwrap_err();
    assert!(
        error.to_string().contains("has more than 2000000 values"),
        "{error}"
    );
    // Marks in strings are not values.
    made(format!("[\"{}\"]", "0,".repeat(2_000_000))).unwrap();
}

#[test]
fn rows_of_wrong_types_are_refused() {
    let tool = json!({ "name": "f", "parameters": { "type": "dict", "properties": 5 } });
    for (name, columns, part) in [
        ("aime", json!({ "answer": true }), "not bool"),
        (
            "humaneval",
            json!({ "test": "", "entry_point": "f" }),
            "defines no function `check`",
        ),
        (
            "humaneval",
            json!({ "test": 5, "entry_point": "f" }),
            "/task/tests/0/assert",
        ),
        (
            "leetcode",
            json!({ "test": ["def check"], "entry_point": "f", "prompt": "" }),
            "",
        ),
        (
            "toolace",
            json!({ "system": json!([tool]).to_string(), "conversations": [
                { "from": "user", "value": "?" }, { "from": "assistant", "value": "[f()]" },
            ] }),
            "of `f` is not an object",
        ),
    ] {
        let error = Template::named(name)
            .unwrap()
            .task(&row(&columns))
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{name}: {error}");
    }
}

#[test]
fn built_in_templates_need_no_solution() {
    let columns = row(&json!({
        "text": "Write `double(x)`.", "task_id": 3, "test_setup_code": "",
        "test_list": ["assert double(2) == 4"],
    }));
    let built_in = Template::named("mbpp").unwrap();
    assert!(built_in.task(&columns).is_ok());
    assert_eq!(built_in.solution(&columns), Ok(None));
    // In another template, a missing column may be misspelt.
    let own = Template::from_json(source("mbpp").unwrap()).unwrap();
    assert!(own.solution(&columns).is_err());
}
