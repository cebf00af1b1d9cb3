//! Runs of the binary, as a user starts them: to the end, broken off, gone on with, against a
//! service that goes away.
#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod command;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use command::trainer;

/// Sums of two digits: seconds.
const RUN: &str = r#"
run = "small"
policy = { path = "start" }
data = { problems = [{ family = "arithmetic", operands = 2, digits = 1, operators = ["+"] }] }
rollout = { prompts = 4, samples = 4, sampling = { max_tokens = 4 } }
objective = { preset = "dapo" }
schedule = { learning_rate = 1e-3 }
training = { steps = 8, save_every = 2 }
evaluation = { prompts = 8, every = 8 }
warmup = { steps = 20, batch = 16 }
"#;

/// A random start and a short warm-up in a folder of its own.
fn start() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.toml"), RUN).unwrap();
    let words = ["init", "--config", "run.toml", "--output", "random"];
    trainer(folder.path(), &words).unwrap();
    let words = [
        "sft",
        "--config",
        "run.toml",
        "--set",
        "policy.path=random",
        "--output",
        "start",
    ];
    trainer(folder.path(), &words).unwrap();
    folder
}

fn train(folder: &Path, output: &str, more: &[&str]) -> Result<String, String> {
    let words = [
        "train",
        "--config",
        "run.toml",
        "--embedded",
        "--output",
        output,
    ];
    trainer(
        folder,
        &words
            .into_iter()
            .chain(more.iter().copied())
            .collect::<Vec<_>>(),
    )
}

