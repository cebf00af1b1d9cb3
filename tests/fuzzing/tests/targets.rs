//! Runs every fuzz target on its seeds, its regression cases, and random mutations of both. The
//! mutations are the same on every run; `PROPTEST_CASES` sets their number.
//!
//! A process of its own: the sandbox for queries configures SQLite for the whole process.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use assay_core::{BatchId, Hash, RawJson};
use assay_fuzzing::{TARGETS, Target};
use assay_record::{
    Body, BodyKind, Claim, Entry, Event, NewGrade, RequestKey, SealedReply, StoredGrade,
};
use assay_rewards::channel::counts::Calibration;
use assay_wasm::fuzzing::{NEW_MEMORY, freeze, freeze_again, new_memory};
use assay_worker::fuzzing::{reply, write};
use assay_worker::query::{Column, ForeignKey, Rows, Table, Value};
use assay_worker::{program, query};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a target: its seeds, then its regression cases.
fn inputs(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folders = ["seeds", "cases"].map(|kind| folder().join(kind).join(target));
    let files = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

#[test]
fn every_target_has_a_binary_and_seeds() {
    let manifest = std::fs::read_to_string(folder().join("fuzz/Cargo.toml")).unwrap();
    let binaries: BTreeSet<_> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"targets/"))
        .collect();
    let binaries: BTreeSet<_> = binaries
        .iter()
        .filter_map(|name| name.strip_suffix(".rs\""))
        .collect();
    assert_eq!(binaries, TARGETS.iter().map(|target| target.name).collect());
    assert!(TARGETS.iter().map(|target| &target.name).eq(MUTATED));
    for target in TARGETS {
        assert!(
            !inputs(target.name).is_empty(),
            "`{}` has no seeds",
            target.name
        );
    }
    for kind in ["seeds", "cases"] {
        for entry in std::fs::read_dir(folder().join(kind)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(
                TARGETS.iter().any(|target| target.name == name),
                "no target for `{kind}/{name}`"
            );
        }
    }
}

#[test]
fn targets_accept_their_seeds_and_cases() {
    for target in TARGETS {
        for (path, bytes) in inputs(target.name) {
            let result = std::panic::catch_unwind(|| (target.run)(&bytes));
            assert!(
                result.is_ok(),
                "`{}` fails on {}",
                target.name,
                path.display()
            );
        }
    }
}

/// Generates a test for each target, with the target's name.
macro_rules! mutated {
    ($($name:ident),* $(,)?) => {
        const MUTATED: &[&str] = &[$(stringify!($name)),*];

        mod accepts_mutations_of {
            $(#[test]
            fn $name() {
                super::mutate(super::TARGETS.iter().find(|target| target.name == stringify!($name)).unwrap());
            })*
        }
    };
}

mutated!(
    chat_template,
    configuration,
    document,
    extraction,
    frozen,
    guest_message,
    instructions,
    judge_reply,
    math_decide,
    math_read,
    parquet,
    policy,
    request,
    row_template,
    rows,
    spool,
    sql_image,
    sql_statement,
    sql_text,
    tool_calls,
    worker_frames,
);

/// A change to an input.
#[derive(Debug, Clone)]
enum Change {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, Index),
    Repeat(Index, Index),
}

