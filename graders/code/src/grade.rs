//! One completion: its program found, compiled, run on the tests, and what it gave compared.

use std::collections::BTreeMap;

use assay_core::{
    BoxFuture, ErrorCode, Evidence, Fault, Grade, GradeContext, Item, Measure, Outcome, Prepared,
    Score, Verdict,
};
use assay_worker::compute;
use assay_worker::program::{self, Compile, Part, Run};
use futures::StreamExt;
use tokio::sync::OnceCell;

use crate::checker::{self, Found};
use crate::evidence::{self, Place};
use crate::extract::{Candidate, Rule, candidates};
use crate::programs::{Attempt, Build, Programs};
use crate::ran::{Blocked, ProgramEnd};
use crate::result::TestResult;
use crate::score::score;
use crate::task::{Checker, CodeTask, Test};
use crate::visible::Visible;
use crate::{metrics, value, verdict};

/// Most tests that are run without a program, to see whether their texts fail by themselves.
const RUN_ALONE: usize = 100;

/// A task ready for completions.
pub(crate) struct PreparedCode {
    task: CodeTask,
    seed: u64,
    programs: Programs,
    /// Work of the reference over all tests, found with the first completion.
    reference: OnceCell<Result<u64, Blocked>>,
    /// Whether the task's own code works without a program, found with the first completion that
    /// has none.
    texts: OnceCell<Result<(), Blocked>>,
}

/// A program that compiled.
struct Program {
    code: Vec<u8>,
    found: Candidate,
}

/// Why there is no program to run.
enum NoProgram {
    NoCode {
        deterministic: bool,
    },
    Refused {
        message: String,
        found: Candidate,
        deterministic: bool,
    },
}

impl Prepared for PreparedCode {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        Box::pin(async move {
            let mut outcomes = Vec::with_capacity(items.len());
            for item in items {
                outcomes.push(self.grade_one(item, cx).await);
            }
            outcomes
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.task.bytes()
    }
}

impl PreparedCode {
    pub(crate) fn new(task: CodeTask, seed: u64, programs: Programs) -> Self {
        Self {
            task,
            seed,
            programs,
            reference: OnceCell::new(),
            texts: OnceCell::new(),
        }
    }

    async fn grade_one(&self, item: &Item, cx: &GradeContext) -> Outcome {
        match self.grade_of(item, cx).await {
            Ok(grade) => Outcome::Graded(grade),
            Err(blocked) => at_fault(blocked),
        }
    }

    async fn grade_of(&self, item: &Item, cx: &GradeContext) -> Result<Grade, Blocked> {
        // The reference is part of the task: if it does not pass, that is reported before any
        // completion is blamed.
        self.reference_work(cx).await.transpose()?;
        let text = item.completion.text();
        let completion = Visible::of(&text, item.meta.think_open);
        let refusal = match self.compile(completion.text()).await? {
            Ok(program) => {
                let results = self.run_tests(&program.code, cx).await?;
                let place = Place {
                    found: &program.found,
                    completion: &completion,
                };
                return Ok(self.graded(&place, &results, cx).await);
            }
            Err(refusal) => refusal,
        };
        // Nothing was run, so it is not known yet whether the task's own code works.
        self.check_texts(cx).await?;
        Ok(match refusal {
            NoProgram::NoCode { deterministic } => {
                refused(verdict::NO_CODE, Evidence::new(), deterministic)
            }
            NoProgram::Refused {
                message,
                found,
                deterministic,
            } => {
                let place = Place {
                    found: &found,
                    completion: &completion,
                };
                let evidence = evidence::with_refusal(self.evidence_of(&place), &place, &message);
                refused(verdict::COMPILE_ERROR, evidence, deterministic)
            }
        })
    }

