//! Dependencies between crates have one direction. The table lists the allowed ones; any other
//! fails.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Allowed dependencies. Graders share the row `grader`.
const ARROWS: &[(&str, &[&str])] = &[
    ("assay-core", &[]),
    ("assay-worker", &[]),
    ("assay-wasm", &["assay-worker"]),
    ("assay-sqlbox", &["assay-worker"]),
    ("assay-documents", &["assay-core"]),
    ("assay-jinja", &[]),
    (
        "grader",
        &[
            "assay-core",
            "assay-worker",
            "assay-documents",
            "assay-jinja",
            "assay-weights",
            "assay-kernels",
        ],
    ),
    ("assay-rewards", &["assay-core"]),
    ("assay-weights", &[]),
    ("assay-kernels", &[]),
    (
        "assay-policy-model",
        &["assay-weights", "assay-kernels", "assay-core"],
    ),
    (
        "assay-problems",
        &["assay-core", "assay-math", "assay-structured"],
    ),
    ("assay-objective", &["assay-rewards", "assay-core"]),
    ("assay-engine", &["assay-core", "assay-rewards"]),
    ("assay-store", &["assay-core"]),
    ("assay-wire", &["assay-core"]),
    (
        "assay-operators",
        &["assay-wire", "assay-engine", "assay-rewards", "assay-core"],
    ),
    (
        "assay-api",
        &[
            "assay-operators",
            "assay-wire",
            "assay-engine",
            "assay-rewards",
            "assay-core",
        ],
    ),
    ("assay-client", &["assay-wire"]),
    ("assay-node", &["*"]),
    ("assay-templates", &["assay-core", "assay-jinja"]),
    (
        "assay-check",
        &["assay-templates", "assay-engine", "assay-core"],
    ),
    (
        "assay",
        &[
            "assay-check",
            "assay-templates",
            "assay-node",
            "assay-api",
            "assay-client",
            "assay-engine",
            "assay-wire",
            "assay-rewards",
            "assay-core",
        ],
    ),
    (
        "assay-trainer",
        &[
            "assay-policy-model",
            "assay-problems",
            "assay-objective",
            "assay-weights",
            "assay-reward-model",
            "assay-node",
            "assay-api",
            "assay-client",
            "assay-engine",
            "assay-wire",
            "assay-core",
        ],
    ),
    ("assay-fuzzing", &["*"]),
    ("assay-tests", &["*"]),
];

fn row(package: &str, manifest: &str) -> &'static str {
    let known = ARROWS
        .iter()
        .map(|(name, _)| *name)
        .find(|name| *name == package);
    known.unwrap_or_else(|| {
        assert!(
            manifest.contains("/graders/"),
            "`{package}` has no row in the table of dependencies"
        );
        "grader"
    })
}

/// The packages of the workspace, from `cargo metadata`.
fn packages() -> Vec<Value> {
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .output();
    let metadata: Value = serde_json::from_slice(&cargo.unwrap().stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"].as_array().into_iter().flatten()
}

#[test]
fn every_dependency_between_crates_is_allowed() {
    let packages = packages();
    let members: BTreeSet<_> = packages
        .iter()
        .map(|package| text(package, "name"))
        .collect();
    let allowed: BTreeMap<_, BTreeSet<_>> = ARROWS
        .iter()
        .map(|(name, targets)| (*name, targets.iter().copied().collect()))
        .collect();
    let mut refused = Vec::new();
    for package in &packages {
        let name = text(package, "name");
        let targets = &allowed[row(name, text(package, "manifest_path"))];
        for dependency in dependencies(package).map(|dependency| text(dependency, "name")) {
            let granted = targets.contains("*") || targets.contains(dependency);
            if members.contains(dependency) && !granted {
                refused.push(format!("{name} -> {dependency}"));
            }
        }
    }
    assert!(refused.is_empty(), "not in the design: {refused:?}");
}

#[test]
fn a_program_cannot_exhaust_the_workers_memory() {
    let packages = packages();
    let only = |library: &str, rooms: &[&str]| {
        for package in &packages {
            let name = text(package, "name");
            // Those of tests and of build scripts have a kind.
            let uses = dependencies(package)
                .any(|used| text(used, "name") == library && used["kind"].is_null());
            assert!(
                !uses || rooms.contains(&name),
                "`{name}` must not depend on `{library}`"
            );
        }
    };
    only("sqlx", &["assay-store", "assay-sqlbox"]);
    only("axum", &["assay-api", "assay-operators"]);
    only("askama", &["assay-operators"]);
    only("reqwest", &["assay-client", "assay-tests"]);
    only("clap", &["assay", "assay-trainer", "assay-tests"]);
    only("wasmtime", &["assay-wasm"]);
    only("rusqlite", &["assay-sqlbox"]);
    only("jsonschema", &["assay-documents"]);
}
