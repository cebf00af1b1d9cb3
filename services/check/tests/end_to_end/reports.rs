//! Report formats: JUnit and SARIF conform to their schemas, and texts of rows cannot break out of
//! commands and tables.

use std::collections::BTreeMap;

use assay_check::findings::{ALL, Code, code};
use assay_check::reports::{FORMATS, Format};
use assay_check::{
    Baseline, Compared, DatasetSummary, Finding, Mutants, Report, RightRows, RowLocation,
};
use roxmltree::{Document, Node};
use serde_json::Value;

/// A text of a row that tries to break the syntax of reports.
const HOSTILE: &str =
    "50 % of \"it\" <b>&amp;</b> | `x` ::error::no\r\nend]]>\u{0}\u{1b}[31m, a: \u{202e}b";

fn finding(name: &str, dataset: &str, number: u64, is_line: bool, message: &str) -> Finding {
    let location = RowLocation {
        dataset: dataset.into(),
        number,
        is_line,
        line: is_line.then_some(number),
    };
    Finding {
        code: code(name).unwrap(),
        location,
        key: format!("key {number}"),
        message: message.to_owned(),
    }
}

fn report() -> Report {
    let findings = vec![
        finding(
            "gold-not-parsed",
            "data/train 1,a:b.jsonl",
            12,
            true,
            HOSTILE,
        ),
        finding(
            "near-duplicate",
            "data/train 1,a:b.jsonl",
            15,
            true,
            "the prompt is a near duplicate",
        ),
        finding(
            "gold-not-parsed",
            "rows.parquet",
            3,
            false,
            "the gold is empty",
        ),
    ];
    let dataset = |name: &str, revision: Option<&str>| DatasetSummary {
        dataset: name.to_owned(),
        revision: revision.map(str::to_owned),
        rows: 40,
        checked: 20,
        tasks: BTreeMap::from([("math".to_owned(), 20)]),
        right: BTreeMap::from([(
            "math".to_owned(),
            RightRows {
                tried: 17,
                passed: 16,
            },
        )]),
        mutants: BTreeMap::from([(
            "math".to_owned(),
            Mutants {
                tried: 8,
                killed: 7,
            },
        )]),
        unchecked: BTreeMap::from([("no completion is known that should pass", 3)]),
        work: BTreeMap::from([("math".to_owned(), 900)]),
    };
    Report {
        version: "0.1.0",
        datasets: vec![
            dataset("data/train 1,a:b.jsonl", None),
            dataset("rows.parquet", Some("5f3a")),
        ],
        counts: BTreeMap::from([("gold-not-parsed", 4), ("near-duplicate", 1)]),
        known: 2,
        ignored: 0,
        unlisted: 2,
        failed: 1,
        first_failure: Some(format!("rows.parquet:row 1: {HOSTILE}")),
        compared: Some(Compared {
            new: 1,
            remaining: 2,
            fixed: 3,
        }),
        findings,
        ..Report::default()
    }
}

