//! Parts of the documents that are generated from the code. A test fails if a part is out of date;
//! with `ASSAY_UPDATE_DOCUMENTS=1` it writes the part instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use assay_core::ErrorCode;
use regex::Regex;

use crate::end_to_end::architecture::{ARROWS, dependencies, packages, text};

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
        "`{path}` is out of date; run `ASSAY_UPDATE_DOCUMENTS=1 cargo test -p assay-tests --test suite \
         generated::`"
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
    "services/node/src/config/access.rs",
    "services/node/src/config/alerts.rs",
    "services/node/src/config/log.rs",
    "services/node/src/config/sections.rs",
    "services/node/src/config/reward_models.rs",
    "services/node/src/config/sessions.rs",
    "services/node/src/config/jobs.rs",
    "services/node/src/config/retention.rs",
    "graders/external/src/settings.rs",
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
fn table_of_judge_settings() {
    let source = read("graders/external/src/settings.rs");
    let (_, fields) = source.split_once("pub struct JudgeSettings {").unwrap();
    let (fields, _) = fields.split_once("#[serde(skip)]").unwrap();
    let defaults = toml::Table::try_from(assay_external::JudgeSettings::default()).unwrap();
    let mut table = "| setting | default | meaning |\n|---|---|---|\n".to_owned();
    for line in fields.lines() {
        let Some(field) = line.trim().strip_prefix("pub ") else {
            continue;
        };
        let (name, _) = field.split_once(':').unwrap();
        let meaning = comment("judges.NAME", name);
        let default = defaults
            .get(name)
            .map_or_else(|| "none".to_owned(), |default| format!("`{default}`"));
        writeln!(table, "| `{name}` | {default} | {meaning} |").unwrap();
    }
    assert!(table.lines().count() > 25, "{table}");
    assert_part("docs/graders/external.md", "settings", &table);
}

/// The comment of an error code, above its line in the list of codes.
fn comment_of_code(list: &str, code: ErrorCode) -> String {
    let (before, _) = list
        .split_once(&format!(" = \"{code}\","))
        .unwrap_or_else(|| panic!("no line of `{code}`"));
    let mut lines: Vec<_> = before
        .lines()
        .rev()
        .skip(1)
        .map_while(|line| line.trim().strip_prefix("/// "))
        .collect();
    lines.reverse();
    assert!(!lines.is_empty(), "`{code}` has no comment");
    lines.join(" ").trim_end_matches('.').to_owned()
}

#[test]
fn tables_of_error_codes() {
    let list = read("core/src/error.rs");
    let mut codes = ErrorCode::ALL.to_vec();
    codes.sort_by_key(|code| code.status());
    let (faults, errors): (Vec<_>, Vec<_>) =
        codes.into_iter().partition(|code| code.status() == 200);
    let mut table = "| status | code | what to do |\n|---|---|---|\n".to_owned();
    for code in errors {
        let (status, text) = (code.status(), comment_of_code(&list, code));
        writeln!(table, "| {status} | `{code}` | {text} |").unwrap();
    }
    assert_part("docs/API.md", "errors", &table);
    let mut table = "| code | outcome | meaning |\n|---|---|---|\n".to_owned();
    for code in faults {
        let text = comment_of_code(&list, code);
        let (outcome, meaning) = text.split_once(": ").unwrap();
        writeln!(table, "| `{code}` | {outcome} | {meaning} |").unwrap();
    }
    assert_part("docs/API.md", "faults", &table);
}

