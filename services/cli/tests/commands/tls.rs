//! Commands that use a server with TLS and keys, and the entries of the audit log that they cause.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixtures::{Running, assay, assert_fails, command, lines, listening, text};

/// A self-signed certificate for 127.0.0.1.
const CERTIFICATE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/http/certificates/one.crt"
);
const PRIVATE_KEY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/http/certificates/one.key"
);

const DATABASE: [&str; 2] = ["--database", "sqlite://assay.db"];

/// Creates a key in `assay.db` and returns it.
fn create_key(folder: &Path, name: &str, role: &str) -> String {
    let create = ["keys", "create", name, "--role", role];
    let output = assay(folder, &[&create[..], &DATABASE[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

/// A server with TLS, and a configuration in the folder that names its address.
struct Server {
    running: Running,
    url: String,
}

fn serve(folder: &Path) -> Server {
    let mut command = command(folder);
    command.envs([
        ("ASSAY_SERVER_TLS_CERTIFICATE", CERTIFICATE),
        ("ASSAY_SERVER_TLS_KEY", PRIVATE_KEY),
    ]);
    let (running, url) = listening(folder, command);
    let url = url.replacen("http://", "https://", 1);
    let address = url.trim_start_matches("https://");
    let settings = format!(
        "[server]\nlisten = \"{address}\"\ntls_certificate = \"{CERTIFICATE}\"\n\
         tls_key = \"{PRIVATE_KEY}\"\n"
    );
    std::fs::write(folder.join("assay.toml"), settings).unwrap();
    Server { running, url }
}

/// A command that trusts the certificate and has this key in its environment.
fn with_key(folder: &Path, key: &str, arguments: &[&str]) -> Command {
    let mut command = command(folder);
    command
        .args(arguments)
        .envs([("SSL_CERT_FILE", CERTIFICATE), ("ASSAY_KEY", key)]);
    command
}

fn run(folder: &Path, key: &str, arguments: &[&str]) -> Output {
    let output = with_key(folder, key, arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    output
}

fn fails(mut command: Command, message: &str) {
    let output = command.output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
}

/// Grades an item of the run through the server.
fn grade(folder: &Path, server: &Server, key: &str, run_name: &str) {
    std::fs::write(
        folder.join("items.jsonl"),
        r#"{"id":"first","completion":"\\boxed{1}","task":{"type":"math","answer":"1"}}"#,
    )
    .unwrap();
    let arguments = [
        "grade",
        "items.jsonl",
        "-o",
        "/dev/null",
        "--run",
        run_name,
        "--server",
        &server.url,
    ];
    run(folder, key, &arguments);
}

#[test]
fn tail_and_models_find_the_server_of_the_configuration_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let operator = create_key(folder, "olga", "operator");
    let server = serve(folder);
    grade(folder, &server, &operator, "r");

    // Without `--server`, both use `https` and the address of the configuration.
    let mut tail = with_key(folder, &operator, &["tail", "--json"]);
    let mut tail = Running(tail.stdout(Stdio::piped()).spawn().unwrap());
    let mut out = BufReader::new(tail.0.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let printed: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&printed["id"], &printed["run"], &printed["caller"]),
        (&json!("first"), &json!("r"), &json!("olga"))
    );
    tail.signal(Signal::INT);
    assert_eq!(tail.code(), Some(130));

    let listed = run(folder, &operator, &["models", "list", "--json"]);
    assert!(
        listed.status.success() && listed.stdout.is_empty(),
        "{listed:?}"
    );
    let load = ["models", "load", "rm", "missing/model"];
    fails(with_key(folder, &operator, &load), "missing/model");

    for command in [
        &["tail"][..],
        &["models", "list"],
        &["models", "load", "rm", "a/b"],
    ] {
        fails(with_key(folder, "", command), "this node requires a key");
        // The certificate is not trusted.
        let mut untrusting = with_key(folder, &operator, command);
        untrusting.env("SSL_CERT_FILE", CERTIFICATE.replace("one.crt", "two.crt"));
        fails(untrusting, "the certificate of `https://127.0.0.1:");
    }
    let trainer = create_key(folder, "alice", "trainer");
    wait_for_key(folder, &trainer);
    fails(
        with_key(folder, &trainer, &["models", "load", "rm", "a/b"]),
        "needs the role `operator`",
    );
    drop(server.running);
}

/// Waits until the server knows a key that was created while it runs.
fn wait_for_key(folder: &Path, key: &str) {
    while !with_key(folder, key, &["models", "list"])
        .output()
        .unwrap()
        .status
        .success()
    {}
}

/// The entries that a command prints, oldest first.
fn entries(output: &Output) -> Vec<Value> {
    let mut entries = lines(&output.stdout);
    entries.reverse();
    entries
}

fn acts(entries: &[Value]) -> Vec<(&str, &str, &str)> {
    entries
        .iter()
        .map(|entry| {
            (
                entry["action"].as_str().unwrap(),
                entry["caller"].as_str().unwrap(),
                entry["target"].as_str().unwrap(),
            )
        })
        .collect()
}

#[test]
fn prunes_and_reads_the_audit_log_of_a_server_with_a_key_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let admin = create_key(folder, "root", "admin");
    let operator = create_key(folder, "olga", "operator");
    let server = serve(folder);
    grade(folder, &server, &operator, "old");
    let of_server = ["--server", server.url.as_str()];

    let prune = [&["prune", "--run", "old", "--json"], &of_server[..]].concat();
    fails(
        with_key(folder, &operator, &prune),
        "needs the role `admin`",
    );
    let pruned: Value = serde_json::from_slice(&run(folder, &admin, &prune).stdout).unwrap();
    assert_eq!(
        (
            &pruned["prune"]["state"],
            &pruned["prune"]["deleted_grades"]
        ),
        (&json!("done"), &json!(1))
    );

    let export = [&["audit", "--json"], &of_server[..]].concat();
    fails(with_key(folder, "", &export), "this node requires a key");
    let exported = run(folder, &operator, &export);
    let exported = entries(&exported);
    assert_eq!(
        acts(&exported),
        [
            ("key.create", "command line", "root"),
            ("key.create", "command line", "olga"),
            ("record.prune", "root", "record"),
        ]
    );
    assert_eq!(exported[2]["role"], "admin");
    assert_eq!(exported[2]["details"]["runs"], json!(["old"]));
    // The key can also be an option, and the database is read while the server uses it.
    let with_option = [&export[..], &["--key", &admin]].concat();
    assert_eq!(entries(&run(folder, "", &with_option)), exported);
    let local = assay(folder, &["audit", "--json", DATABASE[0], DATABASE[1]]);
    assert_eq!(entries(&local), exported);

    let shown = [&["audit", "--lines", "2"], &of_server[..]].concat();
    let shown = text(&run(folder, &operator, &shown).stdout);
    let shown: Vec<&str> = shown.lines().collect();
    assert_eq!(shown.len(), 3, "{shown:?}");
    assert!(
        shown[0].starts_with("NO") && shown[0].ends_with("DETAILS"),
        "{shown:?}"
    );
    assert!(
        shown[1].contains("record.prune") && shown[2].contains("olga"),
        "{shown:?}"
    );
    let both = [&export[..], &DATABASE[..]].concat();
    fails(with_key(folder, &admin, &both), "cannot be used with");
}

/// Every command that changes or copies the record, or changes keys, has an entry.
#[test]
fn acts_of_the_command_line_are_in_the_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let local = |arguments: &[&str]| {
        let output = assay(folder, &[arguments, &DATABASE[..]].concat());
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        output
    };
    let labelled = |answer: &str, label: bool| {
        let task = json!({ "type": "math", "answer": answer });
        json!({ "completion": "\\boxed{1}", "task": task, "label": label }).to_string()
    };
    let items = [labelled("1", true), labelled("2", false)].join("\n");
    std::fs::write(folder.join("items.jsonl"), items).unwrap();
    local(&["grade", "items.jsonl", "-o", "/dev/null", "--run", "r"]);
    local(&["export", "grades.jsonl"]);
    let grades = lines(&std::fs::read(folder.join("grades.jsonl")).unwrap());
    let grade = grades[0]["grade"].as_str().unwrap();

    local(&["keys", "create", "alice"]);
    local(&["keys", "set", "alice", "--role", "checker"]);
    local(&["keys", "rotate", "alice"]);
    local(&["keys", "revoke", "alice"]);
    let expired = ["keys", "create", "bob", "--expires", "0d"];
    let expired = [&expired[..], &DATABASE[..]].concat();
    assert_fails(folder, &expired, "`--expires` must be longer than 0");
    local(&["channels", "adjudicate", grade, "--right"]);
    local(&["channels", "calibrate", "items.jsonl"]);
    local(&["backup", "copy"]);
    local(&["record", "set-aside", "--apply"]);
    local(&["prune", "--run", "r", "--dry-run"]);
    local(&["prune", "--run", "r"]);

    let logged = entries(&local(&["audit", "--json"]));
    let copy = std::path::absolute(folder.join("copy")).unwrap();
    let copy = copy.to_str().unwrap();
    assert_eq!(
        acts(&logged),
        [
            ("key.create", "alice"),
            ("key.change", "alice"),
            ("key.rotate", "alice"),
            ("key.revoke", "alice"),
            ("grade.adjudicate", grade),
            ("channel.calibrate", "math/default@2"),
            ("record.backup", copy),
            ("record.apply_set_aside", "record"),
            ("record.prune", "record"),
        ]
        .map(|(action, target)| (action, "command line", target))
    );
    assert_eq!(logged[4]["details"], json!({ "pass": true }));
    assert_eq!(logged[6]["details"], json!({ "batches": 1, "grades": 2 }));
    assert_eq!(logged[8]["details"]["runs"], json!(["r"]));
    assert!(logged.iter().all(|entry| entry["role"].is_null()));
}
