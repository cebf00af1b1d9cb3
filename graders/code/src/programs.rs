//! Compiles and runs programs in workers, caches the results, and converts errors of workers to
//! faults.

use std::sync::Arc;
use std::time::Duration;

use assay_core::execution::ExecuteError;
use assay_core::{BoxFuture, ErrorCode, Fault, Hash};
use assay_worker::program::{
    Callee, Compile, Compiled, ImageInfo, Limits, NATIVE_COMPILE_WORK, Ran, Reply, Request, Run,
    Test, Translation, WORK_PER_SECOND,
};
use assay_worker::{UntrustedReply, WorkerError, WorkerPermit, WorkerPool};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::images::Image;
use crate::metrics;
use crate::program_run::{self, Blocked, ProgramEnd, ProgramRun};

/// Size of each of the caches of compiled programs and of runs, in bytes. Completions of one prompt
/// often contain the same program.
const CACHE_BYTES: u64 = 64 << 20;

/// Processor time of a worker for the work of a second. A core needs 1 to 4 seconds for it. Only a
/// program that waits for memory most of the time is slower, and natively as well.
const SECONDS_PER_SECOND: u64 = 6;

/// Additional processor time to start an instance and to map memory.
const START_TIMEOUT: Duration = Duration::from_secs(3);

/// The images of a node.
pub trait PrepareImages: Send + Sync {
    /// Whether an image is installed, intact or not. Fast.
    fn is_installed(&self, image: &str) -> bool;

    /// What is known about an image; `None` if it is not installed, or was never intact.
    fn info(&self, image: &str) -> Option<Arc<ImageInfo>>;

    /// Returns when workers can run programs in an image, which may take minutes at its first use.
    ///
    /// # Errors
    /// Why the image cannot be used at present.
    fn prepare<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<PreparedImage, String>>;

    /// Whether the files of an image still have the contents of this version. If not, what a worker
    /// did with them is not evidence about a program.
    fn is_current<'a>(&'a self, image: &'a str, version: ImageVersion) -> BoxFuture<'a, bool>;
}

/// Identifies the files of an image that were intact when it was prepared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImageVersion(pub u64);

/// An image that workers can run.
#[derive(Debug, Clone)]
pub struct PreparedImage {
    /// Its files.
    pub version: ImageVersion,
    /// What they contain.
    pub info: Arc<ImageInfo>,
}

/// Runs programs in workers. Cheap to clone: clones share the workers and the caches.
#[derive(Clone)]
pub struct Programs(Arc<ProgramsState>);

struct ProgramsState {
    workers: WorkerPool,
    images: Option<Arc<dyn PrepareImages>>,
    compiled: Cache<Hash, Arc<Compiled>, CompiledBytes>,
    runs: Cache<Hash, CachedRun, RunBytes>,
}

/// A cached run: its result, or why it has none.
type CachedRun = Result<Arc<ProgramRun>, Arc<Blocked>>;

#[derive(Clone)]
struct CompiledBytes;

impl Weighter<Hash, Arc<Compiled>> for CompiledBytes {
    fn weight(&self, _: &Hash, compiled: &Arc<Compiled>) -> u64 {
        match compiled.as_ref() {
            Compiled::Code(code) => 128 + code.len() as u64,
            Compiled::Rejected(message) => 128 + message.len() as u64,
        }
    }
}

#[derive(Clone)]
struct RunBytes;

impl Weighter<Hash, CachedRun> for RunBytes {
    fn weight(&self, _: &Hash, cached: &CachedRun) -> u64 {
        let bytes = match cached {
            Ok(run) => program_run::bytes(run),
            Err(blocked) => blocked.fault.message.len(),
        };
        256 + bytes as u64
    }
}

/// One run, and whether another run would give the same result.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) run: Arc<ProgramRun>,
    pub(crate) deterministic: bool,
}

