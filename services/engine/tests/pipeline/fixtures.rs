//! Graders that fail on demand, and a record in memory that can be made to fail.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_core::grader::{BoxFuture, PrepareError};
use assay_core::{
    Checked, ErrorCode, Evidence, Fault, Grade, GradeContext, Grader, GraderTable, Hash, Ids, Item,
    Lane, Outcome, PrepareContext, Prepared, PureGrader, Score, Spec, SystemClock, Task, TaskError,
    Verdict, VerdictSpec,
};
use assay_engine::{
    Batch, BatchItem, ChannelSettings, Engine, EngineParts, IdempotentRequest, Keeping, Limits,
    Policies, Reply,
};
use assay_record::hook::Hook;
use assay_record::{
    Entry, Record, RecordError, RecordOptions, RequestKey, SealedReply, StoredGrade,
};
use assay_rewards::Rates;
use assay_rewards::channel::Settings;
use tokio::sync::{Notify, Semaphore};

const VERDICTS: &[VerdictSpec] = &[
    VerdictSpec {
        verdict: Verdict::CORRECT,
        pass: Some(true),
        meaning: "the texts are equal",
    },
    VerdictSpec {
        verdict: Verdict::WRONG_ANSWER,
        pass: Some(false),
        meaning: "the texts differ",
    },
    VerdictSpec {
        verdict: Verdict::UNLABELLED,
        pass: None,
        meaning: "the task has no gold",
    },
];

const fn spec(name: &'static str, lane: Lane) -> Spec {
    Spec {
        name,
        version: 1,
        summary: "for tests",
        lane,
        task_schema: "{}",
        example_task: "{}",
        example_completion: "",
        verdicts: VERDICTS,
        measures: &[],
        deterministic: true,
        reads_context: false,
        max_batch: 1,
        work_unit: "comparisons",
    }
}

/// The answer of a prepared task without a gold.
const NO_GOLD: &str = "no gold";

/// Compares texts. The completions `panic`, `fail` and `fail once` cause what their names say.
pub(crate) struct ExactGrader {
    spec: &'static Spec,
    pub(crate) prepared: Arc<AtomicUsize>,
    pub(crate) graded: Arc<AtomicUsize>,
    failed_once: Arc<AtomicBool>,
    pub(crate) stuck: Arc<Stuck>,
    pub(crate) in_memory: Arc<InMemory>,
}

/// Counts the prepared tasks in memory.
#[derive(Default)]
pub(crate) struct InMemory {
    now: AtomicUsize,
    pub(crate) most: AtomicUsize,
}

/// A prepared task in memory.
struct Counted(Arc<InMemory>);

