//! The operator pages match their document.

use std::fs;
use std::path::Path;

use crate::end_to_end::documents::document as read;

#[test]
fn every_page_and_key_is_documented() {
    let document = read("docs/OPERATORS.md");
    let routes = read("services/operators/src/routes.rs");
    let pages = routes.split("get(").count() - 1;
    for line in routes
        .lines()
        .filter(|line| line.contains("get(") && line.contains("/ui"))
    {
        let path = line.split('"').nth(1).unwrap();
        let shown = path.replace("{id}", "ID");
        let silent =
            path.contains("assets") || path.contains('*') || path.starts_with("/ui/queue/");
        assert!(
            silent || document.contains(&format!("`{shown}")),
            "`{path}` has no row in docs/OPERATORS.md"
        );
    }
    assert!(pages > 8, "the routes were not read");
    let script = read("services/operators/assets/pages.js");
    let (_, actions) = script.split_once("const actions = {").unwrap();
    let (actions, _) = actions.split_once("};").unwrap();
    for line in actions.lines().filter(|line| line.contains("=>")) {
        let key = line.trim().split(':').next().unwrap().trim_matches('"');
        assert!(
            document.contains(&format!("`{key}`")),
            "the key `{key}` is not in docs/OPERATORS.md"
        );
    }
}

#[test]
fn templates_escape_everything_but_charts_and_formulas() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../services/operators/templates");
    let mut unescaped = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let safe = text
            .match_indices("|safe")
            .map(|(at, _)| text[..at].rsplit("{{ ").next().unwrap().to_owned());
        unescaped.extend(safe);
    }
    unescaped.sort();
    unescaped.dedup();
    assert_eq!(
        unescaped,
        [
            "chart",
            "chart.svg",
            "formula.markup()",
            "part.bar",
            "rate.svg",
            "run.lines.failures",
            "run.lines.rewards",
        ]
    );
}
