//! `assay templates`, templates in files of `assay grade`, and those of the configuration.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::fixtures::{assay, assert_fails, lines, serve, text};

const ROW: &str = r#"{"question": "6 times 7?", "answer": "6 * 7 = 42\n#### 42"}"#;

#[test]
fn lists_and_shows_templates() {
    let folder = tempfile::tempdir().unwrap();
    let table = text(&assay(folder.path(), &["templates"]).stdout);
    let row = table
        .lines()
        .find(|line| line.starts_with("gsm8k "))
        .unwrap();
    let cells: Vec<_> = row.split_whitespace().collect();
    assert_eq!(cells, ["gsm8k", "math", "answer", "openai/gsm8k"]);
    let all = lines(&assay(folder.path(), &["templates", "--json"]).stdout);
    assert_eq!(all.len(), table.lines().count() - 1);
    let gsm8k = json!({
        "name": "gsm8k", "dataset": "openai/gsm8k", "graders": ["math"], "columns": ["answer"],
        "expects": ["Put the final answer in `\\boxed{}`."],
    });
    assert!(all.contains(&gsm8k), "{all:?}");
    let one = assay(folder.path(), &["templates", "gsm8k", "--json"]).stdout;
    assert_eq!(serde_json::from_slice::<Value>(&one).unwrap(), gsm8k);
    let shown = text(&assay(folder.path(), &["templates", "gsm8k"]).stdout);
    assert!(shown.contains("\"prompt\": \"{{ question }}\""), "{shown}");
    let forms = text(&assay(folder.path(), &["templates", "eurus-2", "--prompt"]).stdout);
    assert_eq!(forms.lines().count(), 2, "{forms}");
    assert_fails(
        folder.path(),
        &["templates", "gsm9k"],
        "no template `gsm9k`; did you mean `gsm8k`?",
    );
}

#[test]
fn makes_the_task_of_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["templates", "gsm8k", "--row", "-"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(ROW.as_bytes())
        .unwrap();
    let made: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(made["task"], json!({ "type": "math", "answer": "42" }));
    assert_eq!(made["prompt"], "6 times 7?");
    std::fs::write(
        folder.path().join("row.json"),
        r#"{"prompt": "?", "answer": 5}"#,
    )
    .unwrap();
    assert_fails(
        folder.path(),
        &["templates", "gsm8k", "--row", "row.json"],
        "`row.json`: the template fails at `/task/answer`",
    );
    std::fs::write(folder.path().join("row.json"), "[]").unwrap();
    assert_fails(
        folder.path(),
        &["templates", "gsm8k", "--row", "row.json"],
        "`row.json` must contain one row",
    );
}

#[test]
fn writes_the_tasks_of_a_dataset_that_check_reads() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        ROW.to_owned(),
        json!({ "question": "6 times 8?", "answer": "#### 48" }).to_string(),
        json!({ "problem": "Half of one?", "solution": r"It is $\boxed{0.5}$." }).to_string(),
    ];
    std::fs::write(folder.path().join("rows.jsonl"), rows.join("\n")).unwrap();
    let arguments = [
        "templates",
        "gsm8k",
        "--dataset",
        "rows.jsonl",
        "-o",
        "tasks.jsonl",
    ];
    let output = assay(folder.path(), &arguments);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains(
            "rows.jsonl:3: missing column `answer`, which the template reads at `/task/answer`; \
             the columns `problem`, `solution` fit template `math`"
        ) && errors.contains("1 of 3 rows have no task"),
        "{errors}"
    );
    let tasks = lines(&std::fs::read(folder.path().join("tasks.jsonl")).unwrap());
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[1]["task"]["answer"], "48");
    let checked = assay(folder.path(), &["check", "tasks.jsonl"]);
    assert!(checked.status.success(), "{}", text(&checked.stdout));
    std::fs::write(
        folder.path().join("rows.csv"),
        "question,answer\n?,#### 1\n",
    )
    .unwrap();
    let csv = assay(
        folder.path(),
        &["templates", "gsm8k", "--dataset", "rows.csv"],
    );
    assert_eq!(lines(&csv.stdout)[0]["task"]["answer"], "1");
    assert_fails(
        folder.path(),
        &[
            "templates",
            "gsm8k",
            "--dataset",
            "rows.jsonl",
            "-o",
            "rows.jsonl",
        ],
        "the output `rows.jsonl` is the input",
    );
}

#[test]
fn rows_that_lose_digits_or_have_duplicate_keys_have_no_task() {
    let folder = tempfile::tempdir().unwrap();
    for (row, message) in [
        (
            r#"{"answer": 123456789012345678901, "completion": "1"}"#,
            "more than 64 bits",
        ),
        (
            r#"{"answer": "1", "more": [{"a": 1, "a": 2}], "completion": "1"}"#,
            "duplicate key `a`",
        ),
    ] {
        std::fs::write(folder.path().join("rows.jsonl"), row).unwrap();
        for (arguments, code) in [
            (["templates", "aime", "--row", "rows.jsonl"], 2),
            (["templates", "aime", "--dataset", "rows.jsonl"], 1),
            (["check", "rows.jsonl", "--template", "aime"], 1),
            (["grade", "rows.jsonl", "--template", "aime"], 1),
        ] {
            let output = assay(folder.path(), &arguments);
            let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
            assert!(printed.contains(message), "{arguments:?}: {printed}");
        }
    }
}

#[test]
fn grades_rows_in_files_here_and_on_a_server() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("sums.json"),
        r#"{"type": "math", "answer": "{{ total }}"}"#,
    )
    .unwrap();
    std::fs::write(
        folder.path().join("assay.toml"),
        "[templates]\nsums = \"sums.json\"\n",
    )
    .unwrap();
    let items = [
        json!({ "id": "a", "completion": "\\boxed{42}",
            "task": { "template": "gsm8k", "row": { "answer": "#### 42" } } }),
        json!({ "id": "b", "completion": "\\boxed{5}",
            "task": { "template": "sums", "row": { "total": "6" } } }),
        json!({ "id": "c", "completion": "1", "task": { "template": "sums", "row": {} } }),
        json!({ "id": "d", "completion": "1", "task": { "template": "none", "row": {} } }),
    ];
    let text_of = items.map(|item| item.to_string()).join("\n");
    std::fs::write(folder.path().join("items.jsonl"), text_of).unwrap();
    let (_server, base) = serve(folder.path());
    for options in [&[][..], &["--server", &base]] {
        let output = assay(
            folder.path(),
            &[&["grade", "items.jsonl"], options].concat(),
        );
        let results = lines(&output.stdout);
        let outcomes: Vec<_> = results
            .iter()
            .map(|result| {
                let verdict = result["verdict"].as_str();
                verdict.or(result["error"]["message"].as_str()).unwrap()
            })
            .collect();
        assert_eq!(outcomes[..2], ["correct", "wrong_answer"], "{options:?}");
        assert!(
            outcomes[2].starts_with("line 3: `/task/row/total`: missing column `total`"),
            "{outcomes:?}"
        );
        assert!(
            outcomes[3].starts_with("line 4: `/task/template`: no template `none`"),
            "{outcomes:?}"
        );
    }
    std::fs::write(folder.path().join("sums.json"), r#"{"answer": 1}"#).unwrap();
    let message = "`templates.sums`, `sums.json`: the template must be a task";
    assert_fails(folder.path(), &["grade", "items.jsonl"], message);
    assert_fails(
        folder.path(),
        &["serve", "--listen", "127.0.0.1:0"],
        message,
    );
}
