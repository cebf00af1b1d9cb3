//! Generates broken and truncated documents in each format, in the forms in which completions
//! contain documents. None of them is accepted, even by tasks that accept every document.

use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use assay_core::{
    GradeContext, Grader, GraderTable, Item, Outcome, PrepareContext, Prepared, Task,
};
use assay_structured::StructuredGrader;
use serde_json::{Map, Value, json};

/// Number of documents in each format.
const COUNT: usize = 5_000;

/// Random numbers (splitmix64), the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end.max(1) as u64).unwrap_or(0)
    }

    fn choice<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// A character boundary inside a text, neither at its start nor at its end.
    fn inside(&mut self, text: &str) -> usize {
        let at = 1 + self.below(text.len().saturating_sub(1));
        text.floor_char_boundary(at.min(text.len() - 1)).max(1)
    }

    fn text(&mut self) -> String {
        const PARTS: &[&str] = &[
            "a", "Ada", " ", "é", "{", "}", "[1]", "\"", "\\", ": ", ", ", "7",
        ];
        (0..self.below(4)).map(|_| self.choice(PARTS)).collect()
    }

    fn scalar(&mut self) -> Value {
        match self.below(5) {
            0 => json!(self.below(1_000)),
            1 => json!(true),
            2 => Value::Null,
            3 => json!(-1.5),
            _ => json!(self.text()),
        }
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 1 } else { 3 }) {
            0 => self.scalar(),
            1 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => self.object(depth),
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        let keys = ["a", "b", "name", "x y", "k\"q"];
        let member = |at: usize| (keys[at].to_owned(), self.value(depth - 1));
        Value::Object((0..5).step_by(2).map(member).collect::<Map<_, _>>())
    }

    /// An object or array with at least one element.
    fn document(&mut self) -> Value {
        match self.below(3) {
            0 => json!([self.value(2), self.object(2)]),
            _ => self.object(3),
        }
    }
}

/// Grades by a task that accepts every well-formed document of a format.
struct Grading(Arc<dyn Prepared>);

impl Grading {
    fn of(format: &str) -> Self {
        let table = GraderTable::new(Vec::new());
        let cx = PrepareContext::new(&table);
        let task = json!({"type": "structured", "format": format});
        let task = Task::from_json(&task.to_string()).expect("a task");
        Self(
            StructuredGrader
                .prepare(&task, &cx)
                .expect("a prepared task"),
        )
    }

    fn verdict(&self, completion: &str, is_truncated: bool) -> &'static str {
        let mut item = Item::text(completion);
        item.meta.truncated = is_truncated;
        let items = [&item];
        let context = GradeContext::default();
        let mut graded = self.0.grade(&items, &context);
        let Poll::Ready(outcomes) =
            Pin::new(&mut graded).poll(&mut Context::from_waker(Waker::noop()))
        else {
            panic!("a grader of the CPU lane never waits");
        };
        match outcomes.as_slice() {
            [Outcome::Graded(grade)] => grade.verdict.as_str(),
            other => panic!("{other:?}"),
        }
    }
}

/// A completion with a document that nothing in it closes, and whether it is marked as truncated.
fn unclosed(random: &mut Random, format: &str, document: &str) -> (String, bool) {
    let part = &document[..random.inside(document)];
    match random.below(5) {
        0 => (format!("```{format}\n{part}"), random.below(2) == 0),
        1 => (format!("Here it is:\n\n~~~\n{part}"), false),
        2 => (format!("So: ```{format}\n{part}"), false),
        3 => (format!("<answer>\n{part}"), false),
        _ => (part.to_owned(), true),
    }
}

/// A completion that contains a text as its document.
fn wrapped(random: &mut Random, format: &str, document: &str) -> String {
    match random.below(4) {
        0 => document.to_owned(),
        1 => format!("Here it is:\n\n```{format}\n{document}\n```\n"),
        2 => format!("<answer>\n{document}\n</answer>"),
        _ => format!("```\n{document}\n```"),
    }
}

