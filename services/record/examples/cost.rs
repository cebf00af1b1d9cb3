//! Measures the cost of recording: processor time per grade for compression, spool and database,
//! with batches of 1,024 grades and completions of 2 kB. Run it on a quiet machine:
//!
//! ```sh
//! cargo run --release -p assay-record --example cost -- 64 1
//! ```
//!
//! The arguments are the number of batches and the compression level. Processor time is that of
//! this process, from `/proc/self/stat`. Completions consist of words of a fixed vocabulary and
//! numbers; the eight completions of a group share half of their sentences, like rollouts of one
//! prompt.

use std::sync::Arc;

use assay_core::{BatchId, Clock, Hash, Ids, RawJson, SystemClock};
use assay_record::prompt_list::{PromptFilter, PromptOrder};
use assay_record::{Body, BodyKind, Entry, GradeFilter, Record, RecordOptions, StoredGrade};

const GRADES: u32 = 1_024;
const COMPLETION: usize = 2_048;
const VOCABULARY: &[&str] = &[
    "so",
    "the",
    "answer",
    "is",
    "we",
    "have",
    "that",
    "therefore",
    "x",
    "y",
    "equals",
    "\\frac{1}{2}",
    "\\boxed{",
    "}",
    "let",
    "us",
    "consider",
    "multiply",
    "both",
    "sides",
    "by",
    "and",
    "then",
    "subtract",
    "which",
    "gives",
    "12",
    "36",
    "144",
    "sum",
    "of",
    "squares",
    "triangle",
    "angle",
    "because",
    "prime",
    "factor",
    "wait,",
    "check",
    "again",
    "number",
    "integer",
    "solution",
    "\n\n",
    "first",
    "second",
    "case",
    "if",
    "holds",
    "for",
    "all",
    "n",
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A completion of which half of the sentences are from `common`.
    fn completion(&mut self, common: &[String]) -> String {
        let mut text = String::with_capacity(COMPLETION + 128);
        while text.len() < COMPLETION {
            let roll = self.next() as usize;
            match common.get(roll % (2 * common.len())) {
                Some(sentence) => text.push_str(sentence),
                None => text.push_str(&self.text(60)),
            }
        }
        text
    }

    fn text(&mut self, length: usize) -> String {
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            // The square makes some words frequent, as in natural language.
            let roll = self.next() % 1_000;
            let word = roll * roll * VOCABULARY.len() as u64 / 1_000_000;
            text.push_str(VOCABULARY[word as usize]);
            text.push(' ');
            if roll.is_multiple_of(9) {
                text.push_str(&(self.next() % 10_000).to_string());
                text.push(' ');
            }
        }
        text
    }
}