    /// The program of a completion, compiled. Later candidates are tried when the first does not
    /// compile.
    async fn compile(&self, text: &str) -> Result<Result<Program, NoProgram>, Fault> {
        let mut first = None;
        for found in candidates(text, self.task.language) {
            let build = self.compile_text(&found.text).await?;
            match build.code() {
                Ok(code) => {
                    return Ok(Ok(Program {
                        code: code.to_vec(),
                        found,
                    }));
                }
                Err(message) => {
                    first.get_or_insert((message.to_owned(), found, build.is_deterministic()));
                }
            }
        }
        Ok(Err(match first {
            // Prose is no program; a fenced block that does not compile is a wrong one.
            None => NoProgram::NoCode {
                deterministic: true,
            },
            Some((
                _,
                Candidate {
                    rule: Rule::Whole, ..
                },
                deterministic,
            )) => NoProgram::NoCode { deterministic },
            Some((message, found, deterministic)) => NoProgram::Refused {
                message,
                found,
                deterministic,
            },
        }))
    }

    async fn compile_text(&self, text: &str) -> Result<Build, Fault> {
        let part = |name: &str, text: &str| Part {
            name: name.to_owned(),
            text: text.to_owned(),
        };
        let prelude = self
            .task
            .prelude
            .texts()
            .map(|text| part("prelude.py", text));
        let parts = prelude.chain([part("main.py", text)]).collect();
        self.programs
            .compile(Compile {
                language: self.task.language.to_owned(),
                parts,
            })
            .await
    }

    /// Whether the code of the task works by itself. Completions with a program show this in their
    /// own runs.
    async fn check_texts(&self, cx: &GradeContext) -> Result<(), Blocked> {
        let checked = self
            .texts
            .get_or_try_init(|| async { settled(self.run_texts(cx).await) });
        checked.await?.clone()
    }

    /// Runs the code of the task with an empty program. The task is at fault if its code fails
    /// before it uses the program.
    async fn run_texts(&self, cx: &GradeContext) -> Result<(), Blocked> {
        let has_prelude = !self.task.prelude.is_empty();
        let own_texts = |(at, test): &(usize, &Test)| {
            *at == 0 && has_prelude || matches!(test, Test::Assert { .. })
        };
        let mut tests = self
            .task
            .tests
            .iter()
            .enumerate()
            .filter(own_texts)
            .take(RUN_ALONE)
            .peekable();
        if self.task.reference.is_some() || tests.peek().is_none() {
            return Ok(());
        }
        let build = self.compile_text("").await?;
        let code = build.code().map_err(|message| {
            Fault::lasting(
                ErrorCode::TaskAtFault,
                format!("the prelude does not compile: {message}"),
            )
        })?;
        for (_, test) in tests {
            self.programs.run(self.run_of(code, test)).await?;
            check_cancelled(cx)?;
        }
        Ok(())
    }

    /// Runs the tests in order, several at once when workers are idle; stops where nothing can
    /// change any more.
    async fn run_tests(&self, code: &[u8], cx: &GradeContext) -> Result<Vec<TestResult>, Blocked> {
        let run = |test| -> BoxFuture<'_, _> { Box::pin(self.run_test(code, test)) };
        let runs: Vec<_> = self.task.tests.iter().map(run).collect();
        let mut runs = futures::stream::iter(runs).buffered(self.programs.width());
        let mut results = Vec::with_capacity(self.task.tests.len());
        let mut has_failed = false;
        while let Some(result) = runs.next().await {
            let result = result?;
            let passed = result.verdict == verdict::ACCEPTED;
            // Only the first failure is shown. Keeping the outputs of all tests could take much
            // memory.
            results.push(if has_failed {
                result.without_failure()
            } else {
                result
            });
            has_failed |= !passed;
            if has_failed && self.task.stops_early() {
                break;
            }
            check_cancelled(cx)?;
        }
        Ok(results)
    }

    async fn run_test(&self, code: &[u8], test: &Test) -> Result<TestResult, Blocked> {
        let attempt = self.programs.run(self.run_of(code, test)).await?;
        self.judge(test, attempt).await
    }

