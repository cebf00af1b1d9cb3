//! Grades a completion: extracts its program, compiles it, runs it on the tests and compares the
//! results.

mod runs;

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_core::{
    BoxFuture, ErrorCode, Evidence, Fault, Grade, GradeContext, Hash, Item, Measure, Outcome,
    Prepared, Score, Verdict,
};
use assay_worker::program::{Callee, Compile, ImageInfo, Limits, Part};
use tokio::sync::OnceCell;

use crate::driver_evidence::Limit;
use crate::evidence::{self, LocatedProgram};
use crate::extract::{Candidate, candidates};
use crate::images::Image;
use crate::in_flight::InFlight;
use crate::per_image::PerImage;
use crate::program_run::Blocked;
use crate::programs::{Built, Programs};
use crate::result::TestResult;
use crate::score::score;
use crate::series::run_once;
use crate::task::{CodeTask, Test};
use crate::visible_text::VisibleText;
use crate::{metrics, verdict};

/// Most tests that are run with an empty program to validate the task's own code.
const MAX_VALIDATED_TESTS: usize = 100;

/// A prepared task.
pub(crate) struct PreparedCode {
    task: CodeTask,
    seed: u64,
    programs: Programs,
    /// Work of the reference, computed for the first completion.
    reference: PerImage<Result<ReferenceWork, Blocked>>,
    /// Whether the task's own code works with an empty program, computed for the first completion
    /// that has no program.
    own_code: PerImage<Result<(), Blocked>>,
    /// Compiled programs and the results of their tests. Equal completions compile and run once,
    /// also if their runs cannot be cached.
    builds: InFlight<(Image, Built)>,
    runs: InFlight<Vec<TestResult>>,
}

/// The results that the completions of one call share.
type Shared = Vec<Arc<OnceCell<Vec<TestResult>>>>;

/// The work of the reference.
#[derive(Debug, Clone, Copy)]
struct ReferenceWork {
    total: u64,
    /// The most on one test.
    most: u64,
}

/// A compiled program.
struct Program {
    code: Vec<u8>,
    image: Image,
    built_in: Arc<ImageInfo>,
    candidate: Candidate,
}

/// Code, and the image that compiled it.
#[derive(Clone, Copy)]
struct Code<'a> {
    code: &'a [u8],
    image: Image,
    built_in: &'a ImageInfo,
    limits: Limits,
}

/// Why there is no program to run.
enum NoProgram {
    NoCode {
        deterministic: bool,
    },
    CompileError {
        message: String,
        image: Arc<ImageInfo>,
        candidate: Candidate,
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
            let mut shared = Shared::new();
            for item in items {
                outcomes.push(self.grade_one(item, cx, &mut shared).await);
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
            reference: PerImage::new(),
            own_code: PerImage::new(),
            builds: InFlight::new(),
            runs: InFlight::new(),
        }
    }

    async fn grade_one(&self, item: &Item, cx: &GradeContext, shared: &mut Shared) -> Outcome {
        match self.grade_of(item, cx, shared).await {
            Ok(grade) => Outcome::Graded(grade),
            Err(blocked) => outcome_of(blocked),
        }
    }