#[test]
fn table_of_graders() {
    let mut table = "| grader | question | lane | page |\n|---|---|---|---|\n".to_owned();
    for grader in crate::end_to_end::graders().iter() {
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

#[test]
fn table_of_templates() {
    let templates = assay_templates::Templates::default();
    let mut table =
        "| template | dataset | grader | columns of the task |\n|---|---|---|---|\n".to_owned();
    let quoted = |names: BTreeSet<&str>| {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    for name in templates.names() {
        let template = templates.get(name).unwrap();
        let graders = quoted(template.graders());
        writeln!(
            table,
            "| `{name}` | {} | {} | {} |",
            template.dataset().unwrap(),
            if graders.is_empty() {
                "by row"
            } else {
                &graders
            },
            quoted(template.columns())
        )
        .unwrap();
    }
    assert_part("docs/TEMPLATES.md", "templates", &table);
}

#[test]
fn list_of_allowed_dependencies() {
    let mut list = "```text\n".to_owned();
    for &(name, targets) in ARROWS {
        let name = match name.strip_prefix("assay-").unwrap_or(name) {
            "grader" => "each grader",
            name => name,
        };
        let targets = match targets {
            [] => "nothing".to_owned(),
            ["*"] => "all of these".to_owned(),
            targets => targets.join(", "),
        };
        writeln!(list, "{name:<12} -> {targets}").unwrap();
    }
    list.push_str("```\n");
    assert_part("docs/ARCHITECTURE.md", "dependencies", &list);
}

#[test]
fn table_of_mathematical_rules() {
    let folder = root().join("graders/math/src");
    let mut files = Vec::new();
    let mut open = vec![folder.clone()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(&folder).unwrap().to_owned();
                // Without the places that only ask which rule decided.
                let text = fs::read_to_string(path).unwrap();
                files.push((name, text.replace("= Rule::", "")));
            }
        }
    }
    files.sort();
    let mut table =
        "| rule | meaning | modules in `graders/math/src` |\n|---|---|---|\n".to_owned();
    for rule in assay_math::Rule::ALL {
        let decides = Regex::new(&format!(r"\bRule::{rule:?}\b")).unwrap();
        let modules: Vec<_> = files
            .iter()
            .filter(|(_, text)| decides.is_match(text))
            .map(|(name, _)| format!("`{}`", name.display()))
            .collect();
        assert!(!modules.is_empty(), "no module decides by `{rule:?}`");
        let (name, meaning, modules) = (rule.as_str(), rule.meaning(), modules.join(", "));
        let meaning = meaning.trim_end_matches('.');
        writeln!(table, "| `{name}` | {meaning} | {modules} |").unwrap();
    }
    assert_part("docs/internals/mathematics.md", "rules", &table);
}

/// The node of the picture that represents a crate, and the folder in which it is drawn; `None` for
/// crates that only test. The graders are one node: they have the same dependencies.
fn drawn(folder: &str, package: &str) -> Option<(String, String)> {
    let top = folder.split('/').next().unwrap_or_default();
    let name = folder.rsplit('/').next().unwrap_or_default();
    let shared = ["extraction", "documents", "jinja"];
    match top {
        "tests" => None,
        "graders" if !shared.contains(&name) => Some(("graders".to_owned(), top.to_owned())),
        _ => Some((package.replace("assay-", ""), top.to_owned())),
    }
}

/// Removes the edges that follow from others.
fn reduced(edges: &BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    fn reaches(edges: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
        let mut next = edges.get(from).into_iter().flatten();
        next.any(|node| node == to || reaches(edges, node, to))
    }
    let keep = |from: &String, to: &String| {
        let others = edges[from].iter().filter(|other| *other != to);
        !others.into_iter().any(|other| reaches(edges, other, to))
    };
    edges
        .iter()
        .map(|(from, targets)| {
            let kept = targets.iter().filter(|to| keep(from, to)).cloned();
            (from.clone(), kept.collect())
        })
        .collect()
}

#[test]
fn picture_of_the_crates() {
    let base = root().canonicalize().unwrap();
    let (mut folders, mut node_of) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeMap::new());
    let packages = packages();
    for package in &packages {
        let manifest = Path::new(text(package, "manifest_path"));
        let folder = manifest.parent().unwrap().strip_prefix(&base).unwrap();
        if let Some((node, top)) = drawn(folder.to_str().unwrap(), text(package, "name")) {
            folders.entry(top).or_default().insert(node.clone());
            node_of.insert(text(package, "name"), node);
        }
    }
    let mut edges = BTreeMap::<String, BTreeSet<String>>::new();
    for package in &packages {
        let Some(from) = node_of.get(text(package, "name")) else {
            continue;
        };
        let targets = dependencies(package)
            .filter(|dependency| dependency["kind"].is_null())
            .filter_map(|dependency| node_of.get(text(dependency, "name")))
            .filter(|to| *to != from)
            .cloned();
        edges.entry(from.clone()).or_default().extend(targets);
    }
    let mut picture = "```mermaid\nflowchart TD\n".to_owned();
    for (folder, nodes) in &folders {
        writeln!(picture, "    subgraph folder_{folder}[\"{folder}/\"]").unwrap();
        for node in nodes {
            writeln!(picture, "        {node}").unwrap();
        }
        picture.push_str("    end\n");
    }
    for (from, targets) in reduced(&edges) {
        for to in targets {
            writeln!(picture, "    {from} --> {to}").unwrap();
        }
    }
    picture.push_str("```\n");
    assert!(picture.matches("-->").count() > 30, "{picture}");
    assert_part("docs/ARCHITECTURE.md", "picture", &picture);
}