impl Attempt {
    /// The attempt of a request to run a program.
    ///
    /// # Errors
    /// A fault of the service or of the task. Neither is ever an [`Attempt`].
    pub(crate) fn read(reply: UntrustedReply<Reply>) -> Result<Self, Blocked> {
        match reply {
            UntrustedReply::Answered(Reply::Ran(ran)) => Ok(Self {
                run: Arc::new(program_run::read(ran)?),
                deterministic: true,
            }),
            UntrustedReply::Answered(other) => Err(fault_of_reply(&other).into()),
            // Exceeding the processor time counts as using up the work.
            UntrustedReply::Overran => Ok(Self {
                run: Arc::new(Ran::without_output(ProgramEnd::OutOfWork)),
                deterministic: false,
            }),
        }
    }

    /// The attempt of a program that made the test fail, with this message.
    pub(crate) fn of_failed_test(message: String) -> Self {
        Self {
            run: Arc::new(Ran::without_output(ProgramEnd::TestFailed(message))),
            deterministic: true,
        }
    }
}

/// A program that was compiled in this image.
#[derive(Debug, Clone)]
pub(crate) struct Built {
    pub(crate) build: Build,
    pub(crate) image: Arc<ImageInfo>,
}

/// The result of compiling a program.
#[derive(Debug, Clone)]
pub(crate) enum Build {
    /// The reply of the compiler, which is always the same.
    Done(Arc<Compiled>),
    /// The compiler exceeded its timeout.
    TimedOut,
}

impl Build {
    /// The code, or the message of the compiler.
    pub(crate) fn code(&self) -> Result<&[u8], &str> {
        match self {
            Self::TimedOut => Err("the program takes too long to compile"),
            Self::Done(compiled) => match compiled.as_ref() {
                Compiled::Code(code) => Ok(code),
                Compiled::Rejected(message) => Err(message),
            },
        }
    }

    /// Whether compiling again would give the same result.
    pub(crate) fn is_deterministic(&self) -> bool {
        matches!(self, Self::Done(_))
    }
}

impl Programs {
    /// Runs programs in `workers`, in these images if there are any.
    #[must_use]
    pub fn new(workers: WorkerPool, images: Option<Arc<dyn PrepareImages>>) -> Self {
        metrics::describe();
        Self(Arc::new(ProgramsState {
            workers,
            images,
            compiled: Cache::with_weighter(1_024, CACHE_BYTES, CompiledBytes),
            runs: Cache::with_weighter(4_096, CACHE_BYTES, RunBytes),
        }))
    }

    /// What is known about the image of this name.
    pub(crate) fn image(&self, name: &str) -> Option<Arc<ImageInfo>> {
        self.0.images.as_ref()?.info(name)
    }

    /// Waits until workers can run programs in an image.
    pub(crate) async fn prepare(&self, image: &str) -> Result<PreparedImage, Fault> {
        let prepared = match &self.0.images {
            Some(images) => images.prepare(image).await,
            None => Err(format!("the image `{image}` is not installed on this node")),
        };
        prepared.map_err(|reason| Fault::transient(ErrorCode::GraderUnavailable, reason))
    }

    /// Confirms what a worker did with an image after it was prepared.
    ///
    /// # Errors
    /// A fault of the service if the files of the image have changed.
    pub(crate) async fn confirm(&self, image: &str, version: ImageVersion) -> Result<(), Fault> {
        match &self.0.images {
            Some(images) if !images.is_current(image, version).await => Err(changed(image)),
            _ => Ok(()),
        }
    }

    /// How many tests of one program to run concurrently.
    pub(crate) fn concurrency(&self) -> usize {
        self.0.workers.free().clamp(1, self.0.workers.count())
    }

    /// Compiles a program, once for all its runs and for all completions that contain it.
    ///
    /// # Errors
    /// A fault of the service. It is never a [`Build`]: the death of a worker is not evidence about
    /// the program.
    pub(crate) async fn compile(&self, compile: Compile) -> Result<Built, Fault> {
        let PreparedImage { version, info } = self.prepare(&compile.image).await?;
        let key = compile_key(&info, &compile);
        let build = if let Some(compiled) = self.0.compiled.get(&key) {
            Build::Done(compiled)
        } else {
            let mut permit = self.0.workers.acquire(Duration::MAX).await?;
            self.compile_with(&mut permit, version, key, compile)
                .await?
        };
        Ok(Built { build, image: info })
    }

