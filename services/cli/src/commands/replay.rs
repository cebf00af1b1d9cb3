//! `assay replay`: stored items graded again with this binary.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use assay_api::render::replay_body;
use assay_wire::grades::{ReplayBody, ReplaySide};

use super::block_on;
use super::record::{Source, open};
use crate::arguments::Replay;
use crate::exit::Ended;
use crate::table::{self, cell};

pub(crate) fn run(file: Option<&Path>, arguments: &Replay) -> anyhow::Result<Ended> {
    let replays = block_on(async {
        let mut replays = Vec::new();
        match open(file, &arguments.record).await? {
            Source::Server(client) => {
                for id in &arguments.ids {
                    replays.push(client.replay(id).await.with_context(|| format!("cannot replay `{id}`"))?);
                }
            }
            Source::Node(node) => {
                for id in &arguments.ids {
                    let replay = node.engine().replay(id.parse()?).await;
                    replays.push(replay_body(&replay.with_context(|| format!("cannot replay `{id}`"))?));
                }
                node.stop().await;
            }
        }
        Ok(replays)
    })?;
    let mut out = std::io::stdout().lock();
    if arguments.output.json {
        for replay in &replays {
            writeln!(out, "{}", serde_json::to_string(replay)?)?;
        }
    } else {
        let rows: Vec<_> = replays.iter().map(row).collect();
        table::write(&mut out, ["GRADE", "THEN", "VERDICT", "SCORE", "NOW", "VERDICT", "SCORE", ""], &rows)?;
    }
    let flipped = replays.iter().any(|replay| replay.flipped);
    Ok(if flipped { Ended::Findings } else { Ended::Done })
}

fn row(replay: &ReplayBody) -> [String; 8] {
    let verdict = |side: &ReplaySide| side.verdict.clone().unwrap_or_else(|| side.outcome.clone());
    let (then, now) = (&replay.then, &replay.now);
    [
        replay.grade.clone(),
        then.grader.clone(),
        verdict(then),
        cell(then.score),
        now.grader.clone(),
        verdict(now),
        cell(now.score),
        if replay.flipped { "flipped" } else { "" }.to_owned(),
    ]
}
