//! Graders that fail on demand, and a record in memory that can be made to fail.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_core::grader::{BoxFuture, PrepareError};
use assay_core::{
    BatchId, Checked, ErrorCode, Fault, Grade, GradeContext, GradeId, Grader, GraderTable, Hash,
    Ids, Item, Lane, Outcome, PrepareContext, Prepared, PureGrader, Score, Spec, SystemClock, Task,
    TaskError, Verdict, VerdictSpec,
};
use assay_engine::{
    Batch, BatchItem, ChannelSettings, Engine, EngineParts, IdempotentRequest, Keeping, Limits,
    Policies, Reply,
};
use assay_record::Event;
use assay_record::Visit;
use assay_record::channel::ChannelCounts;
use assay_record::chart::Steps;
use assay_record::dataset_check::DatasetCheck;
use assay_record::event::{Adjudication, Draw};
use assay_record::names::{DeletedNames, UsedNames};
use assay_record::pair::{KnownPairs, PairPage};
use assay_record::prompt_history::{self, Visits};
use assay_record::rollup::{RollupKey, Rollups};
use assay_record::store::{GradeFilter, GradePage, Reader, Recorder, RunSummary, StoreError};
use assay_record::{Body, Claim, Entry, GradeRecord, RequestKey, SealedReply};
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
        if task.body.get().contains("answer") {
            return Ok(());
        }
        Err(TaskError::new(
            ErrorCode::InvalidTask,
            "/answer",
            "missing".to_owned(),
        ))
    }

    fn prepare(
        &self,
        task: &Task,
        _: &PrepareContext<'_>,
    ) -> Result<Arc<dyn Prepared>, PrepareError> {
        self.prepared.fetch_add(1, Ordering::Relaxed);
        let task: HashMap<String, String> = serde_json::from_str(task.body.get()).unwrap();
        match task["answer"].as_str() {
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

/// A record in memory.
#[derive(Default)]
pub(crate) struct MemoryStore {
    pub(crate) entries: Mutex<Vec<Arc<Entry>>>,
    pub(crate) broken: AtomicBool,
    /// If set, recording waits for a notification.
    pub(crate) gate: Option<Arc<Notify>>,
    /// If set, each read of channels needs a permit.
    pub(crate) channel_reads: Option<Arc<Semaphore>>,
    /// Number of reads of channels that have begun.
    pub(crate) channel_reads_begun: AtomicUsize,
    /// The names that were deleted and not taken yet.
    pub(crate) deleted: Mutex<DeletedNames>,
}

impl MemoryStore {
    pub(crate) fn grades(&self) -> Vec<GradeRecord> {
        let mut seen = std::collections::BTreeMap::new();
        for entry in self.entries.lock().unwrap().iter() {
            for grade in &entry.grades {
                seen.entry(grade.grade).or_insert_with(|| grade.clone());
            }
        }
        seen.into_values().collect()
    }
}

impl MemoryStore {
    fn events(&self) -> Vec<Event> {
        self.entries
            .lock()
            .unwrap()
            .iter()
            .flat_map(|entry| entry.events.clone())
            .collect()
    }
}

impl Recorder for MemoryStore {
    fn record(&self, entry: Arc<Entry>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if let Some(gate) = &self.gate {
                gate.notified().await;
            }
            if self.broken.load(Ordering::Relaxed) {
                return Err(StoreError::Unavailable("on purpose".to_owned()));
            }
            self.entries.lock().unwrap().push(entry);
            Ok(())
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Reader for MemoryStore {
    fn grade(&self, id: GradeId) -> BoxFuture<'_, Result<Option<GradeRecord>, StoreError>> {
        let found = self.grades().into_iter().find(|grade| grade.grade == id);
        Box::pin(std::future::ready(Ok(found)))
    }

    fn grades<'a>(
        &'a self,
        filter: &'a GradeFilter,
        _: Option<GradeId>,
        _: u32,
    ) -> BoxFuture<'a, Result<GradePage, StoreError>> {
        let grades = MemoryStore::grades(self)
            .into_iter()
            .filter(|grade| filter.keeps(grade))
            .collect();
        Box::pin(std::future::ready(Ok(GradePage { grades, next: None })))
    }

    fn runs_of<'a>(
        &'a self,
        _: &'a str,
        _: u32,
    ) -> BoxFuture<'a, Result<Vec<RunSummary>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn runs(&self, _: u32) -> BoxFuture<'_, Result<Vec<RunSummary>, StoreError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn run<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<RunSummary>, StoreError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn run_series<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Rollups, StoreError>> {
        let mut rollups = Rollups::new();
        for grade in MemoryStore::grades(self)
            .iter()
            .filter(|grade| grade.run.as_deref() == Some(run))
        {
            rollups.entry(RollupKey::of(grade)).or_default().push(grade);
        }
        Box::pin(std::future::ready(Ok(rollups)))
    }

    fn body(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Body>, StoreError>> {
        let entries = self.entries.lock().unwrap();
        let found = entries
            .iter()
            .flat_map(|entry| &entry.bodies)
            .find(|body| body.hash == hash)
            .cloned();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn claim<'a>(
        &'a self,
        key: &'a RequestKey,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>> {
        let entries = self.entries.lock().unwrap();
        let found = entries
            .iter()
            .rev()
            .filter_map(|entry| entry.claim.clone())
            .find(|claim| claim.key == *key);
        Box::pin(std::future::ready(Ok(found)))
    }

    fn channels(&self) -> BoxFuture<'_, Result<ChannelCounts, StoreError>> {
        let mut counts = ChannelCounts::default();
        for entry in self.entries.lock().unwrap().iter() {
            counts.add_grades(&entry.grades);
            entry
                .events
                .iter()
                .for_each(|event| counts.add_event(event));
        }
        self.channel_reads_begun.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            if let Some(reads) = &self.channel_reads {
                reads.acquire().await.unwrap().forget();
            }
            Ok(counts)
        })
    }

    fn used_names(&self) -> BoxFuture<'_, Result<UsedNames, StoreError>> {
        let mut names = UsedNames::default();
        for entry in self.entries.lock().unwrap().iter() {
            for grade in &entry.grades {
                names.add_channel(&grade.channel, &entry.caller);
            }
            if let Some(run) = &entry.run {
                names.add_run(run, &entry.caller);
            }
        }
        Box::pin(std::future::ready(Ok(names)))
    }

    fn take_deleted_names(&self) -> DeletedNames {
        std::mem::take(&mut self.deleted.lock().unwrap())
    }

    fn prompts<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { Ok(self.visits(run, None).await?.len() as u64) })
    }

    fn visits<'a>(
        &'a self,
        run: &'a str,
        prompts: Option<&'a [String]>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, Vec<Visit>>, StoreError>> {
        let mut visits = Visits::default();
        prompt_history::add_grades(&mut visits, &MemoryStore::grades(self));
        let mut found: BTreeMap<String, Vec<Visit>> = BTreeMap::new();
        for ((of, key, _), visit) in visits {
            if &*of == run && prompts.is_none_or(|prompts| prompts.contains(&key)) {
                found.entry(key).or_default().push(visit);
            }
        }
        Box::pin(std::future::ready(Ok(found)))
    }

    fn adjudications(
        &self,
        grade: GradeId,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>> {
        let found = self.events().into_iter().filter_map(|event| match event {
            Event::Adjudicated(adjudication) if adjudication.grade == grade => Some(adjudication),
            _ => None,
        });
        Box::pin(std::future::ready(Ok(found.collect())))
    }

    fn run_steps<'a>(&'a self, _: &'a str, _: i64) -> BoxFuture<'a, Result<Steps, StoreError>> {
        Box::pin(std::future::ready(Ok(Steps::new())))
    }

    fn last_adjudications(&self, _: u32) -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn dataset_checks(
        &self,
        _: Option<BatchId>,
        _: u32,
    ) -> BoxFuture<'_, Result<Vec<DatasetCheck>, StoreError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn dataset_check(&self, _: BatchId) -> BoxFuture<'_, Result<Option<DatasetCheck>, StoreError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn draws<'a>(&'a self, grades: &'a [GradeId]) -> BoxFuture<'a, Result<Vec<Draw>, StoreError>> {
        let found = self.events().into_iter().filter_map(|event| match event {
            Event::Drawn(draw) if grades.contains(&draw.grade) => Some(draw),
            _ => None,
        });
        Box::pin(std::future::ready(Ok(found.collect())))
    }

    fn known_pairs<'a>(
        &'a self,
        model: &'a str,
        pairs: &'a [Hash],
    ) -> BoxFuture<'a, Result<KnownPairs, StoreError>> {
        let collected: BTreeSet<Hash> = self
            .events()
            .into_iter()
            .filter_map(|event| match event {
                Event::Collected(pair) if pair.model == model => Some(pair.pair),
                _ => None,
            })
            .collect();
        let known = pairs
            .iter()
            .copied()
            .filter(|pair| collected.contains(pair))
            .collect();
        Box::pin(std::future::ready(Ok(KnownPairs {
            known,
            total: collected.len() as u64,
        })))
    }

    fn pairs<'a>(
        &'a self,
        _: &'a str,
        _: u64,
        _: u32,
    ) -> BoxFuture<'a, Result<PairPage, StoreError>> {
        Box::pin(std::future::ready(Ok(PairPage::default())))
    }

    fn ready(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// An engine with the graders and the record of this module.
pub(crate) struct Fixture {
    pub(crate) engine: Engine,
    pub(crate) memory: Arc<MemoryStore>,
    pub(crate) prepared: Arc<AtomicUsize>,
    pub(crate) graded: Arc<AtomicUsize>,
    pub(crate) stuck: Arc<Stuck>,
    pub(crate) in_memory: Arc<InMemory>,
}

pub(crate) fn fixture() -> Fixture {
    fixture_with(
        MemoryStore::default(),
        Limits {
            workers: 2,
            completion_bytes: 1_000,
            ..Limits::default()
        },
    )
}

/// A fixture whose configuration declares error rates: channel, rho0, rho1.
pub(crate) fn fixture_declaring(rates: &[(&str, f64, f64)]) -> Fixture {
    let limits = Limits {
        workers: 2,
        ..Limits::default()
    };
    let declared = rates
        .iter()
        .map(|(channel, rho0, rho1)| ((*channel).to_owned(), Rates::new(*rho0, *rho1).unwrap()));
    fixture_of(
        MemoryStore::default(),
        limits,
        declared.collect(),
        Keeping::default(),
        Duration::ZERO,
    )
}

/// A fixture with other settings of what is kept.
pub(crate) fn fixture_keeping(keeping: Keeping) -> Fixture {
    let limits = Limits {
        workers: 2,
        ..Limits::default()
    };
    fixture_of(
        MemoryStore::default(),
        limits,
        BTreeMap::new(),
        keeping,
        Duration::ZERO,
    )
}

pub(crate) fn fixture_with(memory: MemoryStore, limits: Limits) -> Fixture {
    fixture_of(
        memory,
        limits,
        BTreeMap::new(),
        Keeping::default(),
        Duration::ZERO,
    )
}

/// A fixture that reads the counts of channels again after this time, in the background.
pub(crate) fn fixture_refreshing(memory: MemoryStore, refresh: Duration) -> Fixture {
    let limits = Limits {
        workers: 2,
        ..Limits::default()
    };
    fixture_of(memory, limits, BTreeMap::new(), Keeping::default(), refresh)
}

fn fixture_of(
    memory: MemoryStore,
    limits: Limits,
    declared: BTreeMap<String, Rates>,
    keeping: Keeping,
    refresh: Duration,
) -> Fixture {
    let exact = ExactGrader::cpu();
    let (prepared, graded) = (Arc::clone(&exact.prepared), Arc::clone(&exact.graded));
    let waiting = ExactGrader::waiting();
    let in_memory = Arc::clone(&exact.in_memory);
    let stuck = Arc::clone(&waiting.stuck);
    let memory = Arc::new(memory);
    let engine = Engine::start(EngineParts {
        graders: GraderTable::new(vec![Arc::new(exact), Arc::new(waiting)]),
        store: Some(memory.clone()),
        clock: Arc::new(SystemClock::new()),
        ids: Ids::random(),
        limits,
        policies: Policies::default(),
        keeping,
        channels: ChannelSettings {
            estimate: Settings {
                declared,
                ..Settings::default()
            },
            refresh,
        },
    })
    .unwrap();
    Fixture {
        engine,
        memory,
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
    }
}

/// The verdict of each item, or its outcome and error code.
pub(crate) fn outcomes(reply: &Reply) -> Vec<String> {
    reply
        .results()
        .map(|result| match &result.outcome {
            Outcome::Graded(grade) => grade.verdict.to_string(),
            Outcome::Ungradable(fault) | Outcome::Failed(fault) => {
                format!("{}:{}", result.outcome.as_str(), fault.code)
            }
        })
        .collect()
}
