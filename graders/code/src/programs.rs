//! Programs in cells: compiling and running them, what is kept of it, and what to think of a cell that gave no answer.

use std::sync::Arc;
use std::time::Duration;

use assay_cell::program::{COMPILE_WORK, Compile, Compiled, End, ImageInfo, Limits, Ran, Reply, Request, Run, Test};
use assay_cell::{CellError, Cells, Settled};
use assay_core::{ErrorCode, Fault, Hash};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Bytes of compiled programs and of runs that are kept: completions of one prompt often hold the same program.
const KEPT_BYTES: u64 = 64 << 20;

/// Work a cell does in a second of wall time at the least: a core does 4 to 9 times as much. One that is slower stands still, or
/// is not given the processor, and is killed.
const SLOWEST: u64 = 1_000_000_000;

/// Wall time beside that: for starting an instance on a machine under load.
const SLACK: Duration = Duration::from_secs(10);

/// Runs programs in cells. Cheap to clone: clones share cells and what is kept.
#[derive(Clone)]
pub struct Programs(Arc<Inner>);

struct Inner {
    cells: Cells,
    images: Vec<ImageInfo>,
    compiled: Cache<Hash, Arc<Compiled>, CompiledBytes>,
    runs: Cache<Hash, Arc<Ran>, RanBytes>,
}

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
struct RanBytes;

impl Weighter<Hash, Arc<Ran>> for RanBytes {
    fn weight(&self, _: &Hash, ran: &Arc<Ran>) -> u64 {
        let text = match &ran.end {
            End::Raised(text) | End::Returned(text) | End::Refuted(text) => text.len(),
            _ => 0,
        };
        (256 + ran.stdout.len() + ran.stderr.len() + text) as u64
    }
}

/// One run, and whether running again would give the same.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) ran: Arc<Ran>,
    pub(crate) deterministic: bool,
}

impl Programs {
    /// Programs in these cells, which have these images.
    #[must_use]
    pub fn new(cells: Cells, images: Vec<ImageInfo>) -> Self {
        Self(Arc::new(Inner {
            cells,
            images,
            compiled: Cache::with_weighter(1_024, KEPT_BYTES, CompiledBytes),
            runs: Cache::with_weighter(4_096, KEPT_BYTES, RanBytes),
        }))
    }

    /// The image of a language, if there is one.
    pub(crate) fn image(&self, language: &str) -> Option<&ImageInfo> {
        self.0.images.iter().find(|image| image.language == language)
    }

    /// How many tests of one program are best run at once.
    pub(crate) fn width(&self) -> usize {
        self.0.cells.free().clamp(1, self.0.cells.count())
    }

    /// Compiles a program, once for all its runs and for all completions that hold it.
    pub(crate) async fn compile(&self, compile: Compile) -> Result<Arc<Compiled>, Fault> {
        let mut parts: Vec<&[u8]> = vec![compile.language.as_bytes()];
        for part in &compile.parts {
            parts.extend([part.name.as_bytes(), part.text.as_bytes()]);
        }
        let key = Hash::of_parts(&parts);
        if let Some(compiled) = self.0.compiled.get(&key) {
            return Ok(compiled);
        }
        let settled = self.0.cells.settle(&Request::Compile(compile), patience(COMPILE_WORK)).await;
        let compiled = match settled.map_err(|error| fault(&error))? {
            Settled::Answered(Reply::Compiled(compiled)) => compiled,
            Settled::Answered(other) => return Err(unable(&other)),
            Settled::Overran => Compiled::Refused("the program takes too long to compile".to_owned()),
            Settled::Broke(how) => Compiled::Refused(format!("the compiler broke over the program: {how}")),
        };
        let compiled = Arc::new(compiled);
        self.0.compiled.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }

    /// Runs a compiled program on one test.
    pub(crate) async fn run(&self, run: Run) -> Result<Attempt, Fault> {
        let key = key(&run);
        if let Some(ran) = self.0.runs.get(&key) {
            return Ok(Attempt { ran, deterministic: true });
        }
        let patience = patience(run.limits.work);
        let settled = self.0.cells.settle(&Request::Run(run), patience).await.map_err(|error| fault(&error))?;
        let ran = match settled {
            Settled::Answered(Reply::Ran(ran)) => Arc::new(ran),
            Settled::Answered(other) => return Err(unable(&other)),
            Settled::Overran => return Ok(undetermined(End::OutOfWork)),
            Settled::Broke(how) => {
                return Ok(undetermined(End::Raised(format!("the sandbox broke over the program: {how}"))));
            }
        };
        self.0.runs.insert(key, Arc::clone(&ran));
        Ok(Attempt { ran, deterministic: true })
    }

    /// Runs a program that waits no longer than `turn` for a cell. Nothing of it is kept.
    pub(crate) async fn run_soon(&self, run: Run, turn: Duration) -> Result<Ran, CellError> {
        let patience = patience(run.limits.work);
        match self.0.cells.ask_soon(&Request::Run(run), patience, turn).await? {
            Reply::Ran(ran) => Ok(ran),
            other => Err(CellError::Message(unable(&other).message)),
        }
    }
}

fn patience(work: u64) -> Duration {
    SLACK + Duration::from_secs(work / SLOWEST)
}

fn undetermined(end: End) -> Attempt {
    let ran = Ran { end, stdout: Vec::new(), stderr: Vec::new(), work: 0, memory_bytes: 0 };
    Attempt { ran: Arc::new(ran), deterministic: false }
}

/// Everything a run depends on. The code names the image that compiled it.
fn key(run: &Run) -> Hash {
    let (kind, parts): (&[u8], [&[u8]; 3]) = match &run.test {
        Test::Stdin(input) => (b"stdin", [input, b"", b""]),
        Test::Call { function, args, kwargs } => (b"call", [function.as_bytes(), args.as_bytes(), kwargs.as_bytes()]),
        Test::Assert { setup, text } => (b"assert", [setup.as_bytes(), text.as_bytes(), b""]),
    };
    let Limits { work, memory_bytes, output_bytes } = run.limits;
    let numbers = [work, memory_bytes, output_bytes, run.seed].map(u64::to_le_bytes).concat();
    Hash::of_parts(&[run.language.as_bytes(), &run.code, kind, parts[0], parts[1], parts[2], &numbers])
}

fn unable(reply: &Reply) -> Fault {
    let reason = match reply {
        Reply::Unable(reason) => reason.clone(),
        _ => "a cell answered another question".to_owned(),
    };
    Fault::lasting(ErrorCode::GraderUnavailable, reason)
}

pub(crate) fn fault(error: &CellError) -> Fault {
    match error {
        CellError::Stopping => {
            Fault::passing(ErrorCode::ShuttingDown, "the node is shutting down; send the item again")
        }
        CellError::Start { .. } => Fault::passing(ErrorCode::GraderUnavailable, error.to_string()),
        CellError::Busy | CellError::Died(_) | CellError::Overran { .. } | CellError::Message(_) => {
            Fault::passing(ErrorCode::SandboxFailed, error.to_string())
        }
    }
}