impl Counted {
    fn new(in_memory: &Arc<InMemory>) -> Self {
        let now = in_memory.now.fetch_add(1, Ordering::SeqCst) + 1;
        in_memory.most.fetch_max(now, Ordering::SeqCst);
        Self(Arc::clone(in_memory))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Notifies when work that never ends begins, and when it is dropped.
#[derive(Default)]
pub(crate) struct Stuck {
    pub(crate) begun: Notify,
    pub(crate) dropped: Notify,
}

struct StuckWork(Arc<Stuck>);

impl Drop for StuckWork {
    fn drop(&mut self) {
        self.0.dropped.notify_one();
    }
}

impl ExactGrader {
    pub(crate) fn cpu() -> Self {
        static SPEC: Spec = Spec {
            example_task: r#"{"type": "exact", "answer": "1"}"#,
            example_completion: "1",
            ..spec("exact", Lane::Cpu)
        };
        Self::new(&SPEC)
    }

    pub(crate) fn waiting() -> Self {
        static SPEC: Spec = spec("waiting", Lane::Remote);
        Self::new(&SPEC)
    }

    fn new(spec: &'static Spec) -> Self {
        Self {
            spec,
            prepared: Arc::default(),
            graded: Arc::default(),
            failed_once: Arc::default(),
            stuck: Arc::default(),
            in_memory: Arc::default(),
        }
    }
}

impl Grader for ExactGrader {
    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn check(&self, task: &Task, _: &PrepareContext<'_>) -> Checked {
        // It may take long, so it must not run on a thread of the runtime.
        let thread = std::thread::current().name().map(str::to_owned);
        assert!(thread.is_some_and(|name| name.starts_with("assay-worker-")));
        let body = task.body.get();
        if body.contains("answer") || body.contains("consensus") {
            return Ok(());
        }
        Err(TaskError::new(
            ErrorCode::InvalidTask,
            "/answer",
            "missing".to_owned(),
        ))
    }

    fn has_gold(&self, task: &Task) -> bool {
        task.body.get().contains(r#""answer":"#)
    }

    fn prepare(
        &self,
        task: &Task,
        _: &PrepareContext<'_>,
    ) -> Result<Arc<dyn Prepared>, PrepareError> {
        self.prepared.fetch_add(1, Ordering::Relaxed);
        let task: HashMap<String, String> = serde_json::from_str(task.body.get()).unwrap();
        match task.get("answer").unwrap_or(&NO_GOLD.to_owned()).as_str() {
            "" => Err(PrepareError::Ungradable(Fault::permanent(
                ErrorCode::GoldUnparsable,
                "the answer is empty",
            ))),
            "panic" => panic!("on purpose, while preparing"),
            answer => {
                let exact = ExactText {
                    answer: answer.to_owned(),
                    graded: Arc::clone(&self.graded),
                    failed_once: Arc::clone(&self.failed_once),
                    _counted: Counted::new(&self.in_memory),
                };
                if self.spec.lane == Lane::Cpu {
                    Ok(Arc::new(exact))
                } else {
                    Ok(Arc::new(Waiting(exact, Arc::clone(&self.stuck))))
                }
            }
        }
    }
}

struct ExactText {
    answer: String,
    graded: Arc<AtomicUsize>,
    failed_once: Arc<AtomicBool>,
    _counted: Counted,
}

impl PureGrader for ExactText {
    fn grade_one(&self, item: &Item) -> Outcome {
        self.graded.fetch_add(1, Ordering::Relaxed);
        let text = item.completion.text();
        match text.as_ref() {
            "panic" => panic!("on purpose"),
            "fail" => Outcome::Failed(Fault::transient(ErrorCode::Internal, "on purpose")),
            "fail once" if !self.failed_once.swap(true, Ordering::Relaxed) => {
                Outcome::Failed(Fault::transient(ErrorCode::Internal, "on purpose, once"))
            }
            text if self.answer == NO_GOLD => {
                let evidence = Evidence::new().text("answer_normal", text);
                let grade = Grade::new(Verdict::UNLABELLED, Score::ZERO);
                Outcome::Graded(grade.with_evidence(evidence))
            }
            text if text == self.answer => {
                Outcome::Graded(Grade::new(Verdict::CORRECT, Score::ONE))
            }
            _ => Outcome::Graded(Grade::new(Verdict::WRONG_ANSWER, Score::ZERO)),
        }
    }

    fn bytes(&self) -> usize {
        self.answer.len()
    }
}

/// Like [`ExactText`], but yields to other tasks before it answers, and never answers if a
/// completion is `never`.
struct Waiting(ExactText, Arc<Stuck>);

impl Prepared for Waiting {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        _: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            if items.iter().any(|item| item.completion.text() == "never") {
                let _work = StuckWork(Arc::clone(&self.1));
                self.1.begun.notify_one();
                std::future::pending::<()>().await;
            }
            items.iter().map(|item| self.0.grade_one(item)).collect()
        })
    }

    fn bytes(&self) -> usize {
        0
    }
}

/// Watches what is recorded, and fails or delays it.
#[derive(Default)]
pub(crate) struct Recorded {
    pub(crate) entries: Mutex<Vec<Arc<Entry>>>,
    pub(crate) broken: AtomicBool,
    /// Whether replies are removed from claims, as if the node died before it recorded them.
    pub(crate) loses_replies: AtomicBool,
    /// If set, recording waits for a notification.
    pub(crate) gate: Option<Arc<Notify>>,
    /// If set, each read of channels needs a permit.
    pub(crate) channel_reads: Option<Arc<Semaphore>>,
    /// Number of reads of channels that have begun.
    pub(crate) channel_reads_begun: AtomicUsize,
}

impl Recorded {
    pub(crate) fn grades(&self) -> Vec<StoredGrade> {
        let mut seen = BTreeMap::new();
        for entry in self.entries.lock().unwrap().iter() {
            for grade in &entry.grades {
                let stored = grade.stored().unwrap();
                seen.entry(stored.grade.grade).or_insert(stored);
            }
        }
        seen.into_values().collect()
    }
}

impl Hook for Recorded {
    fn append(&self, mut entry: Arc<Entry>) -> BoxFuture<'_, Result<Arc<Entry>, RecordError>> {
        Box::pin(async move {
            if let Some(gate) = &self.gate {
                gate.notified().await;
            }
            if self.broken.load(Ordering::Relaxed) {
                return Err(RecordError::Unavailable("on purpose".to_owned()));
            }
            if self.loses_replies.load(Ordering::Relaxed)
                && let Some(claim) = &mut Arc::make_mut(&mut entry).claim
            {
                claim.reply = None;
            }
            self.entries.lock().unwrap().push(Arc::clone(&entry));
            Ok(entry)
        })
    }

    fn read_channels(&self) -> BoxFuture<'_, ()> {
        self.channel_reads_begun.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            if let Some(reads) = &self.channel_reads {
                reads.acquire().await.unwrap().forget();
            }
        })
    }
}

/// An engine with the graders and the record of this module.
pub(crate) struct Fixture {
    pub(crate) engine: Engine,
    pub(crate) record: Record,
    pub(crate) recorded: Arc<Recorded>,
    pub(crate) prepared: Arc<AtomicUsize>,
    pub(crate) graded: Arc<AtomicUsize>,
    pub(crate) stuck: Arc<Stuck>,
    pub(crate) in_memory: Arc<InMemory>,
}

