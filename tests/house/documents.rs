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
    for name in names.chain(assay_cell::metrics::NAMES).chain(assay_reward_model::METRICS) {
        assert!(operations.contains(name), "docs/OPERATIONS.md does not explain `{name}`");
    }
}

#[test]
fn every_reference_of_the_openapi_document_resolves() {
    let document = assay_api::document(&crate::graders());
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    let dead: Vec<_> = references.iter().filter(|to| document.pointer(to.trim_start_matches('#')).is_none()).collect();
    assert!(dead.is_empty(), "{dead:?}");
    assert!(
        references.iter().any(|to| to == "#/components/schemas/Task_tools/$defs/call"),
        "no reference into a grader's own `$defs`"
    );
}

fn collect_references(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            let target = fields.get("$ref").and_then(serde_json::Value::as_str);
            found.extend(target.filter(|target| target.starts_with('#')).map(str::to_owned));
            fields.values().for_each(|value| collect_references(value, found));
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| collect_references(value, found)),
        _ => {}
    }
}

#[test]
fn every_operation_has_a_unique_id() {
    let document = assay_api::document(&crate::graders());
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|operations| operations.as_object().unwrap().values());
    let ids: Vec<_> = operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
}