    async fn compile_with(
        &self,
        permit: &mut WorkerPermit<'_>,
        version: ImageVersion,
        key: Hash,
        compile: Compile,
    ) -> Result<Build, Fault> {
        let image = compile.image.clone();
        let result = permit
            .ask_untrusted(&Request::Compile(compile), timeout(NATIVE_COMPILE_WORK))
            .await;
        self.confirm(&image, version).await?;
        match result? {
            UntrustedReply::Answered(Reply::Compiled(compiled)) => {
                let compiled = Arc::new(compiled);
                self.0.compiled.insert(key, Arc::clone(&compiled));
                Ok(Build::Done(compiled))
            }
            UntrustedReply::Answered(other) => Err(fault_of_reply(&other)),
            UntrustedReply::Overran => Ok(Build::TimedOut),
        }
    }

    /// Why programs cannot run in an image on this node; `None` if they can.
    pub(crate) fn missing(&self, image: Image) -> Option<String> {
        let name = image.name;
        let images = self.0.images.as_ref();
        let is_installed = images.is_some_and(|images| images.is_installed(name));
        (!is_installed).then(|| {
            format!(
                "the image `{name}` is not installed on this node; {}",
                image.how_to_install()
            )
        })
    }

    /// The workers in which programs run.
    pub(crate) fn workers(&self) -> &WorkerPool {
        &self.0.workers
    }

    /// The result of an earlier run with this key.
    pub(crate) fn cached_run(&self, key: &Hash) -> Option<Result<Attempt, Blocked>> {
        let cached = self.0.runs.get(key)?;
        Some(match cached {
            Ok(run) => Ok(Attempt {
                run,
                deterministic: true,
            }),
            Err(blocked) => Err(Blocked::clone(&blocked)),
        })
    }

    /// Keeps the result of a run unless another run may have a different one. A fault that is not
    /// that of the task says nothing about the program.
    pub(crate) fn cache_run(&self, key: Hash, result: &Result<Attempt, Blocked>) {
        let cached = match result {
            Ok(Attempt {
                deterministic: false,
                ..
            }) => return,
            Ok(attempt) => Ok(Arc::clone(&attempt.run)),
            Err(blocked) if !blocked.is_of_task() => return,
            Err(blocked) => Err(Arc::new(blocked.clone())),
        };
        self.0.runs.insert(key, cached);
    }

    /// Compiles a program and runs it with a single permit, for which it waits at most
    /// `queue_timeout`. The run is not cached.
    ///
    /// # Errors
    /// [`ExecuteError::Busy`] on a timeout, and faults of the service.
    pub(crate) async fn run_uncached(
        &self,
        compile: Compile,
        queue_timeout: Duration,
        run: impl FnOnce(&[u8]) -> Run,
    ) -> Result<Result<Arc<ProgramRun>, String>, ExecuteError> {
        let PreparedImage { version, info } = self
            .prepare(&compile.image)
            .await
            .map_err(ExecuteError::Failed)?;
        let mut permit =
            self.0
                .workers
                .acquire(queue_timeout)
                .await
                .map_err(|error| match error {
                    WorkerError::Busy => ExecuteError::Busy,
                    error => ExecuteError::Failed(error.into()),
                })?;
        let key = compile_key(&info, &compile);
        let build = match self.0.compiled.get(&key) {
            Some(compiled) => Build::Done(compiled),
            None => self
                .compile_with(&mut permit, version, key, compile)
                .await
                .map_err(ExecuteError::Failed)?,
        };
        let run = match build.code() {
            Ok(code) => run(code),
            Err(message) => return Ok(Err(message.to_owned())),
        };
        let (timeout, image) = (timeout(run.limits.work), run.image.clone());
        let reply = permit.ask_untrusted(&Request::Run(run), timeout).await;
        self.confirm(&image, version)
            .await
            .map_err(ExecuteError::Failed)?;
        let reply = reply.map_err(|error| ExecuteError::Failed(error.into()))?;
        let attempt = Attempt::read(reply);
        let attempt = attempt.map_err(|blocked| ExecuteError::Failed(blocked.fault))?;
        Ok(Ok(attempt.run))
    }
}

