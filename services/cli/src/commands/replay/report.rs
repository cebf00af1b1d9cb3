//! What a replay reports.

use std::io::Write;

use assay_wire::replays::{ReplayBody, ReplaySide, ReplaySummary};

use super::matrix;
use crate::arguments::Replay;
use crate::exit::CommandStatus;
use crate::table::cell;
use crate::{table, terminal};

/// Results of the replay.
pub(super) struct ReplayReport {
    json: bool,
    /// Whether to list items that did not flip too.
    all: bool,
    rows: Vec<[String; 8]>,
    /// Number of flips that are not in `rows`.
    hidden: u64,
    summary: ReplaySummary,
}

impl ReplayReport {
    pub(super) fn new(arguments: &Replay) -> Self {
        Self {
            json: arguments.output.json,
            all: !arguments.ids.is_empty(),
            rows: Vec::new(),
            hidden: 0,
            summary: ReplaySummary::default(),
        }
    }

    pub(super) fn add(&mut self, replay: &ReplayBody) -> anyhow::Result<()> {
        self.summary.add(replay);
        self.add_row(replay)
    }

    /// Lists a replay that is counted otherwise.
    pub(super) fn add_row(&mut self, replay: &ReplayBody) -> anyhow::Result<()> {
        if !replay.flipped && !self.all {
            return Ok(());
        }
        if self.json {
            writeln!(terminal::results(), "{}", terminal::json(replay)?)?;
        } else if self.all || self.rows.len() < MAX_ROWS {
            self.rows.push(row(replay));
        } else {
            self.hidden += 1;
        }
        Ok(())
    }

    /// Counts an item that cannot be graded again.
    pub(super) fn add_missing(&mut self, reason: &str) {
        self.summary.add_missing(reason, 1);
    }

    /// Reports these numbers.
    pub(super) fn with_summary(self, summary: ReplaySummary) -> Self {
        Self { summary, ..self }
    }

    pub(super) fn finish(self) -> anyhow::Result<CommandStatus> {
        let ended = if self.summary.flipped > 0 {
            CommandStatus::Findings
        } else {
            CommandStatus::Done
        };
        let mut out = terminal::results();
        if self.json {
            if !self.all {
                writeln!(out, "{}", terminal::json(&self.summary)?)?;
            }
            return Ok(ended);
        }
        if self.all || !self.rows.is_empty() {
            table::write(
                &mut out,
                [
                    "GRADE", "RECORDED", "VERDICT", "SCORE", "REPLAYED", "VERDICT", "SCORE", "",
                ],
                &self.rows,
            )?;
        }
        if self.all {
            return Ok(ended);
        }
        if self.hidden > 0 {
            writeln!(
                out,
                "… and {} more flips; use `--json` to list all",
                self.hidden
            )?;
        }
        if !self.rows.is_empty() {
            writeln!(out)?;
        }
        matrix::write(&mut out, &self.summary)?;
        Ok(ended)
    }
}

/// Maximum number of flips in the table. `--json` lists all.
pub(super) const MAX_ROWS: usize = 40;

/// Whether a replay flipped, with the checks and nested tasks that differ.
fn flip(replay: &ReplayBody) -> String {
    match (replay.flipped, &*replay.changed_components) {
        (false, _) => String::new(),
        (true, []) => "flipped".to_owned(),
        (true, names) => format!("flipped: {}", names.join(", ")),
    }
}

pub(super) fn row(replay: &ReplayBody) -> [String; 8] {
    let (recorded, replayed): (&ReplaySide, &ReplaySide) = (&replay.recorded, &replay.replayed);
    [
        replay.grade.clone(),
        recorded.grader.clone(),
        recorded.label().to_owned(),
        cell(recorded.score),
        replayed.grader.clone(),
        replayed.label().to_owned(),
        cell(replayed.score),
        flip(replay),
    ]
}
