//! Runs a program without comparing its output, for trainers that compare it themselves.

use std::sync::Arc;

use assay_core::execution::{
    CompileStep, Execute, ExecuteError, Execution, ExecutionEnd, ExecutionFile, ExecutionResult,
    Runtime,
};
use assay_core::{BoxFuture, ErrorCode, Fault};
use assay_worker::program::{Compile, File, Limits, Part, Run, Test, Translation};

use crate::files;
use crate::images;
use crate::language::{self, LANGUAGES, Language};
use crate::program_run::{ProgramEnd, ProgramRun};
use crate::programs::Programs;

/// Work of a second of a client's timeout. Clients of other code-execution servers mean wall time
/// and disconnect a few seconds after it, so a second is the work that a worker does at least in
/// one: a quarter of a second of a task's limit.
const PEER_WORK_PER_SECOND: f64 = 5e9;

/// Longest timeout, in seconds. Longer ones are reduced to it.
const MAX_SECONDS: f64 = 300.0;

/// Default, minimum and maximum limit on memory, in bytes.
const MEMORY: (u64, u64, u64) = (1 << 30, 96 << 20, 2 << 30);

/// The language name of programs that are pytest files.
const PYTEST: &str = "pytest";

/// The Python program that runs a pytest file.
const PYTEST_PROGRAM: &str = "\
import sys
import pytest
sys.exit(pytest.main([\"test_main.py\"]))
";

/// Name of the pytest file that it runs.
const PYTEST_FILE: &str = "test_main.py";

/// Limit on standard output, in bytes.
const OUTPUT: u64 = 16 << 20;

impl Execute for Programs {
    fn runtimes(&self) -> Vec<Runtime> {
        LANGUAGES
            .iter()
            .filter_map(|language| self.runtime_of(language))
            .collect()
    }

    fn runtime(&self, name: &str) -> Option<Runtime> {
        let language = language::named(name)?;
        self.runtime_of(&language)
    }

    fn execute(
        &self,
        execution: Execution,
    ) -> BoxFuture<'_, Result<ExecutionResult, ExecuteError>> {
        Box::pin(self.execute_once(execution))
    }
}

impl Programs {
    /// The runtime of a language, if the image in which its programs run by default is installed.
    fn runtime_of(&self, language: &Language) -> Option<Runtime> {
        let image = self.image(images::chosen(language, []).name)?;
        let for_pytest = images::chosen(language, [PYTEST_PROGRAM]);
        Some(Runtime {
            language: language.name,
            aliases: language.aliases.to_vec(),
            version: image.version.clone(),
            is_compiled: language.is_compiled,
            runs_pytest: language.has_pytest && self.missing(for_pytest).is_none(),
            sum_program: language.sum_program,
        })
    }

    async fn execute_once(
        &self,
        mut execution: Execution,
    ) -> Result<ExecutionResult, ExecuteError> {
        let failed = |message: String| {
            ExecuteError::Failed(Fault::permanent(ErrorCode::GraderUnavailable, message))
        };
        if execution.language == PYTEST {
            execution = with_pytest(execution);
        }
        let name = &execution.language;
        let language = language::named(name)
            .ok_or_else(|| failed(format!("{}, `{PYTEST}`", language::unsupported(name))))?;
        let paths = execution.files.iter().map(|file| file.path.as_str());
        files::validate(paths)
            .map_err(|(path, message)| failed(format!("invalid file `{path}`: {message}")))?;
        let image = match &execution.image {
            Some(image) => images::named(&language, image)
                .ok_or_else(|| failed(format!("unknown image `{image}` of `{name}`")))?,
            None => {
                let code = |file: &ExecutionFile| {
                    let is_code = file.path.ends_with(".py");
                    is_code.then(|| String::from_utf8_lossy(&file.bytes).into_owned())
                };
                let files: Vec<String> = execution.files.iter().filter_map(code).collect();
                let texts = files.iter().map(String::as_str);
                images::chosen(&language, texts.chain([execution.text.as_str()]))
            }
        };
        if let Some(message) = self.missing(image) {
            return Err(failed(message));
        }
        let (default, min, max) = MEMORY;
        let memory_bytes = execution
            .memory_bytes
            .map_or(default, |bytes| bytes.clamp(min, max));
        let parts = vec![Part {
            name: language.file("main"),
            text: execution.text.clone(),
        }];
        let linked = linked_part(execution.linked, &language).map_err(failed)?;
        let files = execution.files.into_iter();
        let files: Vec<File> = files
            .map(|ExecutionFile { path, bytes }| File { path, bytes })
            .collect();
        let compile = Compile {
            image: image.name.to_owned(),
            translation: language.translation,
            standard: language.standard.to_owned(),
            parts,
            files: match language.includes_files {
                true => files.clone(),
                false => Vec::new(),
            },
            calls: Vec::new(),
            linked,
        };
        // Between 0 and 300 times 5e9.
        let work = (execution.seconds.clamp(0.01, MAX_SECONDS) * PEER_WORK_PER_SECOND) as u64;
        let limits = Limits {
            work,
            memory_bytes,
            output_bytes: OUTPUT,
        };
        let Execution {
            stdin,
            queue_timeout,
            fetch,
            arguments,
            ..
        } = execution;
        let run = |code: &[u8]| Run {
            image: image.name.to_owned(),
            code: code.to_vec(),
            test: Test::Stdin(stdin),
            translation: Translation::None,
            limits: image.limits(limits),
            seed: 0,
            files,
            fetch,
            arguments,
        };
        let step = |step| {
            if language.is_compiled {
                step
            } else {
                CompileStep::None
            }
        };
        Ok(
            match self.run_uncached(compile, queue_timeout, run).await? {
                Ok(run) => executed(Arc::unwrap_or_clone(run), step(CompileStep::Succeeded)),
                Err(message) => {
                    let stderr = message.into_bytes();
                    ExecutionResult {
                        compile: step(CompileStep::Failed),
                        end: ExecutionEnd::Exited(1),
                        stdout: Vec::new(),
                        stderr,
                        seconds: 0.0,
                        files: Vec::new(),
                    }
                }
            },
        )
    }
}

/// The second source file of a program.
fn linked_part(linked: Option<ExecutionFile>, language: &Language) -> Result<Option<Part>, String> {
    let Some(ExecutionFile { path, bytes }) = linked else {
        return Ok(None);
    };
    if !language.includes_files {
        let name = language.name;
        return Err(format!(
            "a program in `{name}` has one source file, not also `{path}`"
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(Part { name: path, text })),
        Err(_) => Err(format!("the source file `{path}` is not UTF-8")),
    }
}

/// The execution of the program that runs this pytest file.
fn with_pytest(mut execution: Execution) -> Execution {
    let tests = std::mem::replace(&mut execution.text, PYTEST_PROGRAM.to_owned());
    execution.files.retain(|file| file.path != PYTEST_FILE);
    execution.files.push(ExecutionFile {
        path: PYTEST_FILE.to_owned(),
        bytes: tests.into_bytes(),
    });
    Execution {
        language: "python".to_owned(),
        ..execution
    }
}

fn executed(run: ProgramRun, compile: CompileStep) -> ExecutionResult {
    let ProgramRun {
        end,
        stdout,
        mut stderr,
        work,
        files,
        ..
    } = run;
    let mut append = |text: &str| stderr.extend_from_slice(format!("{text}\n").as_bytes());
    let end = match end {
        ProgramEnd::OutOfWork => ExecutionEnd::TimeLimit,
        ProgramEnd::Finished => ExecutionEnd::Exited(0),
        ProgramEnd::Exited(status) => ExecutionEnd::Exited(status),
        ProgramEnd::OutOfMemory => {
            append("MemoryError: the memory limit was reached");
            ExecutionEnd::Exited(1)
        }
        ProgramEnd::OutOfOutput => {
            append("the output limit was reached");
            ExecutionEnd::Exited(1)
        }
        ProgramEnd::Raised(message) => {
            if stderr.is_empty() {
                stderr = message.into_bytes();
            }
            ExecutionEnd::Exited(1)
        }
        ProgramEnd::Returned(_) | ProgramEnd::TestFailed(_) => ExecutionEnd::Exited(1),
    };
    let seconds = work as f64 / PEER_WORK_PER_SECOND;
    ExecutionResult {
        compile,
        end,
        stdout,
        stderr,
        seconds,
        files: files
            .into_iter()
            .map(|File { path, bytes }| ExecutionFile { path, bytes })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_raises_exits_with_status_1() {
        let raised = |stderr: &str| {
            let run = ProgramRun {
                end: ProgramEnd::Raised("the program trapped".to_owned()),
                driver_evidence: None,
                stdout: b"1\n".to_vec(),
                stderr: stderr.into(),
                work: 10_000_000_000,
                memory_bytes: 80 << 20,
                files: Vec::new(),
            };
            executed(run, CompileStep::None)
        };
        let result = raised("");
        assert_eq!(result.end, ExecutionEnd::Exited(1));
        assert_eq!(result.stdout, b"1\n");
        assert_eq!(result.stderr, b"the program trapped");
        assert_eq!(result.seconds.to_string(), "2");
        assert_eq!(raised("a traceback\n").stderr, b"a traceback\n");
    }
}
