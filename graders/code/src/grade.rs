//! One completion: its program found, compiled, run on the tests, and what it gave compared.

use std::collections::BTreeMap;

use assay_cell::compute;
use assay_cell::program::{self, Compile, End, Limits, Part, Run};
use assay_core::extraction::reasoning;
use assay_core::{
    BoxFuture, ErrorCode, Evidence, Fault, Grade, GradeContext, Item, Measure, Outcome, Prepared, Score, Verdict,
};
use futures::StreamExt;
use serde_json::json;
use tokio::sync::OnceCell;

use crate::checker::{self, Found};
use crate::extract::{Candidate, Rule, candidates};
use crate::programs::{Attempt, Build, Programs};
use crate::result::TestResult;
use crate::score::score;
use crate::task::{Checker, CheckerProgram, CodeTask, Test};
use crate::{evidence, value, verdict};

/// What a checker program may use on one test.
const CHECKER_LIMITS: Limits =
    Limits { work: 10 * program::WORK_PER_SECOND, memory_bytes: 512 << 20, output_bytes: 1 << 20 };

/// A task ready for completions.
pub(crate) struct PreparedCode {
    task: CodeTask,
    seed: u64,
    programs: Programs,
    /// Work of the reference over all tests, found when the first completion passes.
    reference: OnceCell<Result<u64, Fault>>,
}

/// A program that compiled.
struct Program {
    code: Vec<u8>,
    found: Candidate,
}

/// Why there is no program to run.
enum NoProgram {
    NoCode { deterministic: bool },
    Refused { message: String, found: Candidate, deterministic: bool },
    Fault(Fault),
}

