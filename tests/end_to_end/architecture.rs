//! Dependencies between crates have one direction. The table lists the allowed ones; any other
//! fails. The list in `docs/ARCHITECTURE.md` is generated from it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use regex::Regex;
use serde_json::Value;

/// Allowed dependencies, without the prefix `assay-`; `*` allows all. Graders share the row
/// `grader`.
pub(crate) const ARROWS: &[(&str, &[&str])] = &[
    ("assay-base", &[]),
    ("assay-core", &["base"]),
    ("assay-extraction", &[]),
    ("assay-jinja", &[]),
    ("assay-worker", &["core"]),
    ("assay-kernels", &[]),
    ("assay-typescript", &[]),
    ("assay-weights", &[]),
    ("assay-documents", &["base", "core", "extraction"]),
    ("assay-wasm", &["typescript", "worker"]),
    ("assay-sqlbox", &["base", "core", "worker"]),
    (
        "grader",
        &[
            "base",
            "core",
            "extraction",
            "documents",
            "jinja",
            "worker",
            "weights",
            "kernels",
        ],
    ),
    ("assay-charts", &[]),
    ("assay-rewards", &["charts", "base", "core"]),
    ("assay-record", &["base", "core", "rewards"]),
    ("assay-access", &["core", "record"]),
    ("assay-wire", &["base", "core", "record", "rewards"]),
    ("assay-sessions", &["base", "core", "wire", "worker"]),
    ("assay-engine", &["base", "core", "record", "rewards"]),
    (
        "assay-review",
        &["base", "core", "record", "rewards", "engine"],
    ),
    (
        "assay-mapping",
        &[
            "base",
            "core",
            "record",
            "rewards",
            "engine",
            "review",
            "wire",
            "templates",
        ],
    ),
    (
        "assay-jobs",
        &[
            "base",
            "core",
            "engine",
            "mapping",
            "record",
            "review",
            "templates",
            "wire",
        ],
    ),
    (
        "assay-alerts",
        &["base", "core", "record", "rewards", "engine", "wire"],
    ),
    (
        "assay-operators",
        &[
            "access", "alerts", "base", "core", "jobs", "record", "rewards", "engine", "review",
            "sessions", "wire",
        ],
    ),
    (
        "assay-api",
        &[
            "access",
            "alerts",
            "base",
            "core",
            "record",
            "rewards",
            "engine",
            "review",
            "wire",
            "jobs",
            "mapping",
            "operators",
            "sessions",
            "templates",
        ],
    ),
    ("assay-client", &["wire"]),
    ("assay-hub", &["base"]),
    ("assay-node", &["*"]),
    (
        "assay-templates",
        &["base", "core", "documents", "extraction", "jinja"],
    ),
    (
        "assay-check",
        &["base", "core", "engine", "record", "templates"],
    ),
    (
        "assay",
        &[
            "access",
            "base",
            "core",
            "record",
            "rewards",
            "engine",
            "review",
            "wire",
            "mapping",
            "math",
            "external",
            "client",
            "hub",
            "node",
            "templates",
            "check",
        ],
    ),
    (
        "assay-policy-model",
        &["base", "core", "kernels", "weights"],
    ),
    ("assay-problems", &["base", "core", "math", "structured"]),
    ("assay-objective", &["base", "core", "rewards"]),
    (
        "assay-trainer",
        &[
            "charts",
            "base",
            "core",
            "record",
            "rewards",
            "wire",
            "api",
            "client",
            "node",
            "weights",
            "reward-model",
            "policy-model",
            "problems",
            "objective",
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
pub(crate) fn packages() -> Vec<Value> {
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .output();
    let metadata: Value = serde_json::from_slice(&cargo.unwrap().stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

pub(crate) fn dependencies(package: &Value) -> impl Iterator<Item = &Value> {
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
    let mut unused: BTreeSet<_> = ARROWS
        .iter()
        .flat_map(|(name, targets)| targets.iter().map(|target| (*name, *target)))
        .filter(|(_, target)| *target != "*")
        .collect();
    for package in &packages {
        let name = text(package, "name");
        let row = row(name, text(package, "manifest_path"));
        let targets = &allowed[row];
        for dependency in dependencies(package).map(|dependency| text(dependency, "name")) {
            let target = dependency.trim_start_matches("assay-");
            // Tests of a crate may depend on the crate itself, with another feature.
            let granted = targets.contains("*") || targets.contains(target) || dependency == name;
            if members.contains(dependency) && !granted {
                refused.push(format!("{name} -> {dependency}"));
            }
            unused.remove(&(row, target));
        }
    }
    assert!(
        refused.is_empty(),
        "dependencies that the table does not allow: {refused:?}"
    );
    assert!(
        unused.is_empty(),
        "dependencies that the table allows and no crate has: {unused:?}"
    );
}

#[test]
fn large_libraries_are_used_by_their_owners_only() {
    let packages = packages();
    let only = |library: &str, owners: &[&str]| {
        for package in &packages {
            let name = text(package, "name");
            // Those of tests and of build scripts have a kind.
            let uses = dependencies(package)
                .any(|used| text(used, "name") == library && used["kind"].is_null());
            assert!(
                !uses || owners.contains(&name),
                "`{name}` must not depend on `{library}`"
            );
        }
    };
    only("sqlx", &["assay-record", "assay-sqlbox"]);
    only("axum", &["assay-api", "assay-operators"]);
    only("askama", &["assay-operators"]);
    only(
        "reqwest",
        &[
            "assay-alerts",
            "assay-client",
            "assay-external",
            "assay-hub",
            "assay-tests",
        ],
    );
    only("clap", &["assay", "assay-trainer", "assay-tests"]);
    only("wasmtime", &["assay-wasm"]);
    // The databases of tasks, and the results that checks keep.
    only("rusqlite", &["assay-sqlbox", "assay-check"]);
    only("jsonschema", &["assay-documents"]);
}

/// The Rust source of a package, with its examples, tests and build script.
fn source(folder: &Path) -> String {
    let mut text = String::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            // Folders with a manifest are other packages.
            if path.is_dir() && !path.join("Cargo.toml").exists() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    text
}

/// Dependencies that are named only for their features or links.
const UNNAMED: &[(&str, &str)] = &[];

#[test]
fn every_dependency_is_used() {
    let mut unused = Vec::new();
    for package in &packages() {
        let name = text(package, "name");
        let folder = Path::new(text(package, "manifest_path")).parent().unwrap();
        let source = source(folder);
        for dependency in dependencies(package) {
            let library = text(dependency, "name");
            let renamed = dependency["rename"].as_str().unwrap_or(library);
            let used = Regex::new(&format!(r"\b{}\b", renamed.replace('-', "_"))).unwrap();
            if !used.is_match(&source) && !UNNAMED.contains(&(name, library)) {
                unused.push(format!("{name}: {library}"));
            }
        }
    }
    assert!(unused.is_empty(), "not used: {unused:#?}");
}

/// Whether a library has examples in its documentation.
fn has_examples(source: &str) -> bool {
    let fence = Regex::new(r"^\s*//[/!]\s*```(.*)$").unwrap();
    let languages = source.lines().filter_map(|line| fence.captures(line));
    // Each second fence closes a block.
    languages
        .step_by(2)
        .any(|fence| ["", "rust", "no_run", "should_panic"].contains(&fence[1].trim()))
}

/// `rustdoc` takes seconds for a library even if it has nothing to run.
#[test]
fn documentation_tests_run_where_there_are_examples() {
    let mut wrong = Vec::new();
    for package in &packages() {
        for target in package["targets"].as_array().unwrap() {
            if target["kind"] != serde_json::json!(["lib"]) {
                continue;
            }
            let folder = Path::new(text(target, "src_path")).parent().unwrap();
            let examples = folder.ends_with("src") && has_examples(&source(folder));
            if target["doctest"] != examples {
                wrong.push(format!("{}: {examples}", text(package, "name")));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "`doctest` of `[lib]` must be as given: {wrong:#?}"
    );
}