    fn run_of(&self, code: &[u8], test: &Test) -> Run {
        Run {
            language: self.task.language.to_owned(),
            code: code.to_vec(),
            test: match test {
                Test::Stdin { input, .. } => program::Test::Stdin(input.clone().into_bytes()),
                Test::Call {
                    function,
                    args,
                    kwargs,
                    ..
                } => program::Test::Call {
                    function: function.clone(),
                    args: args.clone(),
                    kwargs: kwargs.clone(),
                },
                Test::Assert { text } => program::Test::Assert {
                    setup: self.task.test_setup.clone(),
                    text: text.clone(),
                },
            },
            limits: self.task.limits,
            seed: self.seed,
        }
    }

    /// What a run means for its test.
    async fn judge(&self, test: &Test, attempt: Attempt) -> Result<TestResult, Blocked> {
        let (mut difference, mut got) = (None, None);
        let verdict = match (&attempt.run.end, test) {
            (ProgramEnd::Finished | ProgramEnd::Exited(0), Test::Stdin { input, expected }) => {
                let stdout = &attempt.run.stdout;
                let found = match &self.task.checker {
                    Checker::Named(named) => {
                        let tolerance = self.task.float_tolerance;
                        compute(stdout.len(), || {
                            checker::compare(*named, tolerance, expected, stdout)
                        })
                    }
                    Checker::Program(program) => {
                        let asked = checker::ask(
                            &self.programs,
                            program,
                            self.seed,
                            (input.as_str(), expected.as_str()),
                            stdout,
                        );
                        let (found, said) = asked.await?;
                        got = said;
                        found
                    }
                };
                match found {
                    Found::Right => verdict::ACCEPTED,
                    Found::Presentation => verdict::PRESENTATION,
                    Found::Wrong(where_) => {
                        difference = where_;
                        Verdict::WRONG_ANSWER
                    }
                }
            }
            (
                ProgramEnd::Returned(text),
                Test::Call {
                    expected,
                    unordered,
                    ..
                },
            ) => {
                let rule = value::Rule {
                    tolerance: self.task.float_tolerance,
                    unordered: *unordered,
                };
                let compared = compute(text.len(), || {
                    let returned = value::read(text);
                    let right = returned
                        .as_ref()
                        .map(|got| value::equal(got, expected, rule));
                    (returned.as_ref().map(value::shown), right == Some(true))
                });
                let right;
                (got, right) = compared;
                if right {
                    verdict::ACCEPTED
                } else {
                    Verdict::WRONG_ANSWER
                }
            }
            (ProgramEnd::Finished, Test::Assert { .. }) => verdict::ACCEPTED,
            // Ended before the test did, as if all were well.
            (
                ProgramEnd::Finished
                | ProgramEnd::Returned(_)
                | ProgramEnd::Exited(0)
                | ProgramEnd::Refuted(_),
                _,
            ) => Verdict::WRONG_ANSWER,
            (ProgramEnd::Raised(_) | ProgramEnd::Exited(_), _) => verdict::RUNTIME_ERROR,
            (ProgramEnd::OutOfWork, _) => verdict::TIME_LIMIT,
            (ProgramEnd::OutOfMemory, _) => verdict::MEMORY_LIMIT,
            (ProgramEnd::OutOfOutput, _) => verdict::OUTPUT_LIMIT,
        };
        Ok(TestResult::of(
            verdict,
            &attempt,
            difference,
            got.as_deref(),
        ))
    }

    /// Work of the reference program over all tests; `None` when the task has none.
    async fn reference_work(&self, cx: &GradeContext) -> Option<Result<u64, Blocked>> {
        let text = self.task.reference.as_ref()?;
        let work = self
            .reference
            .get_or_try_init(|| async { settled(self.run_reference(text, cx).await) });
        Some(work.await.cloned().unwrap_or_else(Err))
    }

    async fn run_reference(&self, text: &str, cx: &GradeContext) -> Result<u64, Blocked> {
        let bad = |why: String| {
            Fault::lasting(
                ErrorCode::TaskAtFault,
                format!("the reference program {why}"),
            )
        };
        let build = self.compile_text(text).await?;
        let code = build
            .code()
            .map_err(|message| bad(format!("does not compile: {message}")))?;
        let results = self.run_tests(code, cx).await?;
        match results
            .iter()
            .position(|result| result.verdict != verdict::ACCEPTED)
        {
            Some(test) => {
                Err(bad(format!("fails test {test}: `{}`", results[test].verdict)).into())
            }
            None => Ok(total_work(&results)),
        }
    }

