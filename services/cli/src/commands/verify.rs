//! `assay verify`: checks the record for damage, also while a server uses it.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

use crate::arguments::VerifyArguments;
use crate::commands::record::require_database;
use crate::exit::CommandStatus;
use crate::process::{block_on, configuration_of, yield_to_others};
use crate::{table, terminal};

/// The result.
#[derive(Serialize)]
struct Report {
    sound: bool,
    batches: u64,
    grades: u64,
    /// Grades of an earlier release, which have no checksum.
    without_checksum: u64,
    bodies: u64,
    /// Frames of the spool.
    frames: u64,
    damages: Vec<DamageLine>,
    /// Damages that are not listed.
    more: u64,
}

#[derive(Serialize)]
struct DamageLine {
    place: String,
    problem: String,
}

pub(crate) fn run(
    file: Option<&Path>,
    arguments: &VerifyArguments,
) -> anyhow::Result<CommandStatus> {
    let config = configuration_of(file, arguments.database.as_deref())?;
    require_database(&config, "`--database`")?;
    yield_to_others();
    let found = block_on(async {
        let found = assay_node::verify(&config, |_| {}).await;
        found.context("cannot verify the record")
    })?;
    let report = Report {
        sound: found.is_sound(),
        batches: found.batches,
        grades: found.grades,
        without_checksum: found.without_checksum,
        bodies: found.bodies,
        frames: found.frames,
        damages: found
            .damages
            .into_iter()
            .map(|damage| DamageLine {
                place: damage.place,
                problem: damage.problem,
            })
            .collect(),
        more: found.more,
    };
    let mut out = terminal::results();
    if arguments.output.json {
        writeln!(out, "{}", terminal::pretty(&report)?)?;
    } else {
        write(&mut out, &report)?;
    }
    Ok(if report.sound {
        CommandStatus::Done
    } else {
        CommandStatus::Findings
    })
}

fn write(out: &mut impl Write, report: &Report) -> std::io::Result<()> {
    if !report.sound {
        let rows: Vec<_> = report
            .damages
            .iter()
            .map(|damage| [damage.place.clone(), damage.problem.clone()])
            .collect();
        table::write(&mut *out, ["PLACE", "PROBLEM"], &rows)?;
        if report.more > 0 {
            writeln!(out, "… and {} more", report.more)?;
        }
        writeln!(out)?;
    }
    let state = if report.sound { "sound" } else { "damaged" };
    writeln!(
        out,
        "{state}: checked {} grades in {} batches, {} bodies and {} frames of the spool",
        report.grades, report.batches, report.bodies, report.frames
    )?;
    if report.without_checksum > 0 {
        writeln!(
            out,
            "{} grades of an earlier release have no checksum",
            report.without_checksum
        )?;
    }
    Ok(())
}
