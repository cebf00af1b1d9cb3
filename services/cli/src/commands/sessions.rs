//! `assay sessions`: lists, shows and ends interpreter sessions, and replays their logs.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context;
use assay_wire::sessions::{ReplayDifference, SessionBody, SessionLog, SessionReplay};

use crate::arguments::{SessionAction, SessionArguments};
use crate::exit::CommandStatus;
use crate::process::block_on;
use crate::table;
use crate::{target, terminal};

/// Maximum size of a log, in bytes: more than a session can have.
const MAX_LOG: u64 = 64 << 20;

pub(crate) fn run(
    file: Option<&Path>,
    arguments: &SessionArguments,
) -> anyhow::Result<CommandStatus> {
    let client = target::client(file, &arguments.server)?;
    let json = arguments.output.json;
    let mut out = terminal::results();
    match arguments.action.as_ref().unwrap_or(&SessionAction::List) {
        SessionAction::List => {
            let sessions = block_on(async { Ok(client.sessions().await?) })?;
            let mut out = terminal::stdout();
            if json {
                terminal::json_lines(&mut out, &sessions)?;
            } else {
                write_list(&mut out, &sessions)?;
            }
        }
        SessionAction::Show { id } => {
            let session = block_on(async { Ok(client.session(id).await?) })?;
            let mut out = terminal::stdout();
            if json {
                writeln!(out, "{}", terminal::pretty(&session)?)?;
            } else {
                write_one(&mut out, &session)?;
            }
        }
        SessionAction::Log { id } => {
            let log = block_on(async { Ok(client.session_log(id).await?) })?;
            writeln!(terminal::stdout(), "{}", terminal::pretty(&log)?)?;
        }
        SessionAction::End { ids } => {
            for id in ids {
                let ended = block_on(async { Ok(client.end_session(id).await?) })?;
                if json {
                    writeln!(out, "{}", terminal::json(&ended)?)?;
                } else {
                    writeln!(out, "ended {} after {} calls", ended.id, ended.calls)?;
                }
            }
        }
        SessionAction::Replay { file } => {
            let log = read_log(file)?;
            let replay = block_on(async { Ok(client.replay_session(&log).await?) })?;
            if json {
                writeln!(out, "{}", terminal::pretty(&replay)?)?;
            } else {
                write_replay(&mut out, &replay)?;
            }
            if !replay.equal {
                return Ok(CommandStatus::Findings);
            }
        }
    }
    Ok(CommandStatus::Done)
}

fn read_log(file: &Path) -> anyhow::Result<SessionLog> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().take(MAX_LOG).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(MAX_LOG).read_to_string(&mut text))
    };
    read.with_context(|| format!("cannot read `{}`", file.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("`{}` is not the log of a session", file.display()))
}

fn write_list(out: &mut impl Write, sessions: &[SessionBody]) -> std::io::Result<()> {
    let rows: Vec<_> = sessions
        .iter()
        .map(|session| {
            [
                session.id.clone(),
                session.caller.clone(),
                session.image.clone(),
                session.calls.to_string(),
                state(session),
                session.state_bytes.to_string(),
                table::time(session.used_us),
                table::time(session.expires_us),
            ]
        })
        .collect();
    table::write(
        out,
        [
            "SESSION",
            "CALLER",
            "IMAGE",
            "CALLS",
            "STATE",
            "BYTES",
            "LAST CALL",
            "EXPIRES",
        ],
        &rows,
    )
}

/// The name of the state in JSON.
fn state(session: &SessionBody) -> String {
    let name = terminal::json(&session.state).unwrap_or_default();
    name.trim_matches('"').to_owned()
}

fn write_one(out: &mut impl Write, session: &SessionBody) -> std::io::Result<()> {
    let remaining = &session.remaining;
    let rows = [
        ("session", session.id.clone()),
        ("caller", session.caller.clone()),
        ("image", format!("{} {}", session.image, session.image_hash)),
        ("calls", session.calls.to_string()),
        (
            "remaining",
            format!(
                "{:.3} s of work, {} calls, {} bytes of output",
                remaining.seconds, remaining.calls, remaining.output_bytes
            ),
        ),
        (
            "state",
            format!("{}, {} bytes", state(session), session.state_bytes),
        ),
        ("opened", table::time(session.opened_us)),
        ("last call", table::time(session.used_us)),
        ("expires", table::time(session.expires_us)),
    ];
    for (name, value) in rows {
        writeln!(out, "{name:<10} {}", table::printable(&value))?;
    }
    Ok(())
}

fn write_replay(out: &mut impl Write, replay: &SessionReplay) -> std::io::Result<()> {
    if !replay.same_image {
        writeln!(
            out,
            "the image is not that of the log, so work is not compared: {}",
            replay.image_hash
        )?;
    }
    match &replay.difference {
        None => writeln!(out, "equal: {} calls", replay.calls),
        Some(ReplayDifference {
            call,
            field,
            logged,
            replayed,
        }) => {
            let field = terminal::json(field).unwrap_or_default();
            let field = field.trim_matches('"');
            writeln!(out, "call {call} differs: {field}")?;
            writeln!(out, "  in the log: {}", table::printable(logged))?;
            writeln!(out, "  replayed:   {}", table::printable(replayed))
        }
    }
}
