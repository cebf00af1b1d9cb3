//! `GET /compat/piston/api/v2/runtimes` lists the languages of the node, and
//! `POST /compat/piston/api/v2/execute` runs one program, in the format of version 2 of Piston's
//! API.
//!
//! open-r1's client retries a request up to five times if the status is not 200. A busy node
//! returns 503.

use std::time::Duration;

use assay_core::execution::{
    CompileStep, Execution, ExecutionEnd, ExecutionFile, ExecutionResult, Runtime,
};
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::codeforces::{self, GradedTest};
use super::ioi::{self, IoiTest};
use super::peer_error::{PeerError, retry_after};
use super::programs::{NotRun, QUEUE_TIMEOUT, from_base64, this_node_runs};
use crate::Api;
use crate::body::{BodyKind, RequestBody};

/// Piston's default time limit, in milliseconds.
const DEFAULT_TIMEOUT_MS: f64 = 3_000.0;

/// Maximum length of a text of the request that an error quotes, in bytes.
const MAX_QUOTED: usize = 64;

/// A language of the node.
#[derive(Serialize, ToSchema)]
#[schema(as = PistonRuntime)]
struct RuntimeInfo {
    language: &'static str,
    /// Version of its interpreter, such as `3.13.5`.
    version: String,
    /// Other names that are accepted.
    aliases: Vec<&'static str>,
}

/// The request. As in Piston, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = PistonRequest)]
struct ExecuteRequest {
    /// A language or an alias that `runtimes` lists.
    language: String,
    /// `*`, or the first numbers of a version, such as `3`, `3.13` or `3.x`.
    version: String,
    /// The first file with the encoding `utf8` is the program. The others are in its folder.
    files: Vec<File>,
    /// Standard input.
    stdin: Option<String>,
    /// Must be empty.
    args: Option<Vec<String>>,
    /// Time limit, in milliseconds; 3,000 if it is 0.
    run_timeout: Option<f64>,
    /// Another time limit, in milliseconds. The lower one applies.
    run_cpu_time: Option<f64>,
    /// Limit on memory, in bytes, including the interpreter. If it is not positive, the default
    /// applies.
    run_memory_limit: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = PistonFile)]
struct File {
    /// Its path; `file0.code` for the first file, and so on, by default.
    name: Option<String>,
    content: String,
    /// `utf8` by default.
    encoding: Option<Encoding>,
}

/// How the content of a file is written.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = PistonEncoding)]
enum Encoding {
    #[default]
    Utf8,
    Base64,
    Hex,
}

/// The result of a program.
#[derive(Serialize, ToSchema)]
#[schema(as = PistonReply)]
struct ExecuteReply {
    language: &'static str,
    version: String,
    /// The run; the same as `compile` if the program did not compile.
    run: Stage,
    /// Absent if the language has no compile step.
    #[serde(skip_serializing_if = "Option::is_none")]
    compile: Option<Stage>,
}

/// The result of one step: compiling or running.
#[derive(Clone, Default, Serialize, ToSchema)]
#[schema(as = PistonStage)]
struct Stage {
    stdout: String,
    stderr: String,
    /// Standard output, followed by standard error.
    output: String,
    /// Exit status; null if the time limit was exceeded.
    code: Option<i32>,
    /// `SIGKILL` if the time limit was exceeded.
    signal: Option<&'static str>,
    /// The reason for `status`.
    message: Option<String>,
    /// `RE` for an exit status other than 0, `TO` for an exceeded time limit.
    status: Option<&'static str>,
    /// Work, in milliseconds of the time limit. Null for a compile step.
    cpu_time: Option<u64>,
    /// The same as `cpu_time`.
    wall_time: Option<u64>,
    /// Not measured.
    #[schema(value_type = Option<()>)]
    memory: Option<()>,
}

/// Error body of Piston.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    message: String,
}

/// The error in Piston's format.
pub(super) fn error_response(error: PeerError) -> Response {
    let (status, message, after) = error.parts(StatusCode::BAD_REQUEST);
    retry_after((status, Json(ErrorBody { message })).into_response(), after)
}

/// Lists the languages of the node, in Piston's format.
#[utoipa::path(get, path = "/compat/piston/api/v2/runtimes", tag = "compatibility", responses(
    (status = 200, description = "The languages", body = Vec<RuntimeInfo>),
))]
pub(crate) async fn runtimes(api: Api) -> Response {
    let runtimes = api.programs().runtimes().into_iter();
    let infos: Vec<_> = runtimes
        .map(|runtime| RuntimeInfo {
            language: runtime.language,
            version: versions(&runtime)[0].to_owned(),
            aliases: runtime.aliases,
        })
        .collect();
    Json(infos).into_response()
}

