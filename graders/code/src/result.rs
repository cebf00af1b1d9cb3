//! The retained result of a test: its numbers, and if it failed, the parts of its outputs that the
//! evidence shows.

use assay_core::Verdict;

use crate::checker::Difference;
use crate::driver_evidence::{DriverEvidence, Limit, MAX_SHOWN};
use crate::program_run::ProgramEnd;
use crate::programs::Attempt;
use crate::traceback;
use crate::verdict;

/// The result of one test of a program.
#[derive(Debug, Clone)]
pub(crate) struct TestResult {
    pub(crate) verdict: Verdict,
    /// Work used.
    pub(crate) work: u64,
    /// Peak memory, in bytes.
    pub(crate) memory_bytes: u64,
    /// Whether running it again would give the same result.
    pub(crate) deterministic: bool,
    /// Boxed, because most tests have none.
    pub(crate) failure: Option<Box<Failure>>,
}

/// How a test failed. Truncated texts have one byte or character more than is shown, so that the
/// evidence can mark them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) end: ProgramEnd,
    /// The driver's evidence.
    pub(crate) driver_evidence: Option<DriverEvidence>,
    /// Lines of the program in which the exception was raised or passed on, outermost first.
    pub(crate) lines: Vec<usize>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// First line in which the output differs.
    pub(crate) difference: Option<Difference>,
    /// The returned value, or the output of the checker program.
    pub(crate) got: Option<String>,
}

impl TestResult {
    /// The result of an attempt, without its full outputs.
    pub(crate) fn of(
        verdict: Verdict,
        attempt: &Attempt,
        difference: Option<Difference>,
        got: Option<&str>,
    ) -> Self {
        let run = &attempt.run;
        let failure = (verdict != verdict::ACCEPTED).then(|| {
            Box::new(Failure {
                end: shown_end(&run.end),
                driver_evidence: run
                    .driver_evidence
                    .as_deref()
                    .and_then(DriverEvidence::read),
                lines: match &run.end {
                    ProgramEnd::Raised(text) | ProgramEnd::TestFailed(text) => {
                        traceback::lines(text)
                    }
                    _ => Vec::new(),
                },
                stdout: last(&run.stdout),
                stderr: last(&run.stderr),
                difference,
                got: got.map(first),
            })
        });
        Self {
            verdict,
            work: run.work,
            memory_bytes: run.memory_bytes,
            deterministic: attempt.deterministic,
            failure,
        }
    }

    /// The limit of the sandbox that made the test fail, if known.
    pub(crate) fn limit(&self) -> Option<&Limit> {
        let failure = self.failure.as_ref()?;
        failure.driver_evidence.as_ref()?.limit.as_ref()
    }

    /// Drops the details of the failure: only the first failure of a program is shown.
    pub(crate) fn without_failure(self) -> Self {
        Self {
            failure: None,
            ..self
        }
    }
}

/// An end with the shown part of its text: the end of a message, and nothing of a value.
fn shown_end(end: &ProgramEnd) -> ProgramEnd {
    let message = |text: &String| match text.char_indices().nth_back(MAX_SHOWN) {
        Some((start, _)) => text[start..].to_owned(),
        None => text.clone(),
    };
    match end {
        ProgramEnd::Raised(text) => ProgramEnd::Raised(message(text)),
        ProgramEnd::TestFailed(text) => ProgramEnd::TestFailed(message(text)),
        ProgramEnd::Returned(_) => ProgramEnd::Returned(String::new()),
        other => other.clone(),
    }
}

fn last(output: &[u8]) -> Vec<u8> {
    output[output.len().saturating_sub(MAX_SHOWN + 1)..].to_vec()
}

fn first(text: &str) -> String {
    text.chars().take(MAX_SHOWN + 1).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::program_run::ProgramRun;

    fn attempt(end: ProgramEnd) -> Attempt {
        let (stdout, stderr) = (vec![b'o'; 1 << 20], b"short".to_vec());
        let driver_evidence = Some(r#"{"limit":{"cause":"module","name":"numpy"}}"#.to_owned());
        let run = ProgramRun {
            end,
            driver_evidence,
            stdout,
            stderr,
            work: 7,
            memory_bytes: 8,
            files: Vec::new(),
        };
        Attempt {
            run: Arc::new(run),
            deterministic: true,
        }
    }

    #[test]
    fn retains_the_shown_parts_of_a_failure() {
        let text = format!(
            "  File \"main.py\", line 3, in f\n{}the end",
            "é".repeat(MAX_SHOWN)
        );
        let ended = attempt(ProgramEnd::Raised(text));
        let result = TestResult::of(
            verdict::RUNTIME_ERROR,
            &ended,
            None,
            Some(&"g".repeat(1 << 20)),
        );
        assert_eq!(
            (result.work, result.memory_bytes, result.deterministic),
            (7, 8, true)
        );
        let failure = result.failure.as_ref().unwrap();
        assert_eq!(
            (failure.stdout.len(), failure.stderr.as_slice()),
            (MAX_SHOWN + 1, &b"short"[..])
        );
        assert_eq!(failure.got.as_ref().map(String::len), Some(MAX_SHOWN + 1));
        let ProgramEnd::Raised(message) = &failure.end else {
            panic!("{:?}", failure.end)
        };
        assert_eq!(
            (message.chars().count(), message.ends_with("éthe end")),
            (MAX_SHOWN + 1, true)
        );
        assert_eq!(failure.lines, [3], "lines are read from the whole message");
        assert_eq!(
            result.limit().map(|limit| limit.name.as_str()),
            Some("numpy")
        );
        assert!(result.without_failure().failure.is_none());
    }

    #[test]
    fn retains_only_numbers_of_passed_tests() {
        let ended = attempt(ProgramEnd::Returned("5".repeat(1 << 20)));
        let passed = TestResult::of(verdict::ACCEPTED, &ended, None, Some("5"));
        assert!(passed.failure.is_none());
        let failed = TestResult::of(Verdict::WRONG_ANSWER, &ended, None, None);
        assert_eq!(
            failed.failure.map(|failure| failure.end),
            Some(ProgramEnd::Returned(String::new()))
        );
    }
}
