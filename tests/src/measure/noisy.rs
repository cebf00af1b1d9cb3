//! `noisy`: the service with an additional grader whose verdicts are wrong at the rates that
//! its task configures, for the experiment of `tests/load/noisy_learning.py`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use assay_base::Random;
use assay_core::grader::PrepareError;
use assay_core::{
    BoxFuture, Checked, Completion, ErrorCode, Grade, GradeContext, Grader, Hash, Item, Lane,
    Nested, Outcome, PrepareContext, Prepared, Score, Spec, Task, TaskError, Verdict, VerdictSpec,
};
use assay_node::{Config, Node};
use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::signal::unix::{SignalKind, signal};

/// Serve with a grader that errs at configured rates. Reads `assay.toml` of the folder it is
/// started in.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Address to listen on; port 0 selects a free one, which the log contains
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Database of the record, such as `sqlite://noisy.db`; by default that of `assay.toml`
    #[arg(long)]
    database: Option<String>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the environment is a service's configuration, as for `assay serve`"
)]
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let listen = ("server", "listen", arguments.listen.to_string().into());
    let database = arguments
        .database
        .map(|database| ("store", "database", database.into()));
    let config = Config::load(
        None,
        std::env::vars_os(),
        std::iter::once(listen).chain(database).collect(),
    )?;
    assay_node::observe::logs(&config.log)?;
    let node = Node::with_graders(config, vec![Arc::new(Noisy)]).await?;
    let listener = node.listen().await?;
    tracing::info!(address = %listener.local_addr()?, "ready to grade");
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async move {
        tokio::select! { _ = tokio::signal::ctrl_c() => {}, _ = terminate.recv() => {} }
    };
    node.serve(listener, stop).await?;
    assay_node::observe::flush(Duration::from_secs(5));
    Ok(())
}

/// Grades with the grader of another task and flips its verdict with a given probability.
///
/// Whether a verdict is flipped depends on a hash of the seed,
/// the prompt, the completion and `meta.sample`. So the same item always has the same verdict, and
/// two equal completions of a group err independently where the trainer numbers them. Seeds and
/// items that are the same in two tasks have the same numbers: of two tasks with different
/// probabilities the one with the larger flips what the other flips, and more.
struct Noisy;

static SPEC: Spec = Spec {
    name: "noisy",
    version: 1,
    summary: "another grader's verdict, turned with a given probability",
    lane: Lane::Cpu,
    task_schema: r#"{"type":"object","required":["type","false_positives","false_negatives","seed","of"],"properties":{"type":{"const":"noisy"},"false_positives":{"type":"number","minimum":0,"maximum":1},"false_negatives":{"type":"number","minimum":0,"maximum":1},"seed":{"type":"integer","minimum":0},"of":{"type":"object"}},"additionalProperties":false}"#,
    example_task: r#"{"type":"noisy","false_positives":0,"false_negatives":0,"seed":1,"of":{"type":"math","answer":"5"}}"#,
    example_completion: "5",
    verdicts: &[
        VerdictSpec {
            verdict: Verdict::CORRECT,
            pass: Some(true),
            meaning: "passed and not turned, or turned",
        },
        VerdictSpec {
            verdict: Verdict::WRONG_ANSWER,
            pass: Some(false),
            meaning: "refused and not turned, or turned",
        },
    ],
    measures: &[],
    deterministic: true,
    reads_context: true,
    max_batch: 1,
    work_unit: "units of the grader within",
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    false_positives: f64,
    false_negatives: f64,
    seed: u64,
    of: Box<RawValue>,
}

/// A task as in a request.
struct NoisyTask {
    /// Probability that a wrong answer passes, 0 to 1.
    false_positives: f64,
    /// Probability that a correct answer does not pass, 0 to 1.
    false_negatives: f64,
    seed: u64,
    of: Task,
}

