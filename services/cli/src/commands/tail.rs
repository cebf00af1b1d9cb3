//! `assay tail`: grades as they are recorded.
//!
//! A server lists grades by id, and the id of a grade is that of its batch counted on. A batch that began earlier may end later, so a new
//! grade need not stand first: every look goes over the newest thousand grades, and what it has not seen there is new.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use assay_client::{Client, Retry};
use assay_wire::grades::GradeBody;

use super::grades::fields;
use super::record::{PAGE, Rows, Source};
use super::{block_on, configuration, stop_signal};
use crate::arguments::Tail;
use crate::exit::Ended;
use crate::table::shown;

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
        loop {
            let look = async {
                let mut rows = Rows::new(&source, &arguments.which);
                let new = look(&mut rows, &mut seen, first).await?;
                let from = if first { new.len().saturating_sub(arguments.lines.into()) } else { 0 };
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

/// What was not seen before, oldest first. A page of nothing but new grades means that more came since than a page holds, so the one
/// after it is looked at as well.
async fn look(rows: &mut Rows<'_>, seen: &mut Seen, first: bool) -> anyhow::Result<Vec<GradeBody>> {
    let mut new = Vec::new();
    loop {
        let page = rows.next(PAGE).await?;
        let length = page.len();
        let fresh: Vec<_> = page.into_iter().filter(|grade| !seen.0.contains(&grade.grade)).collect();
        let whole = !first && length > 0 && fresh.len() == length;
        new.extend(fresh);
        if !whole {
            break;
        }
    }
    new.reverse();
    seen.add(&new);
    Ok(new)
}

/// Ids that were shown; those far below the newest cannot come again.
#[derive(Default)]
struct Seen(BTreeSet<String>);

impl Seen {
    /// Ids that are kept: several looks' worth.
    const MOST: usize = 16 * PAGE as usize;

    fn add(&mut self, grades: &[GradeBody]) {
        self.0.extend(grades.iter().map(|grade| grade.grade.clone()));
        while self.0.len() > Self::MOST {
            self.0.pop_first();
        }
    }
}

fn write(grades: &[GradeBody], json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for grade in grades {
        if json {
            serde_json::to_writer(&mut out, grade)?;
            writeln!(out)?;
        } else {
            let cells = fields(grade).map(|cell| shown(&cell));
            writeln!(out, "{}", cells.iter().filter(|cell| !cell.is_empty()).cloned().collect::<Vec<_>>().join("  "))?;
        }
    }
    out.flush()?;
    Ok(())
}