/// Runs one program, in Piston's format.
#[utoipa::path(post, path = "/compat/piston/api/v2/execute", tag = "compatibility",
    request_body(content = ExecuteRequest, content_type = "application/json", example = json!({
        "language": "python", "version": "*", "stdin": "21",
        "files": [{ "name": "main.py", "content": "print(int(input()) * 2)" }],
    })),
    responses(
        (status = 200, description = "The result of the run, and of the compile step if the \
                                      language has one", body = ExecuteReply),
    ))]
pub(crate) async fn execute(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (request, _permit) = body
        .lenient_json::<ExecuteRequest>(&api, BodyKind::Document)
        .await
        .map_err(PeerError::from)?;
    if request.args.as_ref().is_some_and(|args| !args.is_empty()) {
        let message = "`args` must be empty: programs have no arguments; send the values in \
                       `stdin` or in a file";
        return Err(PeerError::Input(message.to_owned()));
    }
    let is_ioi = request.language == ioi::PACKAGE;
    let language = match is_ioi {
        true => ioi::LANGUAGE,
        false => codeforces::language(&request.language),
    };
    let runtime = selected(&api, language, &request.version)?;
    let seconds = seconds(request.run_timeout, request.run_cpu_time)?;
    let (text, mut files) = split(request.files)?;
    let graded = match is_ioi {
        true => Graded::Ioi(IoiTest::take(&mut files)?),
        false => GradedTest::take(&mut files)?.map_or(Graded::Not, Graded::Codeforces),
    };
    let mut execution = Execution {
        language: language.to_owned(),
        text,
        stdin: request.stdin.unwrap_or_default().into_bytes(),
        files,
        seconds,
        memory_bytes: request
            .run_memory_limit
            .and_then(|bytes| u64::try_from(bytes).ok())
            .filter(|bytes| *bytes > 0),
        queue_timeout: QUEUE_TIMEOUT,
        ..Execution::default()
    };
    match &graded {
        Graded::Not => {}
        Graded::Codeforces(test) => test.prepare(&mut execution),
        Graded::Ioi(test) => test.prepare(&mut execution),
    }
    let not_run = |error| match error {
        NotRun::Busy(message, seconds) => PeerError::Busy(message, seconds),
        NotRun::Failed(message) => PeerError::Input(message),
    };
    let mut executed = super::programs::execute(&api, execution)
        .await
        .map_err(not_run)?;
    executed = match graded {
        Graded::Not => executed,
        Graded::Codeforces(test) => test.judge(&api, executed).await.map_err(not_run)?,
        Graded::Ioi(test) => test.judge(&api, executed).await.map_err(not_run)?,
    };
    Ok(Json(ExecuteReply::new(&runtime, &executed)).into_response())
}

/// The test on which a program is graded.
enum Graded {
    Not,
    Codeforces(GradedTest),
    Ioi(IoiTest),
}

/// The language that a request asks for.
fn selected(api: &Api, language: &str, required: &str) -> Result<Runtime, PeerError> {
    let refused = |problem: String| {
        let runtimes = api.programs().runtimes().into_iter();
        let names: Vec<String> = runtimes
            .map(|runtime| format!("`{}` {}", runtime.language, versions(&runtime)[0]))
            .collect();
        PeerError::Input(format!("{problem}; {}", this_node_runs(&names)))
    };
    let (name, quoted) = (excerpt(language), excerpt(required));
    let Some(runtime) = api.programs().runtime(language) else {
        return Err(refused(format!("unknown language `{name}`")));
    };
    let satisfied: Option<Vec<bool>> = versions(&runtime)
        .into_iter()
        .map(|version| satisfies(version, required))
        .collect();
    match satisfied {
        Some(found) if found.contains(&true) => Ok(runtime),
        Some(_) => Err(refused(format!("no version `{quoted}` of `{name}`"))),
        None => Err(refused(format!(
            "unsupported `version` `{quoted}`: send `*` or the first numbers of a version, such as \
             `3`, `3.13` or `3.x`"
        ))),
    }
}

/// The version of a runtime without the name of its interpreter: `3.13.5` of `CPython 3.13.5`.
fn version(runtime: &Runtime) -> &str {
    let mut words = runtime.version.split_whitespace();
    words
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
        .unwrap_or("0.0.0")
}

