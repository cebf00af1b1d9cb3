//! `POST /compat/sandboxfusion/common_evaluate_batch`: the route of ScaleBox, a server that extends
//! SandboxFusion. It grades the program of a completion on all tests of a problem.

use assay_core::{Completion, Meta};
use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::grading::{Graded, GradingQuery, Rollout, grade_one, to_json};
use super::peer_error::PeerError;
use super::sandboxfusion::RunReply;
use crate::Api;
use crate::body::{BodyKind, RequestBody};

const ACCEPTED: &str = "accepted";

/// The request. As in ScaleBox, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = ScaleBoxRequest)]
struct Evaluate {
    #[serde(default)]
    #[schema(value_type = Option<Value>)]
    id: Option<Box<RawValue>>,
    completion: String,
    config: Config,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = ScaleBoxConfig)]
struct Config {
    #[serde(default)]
    language: Option<String>,
    /// Time limit of each test, in seconds.
    #[serde(default)]
    run_timeout: Option<f64>,
    #[serde(default, rename = "memory_limit_MB")]
    memory_limit_mb: Option<f64>,
    provided_data: ProvidedData,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = ScaleBoxData)]
struct ProvidedData {
    test_cases: TestCases,
}

/// The tests of a problem, as lists of inputs and outputs.
#[derive(Deserialize, ToSchema)]
#[schema(as = ScaleBoxTests)]
struct TestCases {
    /// `stdin_stdout` or `function_call`. By default the latter if there is a `fn_name`.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    fn_name: Option<String>,
    /// Standard input of each test, or the arguments of the call: an array, or JSON with one
    /// argument on each line.
    #[schema(value_type = Vec<Value>)]
    input: Vec<Box<RawValue>>,
    /// Standard output of each test, or the returned value: JSON text, or an array with one value.
    #[schema(value_type = Vec<Value>)]
    output: Vec<Box<RawValue>>,
}

/// A task of the `code` grader.
#[derive(Serialize)]
struct CodeTask {
    #[serde(rename = "type")]
    kind: &'static str,
    language: String,
    tests: Vec<Test>,
    stop_at_first_failure: bool,
    limits: Limits,
}

#[derive(Serialize)]
struct Limits {
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_mb: Option<u64>,
}

/// A test of the `code` grader.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Test {
    Stdin {
        stdin: String,
        stdout: String,
    },
    Call {
        call: String,
        args: Box<RawValue>,
        returns: Box<RawValue>,
    },
}

/// The result of all tests.
#[derive(Serialize, ToSchema)]
#[schema(as = ScaleBoxReply)]
struct EvalReply {
    #[schema(value_type = Value)]
    id: Option<Box<RawValue>>,
    /// Whether the program passes all tests.
    accepted: bool,
    extracted_code: String,
    full_code: Option<String>,
    test_code: Option<String>,
    tests: Vec<TestReply>,
}

/// The result of one test.
#[derive(Serialize, ToSchema)]
#[schema(as = ScaleBoxTestReply)]
struct TestReply {
    passed: bool,
    exec_info: RunReply,
    /// The verdict of the test.
    test_info: Value,
}

/// Grades a program on all tests of a problem, in ScaleBox's format. A problem that cannot be
/// graded returns the status 422, and a failure of the node 504, which clients retry.
#[utoipa::path(post, path = "/compat/sandboxfusion/common_evaluate_batch", tag = "compatibility",
    request_body(content = Evaluate, content_type = "application/json", example = json!({
        "completion": "```python\nprint(int(input()) * 2)\n```",
        "config": { "language": "python", "run_timeout": 10, "provided_data": { "test_cases": {
            "type": "stdin_stdout", "fn_name": null, "input": ["21\n"], "output": ["42\n"] } } },
    })),
    responses((status = 200, description = "The result of each test", body = EvalReply)))]
