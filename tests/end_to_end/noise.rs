//! The pages on policies, channels and statistics cover everything in the code, and their
//! examples are valid.

use assay_rewards::policy::FUNCTIONS;
use assay_rewards::prompts::{Allocation, Strategy, Suggest};
use assay_rewards::{Estimator, PolicyRules, Statistic};
use serde_json::Value;

use crate::end_to_end::documents::document;

const POLICIES: &str = "docs/POLICIES.md";
const STATISTICS: &str = "docs/STATISTICS.md";

/// Fails for the first name that the document does not mention in backticks.
fn explains<'n>(path: &str, names: impl IntoIterator<Item = &'n str>) {
    let page = document(path);
    for name in names {
        assert!(
            page.contains(&format!("`{name}`")),
            "{path} does not explain `{name}`"
        );
    }
}

/// The fenced blocks of a language in a document.
fn blocks(path: &str, language: &str) -> Vec<String> {
    let page = document(path);
    let fence = format!("```{language}\n");
    page.split(&fence)
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("\n```")?.0.to_owned()))
        .collect()
}

#[test]
fn every_function_of_a_policy_has_a_row() {
    let page = document(POLICIES);
    for known in FUNCTIONS {
        let formula = known.formula.replace('|', "\\|");
        let row = format!(
            "| `{}` | `{}` | {} | `{formula}` | {} |",
            known.section, known.name, known.summary, known.source
        );
        assert!(
            page.lines().any(|line| line == row),
            "{POLICIES} has no row `{row}`"
        );
    }
}

#[test]
fn every_estimator_is_explained() {
    explains(
        POLICIES,
        Estimator::ALL.iter().map(|estimator| estimator.name()),
    );
}

#[test]
fn every_statistic_is_explained() {
    explains(
        STATISTICS,
        Statistic::ALL.iter().map(|statistic| statistic.name()),
    );
}

#[test]
fn every_setting_of_suggest_is_explained() {
    explains(
        STATISTICS,
        Strategy::ALL.iter().map(|strategy| strategy.name()),
    );
    explains(
        STATISTICS,
        Allocation::ALL.iter().map(|allocation| allocation.name()),
    );
    let settings = serde_json::to_value(Suggest::default()).unwrap();
    let names = settings.as_object().unwrap().keys();
    assert!(names.len() > 10);
    explains(STATISTICS, names.map(String::as_str));
}

/// An object of the page is an item, a result, or a policy, so that a misspelt section is
/// detected.
#[test]
fn every_documented_policy_is_valid() {
    let mut policies = 0;
    for block in blocks(POLICIES, "json") {
        let json: Value = serde_json::from_str(&block)
            .unwrap_or_else(|error| panic!("{POLICIES}: {error}: {block}"));
        if json.get("id").is_some() {
            continue;
        }
        PolicyRules::from_json(&json)
            .unwrap_or_else(|error| panic!("{POLICIES}: {error}: {block}"));
        policies += 1;
    }
    assert!(policies >= 3, "{POLICIES} shows {policies} policies");
}

#[test]
fn every_documented_function_of_a_policy_is_valid() {
    let page = document(POLICIES);
    let rows = page
        .lines()
        .filter_map(|line| line.split_once("` | `{")?.1.strip_suffix("` |"));
    let mut written = 0;
    for row in rows {
        let json = serde_json::from_str(&format!("{{{row}"))
            .unwrap_or_else(|error| panic!("{POLICIES}: {error}: {row}"));
        PolicyRules::from_json(&json).unwrap_or_else(|error| panic!("{POLICIES}: {error}: {row}"));
        written += 1;
    }
    let functions = FUNCTIONS
        .iter()
        .filter(|known| known.section != "appeals")
        .count();
    assert_eq!(
        written, functions,
        "{POLICIES} does not write out every function"
    );
}

#[test]
fn every_documented_configuration_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    for path in [POLICIES, "docs/CHANNELS.md", "docs/OPERATIONS.md"] {
        for block in blocks(path, "toml") {
            let file = folder.path().join("assay.toml");
            std::fs::write(&file, &block).unwrap();
            assay_node::Config::load(
                Some(&file),
                std::iter::empty::<(String, String)>(),
                Vec::new(),
            )
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        }
    }
}
