//! `schemas`: compares the validation of documents by JSON Schemas with `jsonschema` and
//! `jsonschema-rs` in Python, in one run on one machine. All sides compile their schemas first;
//! then the same documents, valid and invalid, are validated as trees, and graded from their text:
//! on this side that includes finding the document and writing evidence. At last each document
//! comes with a schema of its own, which is read, checked and compiled as well. Times are processor
//! time, each side the best of alternating rounds.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context, ensure};
use assay_core::{Grader, GraderTable, Item, PrepareContext, Prepared, Task};
use assay_documents::schema::Dialect;
use assay_documents::{Json, Schema};
use assay_structured::StructuredGrader;
use assay_tests::compared;
use assay_tests::processes::cpu_of_this;
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

/// Compare the speed of validation with `jsonschema` and `jsonschema-rs` in Python.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The Python interpreter to compare with, one for which both packages are installed
    #[arg(long, default_value = "python3")]
    python: String,
    /// Rounds of each side
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Number of times Python validates each small document per round
    #[arg(long, default_value_t = 300)]
    times: usize,
}

/// Repetitions on this side for each one of Python, because this side is faster and the clock is
/// coarse.
const OFTENER: usize = 20;

/// The packages, and their repetitions for each one of the slowest.
const PACKAGES: [(&str, usize); 2] = [("jsonschema", 1), ("jsonschema_rs", OFTENER)];

/// A schema and documents for it.
#[derive(Deserialize)]
struct Set {
    schema: Value,
    /// The array that is repeated to make a document larger.
    grow: Option<String>,
    documents: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    valid: bool,
    value: Value,
}

/// Number of elements in arrays of larger documents.
const LARGER: usize = 200;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let text = std::fs::read_to_string("tests/load/schemas/documents.json")
        .context("run in the root of the repository")?;
    let sets: Vec<Set> = serde_json::from_str(&text)?;
    compare("small documents", &sets, arguments, arguments.times)?;
    compare(
        "documents of 200 elements",
        &larger(&sets),
        arguments,
        arguments.times.div_ceil(30),
    )
}

/// The documents, enlarged by repeating their arrays.
fn larger(sets: &[Set]) -> Vec<Set> {
    let grown = |key: &str, sample: &Sample| {
        let mut value = sample.value.clone();
        let elements = value
            .get_mut(key)?
            .as_array_mut()
            .filter(|elements| !elements.is_empty())?;
        // Invalid elements come last, so that all others are validated first.
        let first = elements[0].clone();
        let valid = if sample.valid {
            elements.clone()
        } else {
            vec![first; usize::from(elements.len() > 1)]
        };
        let fill: Vec<Value> = valid
            .iter()
            .cycle()
            .take(LARGER.saturating_sub(elements.len()))
            .cloned()
            .collect();
        elements.splice(0..0, fill);
        Some(Sample {
            valid: sample.valid,
            value,
        })
    };
    let set = |set: &Set| {
        let key = set.grow.as_deref()?;
        let documents = set
            .documents
            .iter()
            .filter_map(|sample| grown(key, sample))
            .collect();
        Some(Set {
            schema: set.schema.clone(),
            grow: None,
            documents,
        })
    };
    sets.iter().filter_map(set).collect()
}

/// One document, prepared for this side.
struct Ready {
    schema: Schema,
    /// The task, with a comment in its schema that differs in each round.
    task: Value,
    prepared: Arc<dyn Prepared>,
    tree: Json,
    item: Item,
    valid: bool,
}

