//! `assay tail`: prints grades as they are recorded.
//!
//! A server lists grades by id, and the ids of grades continue the id of their batch. A batch that
//! began earlier may end later, so the newest grade is not always first: every poll reads pages
//! until one has no new grade. Grades older than the first page at the start are not printed.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use assay_core::GradeId;
use assay_record::StoredGrade;

use super::grades::{COLUMNS, HEAD, fields};
use super::record::{PAGE, Rows, Source};
use crate::arguments::Tail;
use crate::exit::CommandStatus;
use crate::process::{block_on, stop_signal};
use crate::table::printable;
use crate::{target, terminal};

/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn run(file: Option<&Path>, arguments: &Tail) -> anyhow::Result<CommandStatus> {
    let source = Source::Server(target::client(file, &arguments.server)?);
    block_on(async {
        let mut stop = pin!(stop_signal());
        let mut seen = PrintedGrades::default();
        let mut first = true;
        if !arguments.output.json {
            write_line(&mut terminal::stdout(), &HEAD.map(str::to_owned))?;
        }
        loop {
            let poll = async {
                let mut rows = Rows::new(&source, &arguments.selection);
                let new = poll(&mut rows, &mut seen, first).await?;
                let from = if first {
                    new.len().saturating_sub(arguments.lines.into())
                } else {
                    0
                };
                write(&new[from..], arguments.output.json)
            };
            tokio::select! {
                done = poll => done?,
                () = &mut stop => return Ok(CommandStatus::Interrupted),
            }
            first = false;
            tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                () = &mut stop => return Ok(CommandStatus::Interrupted),
            }
        }
    })
}

/// Returns the grades not seen before, oldest first. If a page has a new grade, the next page may
/// have more, so it is read too.
async fn poll(
    rows: &mut Rows<'_>,
    seen: &mut PrintedGrades,
    first: bool,
) -> anyhow::Result<Vec<StoredGrade>> {
    let mut new = Vec::new();
    loop {
        let page = rows.next(PAGE).await?;
        let length = page.len();
        let fresh: Vec<_> = page
            .into_iter()
            .filter(|stored| seen.is_new(stored.grade.grade))
            .collect();
        let more = !first && !fresh.is_empty() && length == PAGE as usize;
        new.extend(fresh);
        if !more {
            break;
        }
    }
    new.reverse();
    seen.add(&new);
    if first && new.len() == PAGE as usize {
        seen.floor = new[0].grade.grade;
    }
    Ok(new)
}

/// Ids of the grades that were printed.
#[derive(Default)]
struct PrintedGrades {
    ids: BTreeSet<GradeId>,
    /// Grades with ids up to this one are not printed.
    floor: GradeId,
}

impl PrintedGrades {
    /// Maximum number of ids kept, enough for several polls.
    const MAX_IDS: usize = 16 * PAGE as usize;

    fn is_new(&self, id: GradeId) -> bool {
        id > self.floor && !self.ids.contains(&id)
    }

    fn add(&mut self, grades: &[StoredGrade]) {
        self.ids
            .extend(grades.iter().map(|stored| stored.grade.grade));
        while self.ids.len() > Self::MAX_IDS
            && let Some(oldest) = self.ids.pop_first()
        {
            self.floor = oldest.max(self.floor);
        }
    }
}

fn write(grades: &[StoredGrade], json: bool) -> anyhow::Result<()> {
    let mut out = terminal::stdout();
    for grade in grades {
        if json {
            writeln!(out, "{}", terminal::json(grade)?)?;
        } else {
            write_line(&mut out, &fields(grade).map(|cell| printable(&cell)))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Minimum widths of the columns. Lines are printed one at a time, so a longer cell shifts only the
/// rest of its line.
const WIDTHS: [usize; COLUMNS] = [26, 20, 8, 8, 4, 8, 12, 12, 12, 5, 10, 6, 20, 0];

fn write_line(out: &mut impl Write, cells: &[String; COLUMNS]) -> std::io::Result<()> {
    let cells = cells
        .iter()
        .map(|cell| if cell.is_empty() { "-" } else { cell.as_str() });
    let cells = cells
        .zip(WIDTHS)
        .map(|(cell, width)| format!("{cell:width$}"));
    writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())
}