/// Versions that public servers list for a language, and that clients therefore require. `runtimes`
/// lists the first one. Programs in JavaScript and TypeScript run as in Node 20, and those in C and
/// C++ as with GCC 12.
const CLIENT_VERSIONS: [(&str, &[&str]); 4] = [
    ("javascript", &["18.15.0", "20.11.1", "20.20.2"]),
    ("cpp", &["10.2.0", "12.2.0"]),
    ("c", &["10.2.0", "12.2.0"]),
    ("typescript", &["5.0.3"]),
];

/// The versions of a runtime that a client can require: at least one.
fn versions(runtime: &Runtime) -> Vec<&str> {
    let known = CLIENT_VERSIONS
        .iter()
        .find(|(language, _)| *language == runtime.language);
    let own = version(runtime);
    known.map_or_else(|| vec![own], |(_, versions)| versions.to_vec())
}

/// Whether a version begins with the required numbers, of which the last ones can be wildcards.
/// `None` if the requirement has another form.
fn satisfies(version: &str, required: &str) -> Option<bool> {
    let mut numbers = version.split('.');
    let (mut has_wildcard, mut is_equal) = (false, true);
    for part in required.trim().split('.') {
        if matches!(part, "*" | "x" | "X") {
            has_wildcard = true;
            continue;
        }
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if has_wildcard || !is_number {
            return None;
        }
        is_equal &= numbers.next() == Some(part);
    }
    Some(is_equal)
}

/// The lower of two time limits in milliseconds, in seconds. As in Piston, zero means the default.
fn seconds(timeout_ms: Option<f64>, cpu_time_ms: Option<f64>) -> Result<f64, PeerError> {
    let limit = |name: &str, ms: Option<f64>| match ms {
        Some(ms) if ms < 0.0 => Err(PeerError::Input(format!("`{name}` must not be negative"))),
        ms => Ok(ms.filter(|ms| *ms > 0.0)),
    };
    let timeout = limit("run_timeout", timeout_ms)?.unwrap_or(DEFAULT_TIMEOUT_MS);
    let cpu_time = limit("run_cpu_time", cpu_time_ms)?.unwrap_or(f64::INFINITY);
    Ok(timeout.min(cpu_time) / 1_000.0)
}

/// The program, and the other files.
fn split(files: Vec<File>) -> Result<(String, Vec<ExecutionFile>), PeerError> {
    let mut program = None;
    let mut others = Vec::new();
    for (at, file) in files.into_iter().enumerate() {
        let encoding = file.encoding.unwrap_or_default();
        if encoding == Encoding::Utf8 && program.is_none() {
            program = Some(file.content);
            continue;
        }
        let name = file.name.filter(|name| !name.is_empty());
        let bytes = encoding
            .decode(file.content)
            .map_err(|problem| PeerError::Input(format!("`content` of `files[{at}]` {problem}")))?;
        others.push(ExecutionFile {
            path: name.unwrap_or_else(|| format!("file{at}.code")),
            bytes,
        });
    }
    let program = program.ok_or_else(|| {
        let message = "`files` must have a file with the encoding `utf8`, which is the program";
        PeerError::Input(message.to_owned())
    })?;
    Ok((program, others))
}

impl Encoding {
    fn decode(self, content: String) -> Result<Vec<u8>, String> {
        match self {
            Self::Utf8 => Ok(content.into_bytes()),
            Self::Base64 => from_base64(content).map_err(|error| format!("is not base64: {error}")),
            Self::Hex => from_hex(&content).ok_or_else(|| {
                "is not hexadecimal: it must have two digits for each byte".to_owned()
            }),
        }
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs
        .iter()
        .map(|[high, low]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok())
        .collect()
}

fn excerpt(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_QUOTED)]
}

impl ExecuteReply {
    fn new(runtime: &Runtime, executed: &ExecutionResult) -> Self {
        let stage = Stage::of(executed);
        let (compile, run) = match executed.compile {
            CompileStep::None => (None, stage),
            CompileStep::Succeeded => (Some(Stage::compiled()), stage),
            CompileStep::Failed => {
                let failed = Stage {
                    cpu_time: None,
                    wall_time: None,
                    ..stage
                };
                (Some(failed.clone()), failed)
            }
        };
        Self {
            language: runtime.language,
            version: versions(runtime)[0].to_owned(),
            run,
            compile,
        }
    }
}

