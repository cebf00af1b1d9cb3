//! The limits of a task on the runs of programs.

use assay_worker::program::{Limits, WORK_PER_SECOND};
use serde::Deserialize;

/// Limit on the work of a test by default, in seconds. Of 1,051 reference solutions of HumanEval
/// and MBPP, also as programs that read their input, 1,049 need at most 0.2 seconds for a test, and
/// two forms of one need 4.2.
const DEFAULT_SECONDS: f64 = 2.0;

/// The same if the task has a reference, whose work limits programs further.
const DEFAULT_SECONDS_WITH_REFERENCE: f64 = 5.0;

/// How many times the work of the reference a program may do by default, if the task sets no
/// `seconds`.
const DEFAULT_TIMES_REFERENCE: f64 = 10.0;

/// The least limit that follows from the work of a reference: a program that is short in another
/// way than the reference must not fail for it.
const LEAST_WORK: u64 = WORK_PER_SECOND / 2;

/// `limits` of a task.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawLimits {
    seconds: Option<f64>,
    times_reference: Option<f64>,
    memory_mb: u64,
    output_kb: u64,
}

impl Default for RawLimits {
    fn default() -> Self {
        Self {
            seconds: None,
            times_reference: None,
            memory_mb: 256,
            output_kb: 1_024,
        }
    }
}

/// The limits of a run on a test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskLimits {
    /// Those of the task itself, and of its reference.
    pub(crate) own: Limits,
    /// How many times the work of the reference a program may do, if this is limited.
    times_reference: Option<f64>,
}

impl TaskLimits {
    /// Reads the limits of a task. An error consists of a field and a message.
    pub(crate) fn read(
        raw: &RawLimits,
        has_reference: bool,
    ) -> Result<Self, (&'static str, String)> {
        Ok(Self {
            own: limits(raw, has_reference)?,
            times_reference: times_reference(raw, has_reference)
                .map_err(|message| ("times_reference", message))?,
        })
    }

    /// The limits of a program if the reference does at most `most` work on a test.
    pub(crate) fn of_program(&self, most: Option<u64>) -> Limits {
        let by_reference = most.zip(self.times_reference).map(|(most, times)| {
            // A product beyond 2^53 is above the other limit.
            ((most as f64 * times) as u64).max(LEAST_WORK)
        });
        Limits {
            work: by_reference.map_or(self.own.work, |work| work.min(self.own.work)),
            ..self.own
        }
    }
}

/// How many times the work of the reference a program may do. By default this limits it only if the
/// task does not choose `seconds`.
fn times_reference(raw: &RawLimits, has_reference: bool) -> Result<Option<f64>, String> {
    match raw.times_reference {
        Some(_) if !has_reference => {
            Err("`times_reference` needs a `reference` program in the task".to_owned())
        }
        Some(times) if !(times.is_finite() && times >= 1.0) => Err(format!(
            "`times_reference` must be a number of at least 1, not {times}"
        )),
        Some(times) => Ok(Some(times)),
        None => {
            Ok(Some(DEFAULT_TIMES_REFERENCE).filter(|_| has_reference && raw.seconds.is_none()))
        }
    }
}

fn limits(raw: &RawLimits, has_reference: bool) -> Result<Limits, (&'static str, String)> {
    let seconds = raw.seconds.unwrap_or(match has_reference {
        true => DEFAULT_SECONDS_WITH_REFERENCE,
        false => DEFAULT_SECONDS,
    });
    if !(seconds > 0.0 && seconds <= 60.0) {
        return Err((
            "seconds",
            format!("`seconds` must be above 0 and at most 60, not {seconds}"),
        ));
    }
    if !(96..=2_048).contains(&raw.memory_mb) {
        return Err((
            "memory_mb",
            format!(
                "`memory_mb` must be 96 to 2048, including 72 for the interpreter, not {}",
                raw.memory_mb
            ),
        ));
    }
    if !(1..=65_536).contains(&raw.output_kb) {
        return Err((
            "output_kb",
            format!("`output_kb` must be 1 to 65536, not {}", raw.output_kb),
        ));
    }
    // At most 60 seconds of 2e10: far below 2^53, and above zero.
    let work = (seconds * WORK_PER_SECOND as f64) as u64;
    Ok(Limits {
        work,
        memory_bytes: raw.memory_mb << 20,
        output_bytes: raw.output_kb << 10,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_a_reference_limits_that_of_programs() {
        let seconds = |limits: &str, has_reference: bool, most: f64| {
            let raw = serde_json::from_str(limits).unwrap();
            let limits = TaskLimits::read(&raw, has_reference).unwrap();
            let most = (most * WORK_PER_SECOND as f64) as u64;
            limits.of_program(Some(most)).work as f64 / WORK_PER_SECOND as f64
        };
        assert_eq!(seconds("{}", false, 0.001), 2.0);
        assert_eq!(seconds("{}", true, 0.001), 0.5);
        assert_eq!(seconds("{}", true, 0.1), 1.0);
        assert_eq!(seconds("{}", true, 1.0), 5.0);
        assert_eq!(seconds(r#"{"seconds":3}"#, true, 0.001), 3.0);
        assert_eq!(
            seconds(r#"{"seconds":3,"times_reference":20}"#, true, 0.1),
            2.0
        );
    }
}
