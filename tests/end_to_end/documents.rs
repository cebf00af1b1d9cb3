//! Documents match the code.

use std::collections::BTreeSet;
use std::path::Path;

use assay_documents::schema::Dialect;
use assay_documents::{Json, Schema};
use regex::Regex;
use serde_json::{Value, json};

use crate::end_to_end::language::texts;

/// The text of a document, by its path from the root.
pub(crate) fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}

#[test]
fn openapi_document() {
    insta::assert_json_snapshot!(assay_api::document(&crate::end_to_end::graders()));
}

#[test]
fn every_setting_is_explained() {
    let operations = document("docs/OPERATIONS.md");
    let config = assay_node::Config::default().to_toml();
    let mut section = "";
    let mut settings = 0;
    for line in config.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((key, _)) = line.split_once(" = ") {
            settings += 1;
            let setting = format!("| `{section}.{key}` |");
            assert!(
                operations.contains(&setting),
                "docs/OPERATIONS.md has no row `{setting}`"
            );
        }
    }
    assert!(settings > 20, "{settings} settings");
}

#[test]
fn every_metric_is_explained() {
    let operations = document("docs/OPERATIONS.md");
    let names = assay_engine::metrics::NAMES
        .iter()
        .chain(assay_record::metrics::NAMES)
        .chain(assay_access::metrics::NAMES)
        .chain(assay_alerts::metrics::NAMES)
        .chain(assay_sessions::metrics::NAMES);
    let names = names
        .chain(assay_worker::metrics::NAMES)
        .chain(assay_code::METRICS)
        .chain(assay_external::METRICS);
    for name in names.chain(assay_reward_model::METRICS) {
        assert!(
            operations.contains(name),
            "docs/OPERATIONS.md does not explain `{name}`"
        );
    }
}

#[test]
fn every_reference_of_the_openapi_document_resolves() {
    let document = assay_api::document(&crate::end_to_end::graders());
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    let dead: Vec<_> = references
        .iter()
        .filter(|to| document.pointer(to.trim_start_matches('#')).is_none())
        .collect();
    assert!(dead.is_empty(), "{dead:?}");
    assert!(
        references
            .iter()
            .any(|to| to == "#/components/schemas/Task_tools/$defs/call"),
        "no reference into a grader's own `$defs`"
    );
}

#[test]
fn openapi_document_describes_references_to_shared_values() {
    let mut document = assay_api::document(&crate::end_to_end::graders());
    let tools = document["components"]["schemas"]["Task_tools"]["properties"].clone();
    let reference = "#/components/schemas/SharedReference";
    assert_eq!(tools["tools"]["anyOf"][1]["$ref"], reference);
    assert!(tools["tools"]["description"].is_string());
    for option in ["type", "mode", "float_tolerance", "response"] {
        assert!(tools[option].get("anyOf").is_none(), "{option}");
    }
    document["$ref"] = "#/components/schemas/GradeRequest".into();
    let schema = Schema::compile(document, Dialect::default()).unwrap();
    let is_valid = |tools: Value, mode: Value| {
        let task = json!({
            "type": "tools", "tools": tools, "mode": mode, "expected": { "$shared": "calls" },
            "state": { "initial": { "$shared": "shop" }, "effects": { "$shared": "effects" } },
        });
        let request = json!({
            "shared": { "calls": [], "shop": { "apple": 3 }, "effects": {}, "tools": [] },
            "items": [{ "completion": "c", "task": task, "checks": { "again": task } }],
        });
        schema.holds(&Json::from(&request))
    };
    let (reference, mode) = (json!({ "$shared": "tools" }), json!("all"));
    assert!(is_valid(json!([]), mode.clone()));
    assert!(is_valid(reference.clone(), mode.clone()));
    for tools in [
        json!({ "$shared": 1 }),
        json!({ "$shared": "tools", "more": 1 }),
        json!({ "shared": "tools" }),
    ] {
        assert!(!is_valid(tools.clone(), mode.clone()), "{tools}");
    }
    assert!(!is_valid(reference.clone(), reference));
}

fn collect_references(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            let target = fields.get("$ref").and_then(serde_json::Value::as_str);
            found.extend(
                target
                    .filter(|target| target.starts_with('#'))
                    .map(str::to_owned),
            );
            fields
                .values()
                .for_each(|value| collect_references(value, found));
        }
        serde_json::Value::Array(values) => values
            .iter()
            .for_each(|value| collect_references(value, found)),
        _ => {}
    }
}

