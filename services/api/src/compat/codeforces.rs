//! Requests for Piston's packages that grade a program on one test of a Codeforces problem, as
//! open-r1's client sends them to `execute`: the input, the expected output, the limits and
//! possibly a checker are files, and the reply has `1` on standard output if the test passes.
//!
//! The program does not see these files. In Piston's packages it can read the expected output.

use assay_core::execution::{CompileStep, Execution, ExecutionEnd, ExecutionFile, ExecutionResult};

use super::peer_error::PeerError;
use super::programs::{self, NotRun, QUEUE_TIMEOUT, file};
use crate::Api;

/// Prefix of the names of these packages, as in `cf_python3`.
const PREFIX: &str = "cf_";

const CONFIGURATION: &str = "grader_config";
const CHECKER: &str = "checker.py";
const INPUT: &str = "input.txt";
const OUTPUT: &str = "output.txt";
const EXPECTED: &str = "correct_output.txt";

/// Runs the checker as Piston's packages do, with three paths as arguments.
const RUN_CHECKER: &str = "\
import sys
sys.argv = ['checker.py', 'input.txt', 'correct_output.txt', 'output.txt']
exec(compile(open('checker.py').read(), 'checker.py', 'exec'))
";

/// Time limit of a checker, in seconds.
const CHECKER_SECONDS: f64 = 10.0;

/// A test on which a program is graded.
pub(super) struct GradedTest {
    input: Vec<u8>,
    expected: Vec<u8>,
    checker: Option<Vec<u8>>,
    uses_files: bool,
    memory_bytes: Option<u64>,
}

/// The language that a package grades: `python3` of `cf_python3`.
pub(super) fn language(package: &str) -> &str {
    package.strip_prefix(PREFIX).unwrap_or(package)
}

impl GradedTest {
    /// Takes the test from the files of a request; `None` if the request has none.
    ///
    /// # Errors
    /// If a file is missing or the configuration is malformed.
    pub(super) fn take(files: &mut Vec<ExecutionFile>) -> Result<Option<Self>, PeerError> {
        let mut take = |path: &str| {
            let at = files.iter().position(|file| file.path == path)?;
            Some(files.remove(at).bytes)
        };
        let Some(configuration) = take(CONFIGURATION) else {
            return Ok(None);
        };
        let mut required = |path: &str| {
            take(path).ok_or_else(|| {
                PeerError::Input(format!(
                    "`files` has `{CONFIGURATION}`, but not `{path}`; send both to grade a program"
                ))
            })
        };
        let mut test = Self {
            input: required(INPUT)?,
            expected: required(EXPECTED)?,
            checker: take(CHECKER),
            uses_files: false,
            memory_bytes: None,
        };
        for line in String::from_utf8_lossy(&configuration).lines() {
            match line.split_once('=') {
                Some(("MEMORY_LIMIT", megabytes)) => {
                    test.memory_bytes = Some(bytes(megabytes)?);
                }
                Some(("INPUT_MODE", mode)) => test.uses_files = mode.trim() == "file",
                _ => {}
            }
        }
        Ok(Some(test))
    }

    /// Gives the program its input and its limit on memory.
    pub(super) fn prepare(&self, execution: &mut Execution) {
        execution.memory_bytes = self.memory_bytes.or(execution.memory_bytes);
        if self.uses_files {
            execution.files.push(file(INPUT, &self.input));
            execution.fetch.push(OUTPUT.to_owned());
        } else {
            execution.stdin.clone_from(&self.input);
        }
    }

