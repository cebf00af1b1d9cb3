//! Runs a program on the tests of its task, and judges each run.

use assay_core::{BoxFuture, GradeContext, Verdict};
use assay_worker::compute;
use assay_worker::program::{self, Run};
use futures::StreamExt;

use super::{Code, PreparedCode, check_cancelled};
use crate::checker::{self, CheckerResult};
use crate::program_run::{Blocked, ProgramEnd};
use crate::programs::Attempt;
use crate::result::TestResult;
use crate::series::{Series, run_once};
use crate::task::{Checker, Test};
use crate::{value, verdict};

/// Most tests that are run before others may use the worker.
const MAX_SERIES: usize = 16;

impl PreparedCode {
    /// Runs the tests in order, several concurrently if workers are idle. Stops when further
    /// results cannot change the score.
    pub(super) async fn run_tests(
        &self,
        code: Code<'_>,
        cx: &GradeContext,
    ) -> Result<Vec<TestResult>, Blocked> {
        let lanes = self.programs.concurrency();
        let size = self.task.tests.len().div_ceil(lanes).clamp(1, MAX_SERIES);
        let parts = self.task.tests.chunks(size);
        let run = |tests| -> BoxFuture<'_, _> { Box::pin(self.run_series(code, tests, cx)) };
        let parts: Vec<_> = parts.map(run).collect();
        let mut parts = futures::stream::iter(parts).buffered(lanes);
        let mut results = Vec::with_capacity(self.task.tests.len());
        while let Some(part) = parts.next().await {
            if add_results(&mut results, part?) && self.task.stops_early() {
                break;
            }
        }
        Ok(results)
    }

    /// Runs tests in order, one at a time.
    async fn run_series(
        &self,
        code: Code<'_>,
        tests: &[Test],
        cx: &GradeContext,
    ) -> Result<Vec<TestResult>, Blocked> {
        let mut series = Series::new(&self.programs, cx, code.built_in);
        let mut results = Vec::with_capacity(tests.len());
        for (at, test) in tests.iter().enumerate() {
            let next = tests.get(at + 1).map(|test| self.run_of(code, test));
            let run = self.run_of(code, test);
            let attempt = match series.run(run.clone(), next.as_ref()).await {
                Ok(attempt) => attempt,
                Err(blocked) => self.attempt_of_blocked(code, run, blocked, cx).await?,
            };
            if let Checker::Program(_) = self.task.checker {
                // It runs in a worker, too.
                series.release().await;
            }
            let result = self.judge(test, attempt, cx).await?;
            if add_results(&mut results, [result]) && self.task.stops_early() {
                break;
            }
            check_cancelled(cx)?;
        }
        series.release().await;
        Ok(results)
    }

    /// The attempt of a run without a result. If the program may have caused this by writing files,
    /// the task is at fault only if the test also fails when it does not see these files.
    async fn attempt_of_blocked(
        &self,
        code: Code<'_>,
        mut run: Run,
        blocked: Blocked,
        cx: &GradeContext,
    ) -> Result<Attempt, Blocked> {
        let program::Test::Assert { shares_files, .. } = &mut run.test else {
            return Err(blocked);
        };
        if blocked.is_certain {
            return Err(blocked);
        }
        *shares_files = false;
        match run_once(&self.programs, cx, code.built_in, run).await {
            Ok(_) => Ok(Attempt::of_failed_test(blocked.fault.message)),
            Err(_) => Err(blocked),
        }
    }

    pub(super) fn run_of(&self, code: Code<'_>, test: &Test) -> Run {
        let Code {
            code,
            image,
            limits,
            ..
        } = code;
        Run {
            image: image.name.to_owned(),
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
                Test::Assert {
                    text,
                    module,
                    pytest,
                } => program::Test::Assert {
                    setup: self.task.test_setup.clone(),
                    text: text.clone(),
                    module: module.clone(),
                    pytest: *pytest,
                    shares_files: true,
                },
            },
            translation: self.task.language.translation,
            limits: image.limits(limits),
            seed: self.seed,
            files: self.task.files.clone(),
            fetch: Vec::new(),
            arguments: Vec::new(),
        }
    }

    /// Determines the result of a test from its run.
    async fn judge(
        &self,
        test: &Test,
        attempt: Attempt,
        cx: &GradeContext,
    ) -> Result<TestResult, Blocked> {
        let (mut difference, mut got) = (None, None);
        let verdict = match (&attempt.run.end, test) {
            (ProgramEnd::Finished | ProgramEnd::Exited(0), Test::Stdin { input, expected }) => {
                let stdout = &attempt.run.stdout;
                let result = match &self.task.checker {
                    Checker::Named(named) => {
                        let tolerance = self.task.float_tolerance;
                        compute(stdout.len(), || {
                            checker::compare(*named, tolerance, expected, stdout)
                        })
                    }
                    Checker::Program(program) => {
                        let run = checker::run_checker(
                            (&self.programs, cx),
                            program,
                            self.seed,
                            (input.as_str(), expected.as_str()),
                            stdout,
                        );
                        let (result, checker_output) = run.await?;
                        got = checker_output;
                        result
                    }
                };
                match result {
                    CheckerResult::Correct => verdict::ACCEPTED,
                    CheckerResult::Presentation => verdict::PRESENTATION,
                    CheckerResult::Wrong(first_difference) => {
                        difference = first_difference;
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
                    let is_equal = returned
                        .as_ref()
                        .map(|got| value::equal(got, expected, rule));
                    (returned.as_ref().map(value::shown), is_equal == Some(true))
                });
                let is_equal;
                (got, is_equal) = compared;
                if is_equal {
                    verdict::ACCEPTED
                } else {
                    Verdict::WRONG_ANSWER
                }
            }
            (ProgramEnd::Finished, Test::Assert { .. }) => verdict::ACCEPTED,
            // The program ended successfully before the test did.
            (
                ProgramEnd::Finished
                | ProgramEnd::Returned(_)
                | ProgramEnd::Exited(0)
                | ProgramEnd::TestFailed(_),
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
}

/// Appends results, and returns whether one of all has failed. Only the first failure is shown:
/// retaining the outputs of all tests could take much memory.
fn add_results(results: &mut Vec<TestResult>, more: impl IntoIterator<Item = TestResult>) -> bool {
    let passed = |result: &TestResult| result.verdict == verdict::ACCEPTED;
    let mut has_failed = !results.iter().all(passed);
    for result in more {
        let passed = passed(&result);
        results.push(if has_failed {
            result.without_failure()
        } else {
            result
        });
        has_failed |= !passed;
    }
    has_failed
}
