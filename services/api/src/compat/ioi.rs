//! Requests for Piston's package `cms_ioi`, which grades a program on one test of a problem of the
//! IOI, as open-r1's client sends them to `execute`. The program defines functions, and a grader in
//! a second source file calls them. The reply has the score on standard output, and the reason on
//! standard error.
//!
//! The program does not see the expected output. In Piston's package it is a file beside it.

use assay_core::execution::{CompileStep, Execution, ExecutionEnd, ExecutionFile, ExecutionResult};
use serde::Deserialize;

use super::peer_error::PeerError;
use super::programs::{self, NotRun, QUEUE_TIMEOUT, file};
use crate::Api;

/// The name of the package.
pub(super) const PACKAGE: &str = "cms_ioi";

/// The language of its programs, graders and checkers.
pub(super) const LANGUAGE: &str = "c++17";

/// The folder of the program, its graders and their headers.
const GRADERS: &str = "graders/";
const CHECKERS: &str = "checker/";

const CONFIGURATION: &str = "graders/grader_config.json";
const MANAGER: &str = "graders/manager.cpp";
const CHECKER: &str = "checker/checker.cpp";
const INPUT: &str = "input.txt";
const OUTPUT: &str = "output.txt";
const EXPECTED: &str = "correct_output.txt";

/// The source files that are linked with the program: the first one that the problem has.
const LINKED: [&str; 2] = ["graders/grader.cpp", "graders/stub.cpp"];

/// The type of the problems that can be graded.
const BATCH: &str = "Batch";

/// What precedes sources that are compiled to grade a program.
const PROLOGUE: &str = "#define EVAL\n#line 1 ";

/// Time limit of a checker, in seconds.
const CHECKER_SECONDS: f64 = 10.0;

/// The part of the configuration that is used. Limits are those of the request.
#[derive(Deserialize)]
struct Configuration {
    task_type: String,
    /// The name of the problem and of its program.
    code: Option<String>,
}

/// A test on which a program is graded.
pub(super) struct IoiTest {
    name: String,
    input: Vec<u8>,
    expected: Option<Vec<u8>>,
    linked: Option<ExecutionFile>,
    /// The source of the checker and the files that it includes.
    checker: Option<(String, Vec<ExecutionFile>)>,
}

impl IoiTest {
    /// Takes the test from the files of a request, and leaves those that the program includes.
    ///
    /// # Errors
    /// If a file is missing or malformed, or the problem has another type.
    pub(super) fn take(files: &mut Vec<ExecutionFile>) -> Result<Self, PeerError> {
        let mut take = |path: &str| {
            let at = files.iter().position(|file| file.path == path)?;
            Some(files.remove(at).bytes)
        };
        let missing = |path: &str| {
            PeerError::Input(format!(
                "the first of `files` is the program, but there is not `{path}`, which the package \
                 `{PACKAGE}` needs"
            ))
        };
        let text = take(CONFIGURATION).ok_or_else(|| missing(CONFIGURATION))?;
        let configuration: Configuration = serde_json::from_slice(&text).map_err(|error| {
            PeerError::Input(format!("`{CONFIGURATION}` is malformed: {error}"))
        })?;
        if configuration.task_type != BATCH || take(MANAGER).is_some() {
            let kind = configuration.task_type;
            let message = format!(
                "problems of the type `{kind}` cannot be graded, only those of the type `{BATCH}`: \
                 a manager and the program are processes that write to each other"
            );
            return Err(PeerError::Input(message));
        }
        let input = take(INPUT).ok_or_else(|| missing(INPUT))?;
        let expected = take(EXPECTED);
        let linked = LINKED.iter().find_map(|path| {
            let name = path.strip_prefix(GRADERS).unwrap_or(path);
            Some(file(name, &with_prologue(name, &take(path)?)))
        });
        let checker = take(CHECKER).map(|text| String::from_utf8_lossy(&text).into_owned());
        let mut own = Vec::new();
        let mut of_checker = Vec::new();
        for ExecutionFile { path, bytes } in files.drain(..) {
            if let Some(name) = path.strip_prefix(CHECKERS) {
                of_checker.push(file(name, &bytes));
            } else {
                let name = path.strip_prefix(GRADERS).unwrap_or(&path);
                own.push(file(name, &bytes));
            }
        }
        *files = own;
        Ok(Self {
            name: configuration.code.unwrap_or_else(|| "program".to_owned()),
            input,
            expected,
            linked,
            checker: checker.map(|text| (text, of_checker)),
        })
    }

    /// Gives the program its grader and its input.
    pub(super) fn prepare(&self, execution: &mut Execution) {
        // The name is part of a directive.
        let name: String = self
            .name
            .chars()
            .filter(|character| character.is_ascii_alphanumeric() || *character == '_')
            .collect();
        let text = with_prologue(&format!("{name}.cpp"), execution.text.as_bytes());
        execution.text = String::from_utf8_lossy(&text).into_owned();
        execution.linked.clone_from(&self.linked);
        execution.stdin.clone_from(&self.input);
    }