    /// Replaces the output of a program that ran by the verdict: `1` if it passes the test, or what
    /// the checker prints.
    ///
    /// # Errors
    /// [`NotRun`] if the checker did not run.
    pub(super) async fn judge(
        &self,
        api: &Api,
        executed: ExecutionResult,
    ) -> Result<ExecutionResult, NotRun> {
        if executed.compile == CompileStep::Failed {
            return Ok(executed);
        }
        let written = executed.files.first().map(|file| file.bytes.as_slice());
        let output = match self.uses_files {
            true => written.unwrap_or_default(),
            false => &executed.stdout,
        };
        let verdict = |passes| if passes { "1\n" } else { "0\n" }.into();
        let (stdout, checked) = match (executed.end, &self.checker) {
            (ExecutionEnd::Exited(0), None) => {
                (verdict(has_equal_words(output, &self.expected)), None)
            }
            (ExecutionEnd::Exited(0), Some(checker)) => {
                let checked = self.check(api, checker, output).await?;
                (checked.stdout.clone(), Some(checked))
            }
            _ => (verdict(false), None),
        };
        let (end, stderr) = match checked {
            Some(checked) => (checked.end, [executed.stderr, checked.stderr].concat()),
            None => (executed.end, executed.stderr),
        };
        Ok(ExecutionResult {
            // The packages have this step for every language, and the client requires its result.
            compile: CompileStep::Succeeded,
            end,
            stdout,
            stderr,
            files: Vec::new(),
            ..executed
        })
    }

    async fn check(
        &self,
        api: &Api,
        checker: &[u8],
        output: &[u8],
    ) -> Result<ExecutionResult, NotRun> {
        let execution = Execution {
            language: "python".to_owned(),
            text: RUN_CHECKER.to_owned(),
            files: vec![
                file(CHECKER, checker),
                file(INPUT, &self.input),
                file(EXPECTED, &self.expected),
                file(OUTPUT, output),
            ],
            seconds: CHECKER_SECONDS,
            queue_timeout: QUEUE_TIMEOUT,
            ..Execution::default()
        };
        programs::execute(api, execution).await
    }
}

/// A limit on memory in megabytes, such as `256` or `256.0`, in bytes.
fn bytes(megabytes: &str) -> Result<u64, PeerError> {
    let number = megabytes.trim().parse::<f64>().ok();
    let valid = number.filter(|number| (1.0..=65_536.0).contains(number));
    // Between 1 and 65,536 times 2^20.
    valid
        .map(|number| (number * f64::from(1 << 20)) as u64)
        .ok_or_else(|| {
            PeerError::Input(format!(
                "`MEMORY_LIMIT` in `{CONFIGURATION}` must be a number of megabytes, at most 65536"
            ))
        })
}

/// Whether two outputs consist of the same words, as most checkers of Codeforces compare them.
fn has_equal_words(left: &[u8], right: &[u8]) -> bool {
    let words = |text| <[u8]>::split(text, u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words(left).eq(words(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(configuration: &str) -> Vec<ExecutionFile> {
        vec![
            file(INPUT, b"1\n"),
            file("data.txt", b""),
            file(EXPECTED, b"2\n"),
            file(CONFIGURATION, configuration.as_bytes()),
        ]
    }

    #[test]
    fn takes_the_test_from_the_files() {
        let mut files = files("TIME_LIMIT=2.0\nMEMORY_LIMIT=256.0\nINPUT_MODE=file");
        let test = GradedTest::take(&mut files).ok().flatten().unwrap();
        assert_eq!(
            (test.input, test.expected),
            (b"1\n".to_vec(), b"2\n".to_vec())
        );
        assert_eq!(test.memory_bytes, Some(256 << 20));
        assert!(test.uses_files && test.checker.is_none());
        assert_eq!(files, [file("data.txt", b"")]);
        assert!(GradedTest::take(&mut files).ok().unwrap().is_none());
    }

    #[test]
    fn rejects_incomplete_and_malformed_tests() {
        let mut incomplete = files("");
        incomplete.remove(2);
        for mut files in [
            incomplete,
            files("MEMORY_LIMIT=-1"),
            files("MEMORY_LIMIT=much"),
        ] {
            assert!(matches!(
                GradedTest::take(&mut files),
                Err(PeerError::Input(_))
            ));
        }
    }

    #[test]
    fn outputs_are_compared_by_words() {
        assert!(has_equal_words(b" 1 2\r\n\n3", b"1 2\n3\n"));
        assert!(!has_equal_words(b"1 23", b"1 2 3"));
        assert!(has_equal_words(b"", b"\n"));
    }

    #[test]
    fn packages_are_named_after_their_language() {
        assert_eq!(language("cf_python3"), "python3");
        assert_eq!(language("c++17"), "c++17");
    }
}