/// Breaks documents and asserts that none is accepted. `broken` returns `None` if a change happens
/// to leave a well-formed document.
fn reject_all(
    format: &str,
    write: impl Fn(&mut Random) -> String,
    broken: impl Fn(&mut Random, &str) -> Option<String>,
) {
    let grading = Grading::of(format);
    let mut random = Random(7);
    let (mut rejected, mut tries) = (0, 0);
    while rejected < COUNT {
        tries += 1;
        assert!(tries < 3 * COUNT, "too few of the documents are broken");
        let document = write(&mut random);
        assert_eq!(grading.verdict(&document, false), "correct", "{document}");
        let (completion, is_truncated) = if random.below(3) == 0 {
            unclosed(&mut random, format, &document)
        } else {
            let Some(broken) = broken(&mut random, &document) else {
                continue;
            };
            (wrapped(&mut random, format, &broken), false)
        };
        let verdict = grading.verdict(&completion, is_truncated);
        assert!(
            ["malformed", "no_answer"].contains(&verdict),
            "{verdict}, of {document}: {completion}"
        );
        rejected += 1;
    }
}

/// The text with a change at a random place with one of these characters.
fn changed_at(
    random: &mut Random,
    text: &str,
    characters: &[char],
    change: impl Fn(&str, &str, char) -> String,
) -> Option<String> {
    let places: Vec<_> = text.match_indices(characters).collect();
    let (at, found) = *places.get(random.below(places.len()))?;
    let found = found.chars().next()?;
    Some(change(&text[..at], &text[at + found.len_utf8()..], found))
}