/// The processor time that a worker may use for this work.
pub(crate) fn timeout(work: u64) -> Duration {
    let milliseconds = work / (WORK_PER_SECOND / 1_000) * SECONDS_PER_SECOND;
    START_TIMEOUT + Duration::from_millis(milliseconds)
}

/// The fault of a run in an image that was replaced meanwhile.
pub(crate) fn changed(image: &str) -> Fault {
    let message =
        format!("the files of the image `{image}` changed while it was used; send it again");
    Fault::transient(ErrorCode::SandboxFailed, message)
}

fn compile_key(image: &ImageInfo, compile: &Compile) -> Hash {
    let mut parts: Vec<&[u8]> = vec![
        compile.image.as_bytes(),
        image.hash.as_bytes(),
        name_of(compile.translation),
        compile.standard.as_bytes(),
    ];
    for part in &compile.parts {
        parts.extend([part.name.as_bytes(), part.text.as_bytes()]);
    }
    // An empty name separates the parts from the files.
    parts.push(b"");
    for file in &compile.files {
        parts.extend([file.path.as_bytes(), file.bytes.as_slice()]);
    }
    parts.push(b"");
    let counts: Vec<[u8; 8]> = compile.calls.iter().map(count_of).collect();
    for (call, count) in compile.calls.iter().zip(&counts) {
        parts.extend([call.function.as_bytes(), count.as_slice()]);
    }
    parts.push(b"");
    if let Some(linked) = &compile.linked {
        parts.extend([linked.name.as_bytes(), linked.text.as_bytes()]);
    }
    Hash::of_parts(&parts)
}

fn count_of(call: &Callee) -> [u8; 8] {
    (call.arguments as u64).to_le_bytes()
}

fn name_of(translation: Translation) -> &'static [u8] {
    match translation {
        Translation::None => b"",
        Translation::TypeScript => b"typescript",
    }
}

/// A hash of everything on which a run depends, and of the caller, because the time of a reply
/// would show what others have run.
pub(crate) fn run_key(caller: &str, image: &ImageInfo, run: &Run) -> Hash {
    let (kind, parts): (&[u8], [&[u8]; 3]) = match &run.test {
        Test::Stdin(input) => (b"stdin", [input, b"", b""]),
        Test::Check(input) => (b"check", [input, b"", b""]),
        Test::Call {
            function,
            args,
            kwargs,
        } => (
            b"call",
            [function.as_bytes(), args.as_bytes(), kwargs.as_bytes()],
        ),
        Test::Assert {
            setup,
            text,
            module,
            pytest,
            shares_files,
        } => (
            match (pytest, shares_files) {
                (false, true) => b"assert",
                (false, false) => b"assert alone",
                (true, true) => b"pytest",
                (true, false) => b"pytest alone",
            },
            [setup.as_bytes(), text.as_bytes(), module.as_bytes()],
        ),
    };
    let Limits {
        work,
        memory_bytes,
        output_bytes,
    } = run.limits;
    let numbers = [work, memory_bytes, output_bytes, run.seed]
        .map(u64::to_le_bytes)
        .concat();
    let translation = name_of(run.translation);
    let mut all: Vec<&[u8]> = vec![caller.as_bytes(), run.image.as_bytes()];
    all.extend([image.hash.as_bytes(), &run.code]);
    all.extend([kind, translation]);
    all.extend(parts);
    all.push(&numbers);
    all.extend(run.arguments.iter().map(String::as_bytes));
    all.push(b"");
    for file in &run.files {
        all.extend([file.path.as_bytes(), &file.bytes]);
    }
    Hash::of_parts(&all)
}

/// The fault for a reply without a result.
pub(crate) fn fault_of_reply(reply: &Reply) -> Fault {
    match reply {
        Reply::Unable(reason) => Fault::permanent(ErrorCode::GraderUnavailable, reason.clone()),
        Reply::Failed(reason) => Fault::transient(ErrorCode::SandboxFailed, reason.clone()),
        Reply::Compiled(_) | Reply::Ran(_) | Reply::Called(_) | Reply::Images(_) => {
            Fault::transient(
                ErrorCode::SandboxFailed,
                "a worker sent an unexpected reply",
            )
        }
    }
}