impl Prepared for PreparedCode {
    fn grade<'a>(&'a self, items: &'a [&'a Item], cx: &'a GradeContext) -> BoxFuture<'a, Vec<Outcome>> {
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
        Self { task, seed, programs, reference: OnceCell::new() }
    }

    async fn grade_one(&self, item: &Item, cx: &GradeContext) -> Outcome {
        // The reference is the task's: one that does not pass is told before any completion is blamed.
        if let Some(Err(fault)) = self.reference_work(cx).await {
            return at_fault(fault);
        }
        let text = item.completion.text();
        let visible = reasoning::visible_text(&text, item.meta.think_open);
        let program = match self.compile(&visible).await {
            Ok(program) => program,
            Err(NoProgram::NoCode { deterministic }) => {
                return refused(verdict::NO_CODE, Evidence::new(), deterministic);
            }
            Err(NoProgram::Refused { message, found, deterministic }) => {
                let evidence = self.evidence_of(&found).text("message", &message);
                return refused(verdict::COMPILE_ERROR, evidence, deterministic);
            }
            Err(NoProgram::Fault(fault)) => return at_fault(fault),
        };
        let results = match self.run_tests(&program.code, cx).await {
            Ok(results) => results,
            Err(fault) => return at_fault(fault),
        };
        self.graded(&program, &results, cx).await
    }

    /// The program of a completion, compiled. Later candidates are tried when the first does not compile.
    async fn compile(&self, text: &str) -> Result<Program, NoProgram> {
        let mut first = None;
        for found in candidates(text, self.task.language) {
            let build = self.compile_text(&found.text).await.map_err(NoProgram::Fault)?;
            match build.code() {
                Ok(code) => return Ok(Program { code: code.to_vec(), found }),
                Err(message) => {
                    first.get_or_insert((message.to_owned(), found, build.is_deterministic()));
                }
            }
        }
        Err(match first {
            // Prose is no program; a fenced block that does not compile is a wrong one.
            None => NoProgram::NoCode { deterministic: true },
            Some((_, Candidate { rule: Rule::Whole, .. }, deterministic)) => NoProgram::NoCode { deterministic },
            Some((message, found, deterministic)) => NoProgram::Refused { message, found, deterministic },
        })
    }

    async fn compile_text(&self, text: &str) -> Result<Build, Fault> {
        let prelude = Part { name: "prelude.py".to_owned(), text: self.task.prelude.clone() };
        let main = Part { name: "main.py".to_owned(), text: text.to_owned() };
        let parts = std::iter::once(prelude).filter(|part| !part.text.is_empty()).chain([main]);
        let language = self.task.language.to_owned();
        self.programs.compile(Compile { language, parts: parts.collect() }).await
    }

    /// Runs the tests in order, several at once when cells are idle; stops where nothing can change any more.
    async fn run_tests(&self, code: &[u8], cx: &GradeContext) -> Result<Vec<TestResult>, Fault> {
        let run = |test| -> BoxFuture<'_, _> { Box::pin(self.run_test(code, test)) };
        let runs: Vec<_> = self.task.tests.iter().map(run).collect();
        let mut runs = futures::stream::iter(runs).buffered(self.programs.width());
        let mut results = Vec::with_capacity(self.task.tests.len());
        let mut has_failed = false;
        while let Some(result) = runs.next().await {
            let result = result?;
            let passed = result.verdict == verdict::ACCEPTED;
            // Only the first failure is shown. Keeping the outputs of all tests could take much memory.
            results.push(if has_failed { result.without_failure() } else { result });
            has_failed |= !passed;
            if has_failed && self.task.stops_early() {
                break;
            }
            if cx.cancel.is_cancelled() {
                return Err(Fault::passing(ErrorCode::Cancelled, "the client went away; send the item again"));
            }
        }
        Ok(results)
    }

    async fn run_test(&self, code: &[u8], test: &Test) -> Result<TestResult, Fault> {
        let run = Run {
            language: self.task.language.to_owned(),
            code: code.to_vec(),
            test: match test {
                Test::Stdin { input, .. } => program::Test::Stdin(input.clone().into_bytes()),
                Test::Call { function, args, kwargs, .. } => {
                    program::Test::Call { function: function.clone(), args: args.clone(), kwargs: kwargs.clone() }
                }
                Test::Assert { text } => {
                    program::Test::Assert { setup: self.task.test_setup.clone(), text: text.clone() }
                }
            },
            limits: self.task.limits,
            seed: self.seed,
        };
        let attempt = self.programs.run(run).await?;
        self.judge(test, attempt).await
    }

    /// What a run means for its test.
    async fn judge(&self, test: &Test, attempt: Attempt) -> Result<TestResult, Fault> {
        let (mut difference, mut got) = (None, None);
        let verdict = match (&attempt.ran.end, test) {
            (End::Finished | End::Exited(0), Test::Stdin { input, expected }) => {
                let found = match &self.task.checker {
                    Checker::Named(named) => {
                        let (stdout, tolerance) = (&attempt.ran.stdout, self.task.float_tolerance);
                        compute(stdout.len(), || checker::compare(*named, tolerance, expected, stdout))
                    }
                    Checker::Program(program) => {
                        let (found, said) = self.ask_checker(program, input, expected, &attempt.ran.stdout).await?;
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
            (End::Returned(text), Test::Call { expected, .. }) => {
                let compared = compute(text.len(), || {
                    let returned = value::read(text);
                    let right = returned.as_ref().map(|got| value::equal(got, expected, self.task.float_tolerance));
                    (returned.as_ref().map(value::shown), right == Some(true))
                });
                let right;
                (got, right) = compared;
                if right { verdict::ACCEPTED } else { Verdict::WRONG_ANSWER }
            }
            (End::Finished, Test::Assert { .. }) => verdict::ACCEPTED,
            // Ended before the test did, as if all were well.
            (End::Finished | End::Returned(_) | End::Exited(0) | End::Refuted(_), _) => Verdict::WRONG_ANSWER,
            (End::Unjudgeable(message), _) => {
                return Err(Fault::lasting(ErrorCode::TaskAtFault, format!("the test cannot be run: {message}")));
            }
            (End::Raised(_) | End::Exited(_), _) => verdict::RUNTIME_ERROR,
            (End::OutOfWork, _) => verdict::TIME_LIMIT,
            (End::OutOfMemory, _) => verdict::MEMORY_LIMIT,
            (End::OutOfOutput, _) => verdict::OUTPUT_LIMIT,
        };
        Ok(TestResult::of(verdict, &attempt, difference, got.as_deref()))
    }

    /// Asks a checker program. One that breaks over this output is asked about the expected one as well: breaking over both, it
    /// is the task that is at fault.
    async fn ask_checker(
        &self,
        program: &CheckerProgram,
        input: &str,
        expected: &str,
        got: &[u8],
    ) -> Result<(Found, Option<String>), Fault> {
        let parts = vec![Part { name: "checker.py".to_owned(), text: program.code.clone() }];
        let compile = Compile { language: program.language.clone(), parts };
        let build = self.programs.compile(compile).await?;
        let code = build.code().map_err(|message| {
            Fault::lasting(ErrorCode::TaskAtFault, format!("the checker program does not compile: {message}"))
        })?;
        let ask = async |got: &[u8]| {
            let asked = json!({"input": input, "expected": expected, "got": String::from_utf8_lossy(got)});
            let run = Run {
                language: program.language.clone(),
                code: code.to_vec(),
                test: program::Test::Stdin(asked.to_string().into_bytes()),
                limits: CHECKER_LIMITS,
                seed: self.seed,
            };
            Ok::<_, Fault>(self.programs.run(run).await?.ran)
        };
        let ran = ask(got).await?;
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        if let Some(found) = checker_word(&ran.end, &said) {
            return Ok((found, Some(said)));
        }
        let about_expected = ask(expected.as_bytes()).await?;
        let word = checker_word(&about_expected.end, &String::from_utf8_lossy(&about_expected.stdout));
        match word {
            Some(_) => Ok((Found::Wrong(None), Some("the checker program broke over this output".to_owned()))),
            None => Err(Fault::lasting(
                ErrorCode::TaskAtFault,
                "the checker program says neither `accepted`, `wrong_answer` nor `presentation`",
            )),
        }
    }

    /// Work of the reference program over all tests; `None` when the task has none.
    async fn reference_work(&self, cx: &GradeContext) -> Option<Result<u64, Fault>> {
        let text = self.task.reference.as_ref()?;
        let work = self.reference.get_or_try_init(|| async {
            let found = self.run_reference(text, cx).await;
            match found {
                // What may pass is asked again by the next item.
                Err(fault) if fault.retryable => Err(fault),
                settled => Ok(settled),
            }
        });
        Some(work.await.cloned().unwrap_or_else(Err))
    }

    async fn run_reference(&self, text: &str, cx: &GradeContext) -> Result<u64, Fault> {
        let bad = |why: String| Fault::lasting(ErrorCode::TaskAtFault, format!("the reference program {why}"));
        let build = self.compile_text(text).await?;
        let code = build.code().map_err(|message| bad(format!("does not compile: {message}")))?;
        let results = self.run_tests(code, cx).await?;
        match results.iter().position(|result| result.verdict != verdict::ACCEPTED) {
            Some(test) => Err(bad(format!("fails test {test}: `{}`", results[test].verdict))),
            None => Ok(total_work(&results)),
        }
    }

    fn evidence_of(&self, found: &Candidate) -> Evidence {
        match self.programs.image(self.task.language) {
            Some(image) => evidence::of_program(found, image),
            None => Evidence::new(),
        }
    }

    async fn graded(&self, program: &Program, results: &[TestResult], cx: &GradeContext) -> Outcome {
        let verdicts: Vec<Verdict> = results.iter().map(|result| result.verdict).collect();
        let (verdict, score) = score(&self.task.scoring, &verdicts, self.task.tests.len());
        let work = total_work(results);
        let evidence = evidence::with_tests(self.evidence_of(&program.found), &self.task.tests, results);
        let mut grade = Grade::new(verdict, score).with_evidence(evidence).with_work(work);
        grade.deterministic = results.iter().all(|result| result.deterministic);
        let most = |of: fn(&TestResult) -> u64| results.iter().map(of).max();
        #[expect(
            clippy::cast_precision_loss,
            reason = "measures are read by people and policies, not compared bit by bit"
        )]
        let numbers = [
            ("tests_passed", Some(verdicts.iter().filter(|verdict| **verdict == verdict::ACCEPTED).count() as f64)),
            ("work", most(|result| result.work).map(|work| work as f64)),
            ("memory", most(|result| result.memory_bytes).map(|bytes| bytes as f64)),
            ("efficiency", self.efficiency(verdict, work, cx).await),
        ];
        grade.measures = numbers
            .into_iter()
            .filter_map(|(name, number)| Some((name, Measure::new(number?).ok()?)))
            .collect::<BTreeMap<_, _>>();
        Outcome::Graded(grade)
    }

    /// How many times the program's work the reference does; above 1 the program is the quicker one.
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

/// What a checker program said: its first word.
fn checker_word(end: &End, said: &str) -> Option<Found> {
    if !matches!(end, End::Finished | End::Exited(0)) {
        return None;
    }
    match said.split_whitespace().next()? {
        "accepted" => Some(Found::Right),
        "wrong_answer" => Some(Found::Wrong(None)),
        "presentation" => Some(Found::Presentation),
        _ => None,
    }
}

fn total_work(results: &[TestResult]) -> u64 {
    results.iter().fold(0, |sum, result| sum.saturating_add(result.work))
}

fn refused(verdict: Verdict, evidence: Evidence, deterministic: bool) -> Outcome {
    let mut grade = Grade::new(verdict, Score::ZERO).with_evidence(evidence);
    grade.deterministic = deterministic;
    Outcome::Graded(grade)
}

/// A fault of the task, or of ours.
fn at_fault(fault: Fault) -> Outcome {
    if fault.code == ErrorCode::TaskAtFault { Outcome::Ungradable(fault) } else { Outcome::Failed(fault) }
}