    async fn grade_of(
        &self,
        item: &Item,
        cx: &GradeContext,
        shared: &mut Shared,
    ) -> Result<Grade, Blocked> {
        // The reference is part of the task. If it fails, the task is at fault, whatever the
        // completion does.
        let reference = self.reference_work(cx).await.transpose()?;
        let most = reference.map(|work| work.most);
        let limits = self.task.limits.of_program(most);
        let text = item.completion.text();
        let completion = VisibleText::of(&text, item.meta.think_open);
        let no_program = match self.compile(completion.text()).await? {
            Ok(program) => {
                let code = Code {
                    code: &program.code,
                    image: program.image,
                    built_in: &program.built_in,
                    limits,
                };
                let cell = self.runs.of(run_hash(cx, &program));
                shared.extend(cx.use_cache.then(|| Arc::clone(&cell)));
                let computed;
                let results = if cx.use_cache {
                    cell.get_or_try_init(|| self.run_tests(code, cx)).await?
                } else {
                    computed = self.run_tests(code, cx).await?;
                    &computed
                };
                let located = LocatedProgram {
                    candidate: &program.candidate,
                    completion: &completion,
                };
                return Ok(self.graded(&located, &program.built_in, results, cx).await);
            }
            Err(no_program) => no_program,
        };
        // No test was run, so it is not known yet whether the task's own code works.
        self.validate_own_code(cx).await?;
        Ok(match no_program {
            NoProgram::NoCode { deterministic } => {
                without_score(verdict::NO_CODE, Evidence::new(), deterministic)
            }
            NoProgram::CompileError {
                message,
                image,
                candidate,
                deterministic,
            } => {
                let located = LocatedProgram {
                    candidate: &candidate,
                    completion: &completion,
                };
                let limit = (self.task.language.unsupported)(&message);
                if let Some(limit) = &limit {
                    metrics::limited("graded", limit);
                }
                let evidence = evidence::of_program(&located, &image);
                let evidence =
                    evidence::with_compile_error(evidence, &located, &message, limit.as_ref());
                without_score(verdict::COMPILE_ERROR, evidence, deterministic)
            }
        })
    }

    /// Compiles the program of a completion. Later candidates are tried if the first one does not
    /// compile.
    async fn compile(&self, text: &str) -> Result<Result<Program, NoProgram>, Fault> {
        let mut first = None;
        let has_asserts = |test: &Test| matches!(test, Test::Assert { .. });
        let needs_statement = self.task.tests.iter().any(has_asserts);
        for candidate in candidates(text, self.task.language.name) {
            if needs_statement && !(self.task.language.has_statement)(&candidate.text) {
                break;
            }
            let (image, built) = self
                .compile_text(&candidate.text, self.task.calls())
                .await?;
            match built.build.code() {
                Ok(code) => {
                    return Ok(Ok(Program {
                        code: code.to_vec(),
                        image,
                        built_in: built.image,
                        candidate,
                    }));
                }
                Err(message) => {
                    let deterministic = built.build.is_deterministic();
                    let (message, image) = (message.to_owned(), Arc::clone(&built.image));
                    first.get_or_insert((message, image, candidate, deterministic));
                }
            }
        }
        Ok(Err(match first {
            None => NoProgram::NoCode {
                deterministic: true,
            },
            Some((_, _, candidate, deterministic)) if candidate.rule.may_be_prose() => {
                NoProgram::NoCode { deterministic }
            }
            Some((message, image, candidate, deterministic)) => NoProgram::CompileError {
                message,
                image,
                candidate,
                deterministic,
            },
        }))
    }

    /// Compiles a program in the image that it needs.
    async fn compile_text(&self, text: &str, calls: Vec<Callee>) -> Result<(Image, Built), Fault> {
        let image = self.task.image(text);
        if let Some(reason) = self.programs.missing(image) {
            return Err(Fault::permanent(ErrorCode::GraderUnavailable, reason));
        }
        let part = |stem: &str, text: String| Part {
            name: self.task.language.file(stem),
            text,
        };
        let prelude = self.task.prelude.texts_for(text).into_iter();
        let prelude = prelude.map(|text| part("prelude", text));
        let parts = prelude.chain([part("main", text.to_owned())]).collect();
        let cell = self.builds.of(build_hash(text, &calls));
        let compile = Compile {
            image: image.name.to_owned(),
            translation: self.task.language.translation,
            standard: self.task.language.standard.to_owned(),
            parts,
            files: match self.task.language.includes_files {
                true => self.task.files.clone(),
                false => Vec::new(),
            },
            calls,
            linked: None,
        };
        let programs = &self.programs;
        let build = || async move { Ok((image, programs.compile(compile).await?)) };
        cell.get_or_try_init(build).await.cloned()
    }

