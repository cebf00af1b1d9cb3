//! Requests to workers about programs, and their replies. They never contain expected values: a
//! worker runs programs, and the caller compares the results.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::request::attached;
use crate::{Message, WorkerRequest, coded_by_serde};

/// Work of one second, in wasm fuel. The only constant that converts the seconds of a task's limit,
/// of a guest's clock and of a guest's sleep to work. It approximates what native CPython does in a
/// second: nine programs that keep a core busy do 0.7e10 to 3.3e10 units in a second of native
/// time, 1.6e10 in the geometric mean (`make programs`).
pub const WORK_PER_SECOND: u64 = 20_000_000_000;

/// Limit on the work of a compiler.
pub const COMPILE_WORK: u64 = WORK_PER_SECOND;

/// Limit on the work of the compiler of C and C++, whose programs can instantiate many templates,
/// and on that of the linker. Programs with all headers and many templates need a third of it.
pub const NATIVE_COMPILE_WORK: u64 = COMPILE_WORK + COMPILE_WORK / 2;

/// Limit on the memory of a compiler, in bytes. Like its work it is the same for all tasks, so that
/// whether a text compiles depends only on the text.
pub const COMPILE_MEMORY: u64 = 512 << 20;

/// A part of a program. Parts are compiled separately and run in one module, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// File name in error messages, such as `main.py`.
    pub name: String,
    /// The source text.
    pub text: String,
}

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Request {
    /// Compiles a program, once for all its runs.
    Compile(Compile),
    /// Runs a compiled program on one test, in a fresh or restored instance.
    Run(Run),
    /// Runs code in a session.
    Call(Call),
    /// Lists the images of the worker.
    Images,
    /// Compiles code and runs it in a session of an image with a compiler. Such a session consists
    /// of its files: no variable of a program outlives it, and headers among the files can be
    /// included. Code that does not compile ends with [`End::Raised`]. [`Request::Call`] does the
    /// same by the standard `gnu++20`.
    CompiledCall(CompiledCall),
}

impl Message for Request {
    coded_by_serde!();

    fn attachment(&self) -> Option<&Bytes> {
        let (Self::Call(call) | Self::CompiledCall(CompiledCall { call, .. })) = self else {
            return None;
        };
        call.frozen.as_ref()
    }

    fn attach(&mut self, attachment: Bytes) {
        if let Self::Call(call) | Self::CompiledCall(CompiledCall { call, .. }) = self
            && let Some(frozen) = &mut call.frozen
        {
            *frozen = attachment;
        }
    }
}

impl Message for Reply {
    coded_by_serde!();

    fn attachment(&self) -> Option<&Bytes> {
        match self {
            Self::Called(called) => called.frozen.as_ref(),
            _ => None,
        }
    }

    fn attach(&mut self, attachment: Bytes) {
        if let Self::Called(called) = self
            && let Some(frozen) = &mut called.frozen
        {
            *frozen = attachment;
        }
    }
}

impl WorkerRequest for Request {
    type Reply = Reply;
    const KIND: u8 = 1;

    fn probe() -> Self {
        Self::Images
    }
}

/// How source text is translated to the language of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Translation {
    /// It is already in that language.
    None,
    /// It is TypeScript, whose types are removed.
    TypeScript,
}

/// A program to compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compile {
    /// Name of the image, such as `python`.
    pub image: String,
    /// The translation of the parts.
    pub translation: Translation,
    /// The standard with which an image with a compiler compiles them, such as `gnu++20`.
    pub standard: String,
    /// The parts, in the order in which they run.
    pub parts: Vec<Part>,
    /// Files that an image with a compiler can include.
    pub files: Vec<File>,
    /// The functions that tests call, for an image with a compiler. Others find a function when it
    /// is called.
    pub calls: Vec<Callee>,
    /// A second source that an image with a compiler compiles separately and links.
    pub linked: Option<Part>,
}

/// A function that tests call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Callee {
    /// Its name.
    pub function: String,
    /// The number of arguments that a test passes.
    pub arguments: usize,
}

/// One run of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Name of the image, such as `python`.
    pub image: String,
    /// The code from [`Compiled::Code`].
    #[serde(with = "serde_bytes")]
    pub code: Vec<u8>,
    /// The test.
    pub test: Test,
    /// The translation of test code.
    pub translation: Translation,
    /// Limits on resources.
    pub limits: Limits,
    /// Seed of all random numbers in the guest.
    pub seed: u64,
    /// Files that exist before the program starts, in addition to the usual ones.
    pub files: Vec<File>,
    /// Paths of files to return after the run. Missing ones are omitted.
    pub fetch: Vec<String>,
    /// Arguments of a compiled program.
    pub arguments: Vec<String>,
}

/// Maximum total size of the files that a run returns, in bytes.
pub const MAX_FETCHED: u64 = 16 << 20;