    /// Replaces the output of a program that ran by the score and the reason.
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
        let failed = |reason: &str, executed: ExecutionResult| ExecutionResult {
            stdout: b"0\n".to_vec(),
            stderr: [executed.stderr.as_slice(), reason.as_bytes()].concat(),
            ..executed
        };
        let expected = match (executed.end, &self.expected) {
            (ExecutionEnd::TimeLimit, _) => return Ok(failed("Time limit exceeded\n", executed)),
            (ExecutionEnd::Exited(0), Some(expected)) => expected,
            // As in Piston's package, the output is not graded without an expected one.
            (ExecutionEnd::Exited(0), None) => return Ok(executed),
            (ExecutionEnd::Exited(status), _) => {
                let reason = format!("Runtime error with exit code {status}\n");
                return Ok(failed(&reason, executed));
            }
        };
        if let Some((text, files)) = &self.checker {
            let paths = [
                (INPUT, &self.input),
                (EXPECTED, expected),
                (OUTPUT, &executed.stdout),
            ];
            let checked = check(api, text, files.clone(), paths).await?;
            return Ok(ExecutionResult {
                end: checked.end,
                stdout: checked.stdout,
                stderr: checked.stderr,
                ..executed
            });
        }
        if !has_equal_lines(&executed.stdout, expected) {
            return Ok(failed("Output isn't correct\n", executed));
        }
        Ok(ExecutionResult {
            stdout: b"1\n".to_vec(),
            stderr: b"Output is correct\n".to_vec(),
            ..executed
        })
    }
}

/// Runs a checker with the paths of the input, the expected output and the output.
async fn check(
    api: &Api,
    text: &str,
    mut files: Vec<ExecutionFile>,
    outputs: [(&str, &Vec<u8>); 3],
) -> Result<ExecutionResult, NotRun> {
    files.extend(outputs.map(|(path, bytes)| file(path, bytes)));
    let execution = Execution {
        language: LANGUAGE.to_owned(),
        text: text.to_owned(),
        files,
        arguments: outputs.map(|(path, _)| path.to_owned()).to_vec(),
        seconds: CHECKER_SECONDS,
        queue_timeout: QUEUE_TIMEOUT,
        ..Execution::default()
    };
    let checked = programs::execute(api, execution).await?;
    if checked.compile == CompileStep::Failed {
        let message = String::from_utf8_lossy(&checked.stderr).into_owned();
        return Err(NotRun::Failed(format!(
            "`{CHECKER}` does not compile: {message}"
        )));
    }
    Ok(checked)
}

/// A source, whose messages show this name.
fn with_prologue(name: &str, text: &[u8]) -> Vec<u8> {
    [PROLOGUE.as_bytes(), b"\"", name.as_bytes(), b"\"\n", text].concat()
}

/// Whether two outputs have the same words in each line, as `diff --ignore-space-change` compares
/// them, apart from empty lines at the end.
fn has_equal_lines(left: &[u8], right: &[u8]) -> bool {
    let lines = |text| {
        let lines = <[u8]>::split(<[u8]>::trim_ascii_end(text), |byte| *byte == b'\n');
        lines.map(|line| {
            let words = line.split(u8::is_ascii_whitespace);
            words.filter(|word| !word.is_empty()).collect::<Vec<_>>()
        })
    };
    lines(left).eq(lines(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(task_type: &str) -> Vec<ExecutionFile> {
        let configuration = format!(r#"{{"task_type": "{task_type}", "code": "sum"}}"#);
        vec![
            file(INPUT, b"1 2\n"),
            file(EXPECTED, b"3\n"),
            file("graders/stub.cpp", b"int main() {}"),
            file("graders/sum.h", b"int sum();"),
            file("checker/checker.cpp", b"int main() {}"),
            file("checker/testlib.h", b""),
            file(CONFIGURATION, configuration.as_bytes()),
        ]
    }

    #[test]
    fn takes_the_test_from_the_files() {
        let mut files = files("Batch");
        let test = IoiTest::take(&mut files).ok().unwrap();
        assert_eq!(
            (test.name.as_str(), test.input.as_slice()),
            ("sum", &b"1 2\n"[..])
        );
        assert_eq!(test.expected.as_deref(), Some(&b"3\n"[..]));
        let linked = test.linked.unwrap();
        assert_eq!(linked.path, "stub.cpp");
        assert_eq!(
            linked.bytes,
            b"#define EVAL\n#line 1 \"stub.cpp\"\nint main() {}"
        );
        assert_eq!(test.checker.unwrap().1, [file("testlib.h", b"")]);
        assert_eq!(files, [file("sum.h", b"int sum();")]);
    }

    #[test]
    fn rejects_other_problems() {
        let mut with_manager = files("Batch");
        with_manager.push(file(MANAGER, b""));
        let mut without_input = files("Batch");
        without_input.remove(0);
        for mut files in [files("Communication"), with_manager, without_input] {
            assert!(matches!(
                IoiTest::take(&mut files),
                Err(PeerError::Input(_))
            ));
        }
    }

    #[test]
    fn outputs_are_compared_by_lines() {
        assert!(has_equal_lines(b"1  2\r\n3", b"1 2 \n3\n\n"));
        assert!(!has_equal_lines(b"1 2 3", b"1 2\n3"));
        assert!(has_equal_lines(b"", b"\n"));
    }
}
