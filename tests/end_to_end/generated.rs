//! Parts of the documents that are generated from the code. A test fails if a part is out of date;
//! with `ASSAY_UPDATE_DOCUMENTS=1` it writes the part instead.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use assay_check::findings::ALL;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("`{path}`: {error}"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the person who runs the tests decides whether documents are written"
)]
fn may_update() -> bool {
    std::env::var_os("ASSAY_UPDATE_DOCUMENTS").is_some()
}

/// Asserts that a document is `expected`, or writes it.
fn assert_document(path: &str, expected: &str) {
    let current = fs::read_to_string(root().join(path)).unwrap_or_default();
    if current == expected {
        return;
    }
    assert!(
        may_update(),
        "`{path}` is out of date; run `ASSAY_UPDATE_DOCUMENTS=1 cargo test -p assay-tests --test \
         end_to_end generated::`"
    );
    fs::write(root().join(path), expected).unwrap();
}

/// Asserts that the part of a document between the markers of `name` is `expected`, or writes it.
fn assert_part(path: &str, name: &str, expected: &str) {
    let text = read(path);
    let (begin, end) = (
        format!("<!-- generated: {name} -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let (head, rest) = text
        .split_once(&begin)
        .unwrap_or_else(|| panic!("`{path}` has no `{}`", begin.trim_end()));
    let (_, tail) = rest
        .split_once(&end)
        .unwrap_or_else(|| panic!("`{path}` has no `{end}`"));
    assert_document(path, &format!("{head}{begin}\n{expected}\n{end}{tail}"));
}

/// Files with the structs of the configuration.
const CONFIG: &[&str] = &[
    "services/node/src/config.rs",
    "services/node/src/config/reward_models.rs",
];

/// The comment of a field: the lines of `///` before `pub field:` in the struct with the comment
/// `/// `[section]``.
fn comment(section: &str, field: &str) -> String {
    let heading = format!("/// `[{section}]`");
    for path in CONFIG {
        let text = read(path);
        let Some((_, rest)) = text.split_once(&heading) else {
            continue;
        };
        let mut comment = String::new();
        for line in rest.lines().skip(1).map(str::trim) {
            if let Some(more) = line.strip_prefix("///") {
                comment.push_str(more);
            } else if line.starts_with(&format!("pub {field}:")) {
                return comment.trim().trim_end_matches('.').to_owned();
            } else if line.starts_with("pub ") {
                comment.clear();
            } else if line == "}" {
                break;
            }
        }
    }
    panic!("`{section}.{field}` has no comment in {CONFIG:?}");
}

#[test]
fn table_of_settings() {
    let mut table = "| setting | default | meaning |\n|---|---|---|\n".to_owned();
    let mut section = String::new();
    for line in assay_node::Config::default().to_toml().lines() {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            name.clone_into(&mut section);
        } else if let Some((key, value)) = line.split_once(" = ") {
            let meaning = comment(&section, key);
            writeln!(table, "| `{section}.{key}` | `{value}` | {meaning} |").unwrap();
        }
    }
    assert!(table.lines().count() > 30, "{table}");
    assert_part("docs/OPERATIONS.md", "settings", &table);
}

#[test]
fn pages_of_findings() {
    for code in ALL {
        assert_document(&format!("docs/findings/{}.md", code.name), &code.page());
    }
}

#[test]
fn table_of_graders() {
    let mut table = "| grader | question | lane | page |\n|---|---|---|---|\n".to_owned();
    for grader in crate::graders().iter() {
        let spec = grader.spec();
        let lane = serde_json::to_string(&spec.lane).unwrap();
        writeln!(
            table,
            "| `{0}` | {1} | `{2}` | [graders/{0}.md](graders/{0}.md) |",
            spec.name,
            spec.summary,
            lane.trim_matches('"')
        )
        .unwrap();
    }
    assert_part("docs/GRADERS.md", "graders", &table);
}
