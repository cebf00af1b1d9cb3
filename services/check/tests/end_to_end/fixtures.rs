//! A grader whose behaviour depends on the gold, and checks with it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assay_check::{Dataset, Options, Report, check};
use assay_core::grader::PrepareError;
use assay_core::{
    Checked, Clock, ErrorCode, Fault, Grade, Grader, GraderTable, Ids, Item, Lane, Outcome,
    PrepareContext, Prepared, PureGrader, Score, Spec, SystemClock, Task, TaskError, Verdict,
    VerdictSpec,
};
use assay_engine::{ChannelSettings, Engine, EngineParts, Limits, Policies};
use serde_json::Value;

/// Replaces `math`, so that its tasks get the probes of `math`.
static SPEC: Spec = Spec {
    name: "math",
    version: 1,
    summary: "has a behaviour selected by the gold",
    lane: Lane::Cpu,
    task_schema: "{}",
    example_task: "{}",
    example_completion: "",
    verdicts: &[
        VerdictSpec {
            verdict: Verdict::CORRECT,
            pass: Some(true),
            meaning: "the gold",
        },
        VerdictSpec {
            verdict: Verdict::WRONG_ANSWER,
            pass: Some(false),
            meaning: "not the gold",
        },
    ],
    measures: &[],
    deterministic: true,
    reads_context: false,
    max_batch: 1,
    work_unit: "steps",
};

#[derive(Default)]
struct TestGrader {
    graded: Arc<AtomicUsize>,
}

struct PreparedTask {
    gold: String,
    graded: Arc<AtomicUsize>,
}

impl Grader for TestGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, _: &PrepareContext<'_>) -> Checked {
        let task: Value = serde_json::from_str(task.body.get()).unwrap();
        let message = || TaskError::new(ErrorCode::InvalidTask, "/answer", "not a text".to_owned());
        task["answer"].is_string().then_some(()).ok_or_else(message)
    }

    fn prepare(
        &self,
        task: &Task,
        _: &PrepareContext<'_>,
    ) -> Result<Arc<dyn Prepared>, PrepareError> {
        let task: Value = serde_json::from_str(task.body.get()).unwrap();
        let gold = task["answer"].as_str().unwrap().to_owned();
        if gold.is_empty() {
            return Err(PrepareError::Ungradable(Fault::permanent(
                ErrorCode::GoldUnparsable,
                "the gold is empty",
            )));
        }
        Ok(Arc::new(PreparedTask {
            gold,
            graded: Arc::clone(&self.graded),
        }))
    }
}

impl PureGrader for PreparedTask {
    fn grade_one(&self, item: &Item) -> Outcome {
        let count = self.graded.fetch_add(1, Ordering::Relaxed);
        let text = item.completion.text();
        let (right, work) = match self.gold.as_str() {
            "anything" => (true, 1),
            "varying" => (count.is_multiple_of(2), 1),
            "heavy" => (text.contains("heavy"), 1_000_000),
            "panic" => panic!("on purpose"),
            gold => (text.contains(&format!("{{{gold}}}")), 40),
        };
        let (verdict, score) = if right {
            (Verdict::CORRECT, Score::ONE)
        } else {
            (Verdict::WRONG_ANSWER, Score::ZERO)
        };
        Outcome::Graded(Grade::new(verdict, score).with_work(work))
    }

    fn bytes(&self) -> usize {
        self.gold.len()
    }
}

fn engine() -> Engine {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    Engine::start(EngineParts {
        graders: GraderTable::new(vec![Arc::new(TestGrader::default())]),
        record: None,
        clock,
        ids: Ids::random(),
        // One worker, because the varying verdict depends on the number of earlier grades.
        limits: Limits {
            workers: 1,
            ..Limits::default()
        },
        policies: Policies::default(),
        keeping: assay_engine::Keeping::default(),
        channels: ChannelSettings::default(),
    })
    .unwrap()
}

/// Checks files, which are named as their files.
pub(crate) async fn check_files(files: &[&Path], options: Options) -> Report {
    let name = |path: &&Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let dataset = |path: &&Path| Dataset {
        name: name(path),
        path: path.to_path_buf(),
        revision: None,
    };
    let datasets: Vec<Dataset> = files.iter().map(dataset).collect();
    check(&engine(), &datasets, Arc::new(options), |_| {})
        .await
        .unwrap()
}

/// Checks JSON lines.
pub(crate) async fn check_lines(lines: &str, options: Options) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, lines).unwrap();
    check_files(&[&path], options).await
}

/// Numbers of rows and codes of the findings.
pub(crate) fn found(report: &Report) -> Vec<(u64, &'static str)> {
    report
        .findings
        .iter()
        .map(|finding| (finding.location.number, finding.code.name))
        .collect()
}

/// A row with this gold. Rows with different numbers have different questions.
pub(crate) fn row(number: usize, gold: &str) -> String {
    format!(
        "{{\"prompt\":\"question \
         {number}\",\"task\":{{\"type\":\"math\",\"answer\":\"{gold}\"}}}}\n"
    )
}

/// Checks a file that may be rejected.
pub(crate) async fn try_check_file(path: &Path) -> Result<Report, assay_check::CheckError> {
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let dataset = Dataset {
        name,
        path: path.to_path_buf(),
        revision: None,
    };
    check(&engine(), &[dataset], Arc::new(Options::default()), |_| {}).await
}
