//! Every grader of the table has a page that matches its specification.

use assay_core::grader::PrepareContext;
use assay_core::{Spec, Task};
use serde_json::{Map, Value};

use crate::end_to_end::documents::document;

/// The sections of a page, in their order.
const SECTIONS: [&str; 5] = [
    "What it checks",
    "What it refuses",
    "Known false positives",
    "Known false negatives",
    "Example",
];

fn path_of(spec: &Spec) -> String {
    format!("docs/graders/{}.md", spec.name)
}

/// The headings of a page and the text under each. Fenced blocks contain no headings.
fn sections(page: &str) -> Vec<(&str, String)> {
    let mut sections: Vec<(&str, String)> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in page.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            None if ticks.len() >= 3 => fence = Some(ticks),
            Some(open) if line == open => fence = None,
            _ => {}
        }
        match (line.strip_prefix("## "), sections.last_mut()) {
            (Some(heading), _) if fence.is_none() => sections.push((heading, String::new())),
            (_, Some((_, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            _ => {}
        }
    }
    sections
}

/// The fenced blocks of JSON in a text.
fn json_blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("```json\n")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("\n```")?.0))
}

#[test]
fn every_grader_has_a_page_with_the_five_sections() {
    for grader in crate::end_to_end::graders().iter() {
        let path = path_of(grader.spec());
        let page = document(&path);
        let headings: Vec<_> = sections(&page)
            .into_iter()
            .map(|(heading, _)| heading)
            .collect();
        assert_eq!(headings, SECTIONS, "{path}");
        let title = format!("# `{}`: {}\n", grader.spec().name, grader.spec().summary);
        assert!(
            page.starts_with(&title),
            "{path} does not begin with `{}`",
            title.trim_end()
        );
    }
}

#[test]
fn no_section_of_a_page_is_empty() {
    for grader in crate::end_to_end::graders().iter() {
        let path = path_of(grader.spec());
        for (heading, text) in sections(&document(&path)) {
            assert!(
                !text.trim().is_empty(),
                "{path} has no text under `{heading}`"
            );
        }
    }
}

#[test]
fn every_verdict_is_explained() {
    for grader in crate::end_to_end::graders().iter() {
        let path = path_of(grader.spec());
        let page = document(&path);
        for verdict in grader.spec().verdicts {
            assert!(
                page.contains(&format!("`{}`", verdict.verdict)),
                "{path} does not explain `{}`",
                verdict.verdict
            );
        }
    }
}

#[test]
fn every_measure_is_explained() {
    for grader in crate::end_to_end::graders().iter() {
        let path = path_of(grader.spec());
        let page = document(&path);
        for measure in grader.spec().measures {
            assert!(
                page.contains(&format!("`{}`", measure.name)),
                "{path} does not explain `{}`",
                measure.name
            );
        }
    }
}

#[test]
fn every_option_is_explained() {
    for grader in crate::end_to_end::graders().iter() {
        let path = path_of(grader.spec());
        let page = document(&path);
        let schema: Value = serde_json::from_str(grader.spec().task_schema).unwrap();
        let properties: &Map<String, Value> = schema["properties"].as_object().unwrap();
        for option in properties.keys().filter(|option| *option != "type") {
            assert!(
                page.contains(&format!("`{option}`")),
                "{path} does not explain `{option}`"
            );
        }
    }
}

#[test]
fn every_example_task_of_a_page_is_valid() {
    let graders = crate::end_to_end::graders();
    for grader in graders.iter() {
        let path = path_of(grader.spec());
        let page = document(&path);
        let sections = sections(&page);
        let (_, example) = sections
            .iter()
            .find(|(heading, _)| *heading == "Example")
            .unwrap();
        let takes = |json| {
            let task = Task::from_json(json)
                .ok()
                .filter(|task| task.kind.as_str() == grader.spec().name);
            task.is_some_and(|task| grader.check(&task, &PrepareContext::new(&graders)).is_ok())
        };
        assert!(
            json_blocks(example).any(takes),
            "{path} has no block of JSON that is a task of its grader"
        );
    }
}

#[test]
fn every_page_has_a_row_in_the_index() {
    let index = document("docs/GRADERS.md");
    for grader in crate::end_to_end::graders().iter() {
        let Spec {
            name,
            summary,
            lane,
            ..
        } = grader.spec();
        let lane = serde_json::to_value(lane).unwrap();
        let row = format!(
            "| `{name}` | {summary} | `{}` | [graders/{name}.md](graders/{name}.md) |",
            lane.as_str().unwrap()
        );
        assert!(
            index.lines().any(|line| line == row),
            "docs/GRADERS.md has no row `{row}`"
        );
    }
}
