//! Grading a chunk in this process.

use assay_api::{batch, render};
use assay_engine::{Batch, Engine, Mode};
use assay_wire::Problem;

use super::{Chunk, Line, Unread, Written, join};

pub(super) async fn grade(
    engine: &Engine,
    chunk: Chunk,
    run: Option<&str>,
    step: Option<i64>,
) -> anyhow::Result<Written> {
    let Chunk { mut lines, items } = chunk;
    let mut graded = Vec::with_capacity(items.len());
    let mut places = lines.iter_mut().filter(|line| matches!(line, Line::Item));
    for item in items {
        let item = batch::item(item);
        let place = places.next();
        match engine.check(&item) {
            Ok(()) => graded.push(item),
            Err(error) => {
                if let Some(place) = place {
                    let problem = Problem::of_task("/task", error);
                    *place = Line::Unread(Unread { id: item.id, group: item.group, problem });
                }
            }
        }
    }
    if graded.is_empty() {
        return join(&lines, []);
    }
    let batch = Batch { run: run.map(Into::into), step, ..Batch::new("local", graded) };
    let reply = engine.grade(batch, Mode::Whole).await?;
    let results = reply
        .results()
        .map(|result| serde_json::to_vec(&render::result_body(&reply, result)))
        .collect::<Result<Vec<_>, _>>()?;
    join(&lines, results)
}