fn batch(random: &mut Random, id: BatchId, step: i64, time_us: i64) -> Entry {
    let run: Option<Arc<str>> = Some("qwen3-0.6b-math".into());
    let caller: Arc<str> = "local".into();
    let policy: Arc<str> = "default".into();
    let mut bodies = Vec::new();
    let mut body = |kind, content: String| {
        let content = content.into_bytes();
        let hash = Hash::of(&content);
        bodies.push(Body {
            hash,
            kind,
            content,
        });
        hash
    };
    let mut grades = Vec::new();
    let (mut task_hash, mut prompt_hash) = (Hash::of(b""), Hash::of(b""));
    let mut common = Vec::new();
    for position in 0..GRADES {
        if position % 8 == 0 {
            let answer = random.next();
            task_hash = body(
                BodyKind::Task,
                format!(r#"{{"type":"math","answer":"{answer}"}}"#),
            );
            prompt_hash = body(BodyKind::Text, random.text(300));
            common = (0..40).map(|_| random.text(60)).collect();
        }
        let completion_hash = body(BodyKind::Text, random.completion(&common));
        let pass = random.next().is_multiple_of(2);
        let mut stored = StoredGrade::passed(id, position, completion_hash);
        stored.source.caller = caller.clone();
        stored.source.run = run.clone();
        stored.source.step = Some(step);
        stored.grade.id = Some(format!("s{step}-p{}-{}", position / 8, position % 8));
        stored.grade.group = Some(format!("s{step}-p{}", position / 8));
        stored.grade.prompt_key = Some(prompt_hash.to_string()[..32].to_owned());
        stored.grade.channel = "math/gsm-like".into();
        stored.grade.grader.name = "math".into();
        stored.source.task_hash = task_hash;
        stored.source.prompt_hash = Some(prompt_hash);
        stored.source.policy = policy.clone();
        stored.grade.verdict = Some(if pass { "correct" } else { "wrong_answer" }.into());
        stored.grade.pass = Some(pass);
        stored.grade.score = Some(f64::from(u8::from(pass)));
        stored.grade.reward = Some(f64::from(u8::from(pass)));
        stored.grade.measures = serde_json::from_str(r#"{"tokens":812}"#).expect("JSON");
        stored.grade.evidence = serde_json::from_str(
            r#"{"extracted":"\\frac{12}{36}","rule":"rational","expected":"1/3"}"#,
        )
        .expect("JSON");
        stored.source.meta = RawJson::stored(r#"{"tokens":812,"truncated":false}"#);
        stored.grade.work = random.next() % 1_000;
        stored.grade.time_us = time_us + i64::from(position);
        grades.push(stored.into());
    }
    Entry {
        batch: id,
        caller,
        run,
        step: Some(step),
        items: GRADES,
        received_us: time_us,
        grades,
        bodies,
        events: Vec::new(),
        claim: None,
    }
}

/// Processor time of this process (user and system) in microseconds.
fn processor_us() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc");
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |field: usize| fields[field].parse::<u64>().expect("a number of ticks");
    (ticks(11) + ticks(12)) * 10_000
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "a report for whoever runs it")]
async fn main() {
    let batches: i64 = std::env::args()
        .nth(1)
        .map_or(32, |text| text.parse().expect("a number of batches"));
    let folder = tempfile::tempdir().expect("a folder for the database");
    let path = folder.path().join("assay.db");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut options = RecordOptions::new(format!("sqlite://{}", path.display()));
    options.compression = std::env::args()
        .nth(2)
        .map_or(1, |text| text.parse().expect("a level"));
    let store = Record::open(&options, clock.clone())
        .await
        .expect("a store");
    let ids = Ids::random();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut recording, mut all_in) = (0, 0);
    let mut recording_time = std::time::Duration::ZERO;
    // Entries are generated in slices and dropped, so that generating them is not measured and they
    // do not fill the memory.
    let mut step = 0;
    while step < batches {
        let slice: Vec<_> = (step..batches.min(step + 16))
            .map(|step| {
                Arc::new(batch(
                    &mut random,
                    ids.batch(clock.as_ref()),
                    step,
                    clock.unix_us(),
                ))
            })
            .collect();
        step += 16;
        let (before, started) = (processor_us(), clock.monotonic());
        for entry in slice {
            store.append(entry).await.expect("recorded");
        }
        recording += processor_us() - before;
        recording_time += clock.monotonic() - started;
        // Reads include pending entries, so they do not show when the database has all of them.
        let filter = GradeFilter::default();
        store.grades(&filter, None, 1).await.expect("a page");
        wait_applied(&store).await;
        all_in += processor_us() - before;
    }
    let before = processor_us();
    store.close().await.expect("closed");
    all_in += processor_us() - before;
    let grades = (batches * i64::from(GRADES)) as f64;
    println!("grades                       {grades:>12}");
    println!(
        "until recorded, µs per grade {:>12.2}  (processor time, includes the writer's)",
        recording as f64 / grades
    );
    println!(
        "in total, µs per grade       {:>12.2}  (processor time)",
        all_in as f64 / grades
    );
    println!(
        "recording a batch, ms        {:>12.2}",
        recording_time.as_secs_f64() * 1e3 / batches as f64
    );
    let store = Record::open(&options, clock.clone())
        .await
        .expect("a store");
    let text = |text: &str| Some(text.to_owned());
    let all = GradeFilter::default;
    let newest = store.grades(&all(), None, 1).await.expect("a page");
    let prompt = newest.grades[0].grade.prompt_key.clone();
    for (name, filter) in [
        ("all", all()),
        (
            "run",
            GradeFilter {
                run: text("qwen3-0.6b-math"),
                ..all()
            },
        ),
        (
            "run and step",
            GradeFilter {
                run: text("qwen3-0.6b-math"),
                step: Some(batches / 2),
                ..all()
            },
        ),
        (
            "range of steps",
            GradeFilter {
                run: text("qwen3-0.6b-math"),
                step_min: Some(batches / 4),
                step_max: Some(batches / 4 + 9),
                ..all()
            },
        ),
        (
            "steps and verdicts",
            GradeFilter {
                run: text("qwen3-0.6b-math"),
                step_max: Some(batches / 4),
                verdicts: vec!["wrong_answer".to_owned(), "no_answer".to_owned()],
                ..all()
            },
        ),
        (
            "prompt",
            GradeFilter {
                run: text("qwen3-0.6b-math"),
                prompt_key: prompt,
                ..all()
            },
        ),
        (
            "grader",
            GradeFilter {
                grader: text("math"),
                ..all()
            },
        ),
        (
            "verdict",
            GradeFilter {
                verdicts: vec!["correct".to_owned()],
                ..all()
            },
        ),
        (
            "verdict, absent",
            GradeFilter {
                verdicts: vec!["no_answer".to_owned()],
                ..all()
            },
        ),
        (
            "run and verdict",
            GradeFilter {
                run: text("qwen3-0.6b-math"),
                verdicts: vec!["correct".to_owned()],
                ..all()
            },
        ),
        (
            "item",
            GradeFilter {
                item: text("s0-p1-1"),
                ..all()
            },
        ),
    ] {
        let started = clock.monotonic();
        let page = store.grades(&filter, None, 100).await.expect("a page");
        let took = (clock.monotonic() - started).as_secs_f64() * 1e3;
        println!(
            "list by {name:<20} {took:>12.2} ms, {} rows",
            page.grades.len()
        );
    }
    let (any, order) = (PromptFilter::default(), PromptOrder::LowestRate);
    let started = clock.monotonic();
    let run = "qwen3-0.6b-math";
    let counts = store.prompt_counts(run, &any).await.expect("counts");
    let counted = clock.monotonic();
    let prompts = store.prompt_list(run, &any, order, 0, 50).await;
    let listed = clock.monotonic();
    println!(
        "{} prompts: counts {:.2} ms, a page {:.2} ms, {} rows",
        counts.prompts,
        (counted - started).as_secs_f64() * 1e3,
        (listed - counted).as_secs_f64() * 1e3,
        prompts.expect("a page").len()
    );
    store.close().await.expect("closed");
    let size = std::fs::metadata(&path).map_or(0, |file| file.len());
    println!(
        "database, bytes per grade    {:>12.0}",
        size as f64 / grades
    );
}

async fn wait_applied(store: &Record) {
    while store.state().pending > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
