//! `code`: the gold is a program, which only a solution or a `reference` shows; wrong is a stub in
//! place of the tested function.

use assay_core::{Completion, Task};
use serde_json::{Value, json};

use super::flips::{Flip, changed};
use super::{Kind, Probe, Purpose, fenced};
use crate::subject::Subject;

pub(super) const KIND: Kind = Kind {
    name: "code",
    // The tests say how to check, the prompt what is asked: with it equal, a task is the same.
    gold: &[
        "tests",
        "reference",
        "prelude",
        "test_setup",
        "limits",
        "score",
        "checker",
    ],
    golds: |subject| {
        reference(subject)
            .map(|program| vec![written(program)])
            .into_iter()
            .collect()
    },
    solution: written,
    wants_something: |_| true,
    wrong,
};

/// Seconds of work that a changed program may use: it often never ends, and the tests need not wait
/// for it.
const SECONDS: f64 = 0.5;

/// What stands in for a function.
const STUBS: &[(&str, &str)] = &[
    ("a function that returns `None`", "None"),
    (
        "a function that returns its first argument",
        "args[0] if args else None",
    ),
    ("a function that returns `True`", "True"),
    ("a function that returns `False`", "False"),
    ("a function that returns 0", "0"),
    ("a function that returns an empty list", "[]"),
    ("a function that returns an empty text", "''"),
];

/// A program that no test lets pass, unless it looks at nothing.
const IDLE: (&str, &str) = ("a program that does nothing", "pass");

/// A program that passes where standard output is not looked at.
const ECHO: (&str, &str) = (
    "a program that writes its input",
    "import sys\nprint(sys.stdin.read(), end='')",
);

const FLIPS: &[Flip] = &[
    Flip {
        from: "==",
        to: "!=",
        what: "`==` turned",
    },
    Flip {
        from: " + ",
        to: " - ",
        what: "`+` turned",
    },
    Flip {
        from: " < ",
        to: " >= ",
        what: "`<` turned",
    },
    Flip {
        from: " > ",
        to: " <= ",
        what: "`>` turned",
    },
    Flip {
        from: "and",
        to: "or",
        what: "`and` turned",
    },
    Flip {
        from: "true",
        to: "False",
        what: "`True` turned",
    },
    Flip {
        from: "false",
        to: "True",
        what: "`False` turned",
    },
    Flip {
        from: " - ",
        to: " + ",
        what: "`-` turned",
    },
    Flip {
        from: " * ",
        to: " + ",
        what: "`*` turned",
    },
];

fn written(program: &str) -> Completion {
    fenced("python", program)
}

fn reference(subject: &Subject) -> Option<&str> {
    subject.body.get("reference").and_then(Value::as_str)
}

fn wrong(subject: &Subject) -> Vec<Probe> {
    let task = short(subject);
    let probe = |purpose, program: String| Probe {
        purpose,
        completion: written(&program),
        task: task.clone(),
    };
    let whole =
        |(what, program): (&'static str, &str)| probe(Purpose::Mutant(what), program.to_owned());
    let mut probes = vec![whole(IDLE)];
    let program = subject
        .solution
        .as_deref()
        .or(reference(subject))
        .filter(|program| !program.contains("```"));
    if let Some((program, name)) =
        program.and_then(|program| Some((program, tested_function(subject, program)?)))
    {
        for (what, value) in STUBS {
            let stub = format!("{program}\n\ndef {name}(*args, **kwargs):\n    return {value}\n");
            probes.push(probe(Purpose::Mutant(what), stub));
        }
    } else if tests(subject).any(|test| test.get("stdin").is_some()) {
        probes.push(whole(ECHO));
    }
    if let Some(program) = program {
        let flipped = changed(program, FLIPS, "#");
        probes.extend(
            flipped
                .into_iter()
                .map(|(what, program)| probe(Purpose::Variation(what), program)),
        );
    }
    probes
}

/// The task with less work for each test.
fn short(subject: &Subject) -> Option<Task> {
    let mut body = subject.body.clone();
    let mut limits = body.get("limits").cloned().unwrap_or_else(|| json!({}));
    let allowed = limits
        .get("seconds")
        .and_then(Value::as_f64)
        .unwrap_or(SECONDS);
    limits
        .as_object_mut()?
        .insert("seconds".to_owned(), allowed.min(SECONDS).into());
    body.insert("limits".to_owned(), limits);
    // The reference was run with the row's own task.
    body.remove("reference");
    Task::from_json(&Value::Object(body).to_string()).ok()
}

fn tests(subject: &Subject) -> impl Iterator<Item = &Value> {
    subject
        .body
        .get("tests")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// The last function of the program that the tests name: helpers stand before it.
fn tested_function<'a>(subject: &Subject, program: &'a str) -> Option<&'a str> {
    let names = program.lines().filter_map(|line| {
        let rest = line
            .strip_prefix("def ")
            .or_else(|| line.strip_prefix("async def "))?;
        rest.split('(').next().map(str::trim)
    });
    let names: Vec<&str> = names.collect();
    let named = |name: &&&str| {
        tests(subject).any(|test| {
            let text = |field: &str| test.get(field).and_then(Value::as_str).unwrap_or_default();
            text("call") == **name || text("assert").contains(**name)
        })
    };
    names.iter().rev().find(named).copied()
}
