//! Parses and validates `code` tasks.

use std::collections::{BTreeMap, BTreeSet};

use assay_base::json_reason;
use assay_core::{ErrorCode, Task, TaskError, heap};
use assay_documents::Json;
use assay_worker::program::{Callee, File};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::files::{self, RawFile};
use crate::images::{self, Image};
use crate::language::{self, Dialect, Language};
use crate::limits::{RawLimits, TaskLimits};
use crate::prelude::{Prelude, RawPrelude};
use crate::value;

/// Most tests of a task.
const MAX_TESTS: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTask {
    language: String,
    #[serde(default)]
    image: Option<String>,
    tests: Vec<Box<RawValue>>,
    #[serde(default)]
    checker: RawChecker,
    #[serde(default)]
    float_tolerance: Option<f64>,
    #[serde(default)]
    limits: RawLimits,
    #[serde(default)]
    score: RawScore,
    #[serde(default)]
    reference: Option<String>,
    #[serde(default)]
    prelude: RawPrelude,
    #[serde(default)]
    test_setup: String,
    #[serde(default)]
    files: BTreeMap<String, RawFile>,
    #[serde(default = "yes")]
    stop_at_first_failure: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StdinTest {
    stdin: String,
    stdout: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallTest {
    call: String,
    #[serde(default)]
    args: Option<Box<RawValue>>,
    #[serde(default)]
    kwargs: Option<Box<RawValue>>,
    returns: Box<RawValue>,
    #[serde(default)]
    unordered: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AssertTest {
    assert: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PytestTest {
    pytest: String,
    #[serde(default = "solution")]
    module: String,
}

/// Name under which tests import the program by default.
fn solution() -> String {
    "solution".to_owned()
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`checker` must be the name of a checker or {\"program\": {\"language\", \"code\"}}"
)]
enum RawChecker {
    Named(NamedChecker),
    Program { program: RawCheckerProgram },
}

impl Default for RawChecker {
    fn default() -> Self {
        Self::Named(NamedChecker::Tokens)
    }
}

/// A built-in checker of outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NamedChecker {
    Tokens,
    Exact,
    Lines,
    UnorderedLines,
    Json,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCheckerProgram {
    language: String,
    code: String,
}

/// A checker program of the task, which runs in a sandbox.
#[derive(Debug, Clone)]
pub(crate) struct CheckerProgram {
    pub(crate) language: Dialect,
    pub(crate) code: String,
}

impl CheckerProgram {
    /// The image whose packages it imports.
    pub(crate) fn image(&self) -> Image {
        images::chosen(&self.language, [self.code.as_str()])
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawScoreName {
    All,
    Fraction,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`score` must be `all`, `fraction` or {\"groups\": [[test, ...], ...]}"
)]
enum RawScore {
    Named(RawScoreName),
    Groups { groups: Vec<Vec<usize>> },
}

impl Default for RawScore {
    fn default() -> Self {
        Self::Named(RawScoreName::All)
    }
}

/// How the results of tests are combined into a score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scoring {
    All,
    Fraction,
    Groups(Vec<Vec<usize>>),
}

/// How outputs are compared.
#[derive(Debug, Clone)]
pub(crate) enum Checker {
    Named(NamedChecker),
    Program(CheckerProgram),
}

/// One test and its expected result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    Stdin {
        input: String,
        expected: String,
    },
    Call {
        function: String,
        args: String,
        kwargs: String,
        expected: Json,
        unordered: bool,
    },
    Assert {
        text: String,
        /// Name of the module under which the text can import the program.
        module: String,
        /// Whether pytest runs the tests that the text defines.
        pytest: bool,
    },
}

/// A validated task.
#[derive(Debug, Clone)]
pub(crate) struct CodeTask {
    pub(crate) language: Dialect,
    /// The image that the task names, or the one that its own code needs.
    own_image: Image,
    /// Whether the task names its image.
    is_image_named: bool,
    pub(crate) tests: Vec<Test>,
    pub(crate) checker: Checker,
    pub(crate) float_tolerance: Option<f64>,
    pub(crate) limits: TaskLimits,
    pub(crate) scoring: Scoring,
    pub(crate) reference: Option<String>,
    pub(crate) prelude: Prelude,
    pub(crate) test_setup: String,
    pub(crate) files: Vec<File>,
    pub(crate) stop_at_first_failure: bool,
}

impl CodeTask {
    /// Reads a task.
    ///
    /// # Errors
    /// [`TaskError`] with a pointer to the invalid field.
    pub(crate) fn read(task: &Task) -> Result<Self, TaskError> {
        let raw: RawTask = task.parse()?;
        let invalid = |pointer: &str, message: String| {
            TaskError::new(ErrorCode::InvalidTask, pointer, message)
        };
        let language = language::named(&raw.language)
            .ok_or_else(|| invalid("/language", language::unsupported(&raw.language)))?;
        let image = raw.image.map(|name| {
            images::named(&language, &name)
                .ok_or_else(|| invalid("/image", unknown_image(&language, &name)))
        });
        let named = image.transpose()?;
        if raw.tests.is_empty() || raw.tests.len() > MAX_TESTS {
            return Err(invalid(
                "/tests",
                format!("a task must have 1 to {MAX_TESTS} tests"),
            ));
        }
        let tests = raw.tests.iter().enumerate().map(|(index, json)| {
            test(json)
                .map_err(|(field, message)| invalid(&format!("/tests/{index}{field}"), message))
        });
        let tests = tests.collect::<Result<Vec<_>, _>>()?;
        if language.compiles_calls {
            for (index, test) in tests.iter().enumerate() {
                check_compiled(test, &language).map_err(|(field, message)| {
                    invalid(&format!("/tests/{index}{field}"), message)
                })?;
            }
        }
        let is_pytest = |test: &Test| matches!(test, Test::Assert { pytest: true, .. });
        let first_pytest = tests.iter().position(is_pytest);
        if let Some(index) = first_pytest.filter(|_| !language.has_pytest) {
            let message = format!("`pytest` tests do not support `{}`", language.name);
            return Err(invalid(&format!("/tests/{index}/pytest"), message));
        }
        let checker = match raw.checker {
            RawChecker::Named(named) => Checker::Named(named),
            RawChecker::Program { program } => {
                let RawCheckerProgram { language, code } = program;
                let language = language::named(&language).ok_or_else(|| {
                    invalid(
                        "/checker/program/language",
                        language::unsupported(&language),
                    )
                })?;
                Checker::Program(CheckerProgram { language, code })
            }
        };
        if raw
            .float_tolerance
            .is_some_and(|tolerance| !(tolerance.is_finite() && tolerance >= 0.0))
        {
            return Err(invalid(
                "/float_tolerance",
                "`float_tolerance` must be a number of at least 0".to_owned(),
            ));
        }
        let scoring = match raw.score {
            RawScore::Named(RawScoreName::All) => Scoring::All,
            RawScore::Named(RawScoreName::Fraction) => Scoring::Fraction,
            RawScore::Groups { groups } => {
                let is_invalid = |group: &Vec<usize>| {
                    group.is_empty() || group.iter().any(|test| *test >= tests.len())
                };
                if groups.is_empty() || groups.iter().any(is_invalid) {
                    let message = format!(
                        "each group must list one or more tests by their index, 0 to {}",
                        tests.len() - 1
                    );
                    return Err(invalid("/score/groups", message));
                }
                Scoring::Groups(groups)
            }
        };
        let prelude = Prelude::read(raw.prelude, &language)
            .map_err(|message| invalid("/prelude/preset", message))?;
        let asserts = tests.iter().filter_map(|test| match test {
            Test::Assert { text, .. } => Some(text.as_str()),
            Test::Stdin { .. } | Test::Call { .. } => None,
        });
        let runner = first_pytest.map(|_| "import pytest");
        let files = files::read(raw.files)
            .map_err(|(path, message)| invalid(&files::pointer(&path), message))?;
        let own_code = prelude
            .texts()
            .chain([raw.test_setup.as_str()])
            .chain(files.iter().filter_map(files::code));
        let own_image = named
            .unwrap_or_else(|| images::chosen(&language, own_code.chain(asserts).chain(runner)));
        Ok(Self {
            language,
            own_image,
            is_image_named: named.is_some(),
            tests,
            checker,
            float_tolerance: raw.float_tolerance,
            limits: TaskLimits::read(&raw.limits, raw.reference.is_some())
                .map_err(|(field, message)| invalid(&format!("/limits/{field}"), message))?,
            scoring,
            reference: raw.reference,
            prelude,
            test_setup: raw.test_setup,
            files,
            stop_at_first_failure: raw.stop_at_first_failure,
        })
    }

    /// The image for a program of this task: the one that the task names, or the one whose packages
    /// the task's own code or the program imports.
    pub(crate) fn image(&self, program: &str) -> Image {
        if self.is_image_named || !self.own_image.is_default() {
            return self.own_image;
        }
        images::chosen(&self.language, [program])
    }

    /// The functions that are called, if this must be known when a program is compiled.
    pub(crate) fn calls(&self) -> Vec<Callee> {
        if !self.language.compiles_calls {
            return Vec::new();
        }
        let calls = self.tests.iter().filter_map(|test| match test {
            Test::Call { function, args, .. } => Some(Callee {
                function: function.clone(),
                arguments: serde_json::from_str::<Vec<IgnoredAny>>(args).map_or(0, |all| all.len()),
            }),
            Test::Stdin { .. } | Test::Assert { .. } => None,
        });
        calls.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Whether grading may stop after the first failing test.
    pub(crate) fn stops_early(&self) -> bool {
        self.stop_at_first_failure && self.scoring == Scoring::All
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let allocated = |text: &str| heap::allocation(text.len());
        let test = |test: &Test| match test {
            Test::Stdin { input, expected } => allocated(input) + allocated(expected),
            Test::Call {
                function,
                args,
                kwargs,
                expected,
                ..
            } => {
                allocated(function)
                    + heap::allocation(args.len())
                    + heap::allocation(kwargs.len())
                    + expected.bytes()
            }
            Test::Assert { text, .. } => allocated(text),
        };
        let file = |file: &File| {
            size_of::<File>() + allocated(&file.path) + heap::allocation(file.bytes.len())
        };
        let tests: usize = self
            .tests
            .iter()
            .map(|one| size_of::<Test>() + test(one))
            .sum();
        tests
            + heap::allocation(self.prelude.bytes())
            + allocated(&self.test_setup)
            + self.files.iter().map(file).sum::<usize>()
            + self.reference.as_ref().map_or(0, |text| allocated(text))
    }
}

fn unknown_image(language: &Language, name: &str) -> String {
    format!(
        "unknown image `{name}` of `{}`; use one of `{}`",
        language.name,
        images::names(language).join("`, `")
    )
}

const WITHOUT_KIND: &str = "a test must be an object with `stdin`, `call`, `assert` or `pytest`";

/// Reads one test. An error consists of a pointer to the field, such as `/args`, and a message.
fn test(raw: &RawValue) -> Result<Test, (&'static str, String)> {
    let keys: BTreeMap<String, IgnoredAny> =
        serde_json::from_str(raw.get()).map_err(|_| ("", WITHOUT_KIND.to_owned()))?;
    // The position would be that in the test.
    let without_position = |error: serde_json::Error| ("", json_reason(&error));
    if keys.contains_key("assert") {
        let AssertTest { assert } = serde_json::from_str(raw.get()).map_err(without_position)?;
        return Ok(Test::Assert {
            text: assert,
            module: solution(),
            pytest: false,
        });
    }
    if keys.contains_key("pytest") {
        let PytestTest { pytest, module } =
            serde_json::from_str(raw.get()).map_err(without_position)?;
        if !is_identifier(&module) {
            let message = "`module` must consist of letters, digits and `_`, not a digit first";
            return Err(("/module", message.to_owned()));
        }
        return Ok(Test::Assert {
            text: pytest,
            module,
            pytest: true,
        });
    }
    if keys.contains_key("call") {
        let CallTest {
            call,
            args,
            kwargs,
            returns,
            unordered,
        } = serde_json::from_str(raw.get()).map_err(without_position)?;
        let text = |raw: Option<Box<RawValue>>, empty: &str| {
            raw.map_or_else(|| empty.to_owned(), |raw| raw.get().to_owned())
        };
        let (args, kwargs) = (text(args, "[]"), text(kwargs, "{}"));
        if !args.starts_with('[') {
            return Err(("/args", "`args` must be an array".to_owned()));
        }
        if !kwargs.starts_with('{') {
            return Err(("/kwargs", "`kwargs` must be an object".to_owned()));
        }
        let expected = value::read(returns.get())
            .ok_or_else(|| ("/returns", "the value is nested too deeply".to_owned()))?;
        return Ok(Test::Call {
            function: call,
            args,
            kwargs,
            expected,
            unordered,
        });
    }
    if keys.contains_key("stdin") {
        let StdinTest { stdin, stdout } =
            serde_json::from_str(raw.get()).map_err(without_position)?;
        return Ok(Test::Stdin {
            input: stdin,
            expected: stdout,
        });
    }
    Err(("", WITHOUT_KIND.to_owned()))
}

/// Checks that a test can test programs in a language whose calls are compiled.
fn check_compiled(test: &Test, language: &Language) -> Result<(), (&'static str, String)> {
    let name = language.name;
    match test {
        Test::Stdin { .. } | Test::Assert { pytest: true, .. } => Ok(()),
        Test::Assert { .. } => Err((
            "/assert",
            format!("programs in `{name}` are tested with `stdin` or `call` only"),
        )),
        Test::Call { kwargs, .. } if !is_empty_object(kwargs) => Err((
            "/kwargs",
            format!("functions in `{name}` have no keyword arguments"),
        )),
        Test::Call { function, .. } if !is_identifier(function) || function == "main" => Err((
            "/call",
            format!("`call` must be the name of a function in `{name}`, and not `main`"),
        )),
        Test::Call { .. } => Ok(()),
    }
}

fn is_empty_object(json: &str) -> bool {
    json.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|inside| inside.trim().is_empty())
}

fn is_identifier(name: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    !name.is_empty() && name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<CodeTask, TaskError> {
        CodeTask::read(&Task::from_json(json).unwrap())
    }

    #[test]
    fn distinguishes_tests_by_their_keys() {
        let task = read(
            r#"{"type":"code","language":"python","tests":
                [{"stdin":"1","stdout":"2"},{"call":"f","returns":5},{"assert":"assert 1"}]}"#,
        )
        .unwrap();
        assert!(
            matches!(&task.tests[1], Test::Call { args, kwargs, .. } if args == "[]" && kwargs == "{}")
        );
        assert!(task.stops_early());
        assert_eq!(task.prelude.texts().count(), 0);
    }

    #[test]
    fn preludes_are_texts_or_presets() {
        let prelude = |json: &str| {
            let tests = r#"[{"call":"f","returns":[1],"unordered":true}]"#;
            read(&format!(
                r#"{{"type":"code","language":"python","tests":{tests},"prelude":{json}}}"#
            ))
        };
        let task = prelude(r#""x = 1""#).unwrap();
        assert_eq!(task.prelude.texts().collect::<Vec<_>>(), ["x = 1"]);
        assert!(matches!(
            &task.tests[0],
            Test::Call {
                unordered: true,
                ..
            }
        ));
        let task = prelude(r#"{"preset":"leetcode","text":"x = 1"}"#).unwrap();
        assert!(
            task.prelude
                .texts()
                .next()
                .unwrap()
                .contains("class ListNode")
        );
        assert_eq!(task.prelude.texts().nth(1), Some("x = 1"));
        assert_eq!(
            prelude(r#"{"preset":"leetcode"}"#)
                .unwrap()
                .prelude
                .texts()
                .count(),
            1
        );
        let unknown = prelude(r#"{"preset":"codeforces"}"#).unwrap_err();
        assert_eq!(unknown.pointer, "/prelude/preset");
        assert!(unknown.to_string().contains("`leetcode`"), "{unknown}");
        for malformed in ["5", r#"{"text":"x"}"#, r#"{"preset":"leetcode","more":1}"#] {
            assert_eq!(
                prelude(malformed).unwrap_err().pointer,
                "/prelude",
                "{malformed}"
            );
        }
    }

    #[test]
    fn rejects_invalid_fields_with_a_pointer() {
        for (json, pointer) in [
            (
                r#"{"type":"code","language":"cobol","tests":[{"assert":"x"}]}"#,
                "/language",
            ),
            (
                r#"{"type":"code","language":"python","tests":[]}"#,
                "/tests",
            ),
            (
                r#"{"type":"code","language":"python","tests":[{"assert":"x"},{"stdin":"x"}]}"#,
                "/tests/1",
            ),
            (
                r#"{"type":"code","language":"python","tests":[{"call":"f","args":{},"returns":1}]}"#,
                "/tests/0/args",
            ),
            (
                r#"{"type":"code","language":"python","tests":[{"assert":"x"}],"limits":{"seconds":0}}"#,
                "/limits/seconds",
            ),
            (
                r#"{"type":"code","language":"python","tests":[{"assert":"x"}],"limits":{"times_reference":5}}"#,
                "/limits/times_reference",
            ),
            (
                r#"{"type":"code","language":"python","tests":[{"assert":"x"}],"reference":"x","limits":{"times_reference":0.5}}"#,
                "/limits/times_reference",
            ),
            (
                r#"{"type":"code","language":"python","tests":[{"assert":"x"}],"score":{"groups":[[1]]}}"#,
                "/score/groups",
            ),
            (
                r#"{"type":"code","language":"python","tests":[{"assert":"x"}],"timeout":1}"#,
                "/timeout",
            ),
        ] {
            assert_eq!(read(json).unwrap_err().pointer, pointer, "{json}");
        }
    }
}