pub(crate) async fn evaluate(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (request, permit) = body.lenient_json(&api, BodyKind::Batch).await?;
    let Evaluate {
        id,
        completion,
        config,
    } = request;
    let tests = config.provided_data.test_cases.tests()?;
    let count = tests.len();
    let language = config.language.ok_or_else(|| {
        PeerError::Input("`config.language` is missing; name a language".to_owned())
    })?;
    let task = to_json(&CodeTask {
        kind: "code",
        language,
        tests,
        stop_at_first_failure: false,
        limits: Limits {
            seconds: config.run_timeout.unwrap_or(10.0),
            memory_mb: config.memory_limit_mb.and_then(whole_mebibytes),
        },
    })?;
    let query = GradingQuery::default();
    let rollout = Rollout {
        completion: Completion::Text(completion.into()),
        task,
        prompt: None,
        session: None,
        meta: Meta::default(),
    };
    let graded = grade_one(&api, &query, rollout, permit).await?;
    if graded.reward.is_none() {
        let message = graded.reason();
        return Err(if graded.has_failed() {
            PeerError::NotReady(message)
        } else {
            PeerError::Input(message)
        });
    }
    Ok(Json(EvalReply::new(id, count, &graded)).into_response())
}

impl TestCases {
    /// The tests of a task.
    fn tests(self) -> Result<Vec<Test>, PeerError> {
        if self.input.len() != self.output.len() {
            return Err(PeerError::Input(format!(
                "`test_cases` has {} inputs and {} outputs",
                self.input.len(),
                self.output.len()
            )));
        }
        let kind = self.kind.as_deref().unwrap_or(match self.fn_name {
            Some(_) => "function_call",
            None => "stdin_stdout",
        });
        let pairs = self.input.into_iter().zip(self.output);
        match (kind, &self.fn_name) {
            ("stdin_stdout", _) => pairs
                .map(|(input, output)| {
                    Ok(Test::Stdin {
                        stdin: text("an input", &input)?,
                        stdout: text("an output", &output)?,
                    })
                })
                .collect(),
            ("function_call", Some(function)) => pairs
                .map(|(input, output)| {
                    Ok(Test::Call {
                        call: function.clone(),
                        args: arguments(input)?,
                        returns: returned(output)?,
                    })
                })
                .collect(),
            _ => Err(PeerError::Input(format!(
                "tests of the type `{kind}` are not available here; use `stdin_stdout`, or \
                 `function_call` with `fn_name`"
            ))),
        }
    }
}

/// The value if it is a text.
fn text_of(what: &str, value: &RawValue) -> Result<Option<String>, PeerError> {
    if !value.get().starts_with('"') {
        return Ok(None);
    }
    serde_json::from_str(value.get())
        .map(Some)
        .map_err(|error| PeerError::Input(format!("`test_cases`: {what} is not a text: {error}")))
}

fn text(what: &str, value: &RawValue) -> Result<String, PeerError> {
    if value.get() == "null" {
        return Err(PeerError::Input(format!("`test_cases`: {what} is null")));
    }
    Ok(text_of(what, value)?.unwrap_or_else(|| value.get().to_owned()))
}

/// A memory limit of the grader. Clients write -1 for no limit.
fn whole_mebibytes(limit: f64) -> Option<u64> {
    // The limit is positive, and the grader rejects one that is too large.
    (limit > 0.0).then(|| limit.ceil() as u64)
}

/// The arguments of a call: an array, or JSON with one argument on each line.
fn arguments(input: Box<RawValue>) -> Result<Box<RawValue>, PeerError> {
    let Some(text) = text_of("an input", &input)? else {
        return Ok(input);
    };
    let lines = text.lines().map(|line| json_of("an argument", line));
    to_json(&lines.collect::<Result<Vec<_>, _>>()?)
}

/// The value that a call returns: JSON text, or an array with one value.
fn returned(output: Box<RawValue>) -> Result<Box<RawValue>, PeerError> {
    if let Some(text) = text_of("an output", &output)? {
        return json_of("an output", &text);
    }
    match serde_json::from_str::<[Box<RawValue>; 1]>(output.get()) {
        Ok([value]) => Ok(value),
        Err(_) => Ok(output),
    }
}