    fn evidence_of(&self, place: &Place<'_>) -> Evidence {
        match self.programs.image(self.task.language) {
            Some(image) => evidence::of_program(place, image),
            None => Evidence::new(),
        }
    }

    async fn graded(&self, place: &Place<'_>, results: &[TestResult], cx: &GradeContext) -> Grade {
        let verdicts: Vec<Verdict> = results.iter().map(|result| result.verdict).collect();
        let (verdict, score) = score(&self.task.scoring, &verdicts, self.task.tests.len());
        let work = total_work(results);
        if let Some(limit) = results.iter().find_map(TestResult::limit) {
            metrics::limited("graded", limit);
        }
        let evidence =
            evidence::with_tests(self.evidence_of(place), place, &self.task.tests, results);
        let mut grade = Grade::new(verdict, score)
            .with_evidence(evidence)
            .with_work(work);
        grade.deterministic = results.iter().all(|result| result.deterministic);
        let most = |of: fn(&TestResult) -> u64| results.iter().map(of).max();
        #[expect(
            clippy::cast_precision_loss,
            reason = "measures are read by people and policies, not compared bit by bit"
        )]
        let numbers = [
            (
                "tests_passed",
                Some(
                    verdicts
                        .iter()
                        .filter(|verdict| **verdict == verdict::ACCEPTED)
                        .count() as f64,
                ),
            ),
            ("work", most(|result| result.work).map(|work| work as f64)),
            (
                "memory",
                most(|result| result.memory_bytes).map(|bytes| bytes as f64),
            ),
            ("efficiency", self.efficiency(verdict, work, cx).await),
        ];
        grade.measures = numbers
            .into_iter()
            .filter_map(|(name, number)| Some((name, Measure::new(number?).ok()?)))
            .collect::<BTreeMap<_, _>>();
        grade
    }

    /// How many times the program's work the reference does; above 1 the program is the quicker
    /// one.
    async fn efficiency(&self, verdict: Verdict, work: u64, cx: &GradeContext) -> Option<f64> {
        if verdict != verdict::ACCEPTED || work == 0 {
            return None;
        }
        let reference = self.reference_work(cx).await?.ok()?;
        #[expect(clippy::cast_precision_loss, reason = "a ratio")]
        let ratio = reference as f64 / work as f64;
        Some(ratio)
    }
}

/// A result that may be kept; after a retryable fault, the next item tries again.
fn settled<T>(found: Result<T, Blocked>) -> Result<Result<T, Blocked>, Blocked> {
    match found {
        Err(blocked) if blocked.fault.retryable => Err(blocked),
        settled => Ok(settled),
    }
}

/// Stops if the client no longer waits for the result.
fn check_cancelled(cx: &GradeContext) -> Result<(), Fault> {
    if cx.cancel.is_cancelled() {
        return Err(Fault::passing(
            ErrorCode::Cancelled,
            "the client went away; send the item again",
        ));
    }
    Ok(())
}

fn total_work(results: &[TestResult]) -> u64 {
    results
        .iter()
        .fold(0, |sum, result| sum.saturating_add(result.work))
}

fn refused(verdict: Verdict, evidence: Evidence, deterministic: bool) -> Grade {
    let mut grade = Grade::new(verdict, Score::ZERO).with_evidence(evidence);
    grade.deterministic = deterministic;
    grade
}

/// A fault of the task, or of ours.
fn at_fault(blocked: Blocked) -> Outcome {
    let Blocked { fault, limit } = blocked;
    if fault.code != ErrorCode::TaskAtFault {
        return Outcome::Failed(fault);
    }
    if let Some(limit) = limit {
        metrics::limited("ungradable", &limit);
    }
    Outcome::Ungradable(fault)
}
