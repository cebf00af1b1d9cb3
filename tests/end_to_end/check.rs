//! The documents of `assay check` describe its findings.

use assay_check::findings::{ALL, Severity};
use assay_check::reports::FORMATS;

use crate::end_to_end::documents::document;

#[test]
fn every_finding_has_its_page_and_its_row() {
    let index = document("docs/CHECK.md");
    for code in ALL {
        let (name, title) = (code.name, code.title());
        let severity = match code.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let row = format!("| [`{name}`](findings/{name}.md) | {severity} | {title} |");
        assert!(index.contains(&row), "docs/CHECK.md has no row `{row}`");
    }
}

#[test]
fn every_documented_finding_exists() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/findings");
    for page in std::fs::read_dir(folder).unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        let code = name.trim_end_matches(".md");
        assert!(
            assay_check::findings::code(code).is_some(),
            "`{name}` describes a finding that does not exist"
        );
    }
}

#[test]
fn every_format_is_documented() {
    let index = document("docs/CHECK.md");
    for (name, _) in FORMATS {
        assert!(
            index.contains(&format!("`{name}`")),
            "docs/CHECK.md does not name `{name}`"
        );
    }
}