    /// Validates the task's own code, once. Completions with a program validate it in their own
    /// runs.
    async fn validate_own_code(&self, cx: &GradeContext) -> Result<(), Blocked> {
        let cell = self
            .own_code
            .of(&self.hash_of(self.task.language.empty_program));
        let validated = cell.get_or_try_init(|| async { cacheable(self.run_own_code(cx).await) });
        validated.await?.clone()
    }

    /// Runs the task's own code with an empty program. The task is at fault if its code fails
    /// before it uses the program.
    async fn run_own_code(&self, cx: &GradeContext) -> Result<(), Blocked> {
        let has_prelude = !self.task.prelude.is_empty();
        let has_own_code = |(at, test): &(usize, &Test)| {
            *at == 0 && has_prelude || matches!(test, Test::Assert { .. })
        };
        let mut tests = self
            .task
            .tests
            .iter()
            .enumerate()
            .filter(has_own_code)
            .take(MAX_VALIDATED_TESTS)
            .peekable();
        if self.task.reference.is_some() || tests.peek().is_none() {
            return Ok(());
        }
        let (image, built) = self
            .compile_text(self.task.language.empty_program, Vec::new())
            .await?;
        let code = built
            .build
            .code()
            .map_err(|message| self.not_compiled("the prelude", message))?;
        // The empty program does not define the functions that a compiled program must define.
        let can_run =
            |test: &Test| !(self.task.language.compiles_calls && matches!(test, Test::Call { .. }));
        for (_, test) in tests.filter(|(_, test)| can_run(test)) {
            let built_in = &built.image;
            let code = Code {
                code,
                image,
                built_in,
                limits: self.task.limits.own,
            };
            run_once(&self.programs, cx, built_in, self.run_of(code, test)).await?;
            check_cancelled(cx)?;
        }
        Ok(())
    }

    /// Work of the reference program; `None` if the task has no reference.
    async fn reference_work(&self, cx: &GradeContext) -> Option<Result<ReferenceWork, Blocked>> {
        let text = self.task.reference.as_ref()?;
        let cell = self.reference.of(&self.hash_of(text));
        let work = cell.get_or_try_init(|| async { cacheable(self.run_reference(text, cx).await) });
        Some(work.await.cloned().unwrap_or_else(Err))
    }

    async fn run_reference(&self, text: &str, cx: &GradeContext) -> Result<ReferenceWork, Blocked> {
        let (image, built) = self.compile_text(text, self.task.calls()).await?;
        let code = built
            .build
            .code()
            .map_err(|message| self.not_compiled("the reference program", message))?;
        let code = Code {
            code,
            image,
            built_in: &built.image,
            limits: self.task.limits.own,
        };
        let results = self.run_tests(code, cx).await?;
        match results
            .iter()
            .position(|result| result.verdict != verdict::ACCEPTED)
        {
            Some(test) => {
                let failed = &results[test];
                let limit = failed.limit().cloned();
                let hint = limit.as_ref().map(Limit::hint).unwrap_or_default();
                let reason = format!(
                    "the reference program fails test {test}: `{}`{hint}",
                    failed.verdict
                );
                let fault = Fault::permanent(ErrorCode::TaskAtFault, reason);
                Err(Blocked {
                    fault,
                    limit,
                    is_certain: true,
                })
            }
            None => Ok(ReferenceWork {
                total: total_work(&results),
                most: results.iter().map(|result| result.work).max().unwrap_or(0),
            }),
        }
    }

    /// A part of the task does not compile.
    fn not_compiled(&self, part: &str, message: &str) -> Blocked {
        let limit = (self.task.language.unsupported)(message);
        let hint = limit.as_ref().map(Limit::hint).unwrap_or_default();
        let reason = format!("{part} does not compile: {}{hint}", message.trim_end());
        Blocked {
            fault: Fault::permanent(ErrorCode::TaskAtFault, reason),
            limit,
            is_certain: true,
        }
    }

