//! Jobs through the command line: they survive `kill -9`, and nodes share them.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixtures::{assay, command, lines, listening_with, serve, text};
use crate::postgres::{new_database, server};

const ITEMS: usize = 12_000;

/// Items of a job that nodes share: it takes longer than the time between two looks for jobs.
const SHARED_ITEMS: usize = 24_000;

/// Times that the node is killed.
const KILLS: usize = 3;

/// Items in groups of three, a line that is not an item, and an item with an invalid task.
fn items(count: usize) -> String {
    let items = (0..count).map(|n| {
        let completion = format!("number {n}: \\boxed{{\\frac{{{}}}{{2}}}}", n % 3);
        let item = json!({
            "id": n.to_string(), "group": (n / 3).to_string(), "completion": completion,
            "task": { "type": "math", "answer": "1/2" },
        });
        format!("{item}\n")
    });
    let mut items: Vec<String> = items.collect();
    items.insert(700, "no item\n".to_owned());
    items.push("{\"id\":\"bad\",\"completion\":\"4\",\"task\":{\"type\":\"none\"}}\n".to_owned());
    items.concat()
}

/// What a result says, without ids and times of its batch.
fn verdicts(results: &[Value]) -> Vec<[Value; 6]> {
    let keys = ["id", "group", "outcome", "verdict", "score", "error"];
    let of = |result: &Value| keys.map(|key| result[key].clone());
    results.iter().map(of).collect()
}

fn run(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = assay(folder, arguments);
    let code = output.status.code();
    assert!(
        code == Some(0) || code == Some(1),
        "{}",
        text(&output.stderr)
    );
    output.stdout
}

fn job(folder: &Path, server: &str, id: &str) -> Value {
    let output = run(folder, &["jobs", "show", id, "--json", "--server", server]);
    serde_json::from_slice(&output).unwrap()
}

/// Submits the items and returns the id of the job.
fn submit(folder: &Path, server: &str) -> String {
    let submit = ["jobs", "submit", "items.jsonl", "--run", "r", "--json"];
    let output = run(folder, &[&submit[..], &["--server", server]].concat());
    let job: Value = serde_json::from_slice(&output).unwrap();
    job["job"].as_str().unwrap().to_owned()
}

/// Waits until so many lines of a job have a result, or it has ended; returns how many have.
fn progress(folder: &Path, server: &str, id: &str, wanted: u64) -> u64 {
    loop {
        let job = job(folder, server, id);
        let finished = job["finished"].as_u64().unwrap();
        if finished >= wanted || job["state"] == "done" {
            return finished;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_job_survives_kills_with_each_item_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("items.jsonl"), items(ITEMS)).unwrap();
    let expected = lines(&run(folder, &["grade", "items.jsonl"]));
    let (mut node, mut base) = serve(folder);
    let id = submit(folder, &base);
    let (mut finished, mut kills) = (0, 0);
    while kills < KILLS {
        finished = progress(folder, &base, &id, finished + 1);
        assert!(finished < ITEMS as u64, "the job ended after {kills} kills");
        node.kill();
        kills += 1;
        (node, base) = serve(folder);
    }
    run(folder, &["jobs", "watch", &id, "--server", &base]);
    let results = [
        "jobs",
        "results",
        &id,
        "-o",
        "results.jsonl",
        "--server",
        &base,
    ];
    run(folder, &results);
    let results = lines(&std::fs::read(folder.join("results.jsonl")).unwrap());
    assert_eq!(results.len(), ITEMS + 2);
    assert_eq!(verdicts(&results), verdicts(&expected));

    let grades: BTreeSet<&str> = results
        .iter()
        .filter_map(|result| result["grade"].as_str().filter(|id| !id.is_empty()))
        .collect();
    assert_eq!(grades.len(), ITEMS, "each item has a grade of its own");
    let runs = run(folder, &["runs", "--json", "--server", &base]);
    assert_eq!(
        lines(&runs)[0]["grades"],
        ITEMS,
        "and no other was recorded"
    );
    let show = job(folder, &base, &id);
    assert_eq!(
        (&show["state"], &show["set_aside"], &show["invalid"]),
        (&json!("done"), &json!(0), &json!(2))
    );
    drop(node);
    println!(
        "{kills} kills, the last after {finished} of {} lines",
        ITEMS + 2
    );
}

#[test]
fn grade_waits_for_a_job() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows: String = (0..300)
        .map(|n| {
            format!(
                "{{\"question\":\"?\",\"answer\":\"#### {n}\",\"completion\":\"so it is {n}\"}}\n"
            )
        })
        .collect();
    std::fs::write(folder.join("rows.jsonl"), rows).unwrap();
    let (_node, base) = serve(folder);
    let grade = ["grade", "rows.jsonl", "--template", "gsm8k"];
    let expected = lines(&run(folder, &grade));
    let job = run(
        folder,
        &[&grade[..], &["--job", "--server", &base]].concat(),
    );
    assert_eq!(verdicts(&lines(&job)), verdicts(&expected));
    assert_eq!(expected[7]["verdict"], "correct");
    let list = lines(&run(folder, &["jobs", "--json", "--server", &base]));
    assert_eq!((list.len(), &list[0]["passed"]), (1, &json!(300)));
    let cancel = [
        "jobs",
        "cancel",
        list[0]["job"].as_str().unwrap(),
        "--server",
        &base,
    ];
    assert!(
        text(&run(folder, &cancel)).contains("300 of 300"),
        "it has ended"
    );
}

#[test]
fn nodes_on_postgresql_share_a_job() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("items.jsonl"), items(SHARED_ITEMS)).unwrap();
    let expected = lines(&run(folder, &["grade", "items.jsonl"]));
    let server = server();
    let url = new_database(&server, "jobs");
    let node = |name: &str| {
        let mut serve = command(folder);
        serve.env("ASSAY_STORE_SPOOL", folder.join(name));
        listening_with(folder, serve, &url)
    };
    let ((_one, one), (_other, other)) = (node("one"), node("other"));
    let id = submit(folder, &one);
    let results = ["jobs", "results", &id, "--follow", "--server", &other];
    let results = lines(&run(folder, &results));
    assert_eq!(verdicts(&results), verdicts(&expected));
    let holders =
        "select count(distinct holder), count(*) filter (where state <> 2) from job_shards";
    assert_eq!(
        server.query("jobs", holders),
        "2|0",
        "both nodes graded shards"
    );
    let grades = "select count(*), count(distinct item) from grades";
    assert_eq!(
        server.query("jobs", grades),
        format!("{SHARED_ITEMS}|{SHARED_ITEMS}")
    );
    assert_eq!(job(folder, &one, &id)["state"], "done");
}