impl Stage {
    fn of(executed: &ExecutionResult) -> Self {
        let stdout = String::from_utf8_lossy(&executed.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&executed.stderr).into_owned();
        let time = Duration::try_from_secs_f64(executed.seconds).unwrap_or_default();
        let time_ms = u64::try_from(time.as_millis()).ok();
        let stage = Self {
            output: format!("{stdout}{stderr}"),
            stdout,
            stderr,
            cpu_time: time_ms,
            wall_time: time_ms,
            ..Self::default()
        };
        match executed.end {
            ExecutionEnd::Exited(0) => Self {
                code: Some(0),
                ..stage
            },
            ExecutionEnd::Exited(code) => Self {
                code: Some(code),
                message: Some(format!("Exited with error status {code}")),
                status: Some("RE"),
                ..stage
            },
            ExecutionEnd::TimeLimit => Self {
                signal: Some("SIGKILL"),
                message: Some("Time limit exceeded".to_owned()),
                status: Some("TO"),
                ..stage
            },
        }
    }

    /// The result of a compile step without errors.
    fn compiled() -> Self {
        Self {
            code: Some(0),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_begin_with_the_required_numbers() {
        for (required, expected) in [
            ("*", Some(true)),
            ("x", Some(true)),
            ("3", Some(true)),
            ("3.13", Some(true)),
            (" 3.13.5 ", Some(true)),
            ("3.x", Some(true)),
            ("3.13.*", Some(true)),
            ("3.X.x", Some(true)),
            ("3.1", Some(false)),
            ("3.12.x", Some(false)),
            ("2", Some(false)),
            ("3.13.5.1", Some(false)),
            ("", None),
            ("3.", None),
            ("3.x.5", None),
            ("^3.1", None),
            (">=3", None),
            ("latest", None),
        ] {
            assert_eq!(satisfies("3.13.5", required), expected, "{required}");
        }
    }

    #[test]
    fn versions_do_not_contain_the_name_of_the_interpreter() {
        let runtime = |version: &str| Runtime {
            language: "python",
            aliases: Vec::new(),
            version: version.to_owned(),
            is_compiled: false,
            runs_pytest: false,
            sum_program: "",
        };
        assert_eq!(version(&runtime("CPython 3.13.5")), "3.13.5");
        assert_eq!(version(&runtime("quickjs-ng 0.16.2")), "0.16.2");
        assert_eq!(version(&runtime("unknown")), "0.0.0");
        let javascript = Runtime {
            language: "javascript",
            ..runtime("quickjs-ng 0.16.2")
        };
        assert_eq!(versions(&javascript)[0], "18.15.0");
        assert_eq!(versions(&runtime("CPython 3.13.5")), ["3.13.5"]);
    }

    #[test]
    fn the_lower_time_limit_applies() {
        let limit = |timeout, cpu_time| seconds(timeout, cpu_time).ok();
        assert_eq!(limit(None, None), Some(3.0));
        assert_eq!(limit(Some(0.0), Some(20_000.0)), Some(3.0));
        assert_eq!(limit(Some(10_000.0), Some(2_500.0)), Some(2.5));
        assert_eq!(limit(Some(12_000.0), None), Some(12.0));
        assert_eq!(limit(Some(-1.0), None), None);
        assert_eq!(limit(None, Some(-1.0)), None);
    }

    #[test]
    fn hexadecimal_contents_have_two_digits_for_each_byte() {
        assert_eq!(from_hex("00fFa5"), Some(vec![0, 255, 165]));
        assert_eq!(from_hex(""), Some(Vec::new()));
        for text in ["0", "0g", "+1", "é"] {
            assert_eq!(from_hex(text), None, "{text}");
        }
    }

    #[test]
    fn the_first_text_is_the_program() {
        let file = |name: Option<&str>, content: &str, encoding| File {
            name: name.map(str::to_owned),
            content: content.to_owned(),
            encoding,
        };
        let files = vec![
            file(Some("data.bin"), "AP8", Some(Encoding::Base64)),
            file(Some("main.py"), "print(1)", None),
            file(None, "text", Some(Encoding::Utf8)),
        ];
        let (program, others) = split(files).unwrap();
        assert_eq!(program, "print(1)");
        let others: Vec<_> = others
            .iter()
            .map(|file| (file.path.as_str(), file.bytes.as_slice()))
            .collect();
        let expected: [(&str, &[u8]); 2] = [("data.bin", &[0, 255]), ("file2.code", b"text")];
        assert_eq!(others, expected);
        assert!(split(vec![file(None, "00", Some(Encoding::Hex))]).is_err());
        assert!(split(Vec::new()).is_err());
    }
}
