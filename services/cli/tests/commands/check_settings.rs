//! Settings of `assay check` in the configuration, columns that it adds, and kept results.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::fixtures::{Running, assay, assert_fails, command, text};

/// Rows in the layout of GSM8K, with distinct questions.
fn rows(count: usize) -> String {
    let row = |number: usize| {
        format!(
            "{{\"question\":\"What is {number} plus {number}?\",\"answer\":\"It is {0}.\\n#### \
             {0}\"}}\n",
            2 * number
        )
    };
    // Of smaller numbers, the question contains the answer.
    (10..10 + count).map(row).collect()
}

/// Number of graded and of reused probes in the log of a check.
fn probes(output: &Output) -> (u64, u64) {
    let log = text(&output.stderr);
    let number = |name: &str| -> u64 {
        let (_, rest) = log.rsplit_once(name).unwrap_or_else(|| panic!("{log}"));
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse().unwrap()
    };
    (number("graded="), number("reused="))
}

/// Runs a check that logs the number of its probes.
fn check(folder: &Path, arguments: &[&str]) -> Output {
    let mut check = command(folder);
    check.env("ASSAY_LOG_FILTER", "warn,assay=debug");
    check.arg("check").args(arguments).output().unwrap()
}

#[test]
fn a_killed_check_continues_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("rows.jsonl"), rows(16_000)).unwrap();
    let base = ["rows.jsonl", "--template", "gsm8k", "--format", "json"];
    let with_cache = [&base[..], &["--cache", "kept"]].concat();
    let mut killed = command(folder);
    killed.arg("check").args(&with_cache).stdout(Stdio::null());
    let mut killed = Running(killed.spawn().unwrap());
    let kept = folder.join("kept/results.sqlite-wal");
    // Waits until results of several chunks were written.
    while std::fs::metadata(&kept).map_or(0, |file| file.len()) < 1 << 20 {
        assert!(
            killed.0.try_wait().unwrap().is_none(),
            "it must be killed before its end"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    killed.signal(Signal::KILL);
    killed.0.wait().unwrap();
    let plain = check(folder, &[&base[..], &["--no-cache"]].concat());
    let (all, none) = probes(&plain);
    assert_eq!(none, 0);
    let resumed = check(folder, &with_cache);
    let (graded, reused) = probes(&resumed);
    assert!(
        reused > 1_000 && graded < all,
        "{graded} of {all}, {reused}"
    );
    assert_eq!(graded + reused, all);
    assert!(resumed.stdout == plain.stdout, "the reports differ");
    let again = check(folder, &with_cache);
    assert_eq!(probes(&again), (0, all));
    assert!(again.stdout == plain.stdout, "the reports differ");
    let repeated = check(folder, &[&with_cache[..], &["--repeats", "2"]].concat());
    assert_eq!(probes(&repeated).1, 0);
}

#[test]
fn a_folder_that_cannot_be_used_is_an_error_only_if_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rows.jsonl"), rows(3)).unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let base = ["check", "rows.jsonl", "--template", "gsm8k"];
    let named = [&base[..], &["--cache", "file/kept"]].concat();
    assert_fails(folder.path(), &named, "cannot use the folder of `--cache`");
    let mut default = command(folder.path());
    default.env("XDG_CACHE_HOME", folder.path().join("file"));
    // The images of programs are in the same folder; mathematics needs none.
    let output = default.args(base).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let warning = "results of earlier checks are not used";
    assert!(
        text(&output.stderr).contains(warning),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn the_section_check_applies_below_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        std::fs::write(folder.path().join(name), content).unwrap();
    };
    write(
        "rows.jsonl",
        "{\"id\":\"a\",\"question\":\"What is it?\",\"answer\":\"#### nan\"}\n",
    );
    let code = |more: &[&str]| {
        let base = ["check", "rows.jsonl", "--template", "gsm8k"];
        let output = assay(folder.path(), &[&base[..], more].concat());
        (
            output.status.code(),
            text(&output.stdout) + &text(&output.stderr),
        )
    };
    assert_eq!(code(&[]).0, Some(1));
    write("assay.toml", "[check]\nfail_on = \"error\"\n");
    assert_eq!(code(&[]).0, Some(0));
    assert_eq!(code(&["--fail-on", "warning"]).0, Some(1));
    write("assay.toml", "[check]\nignore = [\"gold-missing\"]\n");
    assert_eq!(code(&[]).0, Some(0));
    assert_eq!(code(&["--ignore", "flaky"]).0, Some(1));
    write("assay.toml", "[check.severity]\ngold-missing = \"error\"\n");
    assert_eq!(code(&["--fail-on", "error"]).0, Some(1));
    write(
        "assay.toml",
        "[[check.rows]]\nkeys = [\"a\"]\nignore = [\"gold-missing\"]\n",
    );
    assert_eq!(code(&[]).0, Some(0));
    write(
        "rules.toml",
        "[[rules]]\ncode = \"team-short\"\nwhen = \"{{ prompt | length < 20 }}\"\nmessage = \
         \"the prompt is short\"\n",
    );
    write(
        "assay.toml",
        "[check]\nrules = \"rules.toml\"\nselect = [\"team-short\"]\n",
    );
    let (status, output) = code(&[]);
    assert_eq!(status, Some(1), "{output}");
    assert!(
        output.contains("rows.jsonl:1: team-short: the prompt is short [a]"),
        "{output}"
    );
    for (section, message) in [
        ("[check]\nfail_onn = \"error\"", "unknown field `fail_onn`"),
        (
            "[check]\nignore = [\"gold-mising\"]",
            "did you mean `gold-missing`?",
        ),
        (
            "[check]\nrules = \"none.toml\"",
            "cannot read the rules `none.toml`",
        ),
    ] {
        write("assay.toml", section);
        let (status, output) = code(&[]);
        assert_eq!(status, Some(2), "{section}");
        assert!(output.contains(message), "{section}: {output}");
    }
}

