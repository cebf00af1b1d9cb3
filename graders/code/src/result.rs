//! What is kept of a test after it ran: its numbers, and if it failed, the parts of its outputs that evidence shows.

use assay_cell::program::End;
use assay_core::Verdict;

use crate::checker::Difference;
use crate::programs::Attempt;
use crate::verdict;

/// Bytes or characters shown from the start or the end of a text.
pub(crate) const SHOWN: usize = 400;

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
    pub(crate) end: End,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// First line in which the output differs.
    pub(crate) difference: Option<Difference>,
    /// The value that was returned, or what the checker program said.
    pub(crate) got: Option<String>,
}

impl TestResult {
    /// The result of an attempt, without its full outputs.
    pub(crate) fn of(verdict: Verdict, attempt: &Attempt, difference: Option<Difference>, got: Option<&str>) -> Self {
        let ran = &attempt.ran;
        let failure = (verdict != verdict::ACCEPTED).then(|| {
            Box::new(Failure {
                end: shown_end(&ran.end),
                stdout: last(&ran.stdout),
                stderr: last(&ran.stderr),
                difference,
                got: got.map(first),
            })
        });
        Self { verdict, work: ran.work, memory_bytes: ran.memory_bytes, deterministic: attempt.deterministic, failure }
    }

    /// Drops the details of the failure: only the first failure of a program is shown.
    pub(crate) fn without_failure(self) -> Self {
        Self { failure: None, ..self }
    }
}

/// An end with the part of its text that is shown: the end of a message, nothing of a value.
fn shown_end(end: &End) -> End {
    let message = |text: &String| match text.char_indices().nth_back(SHOWN) {
        Some((start, _)) => text[start..].to_owned(),
        None => text.clone(),
    };
    match end {
        End::Raised(text) => End::Raised(message(text)),
        End::Refuted(text) => End::Refuted(message(text)),
        End::Returned(_) => End::Returned(String::new()),
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

    use assay_cell::program::Ran;

    use super::*;

    fn attempt(end: End) -> Attempt {
        let ran = Ran { end, stdout: vec![b'o'; 1 << 20], stderr: b"short".to_vec(), work: 7, memory_bytes: 8 };
        Attempt { ran: Arc::new(ran), deterministic: true }
    }

    #[test]
    fn keeps_the_shown_parts_of_a_failure() {
        let ended = attempt(End::Raised("é".repeat(SHOWN) + "the end"));
        let result = TestResult::of(verdict::RUNTIME_ERROR, &ended, None, Some(&"g".repeat(1 << 20)));
        assert_eq!((result.work, result.memory_bytes, result.deterministic), (7, 8, true));
        let failure = result.failure.as_ref().unwrap();
        assert_eq!((failure.stdout.len(), failure.stderr.as_slice()), (SHOWN + 1, &b"short"[..]));
        assert_eq!(failure.got.as_ref().map(String::len), Some(SHOWN + 1));
        let End::Raised(message) = &failure.end else { panic!("{:?}", failure.end) };
        assert_eq!((message.chars().count(), message.ends_with("éthe end")), (SHOWN + 1, true));
        assert!(result.without_failure().failure.is_none());
    }

    #[test]
    fn keeps_only_numbers_of_a_test_that_passed() {
        let ended = attempt(End::Returned("5".repeat(1 << 20)));
        let passed = TestResult::of(verdict::ACCEPTED, &ended, None, Some("5"));
        assert!(passed.failure.is_none());
        let failed = TestResult::of(Verdict::WRONG_ANSWER, &ended, None, None);
        assert_eq!(failed.failure.map(|failure| failure.end), Some(End::Returned(String::new())));
    }
}