#[test]
fn every_operation_has_a_unique_id() {
    let document = assay_api::document(&crate::end_to_end::graders());
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|operations| operations.as_object().unwrap().values());
    let ids: Vec<_> = operations
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
}

/// The files and folders of the repository, by their path from the root.
fn paths(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        let path = format!("{prefix}/{name}");
        if entry.file_type().unwrap().is_dir() {
            paths(&entry.path(), &path, found);
        }
        found.push(path);
    }
}

#[test]
fn names_in_descriptions_of_the_code_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut existing = Vec::new();
    paths(&root, "", &mut existing);
    let word = Regex::new(r"\w+").unwrap();
    let texts = texts();
    let sources = texts.iter().filter(|(path, _)| !path.ends_with(".md"));
    let words: BTreeSet<&str> = sources
        .flat_map(|(_, text)| word.find_iter(text).map(|found| found.as_str()))
        .collect();
    let block = Regex::new(r"(?s)```.*?```").unwrap();
    let name = Regex::new("`([^`\\s…<]+)`").unwrap();
    let pages = texts.iter().filter(|(path, _)| {
        path.starts_with("docs/internals/")
            || ["docs/INTERNALS.md", "docs/ARCHITECTURE.md"].contains(&path.as_str())
    });
    let (mut missing, mut count) = (Vec::new(), 0);
    for (page, text) in pages {
        for name in name.captures_iter(&block.replace_all(text, "")) {
            let name = &name[1];
            // A path of HTTP, a placeholder, or a setting.
            if name.starts_with('/') || name.contains("NAME") || name.contains('=') {
                continue;
            }
            count += 1;
            let path = format!("/{}", name.trim_end_matches('/'));
            let exists = existing.iter().any(|existing| existing.ends_with(&path))
                || !name.contains('/')
                    && !name.ends_with(".rs")
                    && word
                        .find_iter(name)
                        .all(|word| words.contains(word.as_str()));
            if !exists {
                missing.push(format!("{page}: `{name}`"));
            }
        }
    }
    assert!(count > 500, "{count} names");
    assert!(missing.is_empty(), "do not exist: {missing:#?}");
}

/// The rows of a table as cells, the header first.
fn table_under(heading: &str, text: &str) -> Vec<Vec<String>> {
    let (_, section) = text
        .split_once(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("no `{heading}`"));
    let lines = section
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    lines
        .filter(|line| !line.starts_with("|---"))
        .map(cells)
        .collect()
}

/// Every test of the repository, as the name of its file and its function.
fn tests_of(folder: &Path, found: &mut BTreeSet<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            if name != "target" && !name.starts_with('.') {
                tests_of(&path, found);
            }
        } else if let Some(file) = name.strip_suffix(".rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim) {
                match line
                    .split_once("fn ")
                    .and_then(|(_, rest)| rest.split_once('('))
                {
                    Some((function, _)) if is_test => {
                        found.insert((file.to_owned(), function.to_owned()));
                        is_test = false;
                    }
                    _ => {
                        is_test = line == "#[test]"
                            || line == "#[tokio::test]"
                            || is_test && line.starts_with("#[");
                    }
                }
            }
        }
    }
}

#[test]
fn every_isolation_mechanism_has_tests() {
    let rows = table_under(
        "## Attacks and the mechanisms that stop them",
        &document("docs/SECURITY.md"),
    );
    let (head, attacks) = rows.split_first().unwrap();
    assert!(attacks.len() >= 15, "{} attacks", attacks.len());
    let mut tests = BTreeSet::new();
    tests_of(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
        &mut tests,
    );
    let mut missing = BTreeSet::new();
    let mut shown = BTreeSet::new();
    for attack in attacks {
        assert_eq!(attack.len(), head.len(), "{attack:?}");
        assert!(
            attack[1..].iter().any(|cell| cell != "–"),
            "no wall stops `{}`",
            attack[0]
        );
        for (wall, cell) in head.iter().zip(attack).skip(1) {
            for name in cell.split('`').skip(1).step_by(2) {
                let (file, function) = name
                    .split_once("::")
                    .unwrap_or_else(|| panic!("`{name}` names no file"));
                if tests.contains(&(file.to_owned(), function.to_owned())) {
                    shown.insert(wall);
                } else {
                    missing.insert(name);
                }
            }
        }
    }
    assert!(
        missing.is_empty(),
        "docs/SECURITY.md names tests that do not exist: {missing:?}"
    );
    assert_eq!(
        shown.len(),
        head.len() - 1,
        "every wall needs a test: {shown:?}"
    );
}