impl NoisyTask {
    fn read(task: &Task) -> Result<Self, TaskError> {
        let Body {
            false_positives,
            false_negatives,
            seed,
            of,
        } = task.parse()?;
        for (pointer, rate) in [
            ("/false_positives", false_positives),
            ("/false_negatives", false_negatives),
        ] {
            if !(0.0..=1.0).contains(&rate) {
                let message = format!("a probability is from 0 to 1: {rate}");
                return Err(TaskError::new(ErrorCode::InvalidTask, pointer, message));
            }
        }
        let of = Task::from_raw(&of).map_err(within)?;
        Ok(Self {
            false_positives,
            false_negatives,
            seed,
            of,
        })
    }
}

/// An error of the inner task, as one of the outer task.
fn within(error: TaskError) -> TaskError {
    TaskError {
        pointer: format!("/of{}", error.pointer),
        ..error
    }
}

impl Grader for Noisy {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, cx: &PrepareContext<'_>) -> Checked {
        cx.check_nested(&NoisyTask::read(task)?.of).map_err(within)
    }

    fn prepare(
        &self,
        task: &Task,
        cx: &PrepareContext<'_>,
    ) -> Result<Arc<dyn Prepared>, PrepareError> {
        let task = NoisyTask::read(task)?;
        let of = cx.nested(&task.of)?;
        Ok(Arc::new(PreparedNoisy { task, of }))
    }
}

struct PreparedNoisy {
    task: NoisyTask,
    of: Nested,
}

impl PreparedNoisy {
    /// The grade with its possibly flipped verdict; a grade without a pass counts as not passed.
    fn with_noise(&self, item: &Item, grade: Grade) -> Grade {
        let right = self.of.spec.pass(grade.verdict.as_str()) == Some(true);
        let probability = if right {
            self.task.false_negatives
        } else {
            self.task.false_positives
        };
        let turned = self.random(item).bernoulli(probability);
        let (verdict, score) = if right == turned {
            (Verdict::WRONG_ANSWER, Score::ZERO)
        } else {
            (Verdict::CORRECT, Score::ONE)
        };
        let evidence = grade
            .evidence
            .text("verdict", grade.verdict.as_str())
            .value("turned", turned);
        Grade {
            verdict,
            score,
            evidence,
            components: Vec::new(),
            steps: Vec::new(),
            ..grade
        }
    }

    fn random(&self, item: &Item) -> Random {
        let prompt = item.prompt.as_ref().map(Completion::hash);
        let sample = item
            .meta
            .rest
            .get("sample")
            .map(|sample| sample.get().to_owned())
            .unwrap_or_default();
        let key = Hash::of_parts(&[
            &self.task.seed.to_le_bytes(),
            prompt.as_ref().map_or(&[][..], |prompt| prompt.as_bytes()),
            item.completion.hash().as_bytes(),
            sample.as_bytes(),
        ]);
        let (words, _) = key.as_bytes().as_chunks();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        Random::stream(&words)
    }
}

impl Prepared for PreparedNoisy {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        Box::pin(async move {
            let mut outcomes = Vec::with_capacity(items.len());
            for item in items {
                outcomes.push(match self.of.grade(item, cx).await {
                    Outcome::Graded(grade) => Outcome::Graded(self.with_noise(item, grade)),
                    fault => fault,
                });
            }
            outcomes
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.task.of.body.get().len() + self.of.prepared.bytes()
    }

    fn lane(&self, _own: Lane) -> Lane {
        self.of.lane()
    }
}

#[cfg(test)]
mod tests {
    use assay_core::GraderTable;
    use assay_structured::StructuredGrader;

    use super::*;

    fn table() -> GraderTable {
        GraderTable::new(vec![Arc::new(StructuredGrader), Arc::new(Noisy)])
    }

    fn task(false_positives: f64, false_negatives: f64, seed: u64, of: &str) -> Task {
        let text = format!(
            r#"{{"type":"noisy","false_positives":{false_positives},"false_negatives":{false_negatives},"seed":{seed},"of":{of}}}"#
        );
        Task::from_json(&text).unwrap()
    }

    const SUM: &str = r#"{"type":"structured","extract":"whole","expected":132}"#;