/// A file. Its path is relative to the folder in which the program is compiled and starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The path, with `/` between names.
    pub path: String,
    /// The content.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// A test on which a program is run, without its expected result, or the run of a checker program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Test {
    /// The program reads this from standard input.
    Stdin(#[serde(with = "serde_bytes")] Vec<u8>),
    /// The program is a checker, which reads this from standard input. It contains the expected
    /// output, so completions never run in the same instance, not even later.
    Check(#[serde(with = "serde_bytes")] Vec<u8>),
    /// The program is loaded, then one of its functions is called.
    Call {
        /// Name of a global function, else of a method of `Solution()`.
        function: String,
        /// Positional arguments: a JSON array.
        args: String,
        /// Keyword arguments: a JSON object.
        kwargs: String,
    },
    /// The program is loaded, and the test code runs in another instance, which the program cannot
    /// access.
    Assert {
        /// Code that runs before the test code, in the same module.
        setup: String,
        /// The test code. The test passes if it ends without an exception.
        text: String,
        /// Name of the module under which the test code can import the program.
        module: String,
        /// Whether pytest then runs the tests that the code defines.
        pytest: bool,
        /// Whether the test code sees files that the program writes, and vice versa.
        shares_files: bool,
    },
}

/// One call of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Name of the image, such as `python`.
    pub image: String,
    /// What earlier calls left, see [`Called::frozen`]. `None` in a new session.
    #[serde(with = "attached")]
    pub frozen: Option<Bytes>,
    /// Number of the call in its session, from 1. Names the code in tracebacks.
    pub number: u32,
    /// The source text.
    pub code: String,
    /// What the code reads from standard input.
    #[serde(with = "serde_bytes")]
    pub stdin: Vec<u8>,
    /// Limits on the resources of the call. Memory is that of the session.
    pub limits: Limits,
    /// Seed of all random numbers of a new session.
    pub seed: u64,
    /// Files that are written before the call.
    pub files: Vec<File>,
    /// Paths of files to return after the call. Missing ones are omitted.
    pub fetch: Vec<String>,
}

/// One call of a session of an image with a compiler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledCall {
    /// The call.
    pub call: Call,
    /// The standard by which the code is compiled, such as `gnu17`.
    pub standard: String,
}

/// Limits on the resources of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Work, in wasm fuel. See [`WORK_PER_SECOND`].
    pub work: u64,
    /// Bytes of memory, including those of the interpreter.
    pub memory_bytes: u64,
    /// Bytes written to standard output. Of standard error only the end is kept.
    pub output_bytes: u64,
}

/// A reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Reply {
    /// To [`Request::Compile`].
    Compiled(Compiled),
    /// To [`Request::Run`].
    Ran(Ran),
    /// To [`Request::Call`] and [`Request::CompiledCall`].
    Called(Called),
    /// To [`Request::Images`].
    Images(Vec<ImageInfo>),
    /// The worker cannot serve the request: the image is missing or broken. Not the program's
    /// fault.
    Unable(String),
    /// The worker failed this time, for example because the system is out of memory. Not the
    /// program's fault.
    Failed(String),
}

/// The result of compiling a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compiled {
    /// Code for any number of runs in the image that compiled it.
    Code(#[serde(with = "serde_bytes")] Vec<u8>),
    /// The program does not compile: the compiler's message.
    Rejected(String),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The program or the test ran to its end.
    Finished,
    /// It exited with this status before the end of the test.
    Exited(i32),
    /// It raised an uncaught exception, or trapped: the message.
    Raised(String),
    /// The called function returned a value, in the notation of the image's driver.
    Returned(String),
    /// The test code ran and failed: the message.
    TestFailed(String),
    /// The task's own code, its prelude or its test, failed by itself: the message. The run tells
    /// nothing about the program.
    TaskFailed(String),
    /// The test failed before it used anything from the program, with this message. Either the
    /// task's own code is at fault, or the program changed files that the test reads.
    FailedEarly(String),
    /// It used up its work.
    OutOfWork,
    /// It requested more memory than allowed and failed.
    OutOfMemory,
    /// It wrote more than allowed.
    OutOfOutput,
}

/// Longest [`Ran::driver_evidence`], in bytes.
pub const MAX_DRIVER_EVIDENCE: usize = 16 << 10;

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// How the code ran. [`End::Returned`] has the last expression's value, as an
    /// interactive interpreter displays it.
    pub ran: Ran,
    /// What the call left: everything in which the instance differs from a new one. `None` if the
    /// call ended in the middle of the code, by a limit: then it has no effect, and the session
    /// continues from what the call before left.
    #[serde(with = "attached")]
    pub frozen: Option<Bytes>,
    /// Bytes of memory in which the instance differs from a new one.
    pub changed_bytes: u64,
}

/// The result of one run, with how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran<E = End> {
    /// How it ended.
    pub end: E,
    /// Evidence of the image's driver about a failure: a JSON object of at most
    /// [`MAX_DRIVER_EVIDENCE`] bytes. A program can forge it, so it explains a verdict and never
    /// decides one.
    pub driver_evidence: Option<String>,
    /// What the program wrote to standard output.
    #[serde(with = "serde_bytes")]
    pub stdout: Vec<u8>,
    /// The end of what it wrote to standard error.
    #[serde(with = "serde_bytes")]
    pub stderr: Vec<u8>,
    /// Work used since the program's own code began.
    pub work: u64,
    /// Peak memory in bytes, including that of the interpreter.
    pub memory_bytes: u64,
    /// The files of [`Run::fetch`] that exist, in that order. A file that would exceed
    /// [`MAX_FETCHED`] in total is omitted.
    pub files: Vec<File>,
}

impl<E> Ran<E> {
    /// A run without output or evidence.
    #[must_use]
    pub fn without_output(end: E) -> Self {
        Self {
            end,
            driver_evidence: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
            work: 0,
            memory_bytes: 0,
            files: Vec::new(),
        }
    }

    /// The same run with another kind of end.
    #[must_use]
    pub fn with_end<F>(self, end: F) -> Ran<F> {
        Ran {
            end,
            driver_evidence: self.driver_evidence,
            stdout: self.stdout,
            stderr: self.stderr,
            work: self.work,
            memory_bytes: self.memory_bytes,
            files: self.files,
        }
    }
}

/// An image of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInfo {
    /// Its name, such as `python-scientific`.
    pub name: String,
    /// Name of the language, such as `python`.
    pub language: String,
    /// Hash of the image: 64 hexadecimal digits.
    pub hash: String,
    /// Version of the language, as reported by the image.
    pub version: String,
    /// Top-level names of the modules that programs may import.
    pub modules: Vec<String>,
}
