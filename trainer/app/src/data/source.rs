//! Sources of items, and their errors.

use std::path::PathBuf;

use serde_json::value::RawValue;

/// Why prompts cannot be read or selected.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The file cannot be read.
    #[error("cannot read prompts from `{}`: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// A line is not a valid prompt.
    #[error("`{}` line {line}, `{field}`: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// JSON pointer to the field; empty for the whole line.
        field: String,
        /// What is wrong.
        message: String,
    },
    /// Two lines have the same key.
    #[error(
        "`{}` line {line}: same key `{key}` as line {first}; give each prompt a unique \
         `prompt_key`", path.display()
    )]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The later line, from 1.
        line: usize,
        /// The earlier line.
        first: usize,
        /// The key.
        key: String,
    },
    /// A file has no lines.
    #[error("`{}` has no prompts", path.display())]
    NoLines {
        /// The file.
        path: PathBuf,
    },
    /// The source has no prompts.
    #[error("the source has no prompts")]
    Empty,
    /// Suggestions require a bounded source.
    #[error("suggestions require a bounded source; limit the source, or select uniformly")]
    Unbounded,
}

/// A prompt with the task that grades its completions.
#[derive(Debug, Clone)]
pub struct Item {
    /// Key of the prompt and of its history; unique in its source.
    pub key: String,
    /// The text of the prompt.
    pub prompt: String,
    /// What a completion should achieve: an object whose `type` names the grader.
    pub task: Box<RawValue>,
    /// Task family; with the grader's name it makes the channel.
    pub channel: Option<String>,
    /// A completion that passes, if one is known.
    pub solution: Option<String>,
}

/// A source of prompts, each with an index that is the same in every run.
pub trait Source: Send + Sync {
    /// The number of prompts; `None` if unbounded.
    fn size(&self) -> Option<u64>;

    /// The prompt with this index, from 0; `None` beyond the end.
    fn problem(&self, index: u64) -> Option<Item>;
}
