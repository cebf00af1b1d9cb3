//! Results of rollouts by row, read from the output of `assay grade`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use assay_base::json_message;
use serde::Deserialize;

/// Counts of the rollouts of one row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RolloutCounts {
    pub(crate) graded: u32,
    pub(crate) right: u32,
}

/// Counts of rollouts by the key of their row.
#[derive(Debug, Default)]
pub struct Rollouts(HashMap<String, RolloutCounts>);

#[derive(Deserialize)]
struct ResultLine {
    group: Option<String>,
    id: Option<String>,
    pass: Option<bool>,
}

impl Rollouts {
    /// Reads the output of `assay grade`. The `group` of a line, or its `id` without a group, is
    /// the key of a row; `pass` is whether the rollout is right. Lines without `pass` are skipped.
    ///
    /// # Errors
    /// A message: the file cannot be read, or a line is not a result.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let file = File::open(path)
            .map_err(|error| format!("cannot read the rollouts `{name}`: {error}"))?;
        let mut rollouts: HashMap<String, RolloutCounts> = HashMap::new();
        for (at, line) in BufReader::new(file).lines().enumerate() {
            let line =
                line.map_err(|error| format!("cannot read line {} of `{name}`: {error}", at + 1))?;
            if line.trim().is_empty() {
                continue;
            }
            let line: ResultLine = serde_json::from_str(&line).map_err(|error| {
                format!(
                    "line {} of `{name}` is not a result of `assay grade`: {}",
                    at + 1,
                    json_message(&error, line.as_bytes())
                )
            })?;
            let (Some(key), Some(pass)) = (line.group.or(line.id), line.pass) else {
                continue;
            };
            let counts = rollouts.entry(key).or_default();
            counts.graded += 1;
            counts.right += u32::from(pass);
        }
        Ok(Self(rollouts))
    }

    /// The counts of the row with this key.
    pub(crate) fn counts(&self, key: &str) -> Option<RolloutCounts> {
        self.0.get(key).copied()
    }
}
