//! `metrics.jsonl`: one object per step, with `step` first and then the metrics by name. It
//! contains no times, so that a resumed run writes the same file as an uninterrupted one.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use assay_base::json_message;
use serde::{Deserialize, Serialize};

use super::values::{TelemetryError, Values};

/// The metrics file of a run.
#[derive(Debug)]
pub struct Metrics {
    path: PathBuf,
    file: File,
}

#[derive(Serialize)]
struct NewLine<'a> {
    step: u64,
    #[serde(flatten)]
    values: &'a Values,
}

#[derive(Deserialize)]
struct MetricsLine {
    step: u64,
    /// Numbers that are not finite are null.
    #[serde(flatten)]
    values: std::collections::BTreeMap<String, Option<f64>>,
}

impl Metrics {
    /// Opens the file. For a resumed run, removes the lines after step `resumed`; a new run
    /// requires an empty or missing file.
    ///
    /// # Errors
    /// [`TelemetryError::MetricsExist`] if a new run finds metrics, [`TelemetryError::Line`] if a
    /// resumed run finds an invalid line.
    pub fn open(path: &Path, resumed: Option<u64>) -> Result<Self, TelemetryError> {
        let failed = || TelemetryError::file(path);
        // In append mode, writes go to the end of the file after it is truncated.
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(failed())?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed())?;
        let length = match resumed {
            None if bytes.is_empty() => 0,
            None => {
                return Err(TelemetryError::MetricsExist {
                    path: path.to_owned(),
                });
            }
            Some(step) => length_up_to(path, &bytes, step)?,
        };
        file.set_len(length as u64).map_err(failed())?;
        file.seek(SeekFrom::End(0)).map_err(failed())?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Adds the line of a step. Numbers that are not finite are written as null.
    ///
    /// # Errors
    /// [`TelemetryError::File`].
    pub fn write(&mut self, step: u64, values: &Values) -> Result<(), TelemetryError> {
        let failed = || TelemetryError::file(&self.path);
        let mut line = serde_json::to_vec(&NewLine { step, values })
            .map_err(|error| failed()(error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(failed())
    }
}

/// Number of bytes of the lines up to a step. A last line without a newline was truncated by a
/// crash and is excluded.
fn length_up_to(path: &Path, bytes: &[u8], step: u64) -> Result<usize, TelemetryError> {
    let mut length = 0;
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if line.last() != Some(&b'\n') || parse(path, index, line)?.step > step {
            break;
        }
        length += line.len();
    }
    Ok(length)
}

fn parse(path: &Path, index: usize, line: &[u8]) -> Result<MetricsLine, TelemetryError> {
    serde_json::from_slice(line).map_err(|error| TelemetryError::Line {
        path: path.to_owned(),
        line: index + 1,
        message: json_message(&error, line),
    })
}

/// The values of a metric in a file, by step. Steps without it and an incomplete last line are
/// skipped.
///
/// # Errors
/// [`TelemetryError::File`], [`TelemetryError::Line`].
pub fn read(path: &Path, name: &str) -> Result<Vec<(u64, f64)>, TelemetryError> {
    let bytes = std::fs::read(path).map_err(TelemetryError::file(path))?;
    let lines = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.last() == Some(&b'\n'));
    let mut points = Vec::new();
    for (index, line) in lines.enumerate() {
        let MetricsLine { step, values } = parse(path, index, line)?;
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
    fn resumed_file_equals_uninterrupted_file() {
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
    fn rejects_files_of_other_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(super::super::METRICS);
        write(&path, None, 1..=1);
        assert!(matches!(
            Metrics::open(&path, None),
            Err(TelemetryError::MetricsExist { .. })
        ));
        std::fs::write(&path, "{\"step\":1}\nmetrics\n").unwrap();
        assert!(matches!(
            Metrics::open(&path, Some(5)),
            Err(TelemetryError::Line { line: 2, .. })
        ));
        assert_eq!(
            std::fs::read(&path).unwrap().len(),
            19,
            "an invalid file is not truncated"
        );
    }
}
