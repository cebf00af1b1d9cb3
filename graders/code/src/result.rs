//! What is kept of a test after it ran: its numbers, and if it failed, the parts of its outputs
//! that evidence shows.

use assay_core::Verdict;

use crate::checker::Difference;
use crate::programs::Attempt;
use crate::ran::ProgramEnd;
use crate::told::{Limit, SHOWN, Told};
use crate::traceback;
use crate::verdict;

/// One test of one program.
#[derive(Debug, Clone)]
pub(crate) struct TestResult {
    pub(crate) verdict: Verdict,
    /// Work used.
    pub(crate) work: u64,
    /// Peak memory.
    pub(crate) memory_bytes: u64,
    /// Whether running it again would give the same result.
    pub(crate) deterministic: bool,
    /// Boxed, because most tests have none.
    pub(crate) failure: Option<Box<Failure>>,
}

/// How a test failed. Texts that were cut are one byte or character longer than what is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) end: ProgramEnd,
    /// The driver's evidence.
    pub(crate) told: Option<Told>,
    /// Lines of the program in which the exception was raised or passed on, outermost first.
    pub(crate) lines: Vec<usize>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// First line in which the output differs.
    pub(crate) difference: Option<Difference>,
    /// The value that was returned, or what the checker program said.
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
                told: run.told.as_deref().and_then(Told::read),
                lines: match &run.end {
                    ProgramEnd::Raised(text) | ProgramEnd::Refuted(text) => traceback::lines(text),
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
        self.failure.as_ref()?.told.as_ref()?.limit.as_ref()
    }

    /// Drops the details of the failure: only the first failure of a program is shown.
    pub(crate) fn without_failure(self) -> Self {
        Self {
            failure: None,
            ..self
        }
    }
}

/// An end with the part of its text that is shown: the end of a message, nothing of a value.
fn shown_end(end: &ProgramEnd) -> ProgramEnd {
    let message = |text: &String| match text.char_indices().nth_back(SHOWN) {
        Some((start, _)) => text[start..].to_owned(),
        None => text.clone(),
    };
    match end {
        ProgramEnd::Raised(text) => ProgramEnd::Raised(message(text)),
        ProgramEnd::Refuted(text) => ProgramEnd::Refuted(message(text)),
        ProgramEnd::Returned(_) => ProgramEnd::Returned(String::new()),
        other => other.clone(),
    }
}

fn last(output: &[u8]) -> Vec<u8> {
    output[output.len().saturating_sub(SHOWN + 1)..].to_vec()
}

fn first(text: &str) -> String {
    text.chars().take(SHOWN + 1).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ran::ProgramRun;

    fn attempt(end: ProgramEnd) -> Attempt {
        let (stdout, stderr) = (vec![b'o'; 1 << 20], b"short".to_vec());
        let told = Some(r#"{"limit":{"cause":"module","name":"numpy"}}"#.to_owned());
        let run = ProgramRun {
            end,
            told,
            stdout,
            stderr,
            work: 7,
            memory_bytes: 8,
        };
        Attempt {
            run: Arc::new(run),
            deterministic: true,
        }
    }

    #[test]
    fn keeps_the_shown_parts_of_a_failure() {
        let text = format!(
            "  File \"main.py\", line 3, in f\n{}the end",
            "é".repeat(SHOWN)
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
            (SHOWN + 1, &b"short"[..])
        );
        assert_eq!(failure.got.as_ref().map(String::len), Some(SHOWN + 1));
        let ProgramEnd::Raised(message) = &failure.end else {
            panic!("{:?}", failure.end)
        };
        assert_eq!(
            (message.chars().count(), message.ends_with("éthe end")),
            (SHOWN + 1, true)
        );
        assert_eq!(failure.lines, [3], "lines are read from the whole message");
        assert_eq!(
            result.limit().map(|limit| limit.name.as_str()),
            Some("numpy")
        );
        assert!(result.without_failure().failure.is_none());
    }

    #[test]
    fn keeps_only_numbers_of_a_test_that_passed() {
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
