//! `assay tail`: grades as they are recorded.
//!
//! A server lists grades by id, and the id of a grade is that of its batch counted on. A batch that
//! began earlier may end later, so a new grade need not stand first: every look goes over the
//! newest pages until one has nothing that was not seen. Grades older than the thousand that stood
//! there at the start are not told of.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use assay_client::{Client, Retry};
use assay_wire::grades::GradeBody;

use super::grades::{HEAD, fields};
use super::record::{PAGE, Rows, Source};
use super::{block_on, configuration, stop_signal};
use crate::arguments::Tail;
use crate::exit::Ended;
use crate::table::shown;
use crate::terminal;

/// Pause between two looks.
const EVERY: Duration = Duration::from_secs(1);

pub(crate) fn run(file: Option<&Path>, arguments: &Tail) -> anyhow::Result<Ended> {
    let server = match &arguments.server {
        Some(server) => server.clone(),
        None => format!("http://{}", configuration(file, Vec::new())?.server.listen),
    };
    let source = Source::Server(Client::new(&server, Retry::default())?);
    block_on(async {
        let mut stop = pin!(stop_signal());
        let mut seen = Seen::default();
        let mut first = true;
        if !arguments.output.json {
            write_line(&mut terminal::stdout(), &HEAD.map(str::to_owned))?;
        }
        loop {
            let look = async {
                let mut rows = Rows::new(&source, &arguments.which);
                let new = look(&mut rows, &mut seen, first).await?;
                let from = if first {
                    new.len().saturating_sub(arguments.lines.into())
                } else {
                    0
                };
                write(&new[from..], arguments.output.json)
            };
            tokio::select! {
                done = look => done?,
                () = &mut stop => return Ok(Ended::Interrupted),
            }
            first = false;
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = &mut stop => return Ok(Ended::Interrupted),
            }
        }
    })
}

/// What was not seen before, oldest first. A page with a new grade may not hold all that came
/// since, so the one after it is looked at as well.
async fn look(rows: &mut Rows<'_>, seen: &mut Seen, first: bool) -> anyhow::Result<Vec<GradeBody>> {
    let mut new = Vec::new();
    loop {
        let page = rows.next(PAGE).await?;
        let length = page.len();
        let fresh: Vec<_> = page
            .into_iter()
            .filter(|grade| seen.is_new(&grade.grade))
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
        seen.floor = new[0].grade.clone();
    }
    Ok(new)
}

/// Ids that were shown, and one that nothing below is told of.
#[derive(Default)]
struct Seen {
    ids: BTreeSet<String>,
    floor: String,
}

impl Seen {
    /// Ids that are kept: several looks' worth.
    const MOST: usize = 16 * PAGE as usize;

    fn is_new(&self, id: &str) -> bool {
        *id > *self.floor && !self.ids.contains(id)
    }

    fn add(&mut self, grades: &[GradeBody]) {
        self.ids
            .extend(grades.iter().map(|grade| grade.grade.clone()));
        while self.ids.len() > Self::MOST
            && let Some(oldest) = self.ids.pop_first()
        {
            self.floor = oldest.max(std::mem::take(&mut self.floor));
        }
    }
}

fn write(grades: &[GradeBody], json: bool) -> anyhow::Result<()> {
    let mut out = terminal::stdout();
    for grade in grades {
        if json {
            writeln!(out, "{}", terminal::json(grade)?)?;
        } else {
            write_line(&mut out, &fields(grade).map(|cell| shown(&cell)))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Smallest widths of the columns: lines are printed as they come, so a longer cell moves the rest
/// of its line only.
const WIDTHS: [usize; 11] = [26, 8, 4, 8, 12, 12, 5, 10, 6, 20, 0];

fn write_line(out: &mut impl Write, cells: &[String; 11]) -> std::io::Result<()> {
    let cells = cells
        .iter()
        .map(|cell| if cell.is_empty() { "-" } else { cell.as_str() });
    let cells = cells
        .zip(WIDTHS)
        .map(|(cell, width)| format!("{cell:width$}"));
    writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())
}