/// The JSON report of a check in a folder.
fn report(folder: &Path, arguments: &[&str]) -> Value {
    let output = assay(
        folder,
        &[&["check", "--format", "json"], arguments].concat(),
    );
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn columns_are_renamed_and_joined() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        std::fs::write(folder.path().join(name), content).unwrap();
    };
    write(
        "rows.jsonl",
        "{\"qid\":1,\"ask\":\"What is 2 plus 3?\"}\n{\"qid\":2,\"ask\":\"What is 4 plus 4?\"}\n\
         {\"qid\":3,\"ask\":\"What is 5 plus 4?\"}\n",
    );
    write("golds.csv", "number,gold\n1,#### 5\n2,#### nan\n");
    let arguments = ["rows.jsonl", "--template", "gsm8k", "--join", "golds.csv"];
    let columns = [
        "--on",
        "qid=number",
        "--map",
        "answer=gold",
        "--prompt",
        "ask",
    ];
    let report = report(folder.path(), &[&arguments[..], &columns].concat());
    let found = report["findings"].as_array().unwrap().iter();
    let found: Vec<(&str, u64)> = found
        .map(|finding| {
            let line = finding["line"].as_u64().unwrap();
            (finding["code"].as_str().unwrap(), line)
        })
        .collect();
    assert_eq!(found, [("gold-missing", 2), ("row-not-readable", 3)]);
    let base = ["check", "rows.jsonl", "--template", "gsm8k"];
    let unnamed = [&base[..], &["--join", "golds.csv"]].concat();
    assert_fails(folder.path(), &unnamed, "--on");
    let missing = [&base[..], &["--join", "none.csv", "--on", "qid"]].concat();
    assert_fails(folder.path(), &missing, "cannot read `none.csv`");
    let malformed = [&base[..], &["--map", "answer"]].concat();
    assert_fails(folder.path(), &malformed, "expected `NEW=COLUMN`");
}

/// A database with one table, as a file.
fn database(path: PathBuf) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let script = "create table shop(id integer primary key, city text, pay real);
        insert into shop values (1, 'Bern', 3.5), (2, 'Genf', 7.0), (3, 'Bern', 8.0);";
    connection.execute_batch(script).unwrap();
}

#[test]
fn databases_are_read_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("databases/shop")).unwrap();
    database(folder.path().join("databases/shop/shop.sqlite"));
    let row = |question: &str, query: &str, id: &str| {
        format!("{{\"question\":\"{question}\",\"query\":\"{query}\",\"db_id\":\"{id}\"}}\n")
    };
    let lines = row(
        "Which cities are there?",
        "select distinct city from shop",
        "shop",
    ) + &row("What is the sum?", "select sum(wage) from shop", "shop")
        + &row("Where?", "select city from shop", "nowhere");
    std::fs::write(folder.path().join("dev.jsonl"), lines).unwrap();
    let arguments = [
        "dev.jsonl",
        "--template",
        "spider",
        "--databases",
        "databases",
    ];
    let report = report(folder.path(), &arguments);
    let codes: Vec<(u64, &str)> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            let line = finding["line"].as_u64().unwrap();
            (line, finding["code"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        codes,
        [(2, "task-ungradable"), (3, "row-not-readable")],
        "{report:#}"
    );
}
