//! The page of the trainer matches its code: every key of a run's file and every number that it
//! reports.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fields of the structs of a file that are read from configurations, as `Struct.field`.
fn fields(path: &str, of: &str) -> Vec<String> {
    let text = read(path);
    let start = text
        .find(&format!("pub struct {of} {{"))
        .unwrap_or_else(|| panic!("`{of}` is not in {path}"));
    let body = &text[start..][..text[start..].find("\n}").unwrap()];
    let fields = body
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'));
    fields
        .map(|(name, _)| name.to_owned())
        .filter(|name| !name.contains(' '))
        .collect()
}

#[test]
fn every_key_of_a_run_has_its_row() {
    const CONFIG: &str = "trainer/app/src/config.rs";
    let sections: &[(&str, &str, &str)] = &[
        ("data", CONFIG, "Data"),
        ("rewards", CONFIG, "Rewards"),
        ("training", CONFIG, "Training"),
        ("evaluation", CONFIG, "Evaluation"),
        ("warmup", CONFIG, "Warmup"),
        (
            "policy.lora",
            "trainer/policy-model/src/lora.rs",
            "LoraSettings",
        ),
        (
            "rollout.sampling",
            "trainer/policy-model/src/generation/sampling.rs",
            "Sampling",
        ),
        (
            "optimiser",
            "trainer/policy-model/src/optimiser/settings.rs",
            "AdamWSettings",
        ),
        (
            "schedule",
            "trainer/policy-model/src/optimiser/schedule.rs",
            "Schedule",
        ),
        (
            "objective",
            "trainer/objective/src/objective.rs",
            "Objective",
        ),
    ];
    let mut known: BTreeSet<String> = [
        "run",
        "seed",
        "policy.path",
        "policy.dtype",
        "objective.preset",
    ]
    .map(str::to_owned)
    .into();
    known.extend(
        fields(CONFIG, "Rollout")
            .into_iter()
            .filter(|key| key != "sampling")
            .map(|key| format!("rollout.{key}")),
    );
    for (section, path, of) in sections {
        known.extend(
            fields(path, of)
                .into_iter()
                .map(|key| format!("{section}.{key}")),
        );
    }
    let page = read("docs/TRAINER.md");
    let table = page
        .split("## Run configuration")
        .nth(1)
        .unwrap()
        .split("\n## ")
        .next()
        .unwrap();
    let rows: BTreeSet<String> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(key, _)| key.to_owned())
        .collect();
    let missing: Vec<_> = known.difference(&rows).collect();
    let extra: Vec<_> = rows.difference(&known).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "without a row: {missing:?}; without a key: {extra:?}"
    );
}

#[test]
fn every_preset_has_its_row() {
    let presets = read("trainer/objective/src/presets.rs");
    let names = presets
        .lines()
        .filter_map(|line| line.trim().strip_prefix("row(\"")?.split_once('"'));
    let page = read("docs/OBJECTIVES.md");
    let missing: Vec<&str> = names
        .map(|(name, _)| name)
        .filter(|name| !page.contains(&format!("| `{name}`")))
        .collect();
    assert!(missing.is_empty(), "without a row: {missing:?}");
}