fn spawn(folder: &Path, output: &str, more: &[&str]) -> Child {
    let words = [
        "train",
        "--config",
        "run.toml",
        "--embedded",
        "--output",
        output,
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay-trainer"));
    command
        .args(words)
        .args(more)
        .current_dir(folder)
        .env("RAYON_NUM_THREADS", "1");
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a run left: its weights, and its numbers line by line.
fn left(folder: &Path, output: &str) -> (Vec<u8>, Vec<String>) {
    let weights = fs::read(folder.join(output).join("model/model.safetensors")).unwrap();
    let numbers = fs::read_to_string(folder.join(output).join("metrics.jsonl")).unwrap();
    (weights, numbers.lines().map(str::to_owned).collect())
}

/// Settings under which a checkpoint has to hold more than weights.
const KINDS: &[&[&str]] = &[
    &[],
    &[
        "--set",
        "rollout.staleness=2",
        "--set",
        "training.effective_share=0.9",
    ],
    &[
        "--set",
        "rollout.ahead=1.5",
        "--set",
        "rollout.replace=1",
        "--set",
        "training.minibatches=2",
    ],
    &[
        "--set",
        "objective.preset=grpo",
        "--set",
        "training.reset_reference_every=3",
        "--set",
        "policy.lora.rank=4",
    ],
    &["--set", "objective.preset=dcpo", "--set", "data.limit=6"],
];

#[test]
fn a_run_that_is_gone_on_with_is_the_run_that_was_not_broken_off() {
    let folder = start();
    for (at, kind) in KINDS.iter().enumerate() {
        let (whole, parts) = (format!("whole-{at}"), format!("parts-{at}"));
        train(folder.path(), &whole, kind).unwrap();
        let half: Vec<&str> = kind
            .iter()
            .copied()
            .chain(["--set", "training.steps=4", "--set", "evaluation.every=8"])
            .collect();
        train(folder.path(), &parts, &half).unwrap();
        let rest: Vec<&str> = kind.iter().copied().chain(["--resume"]).collect();
        train(folder.path(), &parts, &rest).unwrap();
        let ((whole, told), (parts, told_in_parts)) =
            (left(folder.path(), &whole), left(folder.path(), &parts));
        assert!(whole == parts, "{kind:?} leaves other weights");
        assert_eq!(
            told[5..],
            told_in_parts[told_in_parts.len() - told[5..].len()..],
            "{kind:?}"
        );
    }
}

#[test]
fn a_run_that_is_killed_loses_nothing_but_time() {
    let folder = start();
    train(folder.path(), "whole", &[]).unwrap();
    let mut random = assay_core::Random::new(u64::from(std::process::id()));
    let mut kills = 0;
    loop {
        let resume: &[&str] = if folder.path().join("killed").exists() {
            &["--resume"]
        } else {
            &[]
        };
        let mut run = spawn(folder.path(), "killed", resume);
        // A moment that no test of ours chose; runs take about two seconds.
        std::thread::sleep(Duration::from_millis(300 + random.below(1_200) as u64));
        if kills < 4 && run.try_wait().unwrap().is_none() {
            run.kill().unwrap();
            run.wait().unwrap();
            kills += 1;
            continue;
        }
        assert!(run.wait().unwrap().success());
        break;
    }
    assert!(
        left(folder.path(), "whole") == left(folder.path(), "killed"),
        "after {kills} kills"
    );
    let kept = fs::read_dir(folder.path().join("killed/checkpoints"))
        .unwrap()
        .flatten();
    assert!(
        kept.map(|entry| entry.file_name())
            .all(|name| name.to_string_lossy().starts_with("step-"))
    );
}

#[test]
fn a_run_that_is_told_to_end_saves_and_says_so() {
    let folder = start();
    train(folder.path(), "whole", &[]).unwrap();
    let mut run = spawn(folder.path(), "stopped", &[]);
    while !folder.path().join("stopped/metrics.jsonl").exists() {
        assert!(run.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&run),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    let code = run.wait().unwrap().code();
    assert!(matches!(code, Some(130 | 0)), "{code:?}");
    train(folder.path(), "stopped", &["--resume"]).unwrap();
    assert!(left(folder.path(), "whole") == left(folder.path(), "stopped"));
}

#[test]
fn what_cannot_be_meant_is_refused_with_a_word_on_it() {
    let folder = start();
    train(folder.path(), "done", &["--set", "training.steps=1"]).unwrap();
    for (output, more, word) in [
        ("done", &["--set", "training.steps=2"][..], "--resume"),
        (
            "done",
            &["--resume", "--set", "seed=9"],
            "another configuration",
        ),
        (
            "done",
            &["--resume", "--set", "policy.path=random"],
            "another configuration",
        ),
        ("new", &["--set", "policy.path=nowhere"], "nowhere"),
        (
            "new",
            &["--set", "rollout.sampling.temperature=-1"],
            "temperature",
        ),
        ("new", &["--set", "objective.surrogate=none"], "surrogate"),
        ("new", &["--set", "objective.preset=remax"], "greedy"),
        ("new", &["--set", "data.path=nothing.jsonl"], "either"),
    ] {
        let error = train(folder.path(), output, more).unwrap_err();
        assert!(error.contains(word), "{more:?}: {error}");
    }
    let away = [
        "train",
        "--config",
        "run.toml",
        "--server",
        "http://127.0.0.1:9",
        "--output",
        "away",
        "--set",
        "rewards.timeout_s=0",
    ];
    assert!(trainer(folder.path(), &away).unwrap_err().contains("away"));
}

#[test]
fn a_policy_is_examined_and_scored() {
    let folder = start();
    let told = trainer(
        folder.path(),
        &[
            "eval",
            "--config",
            "run.toml",
            "--embedded",
            "--set",
            "evaluation.samples=3",
        ],
    )
    .unwrap();
    let told: BTreeMap<String, f64> = serde_json::from_str(&told).unwrap();
    assert!(
        told["held_out/pass@3"] >= told["held_out/accuracy"] && told["held_out/ungraded"] == 0.0
    );
    fs::write(
        folder.path().join("ids"),
        "{\"prompt\": [3, 4], \"completion\": [5, 1]}\n",
    )
    .unwrap();
    let scored = trainer(
        folder.path(),
        &["score", "--model", "start", "--input", "ids"],
    )
    .unwrap();
    let scored: BTreeMap<String, Vec<f64>> = serde_json::from_str(&scored).unwrap();
    assert!(scored["log_probs"].iter().all(|one| *one < 0.0) && scored["entropies"].len() == 2);
}

#[test]
fn what_the_policy_cannot_read_is_refused_before_anything_is_written() {
    let folder = start();
    let place = folder.path();
    let long = "1+".repeat(400) + "1=";
    for (prompt, word) in [("1*1=", "no token for `*`"), (long.as_str(), "802 tokens")] {
        let line = serde_json::json!({ "prompt": prompt, "prompt_key": "odd", "task": { "type": "math", "answer": "1" } });
        let good = serde_json::json!({ "prompt": "1+1=", "task": { "type": "math", "answer": "2" }, "solution": "2" });
        fs::write(place.join("prompts.jsonl"), format!("{good}\n{line}\n")).unwrap();
        let (data, rest) = (RUN.find("data =").unwrap(), RUN.find("rollout =").unwrap());
        let run = format!(
            "{}data.path = \"prompts.jsonl\"\n{}",
            &RUN[..data],
            &RUN[rest..]
        );
        fs::write(place.join("run.toml"), run).unwrap();
        let refused = train(place, "refused", &["--set", "evaluation.every=0"]).unwrap_err();
        assert!(
            refused.contains(word) && refused.contains("`odd`"),
            "{refused}"
        );
        assert!(!place.join("refused/metrics.jsonl").exists());
    }
    fs::write(place.join("run.toml"), RUN).unwrap();
    train(place, "done", &["--set", "training.steps=1"]).unwrap();
    let words = [
        "picture",
        "--metric",
        "nobody/wrote",
        "--series",
        "one=done/metrics.jsonl",
        "--output",
        "one.svg",
    ];
    let refused = trainer(place, &words).unwrap_err();
    assert!(refused.contains("`nobody/wrote`"), "{refused}");
}