    /// The hash of the image in which a program runs; empty if it is not known yet.
    fn hash_of(&self, text: &str) -> String {
        let image = self.programs.image(self.task.image(text).name);
        image.map(|image| image.hash.clone()).unwrap_or_default()
    }

    async fn graded(
        &self,
        program: &LocatedProgram<'_>,
        image: &ImageInfo,
        results: &[TestResult],
        cx: &GradeContext,
    ) -> Grade {
        let verdicts: Vec<Verdict> = results.iter().map(|result| result.verdict).collect();
        let (verdict, score) = score(&self.task.scoring, &verdicts, self.task.tests.len());
        let work = total_work(results);
        if let Some(limit) = results.iter().find_map(TestResult::limit) {
            metrics::limited("graded", limit);
        }
        let evidence = evidence::of_program(program, image);
        let evidence = evidence::with_tests(evidence, program, &self.task.tests, results);
        let mut grade = Grade::new(verdict, score)
            .with_evidence(evidence)
            .with_work(work);
        grade.deterministic = results.iter().all(|result| result.deterministic);
        let max = |of: fn(&TestResult) -> u64| results.iter().map(of).max();
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
            ("work", max(|result| result.work).map(|work| work as f64)),
            (
                "memory",
                max(|result| result.memory_bytes).map(|bytes| bytes as f64),
            ),
            ("efficiency", self.efficiency(verdict, work, cx).await),
        ];
        grade.measures = numbers
            .into_iter()
            .filter_map(|(name, number)| Some((name, Measure::new(number?).ok()?)))
            .collect::<BTreeMap<_, _>>();
        grade
    }

    /// The work of the reference divided by that of the program. Above 1, the program needs less.
    async fn efficiency(&self, verdict: Verdict, work: u64, cx: &GradeContext) -> Option<f64> {
        if verdict != verdict::ACCEPTED || work == 0 {
            return None;
        }
        let reference = self.reference_work(cx).await?.ok()?;
        let ratio = reference.total as f64 / work as f64;
        Some(ratio)
    }
}

/// What a build depends on, apart from the task.
fn build_hash(text: &str, calls: &[Callee]) -> Hash {
    Hash::of_parts(&[text.as_bytes(), &calls.len().to_le_bytes()])
}

/// What the results of the tests depend on, apart from the task; and the caller, because the time
/// of a reply would show what others have run.
fn run_hash(cx: &GradeContext, program: &Program) -> Hash {
    let image = program.built_in.hash.as_bytes();
    Hash::of_parts(&[cx.caller.as_bytes(), image, &program.code])
}

/// Wraps a result that may be cached in `Ok`. After a fault of the service, the next item tries
/// again.
fn cacheable<T>(result: Result<T, Blocked>) -> Result<Result<T, Blocked>, Blocked> {
    match result {
        Err(blocked) if !blocked.is_of_task() => Err(blocked),
        result => Ok(result),
    }
}

/// Stops if the client no longer waits for the result.
fn check_cancelled(cx: &GradeContext) -> Result<(), Fault> {
    if cx.cancel.is_cancelled() {
        return Err(Fault::transient(
            ErrorCode::Cancelled,
            "the client disconnected; send the item again",
        ));
    }
    Ok(())
}

fn total_work(results: &[TestResult]) -> u64 {
    results
        .iter()
        .fold(0, |sum, result| sum.saturating_add(result.work))
}

fn without_score(verdict: Verdict, evidence: Evidence, deterministic: bool) -> Grade {
    let mut grade = Grade::new(verdict, Score::ZERO).with_evidence(evidence);
    grade.deterministic = deterministic;
    grade
}

