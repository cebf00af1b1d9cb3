//! Untrusted text is escaped before it reaches a terminal.

use serde_json::{Value, json};

use crate::fixtures::{assay, assert_fails, serve, text};

/// Characters that control a terminal or change the text direction.
const UNSAFE: [char; 6] = [
    '\u{1b}', '\u{9b}', '\u{7f}', '\u{202e}', '\u{2066}', '\u{200b}',
];

/// A string that contains all of them.
fn hostile() -> String {
    UNSAFE
        .iter()
        .map(|unsafe_one| format!("a{unsafe_one}b"))
        .collect()
}

/// The same without control characters, which names of runs cannot have.
fn hostile_run() -> String {
    hostile().replace(char::is_control, "")
}

#[test]
fn escapes_untrusted_text_in_tables_json_and_errors() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = serve(folder.path());
    let item = json!({
        "id": hostile(), "channel": "hostile", "completion": format!("\\boxed{{1}} {}", hostile()),
        "task": { "type": "math", "answer": "1" },
    });
    std::fs::write(folder.path().join("items.jsonl"), item.to_string()).unwrap();
    let graded = assay(
        folder.path(),
        &[
            "grade",
            "items.jsonl",
            "--server",
            &url,
            "--run",
            &hostile_run(),
        ],
    );
    assert!(graded.status.success(), "{}", text(&graded.stderr));
    let mut printed = 0;
    for arguments in [
        vec!["grades", "--server", &url],
        vec!["grades", "--server", &url, "--json"],
        vec!["runs", "--server", &url],
        vec!["runs", "--server", &url, "--json"],
        vec![
            "channels",
            "draw",
            "--channel",
            "math/hostile",
            "--server",
            &url,
        ],
    ] {
        // Grades are drawn from the database, which is updated after the reply.
        let mut tried = (0..500).map(|_| assay(folder.path(), &arguments));
        let output = tried
            .find(|output| output.status.success())
            .expect("the command succeeds");
        let stdout = text(&output.stdout);
        assert!(!stdout.contains(UNSAFE), "{arguments:?}: {stdout:?}");
        printed += usize::from(stdout.contains("202e"));
        if arguments.contains(&"--json") && arguments[0] == "runs" {
            let run: Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!(run["run"], hostile_run(), "JSON keeps its value");
        }
    }
    assert_eq!(printed, 5, "every command shows the text");
    for run in [hostile(), hostile_run()] {
        let unknown = run.replace('b', "c");
        let output = assay(folder.path(), &["runs", &unknown, "--server", &url]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            !text(&output.stderr).contains(UNSAFE),
            "{:?}",
            text(&output.stderr)
        );
    }
}

#[test]
fn escapes_file_contents_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("assay.toml"),
        format!("[engine]\n\"{}\" = 1\n", "a\u{9b}b\u{202e}"),
    )
    .unwrap();
    assert_fails(folder.path(), &["graders"], "a\\u{9b}b\\u{202e}");
}
