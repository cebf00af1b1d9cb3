//! Programs in workers: compiling and running them, what is kept of it, and what to think of a
//! worker that gave no answer.

use std::sync::Arc;
use std::time::Duration;

use assay_core::execution::NotExecuted;
use assay_core::{ErrorCode, Fault, Hash};
use assay_worker::program::{
    COMPILE_WORK, Compile, Compiled, ImageInfo, Limits, Reply, Request, Run, Test,
};
use assay_worker::{Settled, Turn, WorkerError, WorkerPool};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::metrics;
use crate::ran::{Blocked, ProgramRun};
use crate::task::LANGUAGES;

/// Bytes of compiled programs and of runs that are kept: completions of one prompt often hold the
/// same program.
const KEPT_BYTES: u64 = 64 << 20;

/// Work a worker does in a second of wall time at the least: a core does 4 to 9 times as much. One
/// that is slower stands still, or is not given the processor, and is killed.
const SLOWEST: u64 = 1_000_000_000;

/// Wall time beside that: for starting an instance on a machine under load.
const SLACK: Duration = Duration::from_secs(10);

/// Runs programs in workers. Cheap to clone: clones share workers and what is kept.
#[derive(Clone)]
pub struct Programs(Arc<Inner>);

struct Inner {
    workers: WorkerPool,
    images: Vec<ImageInfo>,
    compiled: Cache<Hash, Arc<Compiled>, CompiledBytes>,
    runs: Cache<Hash, KnownRun, RunBytes>,
}

/// A cached run: its result, or why it gives none.
type KnownRun = Result<Arc<ProgramRun>, Arc<Blocked>>;

#[derive(Clone)]
struct CompiledBytes;

impl Weighter<Hash, Arc<Compiled>> for CompiledBytes {
    fn weight(&self, _: &Hash, compiled: &Arc<Compiled>) -> u64 {
        match compiled.as_ref() {
            Compiled::Code(code) => 128 + code.len() as u64,
            Compiled::Refused(message) => 128 + message.len() as u64,
        }
    }
}

#[derive(Clone)]
struct RunBytes;

impl Weighter<Hash, KnownRun> for RunBytes {
    fn weight(&self, _: &Hash, known: &KnownRun) -> u64 {
        let kept = match known {
            Ok(run) => run.bytes(),
            Err(blocked) => blocked.fault.message.len(),
        };
        256 + kept as u64
    }
}

/// One run, and whether running again would give the same.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) run: Arc<ProgramRun>,
    pub(crate) deterministic: bool,
}

/// The result of compiling a program.
#[derive(Debug, Clone)]
pub(crate) enum Build {
    /// The compiler answered; it always gives the same answer.
    Answered(Arc<Compiled>),
    /// It exceeded its time twice, with the processor to itself.
    Overran,
}

impl Build {
    /// The code, or why there is none.
    pub(crate) fn code(&self) -> Result<&[u8], &str> {
        match self {
            Self::Overran => Err("the program takes too long to compile"),
            Self::Answered(compiled) => match compiled.as_ref() {
                Compiled::Code(code) => Ok(code),
                Compiled::Refused(message) => Err(message),
            },
        }
    }

    /// Whether compiling again would give the same.
    pub(crate) fn is_deterministic(&self) -> bool {
        matches!(self, Self::Answered(_))
    }
}

impl Programs {
    /// Programs in these workers, which have these images.
    #[must_use]
    pub fn new(workers: WorkerPool, images: Vec<ImageInfo>) -> Self {
        metrics::describe();
        Self(Arc::new(Inner {
            workers,
            images,
            compiled: Cache::with_weighter(1_024, KEPT_BYTES, CompiledBytes),
            runs: Cache::with_weighter(4_096, KEPT_BYTES, RunBytes),
        }))
    }

    /// The image of a language, if there is one.
    pub(crate) fn image(&self, language: &str) -> Option<&ImageInfo> {
        self.0
            .images
            .iter()
            .find(|image| image.language == language)
    }

    /// How many tests of one program are best run at once.
    pub(crate) fn width(&self) -> usize {
        self.0.workers.free().clamp(1, self.0.workers.count())
    }

    /// Compiles a program, once for all its runs and for all completions that hold it.
    ///
    /// # Errors
    /// A fault of the service. It never becomes a [`Build`]: the death of a worker tells nothing
    /// about the program.
    pub(crate) async fn compile(&self, compile: Compile) -> Result<Build, Fault> {
        let key = compile_key(&compile);
        if let Some(compiled) = self.0.compiled.get(&key) {
            return Ok(Build::Answered(compiled));
        }
        let turn = self
            .0
            .workers
            .turn(Duration::MAX)
            .await
            .map_err(|error| fault(&error))?;
        self.compile_in(&turn, key, compile).await
    }

    async fn compile_in(
        &self,
        turn: &Turn<'_>,
        key: Hash,
        compile: Compile,
    ) -> Result<Build, Fault> {
        let settled = turn
            .settle(&Request::Compile(compile), timeout(COMPILE_WORK))
            .await;
        match settled.map_err(|error| fault(&error))? {
            Settled::Answered(Reply::Compiled(compiled)) => {
                let compiled = Arc::new(compiled);
                self.0.compiled.insert(key, Arc::clone(&compiled));
                Ok(Build::Answered(compiled))
            }
            Settled::Answered(other) => Err(no_answer(&other)),
            Settled::Overran => Ok(Build::Overran),
        }
    }

    /// Why programs in a language cannot run here; `None` if they can.
    pub(crate) fn missing(&self, language: &str) -> Option<String> {
        if self.image(language).is_some() {
            return None;
        }
        Some(if LANGUAGES.contains(&language) {
            format!("the image of `{language}` is not built; build it with `make images`")
        } else {
            format!(
                "unsupported language `{language}`; use one of `{}`",
                LANGUAGES.join("`, `")
            )
        })
    }