fn json_of(what: &str, text: &str) -> Result<Box<RawValue>, PeerError> {
    serde_json::from_str(text)
        .map_err(|error| PeerError::Input(format!("`test_cases`: {what} is not JSON: {error}")))
}

impl EvalReply {
    fn new(id: Option<Box<RawValue>>, count: usize, graded: &Graded) -> Self {
        let evidence = &graded.evidence;
        let results = evidence["results"].as_array();
        let verdict = |at: usize| {
            let listed = results.and_then(|results| results.get(at)?[0].as_str());
            listed.or(graded.verdict.as_deref()).unwrap_or_default()
        };
        let message = evidence["message"].as_str().unwrap_or_default();
        let tests = (0..count).map(|at| {
            let verdict = verdict(at);
            TestReply {
                passed: verdict == ACCEPTED,
                exec_info: RunReply::tested(verdict, message),
                test_info: json!({ "verdict": verdict }),
            }
        });
        Self {
            id,
            accepted: graded.verdict.as_deref() == Some(ACCEPTED),
            extracted_code: evidence["program"].as_str().unwrap_or_default().to_owned(),
            full_code: None,
            test_code: None,
            tests: tests.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(cases: &Value) -> Result<Vec<Test>, String> {
        let cases: TestCases = serde_json::from_str(&cases.to_string()).unwrap();
        cases.tests().map_err(|error| match error {
            PeerError::Input(message) => message,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn reads_both_kinds_of_tests() {
        let stdin = json!({ "input": ["1\n"], "output": ["2\n"] });
        let expected = json!([{ "stdin": "1\n", "stdout": "2\n" }]);
        assert_eq!(json!(tests(&stdin).unwrap()), expected);
        let call = json!([{ "call": "f", "args": [1, [2]], "returns": 3 }]);
        for (input, output) in [(json!("1\n[2]"), json!("3")), (json!([1, [2]]), json!([3]))] {
            let cases = json!({ "fn_name": "f", "input": [input], "output": [output] });
            assert_eq!(json!(tests(&cases).unwrap()), call);
        }
    }

    #[test]
    fn rejects_tests_it_cannot_run() {
        let uneven = json!({ "input": ["1"], "output": [] });
        assert!(
            tests(&uneven)
                .unwrap_err()
                .contains("1 inputs and 0 outputs")
        );
        let other = json!({ "type": "assert", "input": ["1"], "output": ["1"] });
        assert!(tests(&other).unwrap_err().contains("`assert`"));
        let text = json!({ "fn_name": "f", "input": ["{"], "output": ["1"] });
        assert!(tests(&text).unwrap_err().contains("is not JSON"));
        let null = json!({ "input": ["1"], "output": [null] });
        assert!(tests(&null).unwrap_err().contains("an output is null"));
    }

    #[test]
    fn integers_keep_their_digits() {
        const LARGE: &str = "36893488147419103233";
        for (input, output) in [
            (format!("[{LARGE}]"), format!("[{LARGE}]")),
            (format!("\"{LARGE}\""), LARGE.to_owned()),
        ] {
            let json = format!(r#"{{"fn_name":"f","input":[{input}],"output":[{output}]}}"#);
            let cases: TestCases = serde_json::from_str(&json).unwrap();
            let test = serde_json::to_string(&cases.tests().ok().unwrap()).unwrap();
            let expected = format!(r#"[{{"call":"f","args":[{LARGE}],"returns":{LARGE}}}]"#);
            assert_eq!(test, expected);
        }
        let json = format!(r#"{{"input":[{LARGE}],"output":[{LARGE}]}}"#);
        let cases: TestCases = serde_json::from_str(&json).unwrap();
        let test = serde_json::to_string(&cases.tests().ok().unwrap()).unwrap();
        assert_eq!(
            test,
            format!(r#"[{{"stdin":"{LARGE}","stdout":"{LARGE}"}}]"#)
        );
    }

    #[test]
    fn reads_memory_limits_of_clients() {
        assert_eq!(whole_mebibytes(512.0), Some(512));
        assert_eq!(whole_mebibytes(0.5), Some(1));
        assert_eq!(whole_mebibytes(-1.0), None);
    }
}
