//! Checker programs. They are part of the task, and run in a sandbox like the programs that they
//! check.

use assay_core::{ErrorCode, Fault, GradeContext};
use assay_worker::program::{Compile, Limits, Part, Run, Test, Translation, WORK_PER_SECOND};
use serde_json::json;

use super::result::CheckerResult;
use crate::program_run::{Blocked, ProgramEnd};
use crate::programs::Programs;
use crate::series::run_once;
use crate::task::CheckerProgram;

/// Limits of a checker program on one test.
const LIMITS: Limits = Limits {
    work: 10 * WORK_PER_SECOND,
    memory_bytes: 512 << 20,
    output_bytes: 1 << 20,
};

/// Runs a checker program on an output. Returns its result and its own output. If it fails on this
/// output, it is also run on the expected one. If it fails on both, the task is at fault.
///
/// # Errors
/// A fault of the service, or of the task if the checker program does not compile or does not print
/// one of the three results.
pub(crate) async fn run_checker(
    (programs, cx): (&Programs, &GradeContext),
    checker: &CheckerProgram,
    seed: u64,
    (input, expected): (&str, &str),
    got: &[u8],
) -> Result<(CheckerResult, Option<String>), Blocked> {
    let parts = vec![Part {
        name: checker.language.file("checker"),
        text: checker.code.clone(),
    }];
    let image = checker.image();
    let built = programs
        .compile(Compile {
            files: Vec::new(),
            calls: Vec::new(),
            linked: None,
            image: image.name.to_owned(),
            translation: checker.language.translation,
            standard: checker.language.standard.to_owned(),
            parts,
        })
        .await?;
    let code = built.build.code().map_err(|message| {
        Fault::permanent(
            ErrorCode::TaskAtFault,
            format!("the checker program does not compile: {message}"),
        )
    })?;
    let check = async |got: &[u8]| {
        let stdin =
            json!({"input": input, "expected": expected, "got": String::from_utf8_lossy(got)});
        let run = Run {
            image: image.name.to_owned(),
            code: code.to_vec(),
            test: Test::Check(stdin.to_string().into_bytes()),
            translation: Translation::None,
            limits: image.limits(LIMITS),
            seed,
            files: Vec::new(),
            fetch: Vec::new(),
            arguments: Vec::new(),
        };
        Ok::<_, Blocked>(run_once(programs, cx, &built.image, run).await?.run)
    };
    let run = check(got).await?;
    let stdout = String::from_utf8_lossy(&run.stdout).into_owned();
    if let Some(result) = parse_result(&run.end, &stdout) {
        return Ok((result, Some(stdout)));
    }
    let on_expected = check(expected.as_bytes()).await?;
    match parse_result(
        &on_expected.end,
        &String::from_utf8_lossy(&on_expected.stdout),
    ) {
        Some(_) => Ok((
            CheckerResult::Wrong(None),
            Some("the checker program failed on this output".to_owned()),
        )),
        None => {
            let message =
                "the checker program must print `accepted`, `wrong_answer` or `presentation` first";
            Err(Fault::permanent(ErrorCode::TaskAtFault, message).into())
        }
    }
}

/// The result of a checker program: the first word of its output.
fn parse_result(end: &ProgramEnd, stdout: &str) -> Option<CheckerResult> {
    if !matches!(end, ProgramEnd::Finished | ProgramEnd::Exited(0)) {
        return None;
    }
    match stdout.split_whitespace().next()? {
        "accepted" => Some(CheckerResult::Correct),
        "wrong_answer" => Some(CheckerResult::Wrong(None)),
        "presentation" => Some(CheckerResult::Presentation),
        _ => None,
    }
}
