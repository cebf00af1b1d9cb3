//! Checker programs: they are part of the task, and run in a sandbox like the programs they judge.

use assay_core::{ErrorCode, Fault};
use assay_worker::program::{Compile, Limits, Part, Run, Test, WORK_PER_SECOND};
use serde_json::json;

use super::Found;
use crate::programs::Programs;
use crate::ran::{Blocked, ProgramEnd};
use crate::task::CheckerProgram;

/// What a checker program may use on one test.
const LIMITS: Limits = Limits {
    work: 10 * WORK_PER_SECOND,
    memory_bytes: 512 << 20,
    output_bytes: 1 << 20,
};

/// The verdict of a checker program about an output, and its own output. If it fails on this
/// output, it is also run on the expected one: if it fails on both, the task is at fault.
///
/// # Errors
/// A fault of the service, or of the task if the checker program does not compile or prints none of
/// its three words.
pub(crate) async fn ask(
    programs: &Programs,
    checker: &CheckerProgram,
    seed: u64,
    (input, expected): (&str, &str),
    got: &[u8],
) -> Result<(Found, Option<String>), Blocked> {
    let parts = vec![Part {
        name: "checker.py".to_owned(),
        text: checker.code.clone(),
    }];
    let build = programs
        .compile(Compile {
            language: checker.language.clone(),
            parts,
        })
        .await?;
    let code = build.code().map_err(|message| {
        Fault::lasting(
            ErrorCode::TaskAtFault,
            format!("the checker program does not compile: {message}"),
        )
    })?;
    let ask = async |got: &[u8]| {
        let asked =
            json!({"input": input, "expected": expected, "got": String::from_utf8_lossy(got)});
        let run = Run {
            language: checker.language.clone(),
            code: code.to_vec(),
            test: Test::Stdin(asked.to_string().into_bytes()),
            limits: LIMITS,
            seed,
        };
        Ok::<_, Blocked>(programs.run(run).await?.run)
    };
    let run = ask(got).await?;
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    if let Some(found) = word(&run.end, &said) {
        return Ok((found, Some(said)));
    }
    let about_expected = ask(expected.as_bytes()).await?;
    match word(
        &about_expected.end,
        &String::from_utf8_lossy(&about_expected.stdout),
    ) {
        Some(_) => Ok((
            Found::Wrong(None),
            Some("the checker program failed on this output".to_owned()),
        )),
        None => {
            let message =
                "the checker program must print `accepted`, `wrong_answer` or `presentation` first";
            Err(Fault::lasting(ErrorCode::TaskAtFault, message).into())
        }
    }
}

/// The verdict of a checker program: its first word.
fn word(end: &ProgramEnd, said: &str) -> Option<Found> {
    if !matches!(end, ProgramEnd::Finished | ProgramEnd::Exited(0)) {
        return None;
    }
    match said.split_whitespace().next()? {
        "accepted" => Some(Found::Right),
        "wrong_answer" => Some(Found::Wrong(None)),
        "presentation" => Some(Found::Presentation),
        _ => None,
    }
}
