//! What may be asked of a worker about programs, and what it answers. Expected values are no part
//! of it: a worker runs, its asker compares.

use serde::{Deserialize, Serialize};

use crate::WorkerRequest;

/// Work of one second. The one constant that turns seconds of a task's limit, of a guest's clock
/// and of a guest's sleep into work (wasm fuel). It is what native CPython does in a second: nine
/// programs that keep a core busy do 0.7e10 to 3.3e10 units a native second, 1.6e10 in the
/// geometric mean (`make programs`), so a limit of seconds means here what it means elsewhere.
pub const WORK_PER_SECOND: u64 = 20_000_000_000;

/// Work a compiler may do.
pub const COMPILE_WORK: u64 = 2 * WORK_PER_SECOND;

/// Memory a compiler may use, in bytes. One for all, as its work is: whether a text compiles
/// depends on the text alone.
pub const COMPILE_MEMORY: u64 = 512 << 20;

/// A piece of a program: texts that are compiled one by one and run in one module, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Name in messages, as in `main.py`.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Request {
    /// Compiles a program once for all its runs.
    Compile(Compile),
    /// Runs a compiled program on one test, in a fresh instance.
    Run(Run),
    /// Says which images the worker has.
    Images,
}

impl WorkerRequest for Request {
    type Reply = Reply;
    const KIND: u8 = 1;

    fn probe() -> Self {
        Self::Images
    }
}

/// A program to compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compile {
    /// Name of the language, as in `python`.
    pub language: String,
    /// The texts.
    pub parts: Vec<Part>,
}

/// One run of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Name of the language, as in `python`.
    pub language: String,
    /// What [`Request::Compile`] answered.
    pub code: Vec<u8>,
    /// What the program is run on.
    pub test: Test,
    /// What it may use.
    pub limits: Limits,
    /// Seed of everything random in the guest.
    pub seed: u64,
}

/// What a program is run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Test {
    /// The program reads this and writes its answer.
    Stdin(Vec<u8>),
    /// The program is loaded, then one of its functions is called.
    Call {
        /// A global function, else a method of `Solution()`.
        function: String,
        /// Positional arguments: a JSON array.
        args: String,
        /// Keyword arguments: a JSON object.
        kwargs: String,
    },
    /// The program is loaded; a text that may call it is judged in another instance, which the
    /// program cannot see.
    Assert {
        /// Run before the text, beside it.
        setup: String,
        /// The text. It passes when it ends without an exception.
        text: String,
    },
}

/// What one run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Work, in wasm fuel. See [`WORK_PER_SECOND`].
    pub work: u64,
    /// Bytes of memory, the interpreter's included.
    pub memory_bytes: u64,
    /// Bytes written to standard output and to standard error, each.
    pub output_bytes: u64,
}

/// An answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Reply {
    /// To [`Request::Compile`].
    Compiled(Compiled),
    /// To [`Request::Run`].
    Ran(Ran),
    /// To [`Request::Images`].
    Images(Vec<ImageInfo>),
    /// The worker cannot do it: the image is missing or broken. Not the program's fault.
    Unable(String),
    /// The worker failed this time, for example because the system is out of memory. Not the
    /// program's fault.
    Failed(String),
}

/// A compiled program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compiled {
    /// Good for any number of runs in the image that compiled it.
    Code(Vec<u8>),
    /// The texts are not a program; the compiler's message.
    Refused(String),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// To its end.
    Finished,
    /// By exiting with this status, before the end of the test.
    Exited(i32),
    /// By an exception nobody caught, or a trap: its text.
    Raised(String),
    /// The called function returned; the value, in the notation of the image's driver.
    Returned(String),
    /// The text was judged and did not hold.
    Refuted(String),
    /// Code of the task failed by itself: its prelude or its test. Says nothing about the program.
    Unjudgeable(String),
    /// All work was used up.
    OutOfWork,
    /// Memory was asked for beyond the limit, and the program did not end well.
    OutOfMemory,
    /// More was written than allowed.
    OutOfOutput,
}

/// Longest [`Ran::told`], in bytes.
pub const MAX_TOLD: usize = 16 << 10;

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// Evidence of the image's driver about a failure: a JSON object of at most [`MAX_TOLD`] bytes.
    /// A program can forge it, so it explains a verdict and never decides one.
    pub told: Option<String>,
    /// What the program wrote to standard output.
    pub stdout: Vec<u8>,
    /// The last of what it wrote to standard error.
    pub stderr: Vec<u8>,
    /// Work used from where the program's own code began.
    pub work: u64,
    /// Most memory it had, in bytes, the interpreter's included.
    pub memory_bytes: u64,
}

/// An image a worker has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInfo {
    /// Name of the language.
    pub language: String,
    /// Hash of the image, 64 hexadecimal digits.
    pub hash: String,
    /// Version of the language, as the image says it.
    pub version: String,
    /// Modules that programs may import, by their first name.
    pub modules: Vec<String>,
}
