//! How a call ended, as replies and logs have it.

use assay_core::Hash;
use assay_wire::sessions::{CallOutcome, ExceptionBody, Files};
use assay_worker::program::{Called, End, File};
use bytes::Bytes;

use crate::files;

/// The outputs of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallEnd {
    pub(crate) outcome: CallOutcome,
    pub(crate) value: Option<String>,
    pub(crate) exception: Option<ExceptionBody>,
    pub(crate) exit_status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) files: Files,
    pub(crate) output_bytes: u64,
    pub(crate) output_hash: Hash,
    pub(crate) work: u64,
    pub(crate) memory_bytes: u64,
    /// Whether it has an effect.
    pub(crate) kept: bool,
    /// What it left; `None` if it has no effect.
    pub(crate) frozen: Option<Bytes>,
}

impl CallEnd {
    /// Reads the reply of a worker to the call with this number. `state_bytes` is the largest state
    /// of a session.
    pub(crate) fn read(called: Called, number: u32, state_bytes: u64) -> Self {
        let Called { ran, frozen, .. } = called;
        let (mut outcome, value, traceback, exit_status) = match ran.end {
            End::Finished => (CallOutcome::Ok, None, None, None),
            End::Returned(value) => (CallOutcome::Ok, Some(value), None, None),
            End::Exited(status) => (CallOutcome::Exited, None, None, Some(status)),
            // No test runs in a session, so the others are exceptions as well.
            End::Raised(text)
            | End::TestFailed(text)
            | End::TaskFailed(text)
            | End::FailedEarly(text) => (CallOutcome::Exception, None, Some(text), None),
            End::OutOfWork => (CallOutcome::OutOfWork, None, None, None),
            End::OutOfMemory => (CallOutcome::OutOfMemory, None, None, None),
            End::OutOfOutput => (CallOutcome::OutOfOutput, None, None, None),
        };
        let is_kept = |frozen: &Bytes| frozen.len() as u64 <= state_bytes;
        if frozen.as_ref().is_some_and(|frozen| !is_kept(frozen)) {
            outcome = CallOutcome::TooLarge;
        }
        let output_hash = output_hash(&Outputs {
            outcome,
            value: value.as_deref(),
            traceback: traceback.as_deref(),
            exit_status,
            stdout: &ran.stdout,
            stderr: &ran.stderr,
            files: &ran.files,
        });
        Self {
            outcome,
            value,
            exception: traceback.map(|traceback| exception(traceback, number)),
            exit_status,
            output_bytes: (ran.stdout.len() + ran.stderr.len()) as u64,
            stdout: text(ran.stdout),
            stderr: text(ran.stderr),
            files: files::encode(ran.files),
            output_hash,
            work: ran.work,
            memory_bytes: ran.memory_bytes,
            kept: frozen.as_ref().is_some_and(is_kept),
            frozen: frozen.filter(is_kept),
        }
    }

    /// Whether the code ran to its end, or exited with status 0.
    pub(crate) fn succeeded(&self) -> bool {
        match self.outcome {
            CallOutcome::Ok => true,
            CallOutcome::Exited => self.exit_status == Some(0),
            _ => false,
        }
    }
}

/// What a hash of outputs covers.
struct Outputs<'a> {
    outcome: CallOutcome,
    value: Option<&'a str>,
    traceback: Option<&'a str>,
    exit_status: Option<i32>,
    stdout: &'a [u8],
    stderr: &'a [u8],
    files: &'a [File],
}

