//! `metrics.jsonl`: an object a step, `step` first, then the numbers by name. No time stands in it,
//! so that a run that was resumed leaves the file of one that was not.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{TelemetryError, Values};

/// The file of a run.
#[derive(Debug)]
pub struct Metrics {
    path: PathBuf,
    file: File,
}

#[derive(Serialize)]
struct Written<'a> {
    step: u64,
    #[serde(flatten)]
    values: &'a Values,
}

#[derive(Deserialize)]
struct Line {
    step: u64,
    /// What is not finite was written as null.
    #[serde(flatten)]
    values: std::collections::BTreeMap<String, Option<f64>>,
}

impl Metrics {
    /// Opens the file to go on in it: after the line of step `resumed`, whatever came later being
    /// cut off; or from its start.
    ///
    /// # Errors
    /// [`TelemetryError::Taken`] where a new run finds numbers, [`TelemetryError::Line`] where a
    /// resumed one finds something else.
    pub fn open(path: &Path, resumed: Option<u64>) -> Result<Self, TelemetryError> {
        let failed = || TelemetryError::file(path);
        // Appending writes at the end, wherever that is after cutting.
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(failed())?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed())?;
        let kept = match resumed {
            None if bytes.is_empty() => 0,
            None => {
                return Err(TelemetryError::Taken {
                    path: path.to_owned(),
                });
            }
            Some(step) => kept(path, &bytes, step)?,
        };
        file.set_len(kept as u64).map_err(failed())?;
        file.seek(SeekFrom::End(0)).map_err(failed())?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Adds the line of a step. What is not finite stands as null.
    ///
    /// # Errors
    /// [`TelemetryError::File`].
    pub fn write(&mut self, step: u64, values: &Values) -> Result<(), TelemetryError> {
        let failed = || TelemetryError::file(&self.path);
        let mut line = serde_json::to_vec(&Written { step, values })
            .map_err(|error| failed()(error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(failed())
    }
}

/// How many bytes the lines up to a step take. A last line without an end was cut by a crash and is
/// none.
fn kept(path: &Path, bytes: &[u8], step: u64) -> Result<usize, TelemetryError> {
    let mut kept = 0;
    for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if line.last() != Some(&b'\n') || parse(path, at, line)?.step > step {
            break;
        }
        kept += line.len();
    }
    Ok(kept)
}

fn parse(path: &Path, at: usize, line: &[u8]) -> Result<Line, TelemetryError> {
    serde_json::from_slice(line).map_err(|error| TelemetryError::Line {
        path: path.to_owned(),
        line: at + 1,
        message: error.to_string(),
    })
}

/// The numbers of one name in a file, by step; steps without it are left out, and a last line that
/// is still being written is too.
///
/// # Errors
/// [`TelemetryError::File`], [`TelemetryError::Line`].
pub fn read(path: &Path, name: &str) -> Result<Vec<(u64, f64)>, TelemetryError> {
    let bytes = std::fs::read(path).map_err(TelemetryError::file(path))?;
    let lines = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.last() == Some(&b'\n'));
    let mut points = Vec::new();
    for (at, line) in lines.enumerate() {
        let Line { step, values } = parse(path, at, line)?;
        points.extend(
            values
                .get(name)
                .copied()
                .flatten()
                .map(|value| (step, value)),
        );
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(step: u64) -> Values {
        [
            ("reward".to_owned(), step as f64 / 3.0),
            ("kl".to_owned(), f64::NAN),
        ]
        .into()
    }

    fn write(path: &Path, resumed: Option<u64>, steps: std::ops::RangeInclusive<u64>) {
        let mut metrics = Metrics::open(path, resumed).unwrap();
        for step in steps {
            metrics.write(step, &values(step)).unwrap();
        }
    }

    #[test]
    fn a_resumed_file_is_that_of_an_uninterrupted_run() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, resumed) = (folder.path().join("whole"), folder.path().join("resumed"));
        write(&whole, None, 1..=9);
        write(&resumed, None, 1..=6);
        // A crash in the middle of a line.
        OpenOptions::new()
            .append(true)
            .open(&resumed)
            .unwrap()
            .write_all(b"{\"step\":7,\"rew")
            .unwrap();
        write(&resumed, Some(4), 5..=9);
        assert_eq!(
            std::fs::read(&whole).unwrap(),
            std::fs::read(&resumed).unwrap()
        );
        assert_eq!(read(&whole, "reward").unwrap()[2], (3, 1.0));
        assert_eq!(read(&whole, "kl").unwrap(), []);
    }

    #[test]
    fn a_run_does_not_write_into_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(super::super::METRICS);
        write(&path, None, 1..=1);
        assert!(matches!(
            Metrics::open(&path, None),
            Err(TelemetryError::Taken { .. })
        ));
        std::fs::write(&path, "{\"step\":1}\nmetrics\n").unwrap();
        assert!(matches!(
            Metrics::open(&path, Some(5)),
            Err(TelemetryError::Line { line: 2, .. })
        ));
        assert_eq!(
            std::fs::read(&path).unwrap().len(),
            19,
            "what is not understood is not cut"
        );
    }
}
