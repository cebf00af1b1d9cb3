//! Every built-in template is applied to made-up rows in the layout of its dataset, in
//! `tests/templates/NAME.json`, and the tasks are graded.

use std::path::{Path, PathBuf};

use assay_core::Item;
use assay_engine::{Batch, BatchItem, Mode};
use assay_node::Node;
use assay_templates::{NAMES, Row, Template};
use serde::Deserialize;

/// The rows of a template.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    /// A row with a right and a wrong completion; none for a template that refuses all rows.
    row: Option<Row>,
    right: Option<String>,
    wrong: Option<String>,
    /// A row without a column that the template needs.
    broken: Row,
    /// A part of its error.
    error: String,
    /// Further rows of other kinds.
    #[serde(default)]
    more: Vec<Graded>,
    /// Rows that the template refuses or cannot read.
    #[serde(default)]
    refused: Vec<Refused>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Graded {
    row: Row,
    right: String,
    wrong: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    row: Row,
    error: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("templates")
}

fn rows(name: &str) -> Rows {
    let file = folder().join(format!("{name}.json"));
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("`{}`: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("`{}`: {error}", file.display()))
}

impl Rows {
    fn graded(&self) -> Vec<Graded> {
        let first = self.row.as_ref().map(|row| Graded {
            row: row.clone(),
            right: self.right.clone().unwrap(),
            wrong: self.wrong.clone().unwrap(),
        });
        let more = self.more.iter().map(|more| Graded {
            row: more.row.clone(),
            right: more.right.clone(),
            wrong: more.wrong.clone(),
        });
        first.into_iter().chain(more).collect()
    }
}

#[tokio::test]
async fn right_completions_pass_and_wrong_ones_fail() {
    let mut config = assay_tests::config(Path::new(env!("CARGO_BIN_EXE_assay-measure"))).unwrap();
    let (_judge, judges) = assay_tests::judges::start().await.unwrap();
    config.judges = judges;
    let node = Node::start(config).await.unwrap();
    let (mut items, mut expected) = (Vec::new(), Vec::new());
    for name in NAMES {
        let template = Template::named(name).unwrap();
        for (at, graded) in rows(name).graded().into_iter().enumerate() {
            let task = template
                .task(&graded.row)
                .unwrap_or_else(|error| panic!("{name}, row {at}: {error}"));
            for (completion, is_right) in [(graded.right, true), (graded.wrong, false)] {
                items.push(BatchItem::new(Item::text(&completion), task.clone()));
                expected.push((format!("{name}, row {at}: {task:?}"), is_right));
            }
        }
    }
    let reply = node
        .engine()
        .grade(Batch::new("templates", items), Mode::Whole)
        .await
        .unwrap();
    let mut missed = Vec::new();
    for ((what, is_right), result) in expected.iter().zip(reply.grades()) {
        if result.score != Some(f64::from(u8::from(*is_right))) {
            missed.push(format!("{what}\nright: {is_right}, {result:?}"));
        }
    }
    assert!(
        expected.len() >= 2 * (NAMES.len() - 1),
        "{}",
        expected.len()
    );
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
    node.stop().await;
}

#[test]
fn broken_rows_are_explained() {
    for name in NAMES {
        let template = Template::named(name).unwrap();
        let rows = rows(name);
        let broken = Refused {
            row: rows.broken,
            error: rows.error,
        };
        for refused in rows.refused.into_iter().chain([broken]) {
            let error = match template.task(&refused.row) {
                Ok(task) => panic!("{name}: {task:?} was made of {:?}", refused.row),
                Err(error) => error.to_string(),
            };
            assert!(
                error.contains(&refused.error),
                "{name}: `{error}` does not contain `{}`",
                refused.error
            );
        }
    }
}

/// A row fits its own template: the suggestion for a row with another template names it, unless
/// other templates read as many of its columns.
#[test]
fn rows_fit_their_templates() {
    let templates = assay_templates::Templates::default();
    for name in NAMES {
        for graded in rows(name).graded() {
            assert!(
                !templates.fitting(&graded.row).is_empty(),
                "{name}: no template fits {:?}",
                graded.row
            );
        }
    }
    let names_of = |name: &str| {
        let row = rows(name).row.unwrap();
        templates
            .fitting(&row)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(names_of("gsm8k"), ["gsm8k"]);
    assert_eq!(names_of("humaneval"), ["humaneval"]);
    assert_eq!(names_of("livecodebench"), ["livecodebench"]);
    assert_eq!(names_of("openr1-math"), ["openr1-math"]);
}

#[test]
fn every_file_belongs_to_a_template() {
    for file in std::fs::read_dir(folder()).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        assert!(NAMES.contains(&file.trim_end_matches(".json")), "{file}");
    }
}
