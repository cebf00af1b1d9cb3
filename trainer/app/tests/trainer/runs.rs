//! Runs of the binary: complete, interrupted, resumed, and without a service.
#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::command::trainer;

/// A run on sums of two digits, which takes seconds.
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

/// A temporary directory with a run file and a policy model after a short warm-up.
fn start() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.toml"), RUN).unwrap();
    let arguments = ["init", "--config", "run.toml", "--output", "random"];
    trainer(folder.path(), &arguments).unwrap();
    let arguments = [
        "sft",
        "--config",
        "run.toml",
        "--set",
        "policy.path=random",
        "--output",
        "start",
    ];
    trainer(folder.path(), &arguments).unwrap();
    folder
}

fn train(folder: &Path, output: &str, more: &[&str]) -> Result<String, String> {
    let arguments = [
        "train",
        "--config",
        "run.toml",
        "--embedded",
        "--output",
        output,
    ];
    trainer(
        folder,
        &arguments
            .into_iter()
            .chain(more.iter().copied())
            .collect::<Vec<_>>(),
    )
}

fn spawn(folder: &Path, output: &str, more: &[&str]) -> Child {
    let arguments = [
        "train",
        "--config",
        "run.toml",
        "--embedded",
        "--output",
        output,
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay-trainer"));
    command
        .args(arguments)
        .args(more)
        .current_dir(folder)
        .env("RAYON_NUM_THREADS", "1");
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The final weights and the metrics lines of a run.
fn artifacts(folder: &Path, output: &str) -> (Vec<u8>, Vec<String>) {
    let weights = fs::read(folder.join(output).join("model/model.safetensors")).unwrap();
    let metrics = fs::read_to_string(folder.join(output).join("metrics.jsonl")).unwrap();
    (weights, metrics.lines().map(str::to_owned).collect())
}

/// Number of whole lines of a file that may not exist yet.
fn lines_of(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.matches('\n').count())
}

/// Settings for which checkpoints contain more than weights.
const VARIANTS: &[&[&str]] = &[
    &[],
    &[
        "--set",
        "rollout.staleness=2",
        "--set",
        "training.effective_share=0.9",
    ],
    &[
        "--set",
        "rollout.oversampling=1.5",
        "--set",
        "rollout.resample_rounds=1",
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
fn resumed_run_equals_uninterrupted_run() {
    let folder = start();
    for (index, variant) in VARIANTS.iter().enumerate() {
        let (whole, parts) = (format!("whole-{index}"), format!("parts-{index}"));
        train(folder.path(), &whole, variant).unwrap();
        let half: Vec<&str> = variant
            .iter()
            .copied()
            .chain(["--set", "training.steps=4", "--set", "evaluation.every=8"])
            .collect();
        train(folder.path(), &parts, &half).unwrap();
        let rest: Vec<&str> = variant.iter().copied().chain(["--resume"]).collect();
        train(folder.path(), &parts, &rest).unwrap();
        let (whole, whole_metrics) = artifacts(folder.path(), &whole);
        let (parts, part_metrics) = artifacts(folder.path(), &parts);
        assert!(whole == parts, "{variant:?}: weights differ");
        assert_eq!(
            whole_metrics[5..],
            part_metrics[part_metrics.len() - whole_metrics[5..].len()..],
            "{variant:?}"
        );
    }
}

/// More steps than a run takes before it is interrupted.
const ENDLESS: &[&str] = &["--set", "training.steps=10000"];

/// Starts a run that does not end by itself, and returns once it has written metrics.
fn endless(folder: &Path, output: &str) -> Child {
    let metrics = folder.join(output).join("metrics.jsonl");
    let written = lines_of(&metrics);
    let resume = metrics.exists().then_some("--resume");
    let arguments: Vec<&str> = ENDLESS.iter().copied().chain(resume).collect();
    let mut run = spawn(folder, output, &arguments);
    while lines_of(&metrics) <= written {
        assert!(run.try_wait().unwrap().is_none(), "the run ended");
        std::thread::sleep(Duration::from_millis(1));
    }
    run
}

/// Resumes an interrupted run for a few more steps and compares it with one that was not
/// interrupted.
fn assert_resumes_identically(folder: &Path, output: &str) {
    let steps = lines_of(&folder.join(output).join("metrics.jsonl")) + 4;
    let steps = format!("training.steps={steps}");
    train(folder, output, &["--resume", "--set", &steps]).unwrap();
    train(folder, "whole", &["--set", &steps]).unwrap();
    assert!(artifacts(folder, "whole") == artifacts(folder, output));
}

#[test]
fn killed_run_resumes_identically() {
    let folder = start();
    let mut random = assay_base::Random::new(u64::from(std::process::id()));
    for _ in 0..3 {
        let mut run = endless(folder.path(), "killed");
        std::thread::sleep(Duration::from_millis(random.below(100) as u64));
        run.kill().unwrap();
        assert_eq!(run.wait().unwrap().code(), None, "killed by a signal");
    }
    assert_resumes_identically(folder.path(), "killed");
    let checkpoints = fs::read_dir(folder.path().join("killed/checkpoints"))
        .unwrap()
        .flatten();
    assert!(
        checkpoints
            .map(|entry| entry.file_name())
            .all(|name| name.to_string_lossy().starts_with("step-"))
    );
}

#[test]
fn terminated_run_saves_a_checkpoint() {
    let folder = start();
    let mut run = endless(folder.path(), "stopped");
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&run),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_resumes_identically(folder.path(), "stopped");
}

#[test]
fn rejects_invalid_settings_with_a_reason() {
    let folder = start();
    train(folder.path(), "done", &["--set", "training.steps=1"]).unwrap();
    for (output, more, part) in [
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
        assert!(error.contains(part), "{more:?}: {error}");
    }
    let unavailable = [
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
    let error = trainer(folder.path(), &unavailable).unwrap_err();
    assert!(error.contains("unavailable"), "{error}");
}

#[test]
fn evaluates_and_scores_a_policy_model() {
    let folder = start();
    let output = trainer(
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
    let values: BTreeMap<String, f64> = serde_json::from_str(&output).unwrap();
    assert!(values["held_out/pass@3"] >= values["held_out/accuracy"]);
    assert_eq!(values["held_out/ungraded"], 0.0);
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
    let log_probs = &scored["log_probs"];
    assert!(log_probs.iter().all(|log_prob| *log_prob < 0.0) && scored["entropies"].len() == 2);
}

#[test]
fn rejects_prompts_that_cannot_be_tokenised_before_training() {
    let folder = start();
    let directory = folder.path();
    let long = "1+".repeat(400) + "1=";
    for (prompt, part) in [("1*1=", "no token for `*`"), (long.as_str(), "802 tokens")] {
        let line = serde_json::json!({
            "prompt": prompt, "prompt_key": "odd", "task": { "type": "math", "answer": "1" },
        });
        let good = serde_json::json!({
            "prompt": "1+1=", "task": { "type": "math", "answer": "2" }, "solution": "2",
        });
        let prompts = format!("{good}\n{line}\n");
        fs::write(directory.join("prompts.jsonl"), prompts).unwrap();
        let (data, rest) = (RUN.find("data =").unwrap(), RUN.find("rollout =").unwrap());
        let run = format!(
            "{}data.path = \"prompts.jsonl\"\n{}",
            &RUN[..data],
            &RUN[rest..]
        );
        fs::write(directory.join("run.toml"), run).unwrap();
        let error = train(directory, "rejected", &["--set", "evaluation.every=0"]).unwrap_err();
        assert!(error.contains(part) && error.contains("`odd`"), "{error}");
        assert!(!directory.join("rejected/metrics.jsonl").exists());
    }
    fs::write(directory.join("run.toml"), RUN).unwrap();
    train(directory, "done", &["--set", "training.steps=1"]).unwrap();
    let arguments = [
        "plot",
        "--metric",
        "unknown/metric",
        "--series",
        "one=done/metrics.jsonl",
        "--output",
        "one.svg",
    ];
    let error = trainer(directory, &arguments).unwrap_err();
    assert!(error.contains("`unknown/metric`"), "{error}");
}

/// The trained weights of two steps of `train`, and of two `update`s with the rows of these steps.
#[test]
fn update_equals_train_on_the_same_rows() {
    let folder = start();
    let directory = folder.path();
    let variants: [&[&str]; 3] = [
        &["--set", "objective.preset=grpo"],
        &["--set", "policy.lora.rank=4"],
        &[
            "--set",
            "training.minibatches=2",
            "--set",
            "training.micro_tokens=32",
        ],
    ];
    for (index, variant) in variants.iter().enumerate() {
        let output = format!("run-{index}");
        let common = ["--set", "training.steps=2", "--set", "evaluation.every=0"];
        let settings = [&common[..], variant].concat();
        let saving = ["--set", "training.save_batches=true"];
        train(directory, &output, &[&settings[..], &saving].concat()).unwrap();
        let mut previous: Option<String> = None;
        let mut norms = Vec::new();
        for step in 1..=2 {
            let batch = format!("{output}/batches/{step:06}.jsonl");
            let updated = format!("updated-{index}-{step}");
            let mut arguments = vec!["update", &batch, "--config", "run.toml"];
            arguments.extend(["--output", &updated]);
            arguments.extend(&settings);
            if let Some(previous) = &previous {
                arguments.extend(["--previous", previous]);
            }
            let printed = trainer(directory, &arguments).unwrap();
            let values: BTreeMap<String, f64> = serde_json::from_str(&printed).unwrap();
            assert_eq!(values["step"], f64::from(step));
            norms.push(values["grad_norm"]);
            previous = Some(updated);
        }
        let updated = directory.join(previous.unwrap());
        let read = |path: &Path| fs::read(path).unwrap();
        let (weights, metrics) = artifacts(directory, &output);
        assert!(
            weights == read(&updated.join("model.safetensors")),
            "{variant:?}"
        );
        let checkpoint = directory.join(&output).join("checkpoints/step-000002");
        let name = "optimiser.safetensors";
        assert!(
            read(&checkpoint.join(name)) == read(&updated.join(name)),
            "{variant:?}"
        );
        let logged = metrics.iter().filter_map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["grad_norm"].as_f64()
        });
        assert_eq!(logged.collect::<Vec<_>>(), norms);
        assert!(norms.iter().any(|norm| *norm > 0.0), "nothing was learned");
    }
}

/// PEFT adds the adapters of a directory to its weights, so merged weights are elsewhere.
#[test]
fn adapters_are_not_beside_merged_weights() {
    let folder = start();
    let lora = ["--set", "policy.lora.rank=4", "--set", "training.steps=2"];
    train(folder.path(), "run", &lora).unwrap();
    let run = folder.path().join("run");
    for (directory, is_merged) in [("model", true), ("checkpoints/step-000002", false)] {
        let directory = run.join(directory);
        assert_eq!(directory.join("model.safetensors").exists(), is_merged);
        assert!(!directory.join("adapter_config.json").exists());
        assert!(directory.join("adapter/adapter_config.json").is_file());
        assert!(
            directory
                .join("adapter/adapter_model.safetensors")
                .is_file()
        );
    }
}

#[test]
fn rejects_runs_that_exceed_memory_before_they_start() {
    let folder = start();
    let plan = |more: &[&str]| {
        let common = ["plan", "--config", "run.toml"];
        trainer(folder.path(), &[&common[..], more].concat())
    };
    let report: serde_json::Value = serde_json::from_str(&plan(&[]).unwrap()).unwrap();
    assert_eq!(report["micro_tokens"], 16_384);
    assert_eq!(report["recompute"], false);
    assert!(report["peak_gib"].as_f64() < report["usable_gib"].as_f64());
    let small = ["--set", "training.memory_gib=0.001"];
    for error in [
        plan(&small).unwrap_err(),
        train(folder.path(), "run", &small).unwrap_err(),
    ] {
        assert!(error.contains("the run needs at least"), "{error}");
        assert!(error.contains("choose a smaller model"), "{error}");
    }
    assert!(!folder.path().join("run/metrics.jsonl").exists());
    // Long texts fit with recomputation or smaller micro-batches only.
    let peak = |more: &[&str]| -> f64 {
        let long = ["--longest", "4000", "--set", "rollout.sampling.rows=1"];
        let report = plan(&[&long[..], more].concat()).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        report["peak_gib"].as_f64().unwrap()
    };
    let (whole, part) = (peak(&[]), peak(&["--set", "training.micro_tokens=4000"]));
    assert!(part < whole, "{part} {whole}");
    let limit = format!("training.memory_gib={}", f64::midpoint(part, whole));
    assert!(peak(&["--set", &limit]) <= f64::midpoint(part, whole));
}