impl Change {
    fn any() -> impl Strategy<Value = Self> {
        let token = prop_oneof![
            prop::collection::vec(any::<u8>(), 1..4),
            prop::sample::select(vec![
                "\"", "\\", "{", "}", "[", "]", ",", "\n", "0", "-", "1e308", "null", "{{", "}}"
            ])
            .prop_map(|token| token.as_bytes().to_vec()),
        ];
        prop_oneof![
            (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Self::Set(at, byte)),
            (any::<Index>(), token).prop_map(|(at, bytes)| Self::Insert(at, bytes)),
            (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Self::Remove(from, to)),
            (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Self::Repeat(from, to)),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        let size = bytes.len() + 1;
        let range = |from: &Index, to: &Index| {
            let (from, to) = (from.index(size), to.index(size));
            from.min(to)..from.max(to)
        };
        match self {
            Self::Set(at, byte) => {
                if let Some(old) = bytes.get_mut(at.index(size)) {
                    *old = *byte;
                }
            }
            Self::Insert(at, inserted) => {
                let at = at.index(size);
                bytes.splice(at..at, inserted.iter().copied());
            }
            Self::Remove(from, to) => {
                bytes.drain(range(from, to));
            }
            Self::Repeat(from, to) => {
                let copied = bytes[range(from, to)].to_vec();
                bytes.extend(copied);
            }
        }
    }
}

/// Runs a target on mutations of its inputs; a failure is reported with the smallest mutations that
/// cause it.
fn mutate(target: &Target) {
    let inputs = inputs(target.name);
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mutations = (any::<Index>(), prop::collection::vec(Change::any(), 1..6));
    let result = runner.run(&mutations, |(input, changes)| {
        let mut bytes = input.get(&inputs).1.clone();
        for change in &changes {
            change.apply(&mut bytes);
        }
        (target.run)(&bytes);
        Ok(())
    });
    if let Err(error) = result {
        panic!("`{}`: {error}", target.name);
    }
}

#[test]
fn worker_seeds_are_valid_replies() {
    let mut count = 0;
    for (path, bytes) in inputs("worker_frames")
        .into_iter()
        .filter(|(path, _)| path.starts_with(folder().join("seeds")))
    {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_reply = match name.split('_').next().unwrap() {
            "program" => reply::<program::Request>(&bytes).is_ok(),
            "query" => reply::<query::Request>(&bytes).is_ok(),
            _ => continue,
        };
        assert!(
            is_reply,
            "`{name}` is not a reply of this release; run `writes_worker_seeds`"
        );
        count += 1;
    }
    assert_eq!(count, 6);
}

#[test]
#[ignore = "regenerates replies in `seeds/worker_frames`; run it after a change of the messages"]
fn writes_worker_seeds() {
    let ran = |end: program::End, stdout: &[u8], stderr: &[u8]| {
        let (stdout, stderr) = (stdout.to_vec(), stderr.to_vec());
        program::Reply::Ran(program::Ran {
            end,
            driver_evidence: None,
            stdout,
            stderr,
            work: 20_000_000,
            memory_bytes: 9_000_000,
            files: Vec::new(),
        })
    };
    let image = program::ImageInfo {
        name: "python".to_owned(),
        language: "python".to_owned(),
        hash: "0".repeat(64),
        version: "CPython 3.13".to_owned(),
        modules: vec!["abc".to_owned(), "re".to_owned()],
    };
    for (name, bytes) in [
        (
            "program_ran",
            write(&ran(
                program::End::Returned("[1,2]".to_owned()),
                b"out\n",
                b"",
            )),
        ),
        (
            "program_exited",
            write(&ran(program::End::Exited(-3), b"", b"Traceback\n")),
        ),
        (
            "program_images",
            write(&program::Reply::Images(vec![image])),
        ),
        ("query_ran", write(&query::Reply::Ran(runs()))),
        (
            "query_described",
            write(&query::Reply::Described(vec![table()])),
        ),
        (
            "query_built",
            write(&query::Reply::Built(Ok(b"SQLite format 3\0"
                .to_vec()
                .into()))),
        ),
    ] {
        std::fs::write(
            folder().join("seeds/worker_frames").join(name),
            bytes.unwrap(),
        )
        .unwrap();
    }
}

#[test]
fn frozen_seeds_are_thawed() {
    for (path, bytes) in inputs("frozen") {
        let is_seed = path.starts_with(folder().join("seeds"));
        assert!(
            !is_seed || freeze_again(&bytes).is_some(),
            "`{}`; run `writes_frozen_seeds`",
            path.display()
        );
    }
}

#[test]
#[ignore = "regenerates `seeds/frozen`; run it after a change of the format"]
fn writes_frozen_seeds() {
    let mut changed = new_memory();
    changed[70_000] = 99;
    changed.extend((0..NEW_MEMORY).map(|at| (at % 251) as u8));
    changed[300_000..500_000].fill(0);
    let text = b"line\n".repeat(30);
    for (name, memory, files) in [
        ("new", new_memory(), [].as_slice()),
        ("changed", changed, &[]),
        (
            "files",
            new_memory(),
            &[("a/b/c.txt", &text[..]), ("d", b"")],
        ),
    ] {
        std::fs::write(
            folder().join("seeds/frozen").join(name),
            freeze(&memory, files).unwrap(),
        )
        .unwrap();
    }
}

/// Runs that end with rows, without, and with an error.
fn runs() -> Vec<Vec<query::Ran>> {
    let mut rows = Rows::new(2);
    rows.push([Value::Integer(1), Value::Text(b"x")]);
    rows.push([Value::Null, Value::Real(2.5)]);
    rows.push([Value::Blob(b"\0\xff"), Value::Integer(-1)]);
    let run = |end: query::End, columns: &[&str], rows: Rows| {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        vec![query::Ran {
            end,
            columns,
            rows,
            steps: 42,
        }]
    };
    vec![
        run(query::End::Rows, &["a", "b"], rows),
        run(query::End::OutOfSteps, &["n"], Rows::default()),
        run(
            query::End::Error("no such column: z".to_owned()),
            &[],
            Rows::default(),
        ),
    ]
}

fn table() -> Table {
    let column = |name: &str, declared: &str, not_null: bool| Column {
        name: name.to_owned(),
        declared: declared.to_owned(),
        not_null,
        has_null: !not_null,
        is_distinct: not_null,
    };
    let mut sample = Rows::new(2);
    sample.push([Value::Integer(1), Value::Text(b"x")]);
    sample.push([Value::Integer(2), Value::Null]);
    Table {
        name: "t".to_owned(),
        columns: vec![column("a", "integer", true), column("b", "text", false)],
        keys: vec![vec![0]],
        has_primary_key: true,
        foreign_keys: vec![ForeignKey {
            columns: vec![1],
            table: "u".to_owned(),
            references: vec!["c".to_owned()],
        }],
        count: 2,
        sample,
    }
}

#[test]
fn spool_seeds_hold_entries() {
    for (path, bytes) in inputs("spool")
        .into_iter()
        .filter(|(path, _)| path.starts_with(folder().join("seeds")))
    {
        let (cut, bytes) = bytes.split_first().unwrap();
        let frame = assay_record::fuzzing::seal(&bytes[usize::from(*cut)..]);
        let found = assay_record::fuzzing::decode(&frame);
        assert!(
            found.is_some(),
            "{} is not an entry of this release; run `writes_spool_seeds`",
            path.display()
        );
    }
}

#[test]
#[ignore = "regenerates `seeds/spool`; run it after a change of the frame layout"]
fn writes_spool_seeds() {
    let seeds = folder().join("seeds/spool");
    std::fs::create_dir_all(&seeds).unwrap();
    for (name, noise, entry) in [
        ("events", b"".as_slice(), events()),
        ("grades", b"AsFr", grades()),
        ("reply", b"torn", replied()),
    ] {
        let payload = assay_record::fuzzing::payload(&entry).unwrap();
        let bytes = [&[u8::try_from(noise.len()).unwrap()], noise, &payload].concat();
        std::fs::write(seeds.join(name), bytes).unwrap();
    }
}

fn events() -> Entry {
    let calibration = Calibration {
        channel: "math/default".to_owned(),
        version: 1,
        method: "labels".to_owned(),
        right: 10.0,
        right_rejected: 1.0,
        wrong: 10.0,
        wrong_passed: 0.5,
        time_us: 1,
    };
    Entry::of_events(
        BatchId::from(7),
        "local".into(),
        vec![Event::Calibrated(calibration)],
        1,
    )
}

/// An entry with two grades and their bodies, one of them compressed.
fn grades() -> Entry {
    let mut entry = Entry {
        run: Some("run".into()),
        step: Some(3),
        items: 2,
        ..events()
    };
    entry.events.clear();
    for (position, content) in (0..).zip(["4".to_owned(), "so it is ".repeat(40)]) {
        let content = content.into_bytes();
        let body = Body {
            hash: Hash::of(&content),
            kind: BodyKind::Text,
            content,
        };
        entry.grades.push(grade(&entry, position, body.hash));
        entry.bodies.push(body);
    }
    entry
}

fn replied() -> Entry {
    let reply = SealedReply {
        media: "application/json".to_owned(),
        body: b"{\"items\":[]}".repeat(10),
    };
    let claim = Claim {
        key: RequestKey {
            caller: "local".into(),
            key: "key".to_owned(),
        },
        request: Hash::of(b"request"),
        batch: BatchId::from(7),
        time_us: 1,
        reply: Some(reply),
    };
    Entry {
        claim: Some(claim),
        ..events()
    }
}

fn grade(entry: &Entry, position: u32, completion_hash: Hash) -> NewGrade {
    let mut stored = StoredGrade::passed(entry.batch, position, completion_hash);
    stored.source.caller = entry.caller.clone();
    stored.source.run = entry.run.clone();
    stored.source.step = entry.step;
    stored.grade.id = Some("item".to_owned());
    stored.grade.prompt_key = Some("prompt".to_owned());
    stored.grade.channel = "math/default".into();
    stored.grade.grader.name = "math".into();
    stored.grade.advantage = Some(0.5);
    stored.grade.measures = serde_json::from_str(r#"{"tokens":3}"#).unwrap();
    stored.source.meta = RawJson::stored("{}");
    stored.grade.time_us = 1;
    stored.into()
}
