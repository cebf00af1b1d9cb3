//! Execution of a program without grading. Compatibility routes need it for trainers that compare
//! the output themselves.

use std::time::Duration;

use crate::{BoxFuture, Fault};

/// A program to run.
#[derive(Debug, Clone, Default)]
pub struct Execution {
    /// Name of the language, such as `python`.
    pub language: String,
    /// Name of the image; `None` for the one whose packages the program imports.
    pub image: Option<String>,
    /// The program.
    pub text: String,
    /// Its standard input.
    pub stdin: Vec<u8>,
    /// Files that exist in its folder at the start.
    pub files: Vec<ExecutionFile>,
    /// Paths of files to return after the run. Missing ones are omitted.
    pub fetch: Vec<String>,
    /// A second source file of a program in C or C++, which is compiled separately and linked.
    pub linked: Option<ExecutionFile>,
    /// Arguments of a program in C or C++. Other programs do not see them.
    pub arguments: Vec<String>,
    /// Limit in seconds. It is converted to work at the rate of one core.
    pub seconds: f64,
    /// Limit of memory in bytes, including the interpreter; `None` for the maximum.
    pub memory_bytes: Option<u64>,
    /// Longest time to wait for a sandbox worker.
    pub queue_timeout: Duration,
}

/// A file of a program, in its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionFile {
    /// The path, relative to the folder of the program.
    pub path: String,
    /// The content.
    pub bytes: Vec<u8>,
}

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionEnd {
    /// It exited with this status. An uncaught exception, a compile error and an exceeded limit of
    /// memory or output have status 1.
    Exited(i32),
    /// It exceeded its time limit.
    TimeLimit,
}

/// The compile step of a program, for languages for which other servers have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompileStep {
    /// The language has none: a program that does not compile fails when it runs.
    None,
    /// The program compiled.
    Succeeded,
    /// The program did not compile, so it did not run. Standard error is the compiler's message.
    Failed,
}

/// A language in which this node runs programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// Its name.
    pub language: &'static str,
    /// Other names that are accepted.
    pub aliases: Vec<&'static str>,
    /// Version of its interpreter.
    pub version: String,
    /// Whether it has a [`CompileStep`].
    pub is_compiled: bool,
    /// Whether pytest files can be run too, as programs in the language `pytest`.
    pub runs_pytest: bool,
    /// A program that prints the sum of the numbers on a line of standard input.
    pub sum_program: &'static str,
}

/// The result of a program that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionResult {
    /// Whether it compiled.
    pub compile: CompileStep,
    /// How it ended.
    pub end: ExecutionEnd,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// The end of its standard error, with the reason if it was terminated.
    pub stderr: Vec<u8>,
    /// Seconds of work, in the unit of the limit.
    pub seconds: f64,
    /// The requested files that exist.
    pub files: Vec<ExecutionFile>,
}

/// Why a program did not run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ExecuteError {
    /// No sandbox worker became free in time.
    #[error("all sandbox workers are busy; retry")]
    Busy,
    /// The service is at fault, or the language is not installed.
    #[error("{0}")]
    Failed(Fault),
}

/// Runs programs.
pub trait Execute: Send + Sync {
    /// The languages that it runs, in the order in which they are shown.
    fn runtimes(&self) -> Vec<Runtime>;

    /// The language that a name refers to, such as `node` or `Python 3`; `None` if it is not one of
    /// [`Execute::runtimes`].
    fn runtime(&self, name: &str) -> Option<Runtime>;

    /// Runs one program.
    ///
    /// # Errors
    /// [`ExecuteError`] if the program did not run.
    fn execute(&self, execution: Execution)
    -> BoxFuture<'_, Result<ExecutionResult, ExecuteError>>;
}
