//! From the wire's words to the engine's.

use assay_core::{ErrorCode, Item};
use assay_correction::Statistic;
use assay_engine::{Batch, BatchItem, Policy};
use assay_wire::request::{Decoded, DecodedItem};
use assay_wire::{Problem, Warning};

use crate::error::ApiResult;

/// The batch of a request, its policy and statistics looked up.
pub(crate) fn from_request(decoded: Decoded, caller: &str) -> ApiResult<(Batch, Vec<Warning>)> {
    let Decoded { head, items, warnings } = decoded;
    let policy = head.policy.as_deref().map(Policy::by_name).transpose()?.unwrap_or_default();
    let statistics = head.statistics.iter().enumerate().map(|(at, name)| statistic(at, name));
    let statistics = statistics.collect::<ApiResult<Vec<_>>>()?;
    let items = items.into_iter().map(item).collect();
    let batch =
        Batch { run: head.run.map(Into::into), step: head.step, policy, statistics, ..Batch::new(caller, items) };
    Ok((batch, warnings))
}

fn statistic(at: usize, name: &str) -> ApiResult<Statistic> {
    Statistic::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Statistic::ALL.iter().map(|statistic| format!("`{}`", statistic.name())).collect();
        let message = format!("no statistic is named `{name}`; there are {}", known.join(", "));
        Problem::at(ErrorCode::UnknownStatistic, format!("/statistics/{at}"), message).into()
    })
}

/// The engine's item of a request's.
#[must_use]
pub fn item(decoded: DecodedItem) -> BatchItem {
    let DecodedItem { request, task, checks } = decoded;
    let item = Item { prompt: request.prompt, completion: request.completion, meta: request.meta };
    let mut batch_item = BatchItem::new(item, task);
    batch_item.id = request.id;
    batch_item.group = request.group;
    batch_item.prompt_key = request.prompt_key;
    batch_item.channel = request.channel;
    batch_item.checks = checks;
    batch_item
}
