//! `assay shadow`.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixtures::{assay, record_items, serve, text};

fn run(folder: &Path, server: &str, arguments: &[&str]) -> String {
    let output = assay(folder, &[arguments, &["--server", server]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn item(completion: &str) -> String {
    let task = json!({ "type": "text", "answer": "Paris", "match": "exact" });
    json!({ "completion": completion, "task": task }).to_string()
}

#[test]
fn a_shadow_is_started_shown_promoted_and_withdrawn() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let items: Vec<String> = (0..10)
        .flat_map(|_| [item("Paris"), item("paris")])
        .collect();
    record_items(folder, &items, "r", "1");
    let (_node, server) = serve(folder);
    let shadow = |arguments: &[&str]| run(folder, &server, &[&["shadow"], arguments].concat());
    let share = ["--share", "1", "--from-start"];
    let start = ["start", "r", "--option", "match=normalised"];
    let started = shadow(&[&start[..], &share].concat());
    assert!(started.contains("match=\"normalised\""), "{started}");
    let shown = (0..1_200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        let shown = shadow(&["show", "r"]);
        shown.contains("20 items, 10 flipped").then_some(shown)
    });
    let shown = shown.unwrap();
    let rewards = "rewards    10 of 20 changed, mean 0.5000 as recorded, 1.0000 with the options \
                   (+0.5000)";
    assert!(shown.contains(rewards), "{shown}");
    let times = |arguments: &[&str]| -> [bool; 3] {
        let shown = shadow(&[arguments, &["--json"]].concat());
        let shown: Value = serde_json::from_str(&shown).unwrap();
        ["ended_us", "promoted_us", "withdrawn_us"].map(|time| shown[time].is_i64())
    };
    assert_eq!(times(&["promote", "r"]), [true, true, false]);
    assert_eq!(times(&["withdraw", "r"]), [true, true, true]);
    shadow(&start);
    assert_eq!(times(&["end", "r"]), [true, false, false]);
    let unknown = assay(folder, &["shadow", "show", "none", "--server", &server]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        text(&unknown.stderr).contains("has no shadow"),
        "{}",
        text(&unknown.stderr)
    );
}