fn output_hash(outputs: &Outputs<'_>) -> Hash {
    let option = |text: Option<&str>| text.map(|text| format!("+{text}")).unwrap_or_default();
    let (value, traceback) = (option(outputs.value), option(outputs.traceback));
    let status = outputs.exit_status.map(|status| status.to_string());
    let status = status.unwrap_or_default();
    let mut parts = vec![
        outputs.outcome.as_str().as_bytes(),
        value.as_bytes(),
        traceback.as_bytes(),
        status.as_bytes(),
        outputs.stdout,
        outputs.stderr,
    ];
    for file in outputs.files {
        parts.extend([file.path.as_bytes(), file.bytes.as_slice()]);
    }
    Hash::of_parts(&parts)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn exception(traceback: String, number: u32) -> ExceptionBody {
    let of_compiler = format!("call{number}.c");
    let error = |line: &str| {
        let (place, message) = line.split_once("error: ")?;
        place.starts_with(&of_compiler).then(|| message.to_owned())
    };
    // Python shows the places before the message, JavaScript after it; both indent them.
    let is_message = |line: &&str| !line.is_empty() && !line.starts_with(' ');
    let message = traceback
        .lines()
        .find_map(error)
        .or_else(|| traceback.lines().rfind(is_message).map(str::to_owned));
    ExceptionBody {
        message: message.unwrap_or_default(),
        line: line_of(&traceback, number),
        traceback,
    }
}

/// The line of the code of this call that a traceback or the message of a compiler names. The file
/// is `<call N>` in Python, and `callN` with the ending of the language in others.
fn line_of(traceback: &str, number: u32) -> Option<u32> {
    let python = format!("\"<call {number}>\", line ");
    // Python lists the innermost call last, JavaScript and compilers what matters first.
    let after = match traceback.rsplit_once(&python) {
        Some((_, after)) => after,
        None => ["js", "cpp", "c"].iter().find_map(|ending| {
            let (_, after) = traceback.split_once(&format!("call{number}.{ending}:"))?;
            Some(after)
        })?,
    };
    let digits = after.find(|letter: char| !letter.is_ascii_digit());
    after[..digits.unwrap_or(after.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use assay_worker::program::Ran;

    use super::*;

    fn called(end: End) -> Called {
        Called {
            ran: Ran::without_output(end),
            frozen: Some(vec![0; 10].into()),
            changed_bytes: 0,
        }
    }

    #[test]
    fn exceptions_have_the_line_of_the_call() {
        let python = "Traceback (most recent call last):\n  File \"<call 3>\", line 12, in \
            <module>\n  File \"<call 3>\", line 4, in f\n  File \"<call 1>\", line 2, in g\n\
            ZeroDivisionError: division by zero\n";
        let end = CallEnd::read(called(End::Raised(python.to_owned())), 3, 10);
        let exception = end.exception.unwrap();
        assert_eq!(exception.message, "ZeroDivisionError: division by zero");
        assert_eq!(exception.line, Some(4));
        let cpp = "call3.cpp:2:5: error: use of undeclared identifier 'x'\n    2 |     x = 1;\n\
            \x20     |     ^\n1 error generated.\n";
        let end = CallEnd::read(called(End::Raised(cpp.to_owned())), 3, 10);
        let exception = end.exception.unwrap();
        assert_eq!(exception.message, "use of undeclared identifier 'x'");
        assert_eq!(exception.line, Some(2));
        assert_eq!(
            line_of("    at f (call2.js:7:3)\n at call2.js:9:1", 2),
            Some(7)
        );
        assert_eq!(line_of("TypeError: x", 2), None);
    }

    #[test]
    fn the_hash_covers_every_output() {
        let hash = |called| CallEnd::read(called, 1, 10).output_hash;
        let mut seen = vec![
            hash(called(End::Finished)),
            hash(called(End::Returned(String::new()))),
            hash(called(End::Raised(String::new()))),
            hash(called(End::Exited(0))),
            hash(called(End::OutOfWork)),
        ];
        let mut changed = called(End::Finished);
        changed.ran.stdout = b"a".to_vec();
        seen.push(hash(changed.clone()));
        changed.ran.stderr = std::mem::take(&mut changed.ran.stdout);
        seen.push(hash(changed.clone()));
        changed.ran.files.push(File {
            path: "a".to_owned(),
            bytes: Vec::new(),
        });
        seen.push(hash(changed.clone()));
        changed.ran.work = 5;
        assert_eq!(seen.last(), Some(&hash(changed)), "work has its own field");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 8);
    }

    #[test]
    fn a_state_that_is_too_large_has_no_effect() {
        let end = CallEnd::read(called(End::Finished), 1, 9);
        assert_eq!((end.outcome, end.frozen), (CallOutcome::TooLarge, None));
        let end = CallEnd::read(called(End::Finished), 1, 10);
        assert_eq!(end.outcome, CallOutcome::Ok);
        assert!(end.frozen.is_some());
    }
}