pub(crate) async fn fixture() -> Fixture {
    let limits = Limits {
        completion_bytes: 1_000,
        ..two_workers()
    };
    fixture_with(Recorded::default(), limits).await
}

fn two_workers() -> Limits {
    Limits {
        workers: 2,
        ..Limits::default()
    }
}

/// A fixture whose configuration declares error rates: channel, rho0, rho1.
pub(crate) async fn fixture_declaring(rates: &[(&str, f64, f64)]) -> Fixture {
    let declared = rates
        .iter()
        .map(|(channel, rho0, rho1)| ((*channel).to_owned(), Rates::new(*rho0, *rho1).unwrap()));
    let estimate = Settings {
        declared: declared.collect(),
        ..Settings::default()
    };
    let record = in_memory().await;
    fixture_of(record, Recorded::default(), |parts| EngineParts {
        channels: ChannelSettings {
            estimate,
            ..parts.channels
        },
        ..parts
    })
}

/// A fixture with other settings of what is kept.
pub(crate) async fn fixture_keeping(keeping: Keeping) -> Fixture {
    let record = in_memory().await;
    fixture_of(record, Recorded::default(), |parts| EngineParts {
        keeping,
        ..parts
    })
}

pub(crate) async fn fixture_with(recorded: Recorded, limits: Limits) -> Fixture {
    let record = in_memory().await;
    fixture_of(record, recorded, |parts| EngineParts { limits, ..parts })
}

/// A fixture with the record of another, as after a restart.
pub(crate) fn fixture_after(before: &Fixture, limits: Limits) -> Fixture {
    let record = before.record.clone();
    fixture_of(record, Recorded::default(), |parts| EngineParts {
        limits,
        ..parts
    })
}

/// A fixture that reads the counts of channels again after this time, in the background.
pub(crate) async fn fixture_refreshing(recorded: Recorded, refresh: Duration) -> Fixture {
    let record = in_memory().await;
    fixture_of(record, recorded, |parts| EngineParts {
        channels: ChannelSettings {
            refresh,
            ..parts.channels
        },
        ..parts
    })
}

async fn in_memory() -> Record {
    let options = RecordOptions::new("sqlite::memory:");
    Record::open(&options, Arc::new(SystemClock::new()))
        .await
        .unwrap()
}

/// A fixture in which the counts of channels are read for every batch, unless `change` says
/// otherwise.
fn fixture_of(
    record: Record,
    recorded: Recorded,
    change: impl FnOnce(EngineParts) -> EngineParts,
) -> Fixture {
    let exact = ExactGrader::cpu();
    let (prepared, graded) = (Arc::clone(&exact.prepared), Arc::clone(&exact.graded));
    let waiting = ExactGrader::waiting();
    let in_memory = Arc::clone(&exact.in_memory);
    let stuck = Arc::clone(&waiting.stuck);
    let recorded = Arc::new(recorded);
    let record = record.with_hook(Arc::clone(&recorded) as Arc<dyn Hook>);
    let parts = EngineParts {
        graders: GraderTable::new(vec![Arc::new(exact), Arc::new(waiting)]),
        record: Some(record.clone()),
        clock: Arc::new(SystemClock::new()),
        ids: Ids::random(),
        limits: two_workers(),
        policies: Policies::default(),
        keeping: Keeping::default(),
        channels: ChannelSettings {
            estimate: Settings::default(),
            refresh: Duration::ZERO,
        },
    };
    Fixture {
        engine: Engine::start(change(parts)).unwrap(),
        record,
        recorded,
        prepared,
        graded,
        stuck,
        in_memory,
    }
}

pub(crate) fn item(grader: &str, answer: &str, completion: &str) -> BatchItem {
    let task = serde_json::json!({ "type": grader, "answer": answer });
    BatchItem::new(
        Item::text(completion),
        Task::from_json(&task.to_string()).unwrap(),
    )
}

/// An item whose task has no gold.
pub(crate) fn without_gold(completion: &str) -> BatchItem {
    let task = Task::from_json(r#"{"type":"exact","consensus":"true"}"#).unwrap();
    BatchItem::new(Item::text(completion), task)
}

pub(crate) fn batch(items: Vec<BatchItem>) -> Batch {
    Batch::new("tester", items)
}

/// A request with an idempotency key; its reply is rendered as the list of verdicts.
pub(crate) fn keyed(key: &str, body: &str) -> IdempotentRequest {
    IdempotentRequest {
        key: RequestKey {
            caller: "tester".into(),
            key: key.to_owned(),
        },
        request: Hash::of(body.as_bytes()),
        render: Arc::new(|reply| SealedReply {
            media: "text/plain".to_owned(),
            body: outcomes(reply).join(",").into(),
        }),
        repeated: None,
    }
}

/// The verdict of each item, or its outcome and error code.
pub(crate) fn outcomes(reply: &Reply) -> Vec<String> {
    reply
        .grades()
        .map(|grade| match (&grade.verdict, &grade.error) {
            (Some(verdict), _) => verdict.to_string(),
            (None, error) => format!("{}:{}", grade.outcome, error.as_ref().unwrap().code),
        })
        .collect()
}
