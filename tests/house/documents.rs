//! Documents say what the code does.

use std::path::Path;

use assay_core::ErrorCode;

/// The text of a document, by its path from the root.
pub(crate) fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}

#[test]
fn the_openapi_document_is_reviewed() {
    insta::assert_json_snapshot!(assay_api::document(&crate::graders()));
}

#[test]
fn every_error_code_is_explained() {
    let api = document("docs/API.md");
    for code in ErrorCode::ALL {
        assert!(api.contains(&format!("`{code}`")), "docs/API.md does not explain `{code}`");
    }
}

#[test]
fn every_setting_is_explained() {
    let operations = document("docs/OPERATIONS.md");
    let config = assay_node::Config::default().to_toml();
    for line in config.lines().filter_map(|line| line.split(" = ").next()).filter(|line| !line.is_empty()) {
        assert!(operations.contains(line), "docs/OPERATIONS.md does not explain `{line}`");
    }
}

#[test]
fn every_metric_is_explained() {
    let operations = document("docs/OPERATIONS.md");
    let names = assay_engine::metrics::NAMES.iter().chain(assay_store::metrics::NAMES);
    for name in names.chain(assay_reward_model::METRICS) {
        assert!(operations.contains(name), "docs/OPERATIONS.md does not explain `{name}`");
    }
}
