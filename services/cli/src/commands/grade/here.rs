//! Grading a chunk in this process.

use assay_api::batch::Inline;
use assay_api::{batch, render};
use assay_engine::{Batch, BatchItem, Engine, EngineError, Mode};

use crate::arguments::Grade;

use super::input::{self, Chunk, Line, Unread};
use super::{Written, join};

pub(super) async fn grade(
    engine: &Engine,
    chunk: Chunk,
    arguments: &Grade,
) -> anyhow::Result<Written> {
    let Chunk {
        mut lines, items, ..
    } = chunk;
    let mut graded = Vec::with_capacity(items.len());
    let mut policies = Inline::new(engine);
    for (item, (place, line)) in items.into_iter().zip(input::items(&mut lines)) {
        let policy = policies.policy("/policy", item.request.policy.as_ref());
        let mut item = batch::item(item);
        let checked = engine.check(&item).map_err(batch::problem).and(policy);
        match checked {
            Ok(policy) => {
                item.policy = policy;
                graded.push(item);
            }
            Err(problem) => {
                *place = Line::Unread(Unread {
                    line,
                    id: item.id,
                    group: item.group,
                    problem,
                });
            }
        }
    }
    let policy = arguments
        .policy
        .as_deref()
        .map(|name| engine.policies().named(name))
        .transpose()?
        .unwrap_or_default();
    let run = arguments.run.as_deref().map(Into::into);
    let reply = loop {
        if graded.is_empty() {
            return join(&lines, []);
        }
        // Only items with policies of their own can be at odds with each other.
        let again = graded
            .iter()
            .any(|item| item.policy.is_some())
            .then(|| graded.clone());
        let (run, policy) = (run.clone(), policy.clone());
        let batch = Batch {
            run,
            step: arguments.step,
            policy,
            ..Batch::new("local", graded)
        };
        let (refused, mut items) = match (engine.grade(batch, Mode::Whole).await, again) {
            (Err(error @ EngineError::Refused { .. }), Some(items)) => {
                (batch::problem(error), items)
            }
            (reply, _) => break reply?,
        };
        let Some((at, problem)) = input::item_of(&refused, items.len()) else {
            anyhow::bail!("{refused}")
        };
        let BatchItem { id, group, .. } = items.remove(at);
        input::set_aside(&mut lines, at, id, group, problem);
        graded = items;
    };
    let results = reply
        .results()
        .map(|result| serde_json::to_vec(&render::result_body(&reply, result)))
        .collect::<Result<Vec<_>, _>>()?;
    join(&lines, results)
}
