//! Grades a chunk in this process.

use assay_engine::{Batch, BatchItem, Engine, EngineError, Mode};
use assay_mapping::batch::{self, Inline};

use super::chunk::{ChunkResults, ResultFormat, merge, merge_grades};
use super::explain;
use super::input::{self, Chunk, InputLine, InvalidLine};
use crate::arguments::Grade;

pub(super) async fn grade(
    engine: &Engine,
    chunk: Chunk,
    arguments: &Grade,
    format: ResultFormat,
) -> anyhow::Result<ChunkResults> {
    let Chunk {
        mut lines, items, ..
    } = chunk;
    let mut valid = Vec::with_capacity(items.len());
    let mut policies = Inline::new(engine);
    for (item, (slot, line)) in items.into_iter().zip(input::items(&mut lines)) {
        let policy = policies.policy("/policy", item.request.policy.as_ref());
        let mut item = batch::item(item);
        let checked = engine.check(&item).map_err(batch::problem).and(policy);
        match checked {
            Ok(policy) => {
                item.policy = policy;
                valid.push(item);
            }
            Err(problem) => {
                *slot = InputLine::Invalid(InvalidLine {
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
        if valid.is_empty() {
            return merge(&lines, format, |_| Ok(()));
        }
        // Only items with inline policies can conflict with each other, so only such a batch may
        // need a retry without the rejected item.
        let retry = valid
            .iter()
            .any(|item| item.policy.is_some())
            .then(|| valid.clone());
        let (run, policy) = (run.clone(), policy.clone());
        let batch = Batch {
            run,
            step: arguments.step,
            policy,
            ..Batch::new("local", valid)
        };
        let (rejected, mut items) = match (engine.grade(batch, Mode::Whole).await, retry) {
            (Err(error @ EngineError::Refused { .. }), Some(items)) => {
                (batch::problem(error), items)
            }
            (reply, _) => break reply?,
        };
        let Some((at, problem)) = input::item_of(&rejected, items.len()) else {
            anyhow::bail!("{rejected}")
        };
        let BatchItem { id, group, .. } = items.remove(at);
        input::invalidate(&mut lines, at, id, group, problem);
        valid = items;
    };
    let grades = reply.grades();
    match format {
        ResultFormat::Json(selection) => merge_grades(&lines, selection, grades),
        ResultFormat::Explanation => {
            let mut explanations = Vec::with_capacity(reply.batch().items.len());
            for grade in grades {
                explanations.push(explain::grade(engine, reply.item(grade), grade).await?);
            }
            let mut explanations = explanations.into_iter();
            merge(&lines, format, |text| {
                text.extend(explanations.next().unwrap_or_default().into_bytes());
                Ok(())
            })
        }
    }
}