    fn item(prompt: &str, completion: &str, sample: u64) -> Item {
        let mut item = Item::text(completion);
        item.prompt = Some(Completion::Text(prompt.into()));
        item.meta
            .rest
            .insert("sample".to_owned(), serde_json::Value::from(sample).into());
        item
    }

    /// Whether each item passes.
    async fn passes(task: &Task, items: &[Item]) -> Vec<bool> {
        let table = table();
        let prepared = Noisy
            .prepare(task, &PrepareContext::new(&table))
            .unwrap_or_else(|error| panic!("{error}"));
        let items: Vec<&Item> = items.iter().collect();
        let outcomes = prepared.grade(&items, &GradeContext::default()).await;
        let passed = |outcome: &Outcome| {
            let grade = outcome.grade().unwrap();
            assert_eq!(
                grade.score == Score::ONE,
                SPEC.pass(grade.verdict.as_str()) == Some(true)
            );
            grade.score == Score::ONE
        };
        outcomes.iter().map(passed).collect()
    }

    fn share(of: &[bool]) -> f64 {
        of.iter().map(|one| f64::from(u8::from(*one))).sum::<f64>() / of.len() as f64
    }

    #[tokio::test]
    async fn flips_verdicts_at_the_configured_rates() {
        let task = task(0.1, 0.3, 1, SUM);
        let [right, wrong] = ["132", "131"].map(|text| {
            (0..4_000)
                .map(|n| item("47+85=", text, n))
                .collect::<Vec<_>>()
        });
        // Four standard errors are 0.029 and 0.019.
        assert!((share(&passes(&task, &right).await) - 0.7).abs() < 0.029);
        assert!((share(&passes(&task, &wrong).await) - 0.1).abs() < 0.019);
    }

    #[tokio::test]
    async fn without_noise_returns_the_wrapped_verdict() {
        let items = [
            item("47+85=", "132", 0),
            item("47+85=", "13", 1),
            item("47+85=", "", 2),
        ];
        assert_eq!(
            passes(&task(0.0, 0.0, 1, SUM), &items).await,
            [true, false, false]
        );
        assert_eq!(
            passes(&task(1.0, 1.0, 1, SUM), &items).await,
            [false, true, true]
        );
    }

    #[tokio::test]
    async fn equal_items_get_equal_verdicts() {
        let verdicts = async |seed, prompt, completion, first: u64| {
            let items: Vec<Item> = (first..first + 256)
                .map(|n| item(prompt, completion, n))
                .collect();
            passes(&task(0.5, 0.5, seed, SUM), &items).await
        };
        let these = verdicts(1, "47+85=", "132", 0).await;
        assert_eq!(these, verdicts(1, "47+85=", "132", 0).await);
        for others in [
            verdicts(2, "47+85=", "132", 0).await,
            verdicts(1, "85+47=", "132", 0).await,
            verdicts(1, "47+85=", "131", 0).await,
            verdicts(1, "47+85=", "132", 256).await,
        ] {
            let same: Vec<bool> = these
                .iter()
                .zip(&others)
                .map(|(one, other)| one == other)
                .collect();
            // Four standard errors about one half.
            assert!((share(&same) - 0.5).abs() < 0.125, "{}", share(&same));
        }
    }

    #[test]
    fn errors_of_a_task_have_a_pointer() {
        let table = table();
        let pointer = |task: &Task| {
            Noisy
                .check(task, &PrepareContext::new(&table))
                .unwrap_err()
                .pointer
        };
        assert_eq!(pointer(&task(1.5, 0.0, 1, SUM)), "/false_positives");
        assert_eq!(pointer(&task(0.0, -0.1, 1, SUM)), "/false_negatives");
        assert_eq!(
            pointer(&task(0.0, 0.0, 1, r#"{"type":"guess"}"#)),
            "/of/type"
        );
        assert_eq!(
            pointer(&task(
                0.0,
                0.0,
                1,
                r#"{"type":"structured","extract":"some"}"#
            )),
            "/of/extract"
        );
        assert_eq!(
            pointer(&Task::from_json(r#"{"type":"noisy","rate":1}"#).unwrap()),
            "/rate"
        );
    }
}
