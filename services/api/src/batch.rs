//! From the wire's words to the engine's.

use std::collections::HashMap;

use assay_core::{ErrorCode, Item};
use assay_correction::Statistic;
use assay_engine::{Batch, BatchItem, Engine, EngineError, RewardPolicy};
use assay_wire::request::{Decoded, DecodedItem};
use assay_wire::{Problem, Warning};
use serde_json::Value;

use crate::error::bad_policy;

/// The batch of a request, its policies and statistics looked up.
pub(crate) fn from_request(
    decoded: Decoded,
    caller: &str,
    engine: &Engine,
) -> Result<(Batch, Vec<Warning>), Problem> {
    let Decoded {
        head,
        items,
        warnings,
    } = decoded;
    let mut read = Inline::new(engine);
    let policy = read
        .policy("/policy", head.policy.as_ref())?
        .unwrap_or_default();
    let statistics = head
        .statistics
        .iter()
        .enumerate()
        .map(|(at, name)| statistic(at, name));
    let mut statistics = statistics.collect::<Result<Vec<_>, Problem>>()?;
    // Named twice, a statistic is still one.
    let mut named = std::collections::HashSet::new();
    statistics.retain(|statistic| named.insert(*statistic));
    let items = items.into_iter().enumerate().map(|(at, decoded)| {
        let policy = match &decoded.request.policy {
            Some(json) => read.policy(&format!("/items/{at}/policy"), Some(json))?,
            None => None,
        };
        let mut item = item(decoded);
        item.policy = policy;
        Ok(item)
    });
    let items = items.collect::<Result<Vec<_>, Problem>>()?;
    let batch = Batch {
        run: head.run.map(Into::into),
        step: head.step,
        policy,
        statistics,
        ..Batch::new(caller, items)
    };
    Ok((batch, warnings))
}

/// Reads policies of one request, or of one file. Items that write the same one share it.
pub struct Inline<'e> {
    engine: &'e Engine,
    read: HashMap<String, RewardPolicy>,
}

/// Most policies that one request writes out or names.
const MAX_POLICIES: usize = 64;

impl<'e> Inline<'e> {
    /// A reader that finds names and judges in `engine`.
    #[must_use]
    pub fn new(engine: &'e Engine) -> Self {
        Self {
            engine,
            read: HashMap::new(),
        }
    }

    /// The policy that `json` is: a name, or an object with its sections; `None` of nothing.
    ///
    /// # Errors
    /// The [`Problem`], at `pointer` or below.
    pub fn policy(
        &mut self,
        pointer: &str,
        json: Option<&Value>,
    ) -> Result<Option<RewardPolicy>, Problem> {
        let Some(json) = json else { return Ok(None) };
        let written = json.to_string();
        if let Some(known) = self.read.get(&written) {
            return Ok(Some(known.clone()));
        }
        if self.read.len() == MAX_POLICIES {
            let message =
                format!("the request has more than {MAX_POLICIES} policies; send it in several");
            return Err(Problem::at(
                ErrorCode::InvalidPolicy,
                pointer.to_owned(),
                message,
            ));
        }
        let policy = match json {
            Value::String(name) => self.engine.policies().named(name).map_err(|error| {
                Problem::at(error.code(), pointer.to_owned(), error.to_string())
            })?,
            Value::Object(_) => self
                .engine
                .inline_policy(json)
                .map_err(|error| bad_policy(pointer, error))?,
            _ => {
                let message = "a policy is the name of one, or an object with its sections";
                return Err(Problem::at(
                    ErrorCode::InvalidPolicy,
                    pointer.to_owned(),
                    message,
                ));
            }
        };
        self.read.insert(written, policy.clone());
        Ok(Some(policy))
    }
}

fn statistic(at: usize, name: &str) -> Result<Statistic, Problem> {
    Statistic::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Statistic::ALL
            .iter()
            .map(|statistic| format!("`{}`", statistic.name()))
            .collect();
        let message = format!(
            "no statistic is named `{name}`; there are {}",
            known.join(", ")
        );
        Problem::at(
            ErrorCode::UnknownStatistic,
            format!("/statistics/{at}"),
            message,
        )
    })
}

/// The problem with a batch, as a reply tells it.
#[must_use]
pub fn problem(error: EngineError) -> Problem {
    let code = error.code();
    match error {
        EngineError::Task { pointer, error } => Problem::of_task(&pointer, error),
        EngineError::Refused {
            pointer, message, ..
        } => Problem::at(code, pointer, message),
        error => Problem::new(code, error.to_string()),
    }
}

/// The engine's item of a request's.
#[must_use]
pub fn item(decoded: DecodedItem) -> BatchItem {
    let DecodedItem {
        request,
        task,
        checks,
    } = decoded;
    let item = Item {
        prompt: request.prompt,
        completion: request.completion,
        meta: request.meta,
    };
    let mut batch_item = BatchItem::new(item, task);
    batch_item.id = request.id;
    batch_item.group = request.group;
    batch_item.prompt_key = request.prompt_key;
    batch_item.channel = request.channel;
    batch_item.checks = checks;
    batch_item
}
