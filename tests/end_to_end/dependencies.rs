//! What the binaries and the tools of the repository are built from follows `deny.toml`: licences,
//! banned crates, sources. `cargo deny check` also compares with the database of advisories.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use spdx::{Expression, ParseMode};
use toml::Table;

use super::architecture::text;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The folder of each workspace and one of its packages. That of the main workspace belongs to an
/// optional feature.
const WORKSPACES: [(&str, &str); 3] = [
    ("..", "cudarc"),
    ("mutation", "syn"),
    ("fuzzing/fuzz", "libfuzzer-sys"),
];

/// All packages of all workspaces, with all features, on this platform.
static PACKAGES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let version = Command::new(env!("CARGO")).arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.unwrap();
    let packages = WORKSPACES.map(|(folder, contained)| packages(folder, contained, host));
    packages.concat()
});

/// The packages of a workspace. Fetches missing ones: a build without the feature `cuda` does not
/// fetch those of this feature.
fn packages(folder: &str, contained: &str, host: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--all-features"])
        .args(["--format-version=1", "--filter-platform", host])
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&cargo.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&cargo.stderr)));
    let packages = metadata["packages"].as_array().unwrap().clone();
    assert!(
        packages.iter().any(|package| package["name"] == contained),
        "`{contained}` is not among the packages of `{}`",
        folder.display()
    );
    packages
}

fn rules() -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deny.toml");
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

fn names(list: &toml::Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|entry| entry.get("crate").unwrap_or(entry).as_str().unwrap())
        .collect()
}

#[test]
fn licences_of_dependencies_are_allowed() {
    let rules = rules();
    let allowed = names(&rules["licenses"]["allow"]);
    let exceptions = rules["licenses"]["exceptions"].as_array().unwrap();
    for package in &*PACKAGES {
        let name = text(package, "name");
        let mut allowed = allowed.clone();
        for exception in exceptions {
            if exception["crate"].as_str() == Some(name) {
                allowed.extend(names(&exception["allow"]));
            }
        }
        let expression = Expression::parse_mode(text(package, "license"), ParseMode::LAX)
            .unwrap_or_else(|error| panic!("the licence of `{name}`: {error}"));
        assert!(
            expression.evaluate(|licence| allowed.contains(&licence.to_string().as_str())),
            "`{name}` has the licence `{expression}`, which `deny.toml` does not allow"
        );
    }
}

#[test]
fn banned_crates_are_not_used() {
    let rules = rules();
    let banned = names(&rules["bans"]["deny"]);
    assert!(!banned.is_empty());
    for package in &*PACKAGES {
        let name = text(package, "name");
        assert!(!banned.contains(&name), "`{name}` is banned by `deny.toml`");
    }
}

#[test]
fn dependencies_come_from_the_registry() {
    for package in &*PACKAGES {
        let source = package["source"].as_str();
        assert!(
            source.is_none_or(|source| source == REGISTRY),
            "`{}` comes from {source:?}",
            text(package, "name")
        );
    }
}

/// Packages with their features, as `cargo tree` lists them.
fn features(arguments: &[&str]) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--prefix=none"])
        .args(["--format={p} {f}"])
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8(tree.stdout).unwrap();
    assert!(
        tree.status.success(),
        "{}",
        String::from_utf8_lossy(&tree.stderr)
    );
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)"));
    lines.map(str::to_owned).collect()
}

/// Otherwise all crates that depend on the package are compiled twice. Scripted judges are for
/// tests only.
#[test]
fn the_service_has_the_features_of_its_tests() {
    let service = features(&["--package=assay", "--edges=normal,build"]);
    let tests = features(&["--workspace", "--edges=normal,build,dev"]);
    assert!(service.iter().any(|line| line.starts_with("wasmtime ")));
    let other: Vec<_> = service
        .difference(&tests)
        .filter(|line| !line.starts_with("assay-external "))
        .collect();
    assert!(
        other.is_empty(),
        "packages with other features in tests: {other:#?}"
    );
}