    /// Runs a compiled program on one test.
    ///
    /// # Errors
    /// A fault of the service or of the task. Neither ever becomes an [`Attempt`].
    pub(crate) async fn run(&self, run: Run) -> Result<Attempt, Blocked> {
        let key = run_key(&run);
        if let Some(known) = self.0.runs.get(&key) {
            let run = known.map_err(|blocked| Blocked::clone(&blocked))?;
            return Ok(Attempt {
                run,
                deterministic: true,
            });
        }
        let turn = self
            .0
            .workers
            .turn(Duration::MAX)
            .await
            .map_err(|error| fault(&error))?;
        match run_in(&turn, run).await {
            Ok(attempt) => {
                if attempt.deterministic {
                    self.0.runs.insert(key, Ok(Arc::clone(&attempt.run)));
                }
                Ok(attempt)
            }
            Err(blocked) => {
                // A retryable fault is not cached.
                if !blocked.fault.retryable {
                    self.0.runs.insert(key, Err(Arc::new(blocked.clone())));
                }
                Err(blocked)
            }
        }
    }

    /// Compiles a program and runs it in one turn, for which it waits no longer than `wait`. The
    /// run is not cached.
    ///
    /// # Errors
    /// [`NotExecuted::Busy`] when no turn became free in time, and faults of the service.
    pub(crate) async fn run_soon(
        &self,
        compile: Compile,
        wait: Duration,
        run: impl FnOnce(&[u8]) -> Run,
    ) -> Result<Result<Arc<ProgramRun>, String>, NotExecuted> {
        let turn = self
            .0
            .workers
            .turn(wait)
            .await
            .map_err(|error| match error {
                WorkerError::Busy => NotExecuted::Busy,
                error => NotExecuted::Failed(fault(&error)),
            })?;
        let key = compile_key(&compile);
        let build = match self.0.compiled.get(&key) {
            Some(compiled) => Build::Answered(compiled),
            None => self
                .compile_in(&turn, key, compile)
                .await
                .map_err(NotExecuted::Failed)?,
        };
        let run = match build.code() {
            Ok(code) => run(code),
            Err(message) => return Ok(Err(message.to_owned())),
        };
        let attempt = run_in(&turn, run)
            .await
            .map_err(|blocked| NotExecuted::Failed(blocked.fault))?;
        Ok(Ok(attempt.run))
    }
}

async fn run_in(turn: &Turn<'_>, run: Run) -> Result<Attempt, Blocked> {
    let timeout = timeout(run.limits.work);
    match turn
        .settle(&Request::Run(run), timeout)
        .await
        .map_err(|error| fault(&error))?
    {
        Settled::Answered(Reply::Ran(ran)) => Ok(Attempt {
            run: Arc::new(ProgramRun::read(ran)?),
            deterministic: true,
        }),
        Settled::Answered(other) => Err(no_answer(&other).into()),
        Settled::Overran => Ok(Attempt {
            run: Arc::new(ProgramRun::overran()),
            deterministic: false,
        }),
    }
}

fn timeout(work: u64) -> Duration {
    SLACK + Duration::from_secs(work / SLOWEST)
}

fn compile_key(compile: &Compile) -> Hash {
    let mut parts: Vec<&[u8]> = vec![compile.language.as_bytes()];
    for part in &compile.parts {
        parts.extend([part.name.as_bytes(), part.text.as_bytes()]);
    }
    Hash::of_parts(&parts)
}

/// Everything a run depends on. The code names the image that compiled it.
fn run_key(run: &Run) -> Hash {
    let (kind, parts): (&[u8], [&[u8]; 3]) = match &run.test {
        Test::Stdin(input) => (b"stdin", [input, b"", b""]),
        Test::Call {
            function,
            args,
            kwargs,
        } => (
            b"call",
            [function.as_bytes(), args.as_bytes(), kwargs.as_bytes()],
        ),
        Test::Assert { setup, text } => (b"assert", [setup.as_bytes(), text.as_bytes(), b""]),
    };
    let Limits {
        work,
        memory_bytes,
        output_bytes,
    } = run.limits;
    let numbers = [work, memory_bytes, output_bytes, run.seed]
        .map(u64::to_le_bytes)
        .concat();
    Hash::of_parts(&[
        run.language.as_bytes(),
        &run.code,
        kind,
        parts[0],
        parts[1],
        parts[2],
        &numbers,
    ])
}

/// The fault for a reply without a result.
fn no_answer(reply: &Reply) -> Fault {
    match reply {
        Reply::Unable(reason) => Fault::lasting(ErrorCode::GraderUnavailable, reason.clone()),
        Reply::Failed(reason) => Fault::passing(ErrorCode::SandboxFailed, reason.clone()),
        Reply::Compiled(_) | Reply::Ran(_) | Reply::Images(_) => Fault::passing(
            ErrorCode::SandboxFailed,
            "a worker sent an unexpected reply",
        ),
    }
}

pub(crate) fn fault(error: &WorkerError) -> Fault {
    match error {
        WorkerError::Stopping => Fault::passing(
            ErrorCode::ShuttingDown,
            "the node is shutting down; send the item again",
        ),
        WorkerError::Start { .. } => {
            Fault::passing(ErrorCode::GraderUnavailable, error.to_string())
        }
        WorkerError::Busy
        | WorkerError::Died(_)
        | WorkerError::Overran { .. }
        | WorkerError::Message(_) => Fault::passing(ErrorCode::SandboxFailed, error.to_string()),
    }
}
