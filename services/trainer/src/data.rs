//! What is trained on. Owns prompts with their tasks and the order in which they come; asks the
//! policy nothing and grades nothing.

mod lines;
mod pool;
mod selection;
mod spread;

use std::path::PathBuf;

use serde_json::value::RawValue;

pub use self::lines::Lines;
pub use self::pool::Pool;
pub use self::selection::{Pick, Selection, Strategy};
pub use self::spread::{Kept, keep};

/// A prompt with the task that grades what is written to it.
#[derive(Debug, Clone)]
pub struct Item {
    /// Name of the prompt, unique in its source; its history is kept under it.
    pub key: String,
    /// What the policy is asked.
    pub prompt: String,
    /// What a completion should achieve: an object whose `type` names the grader.
    pub task: Box<RawValue>,
    /// Task family; with the grader's name it makes the channel.
    pub channel: Option<String>,
    /// A completion that passes, where one is known.
    pub solution: Option<String>,
}

/// Where prompts come from: each has a number, the same in every run.
pub trait Source: Send + Sync {
    /// How many there are; `None` without end.
    fn size(&self) -> Option<u64>;

    /// The prompt of this number, from 0; `None` beyond the end.
    fn problem(&self, index: u64) -> Option<Item>;
}

/// Why there are no prompts.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The file cannot be read.
    #[error("cannot read the prompts of `{}`: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A line is no prompt.
    #[error("`{}` line {line}, `{field}`: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// JSON pointer to the field; empty where the whole line is wrong.
        field: String,
        /// What is wrong.
        message: String,
    },
    /// Two lines have one key.
    #[error(
        "`{}` line {line}: the key `{key}` is that of line {first}; give each prompt its own \
         `prompt_key`", path.display()
    )]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The later line, from 1.
        line: usize,
        /// The earlier line.
        first: usize,
        /// Their key.
        key: String,
    },
    /// A file has no line.
    #[error("`{}` has no prompt: it is empty", path.display())]
    NoLines {
        /// The file.
        path: PathBuf,
    },
    /// There is no prompt.
    #[error("the source of prompts is empty")]
    Empty,
    /// Suggestions are made among prompts that can be listed.
    #[error(
        "the service suggests among a bounded set of prompts; bound the source, or select uniformly"
    )]
    Unbounded,
}
