//! Dependencies point one way. The table below is the design; any other edge fails.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::MetadataCommand;

/// Who may depend on whom. Graders share the row `grader`.
const ARROWS: &[(&str, &[&str])] = &[
    ("assay-core", &[]),
    ("assay-cell", &[]),
    ("assay-wasm", &["assay-cell"]),
    ("grader", &["assay-core", "assay-cell"]),
    ("assay-correction", &["assay-core"]),
    ("assay-engine", &["assay-core", "assay-correction"]),
    ("assay-store", &["assay-core"]),
    ("assay-wire", &["assay-core"]),
    ("assay-api", &["assay-wire", "assay-engine", "assay-correction", "assay-core"]),
    ("assay-client", &["assay-wire"]),
    ("assay-node", &["*"]),
    ("assay", &["assay-node", "assay-api", "assay-client", "assay-engine", "assay-wire", "assay-core"]),
    ("assay-tests", &["*"]),
];

fn row(package: &str, manifest: &str) -> &'static str {
    let known = ARROWS.iter().map(|(name, _)| *name).find(|name| *name == package);
    known.unwrap_or_else(|| {
        assert!(manifest.contains("/graders/"), "`{package}` has no row in the table of arrows");
        "grader"
    })
}

#[test]
fn every_dependency_is_an_arrow_of_the_design() {
    let metadata = MetadataCommand::new().no_deps().other_options(["--offline".to_owned()]).exec().unwrap();
    let members: BTreeMap<_, _> =
        metadata.packages.iter().map(|package| (package.name.as_str(), package.manifest_path.as_str())).collect();
    let allowed: BTreeMap<_, BTreeSet<_>> =
        ARROWS.iter().map(|(name, targets)| (*name, targets.iter().copied().collect())).collect();
    let mut refused = Vec::new();
    for package in &metadata.packages {
        let targets = &allowed[row(&package.name, package.manifest_path.as_str())];
        for dependency in &package.dependencies {
            let inside = members.contains_key(dependency.name.as_str());
            let granted = targets.contains("*") || targets.contains(dependency.name.as_str());
            if inside && !granted {
                refused.push(format!("{} -> {}", package.name, dependency.name));
            }
        }
    }
    assert!(refused.is_empty(), "not in the design: {refused:?}");
}

#[test]
fn a_library_stays_in_its_room() {
    let metadata = MetadataCommand::new().no_deps().other_options(["--offline".to_owned()]).exec().unwrap();
    let only = |library: &str, rooms: &[&str]| {
        for package in &metadata.packages {
            let uses = package.dependencies.iter().any(|dependency| {
                dependency.name == library && dependency.kind == cargo_metadata::DependencyKind::Normal
            });
            assert!(!uses || rooms.contains(&package.name.as_str()), "`{}` must not know `{library}`", package.name);
        }
    };
    only("sqlx", &["assay-store"]);
    only("axum", &["assay-api"]);
    only("reqwest", &["assay-client", "assay-tests"]);
    only("clap", &["assay", "assay-tests"]);
}