/// The outcome of an item without a verdict: ungradable if the task is at fault, else failed.
fn outcome_of(blocked: Blocked) -> Outcome {
    let Blocked { fault, limit, .. } = blocked;
    if fault.code != ErrorCode::TaskAtFault {
        return Outcome::Failed(fault);
    }
    if let Some(limit) = limit {
        metrics::limited("ungradable", &limit);
    }
    Outcome::Ungradable(fault)
}

#[cfg(test)]
mod tests {
    use ::metrics::with_local_recorder;
    use assay_core::Task;
    use assay_worker::{WorkerOptions, WorkerPool};
    use futures::FutureExt;

    use super::*;
    use crate::metrics::tests::Counters;
    use crate::program_run::{ProgramEnd, ProgramRun};
    use crate::programs::Attempt;

    /// Programs of a node whose workers are never started.
    fn programs(counters: &Counters) -> Programs {
        let workers = WorkerPool::new(WorkerOptions {
            program: "worker".into(),
            arguments: Vec::new(),
            count: 1,
            uses: 1,
        });
        with_local_recorder(counters, || Programs::new(workers, None))
    }

    fn result(verdict: Verdict, end: ProgramEnd, driver_evidence: Option<&str>) -> TestResult {
        let run = ProgramRun {
            end,
            driver_evidence: driver_evidence.map(str::to_owned),
            stdout: Vec::new(),
            stderr: Vec::new(),
            work: 1_000_000,
            memory_bytes: 80 << 20,
            files: Vec::new(),
        };
        let attempt = Attempt {
            run: Arc::new(run),
            deterministic: true,
        };
        TestResult::of(verdict, &attempt, None, None)
    }

    #[test]
    fn grade_counts_passed_tests_and_limits_of_the_sandbox() {
        let counters = Counters::default();
        let task = Task::from_json(
            r#"{"type":"code","language":"python","score":"fraction","tests":
                [{"assert":"f(1)"},{"assert":"f(2)"},{"assert":"f(3)"},{"assert":"f(4)"}]}"#,
        )
        .unwrap();
        let code = PreparedCode::new(CodeTask::read(&task).unwrap(), 0, programs(&counters));
        assert_eq!(counters.described(), metrics::NAMES);
        assert_eq!(counters.counts(), BTreeMap::new());

        let completion = VisibleText::of("```python\nimport numpy\n```\n", false);
        let candidate = candidates(completion.text(), "python").remove(0);
        let program = LocatedProgram {
            candidate: &candidate,
            completion: &completion,
        };
        let image = ImageInfo {
            name: "python".to_owned(),
            language: "python".to_owned(),
            hash: "0a".to_owned(),
            version: "1".to_owned(),
            modules: Vec::new(),
        };
        let limit = r#"{"limit":{"cause":"module","name":"numpy"}}"#;
        let results = [
            result(verdict::ACCEPTED, ProgramEnd::Finished, None),
            result(verdict::ACCEPTED, ProgramEnd::Finished, None),
            result(
                verdict::RUNTIME_ERROR,
                ProgramEnd::Raised("ModuleNotFoundError".to_owned()),
                Some(limit),
            ),
            result(verdict::ACCEPTED, ProgramEnd::Finished, None),
        ];
        let grade = with_local_recorder(&counters, || {
            code.graded(&program, &image, &results, &GradeContext::default())
                .now_or_never()
                .unwrap()
        });
        assert_eq!(grade.verdict, Verdict::PARTIAL);
        assert_eq!(grade.score, Score::new(0.75).unwrap());
        assert_eq!(grade.work, 4_000_000);
        let measure = |value: f64| Measure::new(value).unwrap();
        assert_eq!(
            grade.measures,
            BTreeMap::from([
                ("memory", measure(f64::from(80 << 20))),
                ("tests_passed", measure(3.0)),
                ("work", measure(1_000_000.0)),
            ])
        );
        let counter = "assay_sandbox_limits_total outcome=graded cause=module name=numpy";
        assert_eq!(counters.counts(), BTreeMap::from([(counter.to_owned(), 1)]));
    }
}
