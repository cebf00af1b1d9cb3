//! `code`: the gold is the `reference` or the solution of the dataset. Mutants replace the tested
//! function by a stub.

use assay_core::{Completion, Task};
use serde_json::{Value, json};

use super::probe::{Probe, Prober, Purpose, fenced};
use super::token_changes::{TokenChange, change_tokens};
use crate::subject::Subject;

pub(super) const PROBER: Prober = Prober {
    name: "code",
    // These fields define how to check. Tasks with the same prompt ask the same question, whatever
    // their tests.
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
            .map(|program| vec![completion(program)])
            .into_iter()
            .collect()
    },
    solution: completion,
    requires_answer: |_| true,
    wrong_completions,
};

/// Limit of work for a changed program, in seconds. Such programs often do not end.
const MAX_SECONDS: f64 = 0.5;

/// Descriptions of stubs and the expressions that they return.
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

/// A program that passes only if the tests check nothing.
const IDLE: (&str, &str) = ("a program that does nothing", "pass");

/// A program that passes only if standard output is not checked.
const ECHO: (&str, &str) = (
    "a program that writes its input",
    "import sys\nprint(sys.stdin.read(), end='')",
);

const CHANGES: &[TokenChange] = &[
    TokenChange {
        from: "==",
        to: "!=",
        description: "`==` to `!=`",
    },
    TokenChange {
        from: " + ",
        to: " - ",
        description: "`+` to `-`",
    },
    TokenChange {
        from: " < ",
        to: " >= ",
        description: "`<` to `>=`",
    },
    TokenChange {
        from: " > ",
        to: " <= ",
        description: "`>` to `<=`",
    },
    TokenChange {
        from: "and",
        to: "or",
        description: "`and` to `or`",
    },
    TokenChange {
        from: "true",
        to: "False",
        description: "`True` to `False`",
    },
    TokenChange {
        from: "false",
        to: "True",
        description: "`False` to `True`",
    },
    TokenChange {
        from: " - ",
        to: " + ",
        description: "`-` to `+`",
    },
    TokenChange {
        from: " * ",
        to: " + ",
        description: "`*` to `+`",
    },
];

fn completion(program: &str) -> Completion {
    fenced("python", program)
}

fn reference(subject: &Subject) -> Option<&str> {
    subject.body.get("reference").and_then(Value::as_str)
}

fn wrong_completions(subject: &Subject) -> Vec<Probe> {
    let task = limited_task(subject);
    let probe = |purpose, program: String| Probe {
        purpose,
        completion: completion(&program),
        task: task.clone(),
    };
    let mutant = |(description, program): (&'static str, &str)| {
        probe(Purpose::Mutant(description), program.to_owned())
    };
    let mut probes = vec![mutant(IDLE)];
    let program = subject
        .solution
        .as_deref()
        .or(reference(subject))
        .filter(|program| !program.contains("```"));
    if let Some((program, name)) =
        program.and_then(|program| Some((program, tested_function(subject, program)?)))
    {
        for (description, value) in STUBS {
            let stub = format!("{program}\n\ndef {name}(*args, **kwargs):\n    return {value}\n");
            probes.push(probe(Purpose::Mutant(description), stub));
        }
    } else if tests(subject).any(|test| test.get("stdin").is_some()) {
        probes.push(mutant(ECHO));
    }
    if let Some(program) = program {
        let changed = change_tokens(program, CHANGES, "#");
        probes.extend(
            changed
                .into_iter()
                .map(|(change, program)| probe(Purpose::Variation(change), program)),
        );
    }
    probes
}

/// The task with a lower limit of work per test.
fn limited_task(subject: &Subject) -> Option<Task> {
    let mut body = subject.body.clone();
    let mut limits = body.get("limits").cloned().unwrap_or_else(|| json!({}));
    let seconds = limits
        .get("seconds")
        .and_then(Value::as_f64)
        .unwrap_or(MAX_SECONDS);
    limits
        .as_object_mut()?
        .insert("seconds".to_owned(), seconds.min(MAX_SECONDS).into());
    body.insert("limits".to_owned(), limits);
    // The reference is graded with the task of the row.
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

/// The last function of the program that the tests name. Helper functions are defined before it.
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
