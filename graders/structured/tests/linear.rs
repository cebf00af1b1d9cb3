//! The time to grade a completion grows with its length, in every format.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::sync::Arc;
use std::task::{Context, Waker};

use assay_core::{GradeContext, Grader, GraderTable, Item, PrepareContext, Prepared, Task};
use assay_structured::StructuredGrader;

/// Formats, pieces that are repeated up to some length, and what precedes and follows them.
const REPEATED: &[(&str, [&str; 3])] = &[
    ("json", ["[", "1,", "1]"]),
    ("json", ["{\"a\":[", "{\"b\":\"c\"},", "1]}"]),
    ("json", ["", "{\"a\": 1} ", ""]),
    ("json", ["", "{\"a\": ", ""]),
    ("json", ["", "[1, ", ""]),
    ("json", ["\"", "\\u00e9", "\""]),
    ("json", ["", "```json\n{\"a\": 1}\n```\n", ""]),
    ("json", ["", "```json\n{\n", ""]),
    ("json", ["", "`{`", ""]),
    ("yaml", ["", "- a: 1\n  b: [2, 3]\n", ""]),
    ("yaml", ["", "- \"x\n  y\"\n", ""]),
    ("yaml", ["a: |\n", "  text\n", ""]),
    ("yaml", ["", "- &a b\n- *a\n", ""]),
    ("yaml", ["[", "a, ", "b]"]),
    ("yaml", ["", "? a\n", ""]),
    ("xml", ["<a>", "<b>1</b>", "</a>"]),
    ("xml", ["<a>", "<b>", ""]),
    ("xml", ["<a ", "b=\"1\" ", "/>"]),
    ("xml", ["<a>", "&amp;<!-- c -->", "</a>"]),
    ("xml", ["", "<a/>\n", ""]),
    ("toml", ["", "[[a]]\nb = 1\n", ""]),
    ("toml", ["a = [", "1, ", "2]"]),
    ("toml", ["a = \"\"\"", "text\n", "\"\"\""]),
    ("toml", ["", "a = {", ""]),
    ("csv", ["a,b\n", "1,\"2\"\n", ""]),
    ("csv", ["a\n", "\"1\n", ""]),
    ("csv", ["", "a,", "b\n1"]),
    ("json", ["", "<think>", ""]),
    ("yaml", ["", "```yaml\na: 1\n```\n", ""]),
    ("xml", ["", "```xml\n<a>\n", ""]),
];

fn prepared(format: &str) -> Arc<dyn Prepared> {
    let task = format!(r#"{{"type":"structured","format":"{format}"}}"#);
    let table = GraderTable::new(Vec::new());
    StructuredGrader
        .prepare(
            &Task::from_json(&task).unwrap(),
            &PrepareContext::new(&table),
        )
        .unwrap()
}

/// Nanoseconds of the processor that this thread has used, which do not depend on the load.
fn processor_time() -> u64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    statistics.split(' ').next().unwrap().parse().unwrap()
}

/// Quadratic time would be 64 times as much for a text that is 8 times as long.
#[test]
fn reads_every_format_in_linear_time() {
    for (format, [start, piece, end]) in REPEATED {
        let (prepared, cx) = (prepared(format), GradeContext::default());
        let measure = |length: usize| {
            let text = format!("{start}{}{end}", piece.repeat(length / piece.len()));
            let item = Item::text(&text);
            let items = [&item];
            let before = processor_time();
            let mut grading = prepared.grade(&items, &cx);
            let graded = grading
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            assert!(graded.is_ready());
            processor_time() - before
        };
        let ratio = || {
            let short = measure(1 << 19).max(1_000_000);
            measure(1 << 22) as f64 / short as f64
        };
        // A second measurement rules out a disturbance.
        let ratio = Some(ratio())
            .filter(|ratio| *ratio < 24.0)
            .unwrap_or_else(ratio);
        assert!(
            ratio < 24.0,
            "{format}, {start}{piece}: {ratio:.1} times as long"
        );
    }
}
