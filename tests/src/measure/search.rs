//! `search`: the size of the index of texts, what it costs the writer, and the times of searches.
//! Completions have 120 words and the prompts of eight grades 30 words, drawn from 50,000 by Zipf's
//! law. On SQLite, the grades are recorded twice, without and with a search, in a temporary folder.
//! The times are those of reads in this process, a page of 100.

#![expect(clippy::print_stdout, reason = "a report for whoever runs it")]

use std::sync::Arc;
use std::time::Duration;

use assay_core::{BatchId, Clock, GradeId, Hash, Ids, SystemClock};
use assay_record::{Body, BodyKind, Entry, GradeFilter, Record, RecordOptions, StoredGrade};
use clap::Args;

/// Measure the search for texts.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Number of grades
    #[arg(default_value_t = 200_000)]
    grades: u64,
    /// New database on a PostgreSQL server, which is measured instead of SQLite
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

/// Grades of a batch.
const GRADES: u32 = 256;
/// Grades of a prompt.
const GROUP: u32 = 8;
/// Batches of a run.
const RUN: u64 = 40;
const VOCABULARY: f64 = 50_000.0;
const PAGE: u32 = 100;
const ROUNDS: usize = 40;

/// A sequence of numbers, equal in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A word; the one with the number `n` is about as frequent as `1 / n`.
    fn word(&mut self) -> String {
        let uniform = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        format!("word{}", VOCABULARY.powf(uniform) as u64)
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

fn entry(number: u64, id: BatchId, random: &mut Random) -> Entry {
    let run: Arc<str> = format!("run-{}", number / RUN).into();
    let mut entry = Entry {
        batch: id,
        caller: "local".into(),
        run: Some(run),
        step: Some((number % RUN).cast_signed()),
        items: GRADES,
        received_us: 0,
        grades: Vec::new(),
        bodies: Vec::new(),
        events: Vec::new(),
        claim: None,
    };
    let mut prompt = Hash::of(b"");
    for position in 0..GRADES {
        let mut body = |text: String| {
            let content = text.into_bytes();
            let hash = Hash::of(&content);
            entry.bodies.push(Body {
                hash,
                kind: BodyKind::Text,
                content,
            });
            hash
        };
        if position % GROUP == 0 {
            prompt = body(random.words(30));
        }
        let pass = position % 2 == 0;
        let mut stored = StoredGrade::passed(id, position, body(random.words(120)));
        stored.source.caller = entry.caller.clone();
        stored.source.run.clone_from(&entry.run);
        stored.source.step = entry.step;
        stored.source.prompt_hash = Some(prompt);
        stored.grade.pass = Some(pass);
        stored.grade.verdict = Some(if pass { "correct" } else { "wrong_answer" }.into());
        entry.grades.push(stored.into());
    }
    entry
}

/// Records grades; returns the seconds until all are applied.
async fn fill(options: &RecordOptions, clock: &Arc<dyn Clock>, grades: u64) -> anyhow::Result<f64> {
    let record = Record::open(options, Arc::clone(clock)).await?;
    let (ids, mut random) = (Ids::random(), Random(1));
    let mut generating = Duration::ZERO;
    let started = clock.monotonic();
    for number in 0..grades.div_ceil(u64::from(GRADES)) {
        let began = clock.monotonic();
        let entry = entry(number, ids.batch(clock.as_ref()), &mut random);
        generating += clock.monotonic() - began;
        record.append(Arc::new(entry)).await?;
        while record.state().pending > 64 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    record.close().await?;
    Ok((clock.monotonic() - started - generating).as_secs_f64())
}

/// Prints the times of successive pages of a search, and the grades of a page.
async fn measure(
    record: &Record,
    clock: &Arc<dyn Clock>,
    name: &str,
    filter: &GradeFilter,
) -> anyhow::Result<()> {
    let mut times = Vec::new();
    let (mut before, mut grades, mut pages): (Option<GradeId>, usize, usize) = (None, 0, 0);
    for _ in 0..ROUNDS {
        let started = clock.monotonic();
        let page = record.grades(filter, before, PAGE).await?;
        times.push((clock.monotonic() - started).as_secs_f64() * 1e3);
        grades += page.grades.len();
        pages += 1;
        // Successive pages, and the first one again after the last.
        before = page.next;
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{name:32} {:>8.1} {:>8.1} {:>8.1} {:>8.1}",
        at(0.5),
        at(0.95),
        at(1.0),
        grades as f64 / pages as f64
    );
    Ok(())
}

/// The searches, with their names.
fn searches(last_run: u64) -> anyhow::Result<Vec<(String, GradeFilter)>> {
    let texts = [
        ("frequent word", "word1"),
        ("less frequent word", "word100"),
        ("rare word", "word40123"),
        ("no match", "nowhere"),
        ("two frequent words", "word1 word2"),
        ("frequent and rare word", "word1 word40123"),
        ("phrase of frequent words", "\"word1 word2\""),
        ("phrase of rarer words", "\"word50 word60\""),
        ("frequent without frequent", "word1 -word2"),
        ("prefix of 111 words", "word123*"),
    ];
    let mut searches = Vec::new();
    for (name, text) in texts {
        let text = GradeFilter {
            text: Some(text.parse()?),
            ..GradeFilter::default()
        };
        searches.push((name.to_owned(), text));
    }
    let wrong = || vec!["wrong_answer".to_owned()];
    let frequent = searches[0].1.clone();
    let prefix = searches[9].1.clone();
    let oldest = |filter: &GradeFilter| GradeFilter {
        run: Some("run-0".to_owned()),
        ..filter.clone()
    };
    let of_run = |filter: &GradeFilter| GradeFilter {
        run: Some(format!("run-{}", last_run / 2)),
        verdicts: wrong(),
        step_min: Some(10),
        ..filter.clone()
    };
    let never = GradeFilter {
        score_max: Some(0.5),
        ..frequent.clone()
    };
    searches.extend([
        ("frequent, oldest run".to_owned(), oldest(&frequent)),
        (
            "frequent, run, steps, verdict".to_owned(),
            of_run(&frequent),
        ),
        ("prefix, run, steps, verdict".to_owned(), of_run(&prefix)),
        ("frequent, rest never matches".to_owned(), never),
    ]);
    Ok(searches)
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { grades, database } = arguments;
    let grades = *grades;
    let folder = tempfile::tempdir()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let options = |name: &str, text_search| {
        let file = format!("sqlite://{}", folder.path().join(name).display());
        RecordOptions {
            text_search,
            close_timeout: Duration::from_secs(3_600),
            spool: Some(folder.path().join(format!("{name}.spool"))),
            ..RecordOptions::new(database.clone().unwrap_or(file))
        }
    };
    let per_grade = |seconds: f64| seconds * 1e6 / grades as f64;
    println!("{grades} grades");
    if database.is_none() {
        let without = fill(&options("without.db", false), &clock, grades).await?;
        println!(
            "recorded without a search: {without:.0} s, {:.0} us a grade",
            per_grade(without)
        );
    }
    let searched = options("with.db", true);
    let with = fill(&searched, &clock, grades).await?;
    println!(
        "recorded with a search:    {with:.0} s, {:.0} us a grade",
        per_grade(with)
    );
    let record = Record::open(&searched, Arc::clone(&clock)).await?;
    let stored = record.storage(1).await?;
    let database = stored.file_bytes + stored.log_bytes;
    let texts = stored.text_bytes.unwrap_or_default();
    for (name, bytes) in [("database", database), ("index of texts", texts)] {
        println!(
            "{name}: {:.0} MB, {:.0} bytes a grade",
            bytes as f64 / 1e6,
            bytes as f64 / grades as f64
        );
    }
    println!(
        "{:32} {:>8} {:>8} {:>8} {:>8}",
        "ms", "p50", "p95", "max", "grades"
    );
    let last_run = grades / u64::from(GRADES) / RUN;
    for (name, filter) in searches(last_run)? {
        measure(&record, &clock, &name, &filter).await?;
    }
    record.close().await?;
    Ok(())
}