fn render(format: Format, report: &Report) -> String {
    let mut out = Vec::new();
    format.write(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn clean() -> Report {
    Report {
        version: "0.1.0",
        datasets: vec![DatasetSummary {
            dataset: "a.jsonl".to_owned(),
            ..DatasetSummary::default()
        }],
        ..Report::default()
    }
}

#[test]
fn formats_are_reviewed() {
    for (name, format) in FORMATS {
        insta::assert_snapshot!(format!("report_{name}"), render(*format, &report()));
    }
}

#[test]
fn text_lists_findings_and_totals() {
    let text = render(Format::Text, &report());
    assert!(
        text.contains(
            "data/train 1,a:b.jsonl:15: near-duplicate: the prompt is a near duplicate [key 15]\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("rows.parquet at 5f3a: 20 rows of 40; tasks: 20 math\n"),
        "{text}"
    );
    assert!(
        text.contains("math: 7 of 8 wrong answers rejected (87.5 %)"),
        "{text}"
    );
    assert!(
        text.ends_with(
            "40 rows checked: 4 errors, 1 warning; 6 rows unchecked; 2 in the baseline; 2 not \
             listed; compared with the earlier report: 1 new, 2 remaining, 3 fixed\n"
        ),
        "{text}"
    );
}

#[test]
fn text_counts_equal_findings() {
    let mut report = report();
    report.findings = (1..=14)
        .map(|number| {
            finding(
                "field-missing",
                "a.jsonl",
                number,
                true,
                "no column `answer`",
            )
        })
        .collect();
    let text = render(Format::Text, &report);
    assert_eq!(text.matches(": field-missing: ").count(), 2, "{text}");
    assert!(
        text.contains("  the same finding in 12 more rows\n"),
        "{text}"
    );
}

#[test]
fn html_has_no_markup_of_rows() {
    let text = render(Format::Html, &report());
    assert!(
        text.contains("&lt;b&gt;&amp;amp;&lt;/b&gt;") && !text.contains("<b>&amp;</b>"),
        "{text}"
    );
    assert!(
        text.contains("<b class=\"error\">gold-not-parsed</b>: 4 errors"),
        "{text}"
    );
}

#[test]
fn escapes_texts_of_rows() {
    let mut report = report();
    report.findings[0].key = "\n::stop-commands::tok\n".to_owned();
    report.findings[1].message = "right\u{2066}\u{202e}left\u{2028}below\u{9b}31m".to_owned();
    for format in [Format::Text, Format::Github, Format::Markdown, Format::Html] {
        let text = render(format, &report);
        let hidden =
            |c: char| (c.is_control() && c != '\n') || "\u{2066}\u{202e}\u{2028}".contains(c);
        assert!(!text.contains(hidden), "{text:?}");
        assert!(
            !text
                .lines()
                .any(|line| line.trim_start().starts_with("::stop")),
            "{text}"
        );
    }
    let text = render(Format::Text, &report);
    assert!(text.contains("[\\n::stop-commands::tok\\n]\n"), "{text}");
    assert!(
        text.contains("right\\u{2066}\\u{202e}left\\u{2028}below\\u{9b}31m [key 15]\n"),
        "{text}"
    );
}

#[test]
fn json_report_is_a_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("known.json");
    std::fs::write(&path, render(Format::Json, &report())).unwrap();
    let baseline = Baseline::read(&path).unwrap();
    assert!(baseline.contains("gold-not-parsed", "key 12"));
    assert!(!baseline.contains("gold-fails", "key 12"));
    assert!(!baseline.contains("gold-not-parsed", "key 13"));
}

/// Asserts that an element conforms to the common JUnit schema (of Apache Ant, published by Windy
/// Road): it has these attributes, which are required unless they end in `?`, and only these
/// children in this order.
fn assert_element(node: Node<'_, '_>, attributes: &[&str], children: &[&str]) {
    let name = node.tag_name().name();
    for attribute in node.attributes() {
        let known = attributes
            .iter()
            .any(|known| known.trim_end_matches('?') == attribute.name());
        assert!(known, "`{name}` has an attribute `{}`", attribute.name());
    }
    for attribute in attributes
        .iter()
        .filter(|attribute| !attribute.ends_with('?'))
    {
        assert!(
            node.has_attribute(*attribute),
            "`{name}` lacks `{attribute}`"
        );
    }
    let positions = node.children().filter(Node::is_element).map(|child| {
        let child = child.tag_name().name();
        children
            .iter()
            .position(|known| *known == child)
            .unwrap_or_else(|| panic!("`{child}` is not allowed in `{name}`"))
    });
    assert!(
        positions.is_sorted(),
        "the children of `{name}` are out of order"
    );
}

#[test]
fn junit_conforms_to_the_common_schema() {
    for report in [report(), clean()] {
        let text = render(Format::Junit, &report);
        let document = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_element(document.root_element(), &[], &["testsuite"]);
        for (id, suite) in document
            .root_element()
            .children()
            .filter(Node::is_element)
            .enumerate()
        {
            let attributes = [
                "name",
                "package",
                "id",
                "timestamp",
                "hostname",
                "tests",
                "failures",
                "errors",
                "time",
            ];
            assert_element(
                suite,
                &attributes,
                &["properties", "testcase", "system-out", "system-err"],
            );
            assert_eq!(suite.attribute("id").unwrap(), id.to_string());
            let tests: Vec<_> = suite
                .children()
                .filter(|child| child.has_tag_name("testcase"))
                .collect();
            let count = |name: &str| {
                tests
                    .iter()
                    .filter(|test| test.children().any(|child| child.has_tag_name(name)))
                    .count()
            };
            assert_eq!(suite.attribute("tests").unwrap(), tests.len().to_string());
            assert_eq!(
                suite.attribute("failures").unwrap(),
                count("failure").to_string()
            );
            assert_eq!(
                suite.attribute("errors").unwrap(),
                count("error").to_string()
            );
            for test in tests {
                assert_element(test, &["name", "classname", "time"], &["failure", "error"]);
                for child in test.children().filter(Node::is_element) {
                    assert_element(child, &["message?", "type"], &[]);
                }
            }
        }
    }
    let text = render(Format::Junit, &report());
    let document = Document::parse(&text).unwrap();
    let failure = document
        .descendants()
        .find(|node| node.has_tag_name("failure"))
        .unwrap();
    let text = failure.text().unwrap();
    assert!(
        text.contains("50 % of \"it\" <b>&amp;</b>") && text.contains("end]]>\u{fffd}\u{fffd}[31m"),
        "{text}"
    );
}

/// The part of the schema of SARIF 2.1.0 that these reports use, with our own descriptions.
const SARIF: &str = include_str!("sarif.json");

#[test]
fn sarif_conforms_to_its_schema() {
    let schema = jsonschema::options()
        .should_validate_formats(true)
        .build(&serde_json::from_str(SARIF).unwrap())
        .unwrap();
    for report in [report(), clean()] {
        let log: Value = serde_json::from_str(&render(Format::Sarif, &report)).unwrap();
        let errors: Vec<String> = schema
            .iter_errors(&log)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    let log: Value = serde_json::from_str(&render(Format::Sarif, &report())).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let rules = log["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap();
    assert_eq!(rules.len(), ALL.len());
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(result["ruleId"], rule["id"]);
    }
    let physical = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(
        physical["artifactLocation"]["uri"],
        "data/train%201%2Ca%3Ab.jsonl"
    );
    assert_eq!(physical["region"]["startLine"], 12);
    assert!(
        results[2]["locations"][0]["physicalLocation"]["region"].is_null(),
        "a Parquet row has no line"
    );
}

/// Parses a workflow command as the runner of GitHub does.
fn command(line: &str) -> (&str, BTreeMap<&str, String>, String) {
    let unescape = |text: &str, property: bool| {
        let text = text.replace("%0D", "\r").replace("%0A", "\n");
        let text = if property {
            text.replace("%3A", ":").replace("%2C", ",")
        } else {
            text
        };
        text.replace("%25", "%")
    };
    let (head, message) = line.strip_prefix("::").unwrap().split_once("::").unwrap();
    let (name, properties) = head.split_once(' ').unwrap();
    let properties = properties
        .split(',')
        .map(|property| property.split_once('=').unwrap());
    (
        name,
        properties
            .map(|(name, value)| (name, unescape(value, true)))
            .collect(),
        unescape(message, false),
    )
}

#[test]
fn annotations_are_one_line_each_and_keep_their_texts() {
    let text = render(Format::Github, &report());
    let commands: Vec<_> = text.split_terminator('\n').map(command).collect();
    assert_eq!(
        commands.len(),
        5,
        "three findings, the failed probes and the totals: {text}"
    );
    let (name, properties, message) = &commands[0];
    assert_eq!(
        (
            *name,
            properties["file"].as_str(),
            properties["line"].as_str()
        ),
        ("error", "data/train 1,a:b.jsonl", "12")
    );
    let escaped = HOSTILE
        .replace('\0', "\\u{0}")
        .replace('\u{1b}', "\\u{1b}")
        .replace('\u{202e}', "\\u{202e}");
    assert_eq!(*message, format!("{escaped} [key 12]"));
    assert_eq!(
        (commands[1].0, commands[1].1["title"].as_str()),
        ("warning", "near-duplicate")
    );
    assert!(!commands[2].1.contains_key("line") && commands[2].2.starts_with("row 3: "));
    assert_eq!(commands[4].0, "notice");
}

#[test]
fn texts_of_rows_do_not_break_table_cells() {
    let text = render(Format::Markdown, &report());
    for table in text.split("\n\n").filter(|block| block.starts_with('|')) {
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let width = cells(table.lines().next().unwrap());
        assert!(
            table
                .lines()
                .all(|line| cells(line) == width && line.ends_with('|')),
            "{table}"
        );
    }
    assert!(!text.contains("<b>"), "{text}");
    assert!(text.contains("\nand 2 more\n"), "{text}");
}

#[test]
fn every_format_has_a_name_and_renders_a_clean_report() {
    for (name, format) in FORMATS {
        assert_eq!(Format::from_name(name), Some(*format));
        assert!(!render(*format, &clean()).is_empty());
    }
}

#[test]
fn codes_are_unique_and_in_kebab_case() {
    let names: std::collections::BTreeSet<&str> =
        ALL.iter().map(|code: &&Code| code.name).collect();
    assert_eq!(names.len(), ALL.len());
    assert!(
        names
            .iter()
            .all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
    );
}
