//! What rollouts of the rows came to, from the results of `assay grade`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;

/// Rollouts of one row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rolled {
    pub(crate) graded: u32,
    pub(crate) right: u32,
}

/// Counts of rollouts by the key of their row.
#[derive(Debug, Default)]
pub struct Rollouts(HashMap<String, Rolled>);

#[derive(Deserialize)]
struct Line {
    group: Option<String>,
    id: Option<String>,
    pass: Option<bool>,
}

impl Rollouts {
    /// Reads results as `assay grade` writes them: of each line the `group`, else the `id`, is the
    /// key of a row, and `pass` says whether the rollout was right. What was not graded does not
    /// count.
    ///
    /// # Errors
    /// In a sentence: the file cannot be read, or a line of it is no result.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let file = File::open(path)
            .map_err(|error| format!("cannot read the rollouts `{shown}`: {error}"))?;
        let mut rollouts: HashMap<String, Rolled> = HashMap::new();
        for (at, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(|error| format!("`{shown}`, line {}: {error}", at + 1))?;
            if line.trim().is_empty() {
                continue;
            }
            let line: Line = serde_json::from_str(&line).map_err(|error| {
                format!(
                    "`{shown}`, line {}, is no result of `assay grade`: {error}",
                    at + 1
                )
            })?;
            let (Some(key), Some(pass)) = (line.group.or(line.id), line.pass) else {
                continue;
            };
            let rolled = rollouts.entry(key).or_default();
            rolled.graded += 1;
            rolled.right += u32::from(pass);
        }
        Ok(Self(rollouts))
    }

    pub(crate) fn of(&self, key: &str) -> Option<Rolled> {
        self.0.get(key).copied()
    }
}
