//! `code`: the gold is the `reference` or the solution of the dataset. Mutants replace the tested
//! function by a stub.

use assay_core::{Completion, Task};
use serde_json::{Value, json};

use super::mutations::{self, Lexicon};
use super::probe::{Mutation, Probe, Prober, Purpose, fenced};
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
        "files",
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
    wrong_completions,
    tries_prompt: |_| false,
    mutations: |subject| {
        let program = program(subject).unwrap_or_default();
        let changed = mutations::mutations(program, syntax(subject).lexicon).into_iter();
        let mutation = |(description, program): (String, String)| Mutation {
            description,
            completion: completion(&program),
        };
        changed.map(mutation).collect()
    },
    difference: |subject| {
        let syntax = syntax(subject);
        let program = program(subject).filter(|_| syntax.is_python)?;
        let function = tested_function(subject, syntax, program);
        let name = function.or_else(|| tested_name(subject, syntax, program))?;
        let prompt = subject.prompt.as_deref();
        mutations::difference(&subject.body, prompt, program, name, function.is_none())
    },
    ..Prober::BASE
};

/// Limit of work for a changed program, in seconds. Such programs often do not end.
const MAX_SECONDS: f64 = 0.5;

/// How programs of a language are changed.
struct Syntax {
    /// A program that does nothing. It has a statement, without which a text is no program.
    idle: &'static str,
    /// A program that prints its input.
    echo: &'static str,
    /// What can precede the name of a function that a stub can replace.
    functions: &'static [&'static str],
    /// Descriptions of stubs and the expressions that they return.
    stubs: &'static [(&'static str, &'static str)],
    /// Definition of a function with this name that returns this expression, to append to the
    /// program.
    stub: fn(&str, &str) -> String,
    lexicon: &'static Lexicon,
    is_python: bool,
}

const PYTHON: Syntax = Syntax {
    idle: "unused = 0",
    echo: "import sys\nprint(sys.stdin.read(), end='')",
    functions: &["def ", "async def "],
    stubs: &[
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
    ],
    stub: |name, value| format!("def {name}(*args, **kwargs):\n    return {value}\n"),
    lexicon: &mutations::PYTHON,
    is_python: true,
};

/// Also used for TypeScript.
const JAVASCRIPT: Syntax = Syntax {
    idle: "const unused = 0;",
    echo: "process.stdout.write(require('fs').readFileSync(0));",
    functions: &["function ", "async function ", "var ", "let "],
    stubs: &[
        ("a function that returns `null`", "null"),
        ("a function that returns its first argument", "args[0]"),
        ("a function that returns `true`", "true"),
        ("a function that returns `false`", "false"),
        ("a function that returns 0", "0"),
        ("a function that returns an empty array", "[]"),
        ("a function that returns an empty text", "''"),
    ],
    stub: |name, value| format!("{name} = function (...args) {{ return {value}; }};\n"),
    lexicon: &mutations::JAVASCRIPT,
    is_python: false,
};

/// C and C++. Functions have types, so that no stub fits all of them.
const CPP: Syntax = Syntax {
    idle: "int unused = 0;",
    echo: "#include <stdio.h>\nint main() { int c; while ((c = getchar()) != EOF) putchar(c); }",
    functions: &[],
    stubs: &[],
    stub: |_, _| String::new(),
    lexicon: &mutations::CPP,
    is_python: false,
};

/// The syntax of the task's language.
fn syntax(subject: &Subject) -> &'static Syntax {
    let language = subject.body.get("language").and_then(Value::as_str);
    let language = language.unwrap_or_default().trim().to_ascii_lowercase();
    let is = |names: &[&str]| names.iter().any(|name| language.starts_with(name));
    if is(&["javascript", "js", "node", "typescript", "ts"]) {
        &JAVASCRIPT
    } else if is(&["c++", "cpp", "cxx", "cc", "g++"])
        || language.trim_end_matches(char::is_numeric) == "c"
    {
        &CPP
    } else {
        &PYTHON
    }
}

/// The program in a block without a language, which is extracted for any language.
fn completion(program: &str) -> Completion {
    fenced("", program)
}

fn reference(subject: &Subject) -> Option<&str> {
    subject.body.get("reference").and_then(Value::as_str)
}

/// The program that should pass.
fn program(subject: &Subject) -> Option<&str> {
    let program = subject.solution.as_deref().or(reference(subject));
    program.filter(|program| !program.contains("```"))
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
    let syntax = syntax(subject);
    let mut probes = vec![mutant(("a program that does nothing", syntax.idle))];
    let program = program(subject);
    if let Some((program, name)) =
        program.and_then(|program| Some((program, tested_function(subject, syntax, program)?)))
    {
        for (description, value) in syntax.stubs {
            let stub = format!("{program}\n\n{}", (syntax.stub)(name, value));
            probes.push(probe(Purpose::Mutant(description), stub));
        }
    } else if tests(subject).any(|test| test.get("stdin").is_some()) {
        // Passes only if the tests do not check standard output.
        probes.push(mutant(("a program that writes its input", syntax.echo)));
    }
    probes
}

/// The task with a lower limit of work per test.
pub(super) fn limited_task(subject: &Subject) -> Option<Task> {
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
fn tested_function<'a>(subject: &Subject, syntax: &Syntax, program: &'a str) -> Option<&'a str> {
    last_tested(subject, functions(syntax, program, ""))
}

/// The same, or a method of a class.
fn tested_name<'a>(subject: &Subject, syntax: &Syntax, program: &'a str) -> Option<&'a str> {
    tested_function(subject, syntax, program)
        .or_else(|| last_tested(subject, functions(syntax, program, "    ")))
}

/// The names of the functions of the program that are defined with this indentation.
fn functions<'a>(syntax: &Syntax, program: &'a str, indentation: &str) -> Vec<&'a str> {
    let names = program.lines().filter_map(|line| {
        let line = line.strip_prefix(indentation)?;
        let mut starts = syntax.functions.iter();
        let rest = starts.find_map(|start| line.strip_prefix(start))?;
        rest.split(['(', '=', ':', '<']).next().map(str::trim)
    });
    names.collect()
}

fn last_tested<'a>(subject: &Subject, names: Vec<&'a str>) -> Option<&'a str> {
    let is_tested = |name: &&str| {
        tests(subject).any(|test| {
            let text = |field: &str| test.get(field).and_then(Value::as_str).unwrap_or_default();
            let code = text("assert").contains(*name) || text("pytest").contains(*name);
            text("call") == *name || code
        })
    };
    names.into_iter().rev().find(is_tested)
}

/// The functions that the tests name: the tested one of the program that should pass, or those of
/// `call` tests.
pub(crate) fn tested_names(subject: &Subject) -> Vec<&str> {
    let syntax = syntax(subject);
    if let Some(name) = program(subject).and_then(|program| tested_name(subject, syntax, program)) {
        return vec![name];
    }
    let mut names: Vec<&str> = tests(subject)
        .filter_map(|test| test.get("call")?.as_str())
        .collect();
    names.dedup();
    names
}