#[expect(clippy::print_stdout, reason = "a report is what this binary is for")]
fn compare(what: &str, sets: &[Set], arguments: &Arguments, times: usize) -> anyhow::Result<()> {
    let documents = ready(sets)?;
    let (mut peers, mut here) = ([[f64::INFINITY; 3]; 2], [f64::INFINITY; 3]);
    for _ in 0..arguments.rounds {
        for ((package, oftener), peer) in PACKAGES.into_iter().zip(&mut peers) {
            let times = times * oftener;
            compared::best(peer, in_python(&arguments.python, package, sets, times)?);
        }
        compared::best(
            &mut here,
            [
                validated(&documents, times * OFTENER)?,
                graded(&documents, times * OFTENER)?,
                with_schema(&documents, times)?,
            ],
        );
    }
    let bytes: usize = documents
        .iter()
        .map(|document| document.item.completion.bytes())
        .sum();
    println!(
        "{what}: {} of {} bytes on average",
        documents.len(),
        bytes / documents.len()
    );
    let names = ["validated", "from text", "with the schema"];
    for (at, (name, here)) in names.into_iter().zip(here).enumerate() {
        print!("  {name}: here {:.2} us a document", 1e6 * here);
        for ((package, _), peer) in PACKAGES.iter().zip(&peers) {
            let (peer, ratio) = (peer[at], peer[at] / here);
            print!("; {package} {:.2} us, {ratio:.2} x", 1e6 * peer);
        }
        println!();
    }
    Ok(())
}

fn ready(sets: &[Set]) -> anyhow::Result<Vec<Ready>> {
    let table = GraderTable::new(Vec::new());
    let cx = PrepareContext::new(&table);
    let mut documents = Vec::new();
    for set in sets {
        let schema =
            Schema::compile(set.schema.clone(), Dialect::default()).map_err(anyhow::Error::msg)?;
        let task =
            Task::from_json(&json!({"type": "structured", "schema": set.schema}).to_string())?;
        let prepared = StructuredGrader.prepare(&task, &cx)?;
        let mut own = set.schema.clone();
        own["$comment"] = compared::ROUND.into();
        for Sample { valid, value } in &set.documents {
            documents.push(Ready {
                schema: schema.clone(),
                task: json!({"type": "structured", "schema": own}),
                prepared: Arc::clone(&prepared),
                tree: Json::from(value),
                item: Item::text(&value.to_string()),
                valid: *valid,
            });
        }
    }
    Ok(documents)
}

/// Processor time of a document validated as a tree, in seconds.
fn validated(documents: &[Ready], times: usize) -> anyhow::Result<f64> {
    let begun = cpu_of_this();
    for _ in 0..times {
        for document in documents {
            let holds = document.schema.holds(black_box(&document.tree));
            ensure!(
                holds == document.valid,
                "the sides disagree about {}",
                document.tree
            );
        }
    }
    Ok(cpu_of_this().saturating_sub(begun).as_secs_f64() / (times * documents.len()) as f64)
}

/// Processor time of a document graded from its text, in seconds.
fn graded(documents: &[Ready], times: usize) -> anyhow::Result<f64> {
    let items: Vec<_> = documents
        .iter()
        .map(|document| (document.prepared.as_ref(), &document.item, document.valid))
        .collect();
    compared::graded(&items, times)
}

/// Processor time of a document graded from its text and that of its schema, in seconds.
fn with_schema(documents: &[Ready], times: usize) -> anyhow::Result<f64> {
    let items: Vec<_> = documents
        .iter()
        .map(|document| (document.task.clone(), &document.item, document.valid))
        .collect();
    compared::with_task(&StructuredGrader, &items, times)
}

/// Processor times of a document in Python, in seconds: validated, read and validated, and with its
/// schema.
fn in_python(python: &str, package: &str, sets: &[Set], times: usize) -> anyhow::Result<[f64; 3]> {
    let sample = |sample: &Sample| json!({"text": sample.value.to_string(), "valid": sample.valid});
    let set = |set: &Set| json!({"schema": set.schema, "documents": set.documents.iter().map(sample).collect::<Value>()});
    let work = json!({"package": package, "times": times, "sets": sets.iter().map(set).collect::<Value>()});
    compared::in_python(python, "tests/load/schemas/validate.py", &work)
}
