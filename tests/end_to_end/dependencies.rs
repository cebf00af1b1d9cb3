//! What the binaries are built from follows `deny.toml`: licences, banned crates, sources.
//! `cargo deny check` also compares with the database of advisories.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};
use toml::Table;

use super::architecture::text;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// All packages of a default build on this platform.
fn packages() -> Vec<Value> {
    let version = Command::new(env!("CARGO")).arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version=1"])
        .args(["--filter-platform", host.unwrap()])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&cargo.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&cargo.stderr)));
    let packages = metadata["packages"].as_array().unwrap().clone();
    assert!(packages.len() > 300, "{} packages", packages.len());
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
    for package in packages() {
        let name = text(&package, "name");
        let expression = Expression::parse_mode(text(&package, "license"), ParseMode::LAX)
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
    for package in packages() {
        let name = text(&package, "name");
        assert!(!banned.contains(&name), "`{name}` is banned by `deny.toml`");
    }
}

#[test]
fn dependencies_come_from_the_registry() {
    for package in packages() {
        let source = package["source"].as_str();
        assert!(
            source.is_none_or(|source| source == REGISTRY),
            "`{}` comes from {source:?}",
            text(&package, "name")
        );
    }
}
