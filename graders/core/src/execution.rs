//! Running a program without grading it: what routes for trainers that compare by themselves need.

use std::time::Duration;

use crate::{BoxFuture, Fault};

/// A program to run once.
#[derive(Debug, Clone)]
pub struct Execution {
    /// Name of the language, as in `python`.
    pub language: String,
    /// The program.
    pub text: String,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// Seconds it may take, counted as work at the rate a core does it.
    pub seconds: f64,
    /// Bytes of memory, the interpreter's included; `None` for as much as there is.
    pub memory_bytes: Option<u64>,
    /// Longest wait until it begins.
    pub turn: Duration,
}

/// How a program that ran ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionEnd {
    /// With a status; an exception, a refused compilation and a limit of memory or output are
    /// status 1.
    Exited(i32),
    /// Its time was used up.
    TimeLimit,
}

/// A program that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Executed {
    /// How it ended.
    pub end: ExecutionEnd,
    /// What it wrote.
    pub stdout: Vec<u8>,
    /// The last of what it wrote to standard error, with the reason of an end that is not its own.
    pub stderr: Vec<u8>,
    /// Seconds it took, counted as its limit was.
    pub seconds: f64,
}

/// Why a program did not run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotExecuted {
    /// It did not get its turn in time.
    #[error("every worker is busy; send the program again")]
    Busy,
    /// We are at fault, or the language is missing.
    #[error("{0}")]
    Failed(Fault),
}

/// Whatever runs programs.
pub trait Execute: Send + Sync {
    /// Runs one program.
    fn execute(&self, execution: Execution) -> BoxFuture<'_, Result<Executed, NotExecuted>>;
}