fn broken_json(random: &mut Random, document: &str) -> Option<String> {
    const STRUCTURE: &[char] = &['{', '}', '[', ']', ':', '"'];
    let broken = match random.below(7) {
        0 => Some(document[..random.inside(document)].to_owned()),
        1 => changed_at(random, document, STRUCTURE, |before, after, _| {
            format!("{before}{after}")
        }),
        2 => changed_at(
            random,
            document,
            &['{', '}', '[', ']'],
            |before, after, found| format!("{before}{found}{found}{after}"),
        ),
        3 => Some(document.replace(r#""a":"#, "a:")),
        4 => Some(document.replace(r#""a":"#, "'a':")),
        5 => Some(document.replace("}", ",}")),
        _ => Some(format!("{{result: {document}}}")),
    };
    let broken = broken.filter(|broken| serde_json::from_str::<Value>(broken).is_err())?;
    Some(if random.below(2) == 0 {
        format!("The result is {broken} as requested.")
    } else {
        broken
    })
}

#[test]
fn rejects_broken_json() {
    let write = |random: &mut Random| random.document().to_string();
    reject_all("json", write, broken_json);
}

/// A YAML document in block style.
fn yaml(value: &Value, indent: usize, text: &mut String) {
    let margin = " ".repeat(indent);
    let nested = |value: &Value, text: &mut String| {
        if value.as_array().is_some_and(|all| !all.is_empty()) || value.is_object() {
            text.push('\n');
            yaml(value, indent + 2, text);
        } else {
            writeln!(text, " {value}").expect("a string");
        }
    };
    for (key, value) in value.as_object().into_iter().flatten() {
        write!(text, "{margin}{}:", json!(key)).expect("a string");
        nested(value, text);
    }
    for value in value.as_array().into_iter().flatten() {
        write!(text, "{margin}-").expect("a string");
        nested(value, text);
    }
}

#[test]
fn rejects_broken_yaml() {
    let write = |random: &mut Random| {
        let mut text = String::new();
        yaml(&random.document(), 0, &mut text);
        text
    };
    reject_all("yaml", write, |random, document| {
        let first = document.lines().next()?;
        Some(match random.below(7) {
            0 => format!("{document}\"x\": [1, 2\n"),
            1 => format!("{document}\"x\": \"open\n"),
            2 => format!("\"x\": 1\n{document}\"x\": 2\n"),
            3 => format!("{document}  \"x\": 1\n \"y\": 2\n"),
            4 => format!("{document}\n\t\"x\": 1\n"),
            5 => format!("{document}---\n{first}\n"),
            _ => format!("{document}\"x\": *none\n"),
        })
    });
}

/// A table of random texts.
fn csv(random: &mut Random) -> String {
    let mut text = "name,note,n\n".to_owned();
    for _ in 0..=random.below(4) {
        let cell = random.text().replace('"', "\"\"");
        writeln!(text, "Ada,\"{cell}\",{}", random.below(100)).expect("a string");
    }
    text
}

#[test]
fn rejects_broken_csv() {
    reject_all("csv", csv, |random, document| {
        Some(match random.below(6) {
            0 => format!("{document}Bo,x\n"),
            1 => format!("{document}Bo,x,1,2\n"),
            2 => format!("{document}Bo,\"x,1\n"),
            3 => format!("{document}Bo,\"x\"y,1\n"),
            4 => format!("{document}Bo,x\"y\",1\n"),
            _ => document.replacen("note", "name", 1),
        })
    });
}

/// A TOML value in one line.
fn toml(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::Array(elements) => format!("[{}]", joined(elements.iter().map(toml).collect())),
        Value::Object(members) => {
            let member =
                |(key, value): (&String, &Value)| format!("{} = {}", json!(key), toml(value));
            format!("{{ {} }}", joined(members.iter().map(member).collect()))
        }
        scalar => scalar.to_string(),
    }
}

#[test]
fn rejects_broken_toml() {
    let write = |random: &mut Random| {
        let mut text = String::new();
        for (at, key) in ["a", "\"b c\"", "d.e"].iter().enumerate() {
            writeln!(text, "{key} = {}", toml(&random.value(at))).expect("a string");
        }
        text + "\n[table]\nx = \"\"\"\ny\n\"\"\"\n"
    };
    reject_all("toml", write, |random, document| {
        Some(match random.below(8) {
            0 => format!("{document}y = [1, 2\n"),
            1 => format!("{document}y = \"open\n"),
            2 => format!("{document}x = 1\n"),
            3 => format!("{document}y =\n"),
            4 => format!("{document}y = yes\n"),
            5 => format!("{document}y = nan\n"),
            6 => format!("{document}[table]\n"),
            _ => format!("{document}y = '''\nopen\n"),
        })
    });
}

/// The content of an XML element.
fn xml(value: &Value, text: &mut String) {
    let escaped = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('"', "&quot;")
    };
    match value {
        Value::Object(members) => {
            for (at, value) in members.values().enumerate() {
                write!(text, "<e{at} id=\"{at}\">").expect("a string");
                xml(value, text);
                writeln!(text, "</e{at}>").expect("a string");
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| {
            text.push_str("<i>");
            xml(element, text);
            text.push_str("</i>");
        }),
        Value::String(content) => text.push_str(&escaped(content)),
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[test]
fn rejects_broken_xml() {
    let write = |random: &mut Random| {
        let mut text = "<doc>".to_owned();
        xml(&random.document(), &mut text);
        text + "</doc>"
    };
    reject_all("xml", write, |random, document| {
        Some(match random.below(8) {
            0 => document[..random.inside(document)].to_owned(),
            1 => document.replacen("<doc>", "<doc><open>", 1),
            2 => document.replacen("</doc>", "</open></doc>", 1),
            3 => document.replacen("<doc>", "<doc>1 < 2", 1),
            4 => document.replacen("<doc>", "<doc>a & b", 1),
            5 => document.replacen("<doc>", "<doc a='1' a='2'>", 1),
            6 => format!("<!DOCTYPE doc>{document}"),
            _ => changed_at(random, document, &['>'], |before, after, _| {
                format!("{before}{after}")
            })?,
        })
    });
}
