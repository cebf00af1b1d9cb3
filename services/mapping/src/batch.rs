//! Conversion of requests to batches of the engine.

use std::collections::{BTreeMap, HashMap};

use assay_core::{ErrorCode, Item, RawJson};
use assay_engine::{Batch, BatchItem, Engine, EngineError, RewardPolicy};
use assay_rewards::Statistic;
use assay_rewards::policy::PolicyError;
use assay_wire::request::{Decoded, DecodedItem};
use assay_wire::{ItemRequest, Problem, TemplateTask, Warning};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::to_raw_value;

/// Converts a request to a batch and resolves its policies and statistics.
pub fn from_request(
    decoded: Decoded,
    caller: &str,
    engine: &Engine,
) -> Result<(Batch, Vec<Warning>), Problem> {
    let Decoded {
        head,
        items,
        selection: _,
        warnings,
        shared_bytes: _,
    } = decoded;
    let mut policies = Inline::new(engine);
    let policy = policies
        .policy("/policy", head.policy.as_ref())?
        .unwrap_or_default();
    let statistics = head
        .statistics
        .iter()
        .enumerate()
        .map(|(at, name)| statistic(at, name));
    let mut statistics = statistics.collect::<Result<Vec<_>, Problem>>()?;
    // A statistic that is named twice is computed once.
    let mut seen = std::collections::HashSet::new();
    statistics.retain(|statistic| seen.insert(*statistic));
    let items = items.into_iter().enumerate().map(|(at, decoded)| {
        let policy = match &decoded.request.policy {
            Some(json) => policies.policy(&format!("/items/{at}/policy"), Some(json))?,
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

/// Resolves the policies of one request or file. Equal policies are parsed once and shared.
pub struct Inline<'e> {
    engine: &'e Engine,
    resolved: HashMap<String, RewardPolicy>,
}

/// Maximum number of different policies in one request.
const MAX_POLICIES: usize = 64;

impl<'e> Inline<'e> {
    /// Creates a resolver that looks up policy names and judges in `engine`.
    #[must_use]
    pub fn new(engine: &'e Engine) -> Self {
        Self {
            engine,
            resolved: HashMap::new(),
        }
    }

    /// Resolves a policy from its name or from an object with its sections; `None` if `json` is
    /// `None`.
    ///
    /// # Errors
    /// A [`Problem`] at `pointer` or at a field below it.
    pub fn policy(
        &mut self,
        pointer: &str,
        json: Option<&Value>,
    ) -> Result<Option<RewardPolicy>, Problem> {
        let Some(json) = json else { return Ok(None) };
        let text = json.to_string();
        if let Some(policy) = self.resolved.get(&text) {
            return Ok(Some(policy.clone()));
        }
        if self.resolved.len() == MAX_POLICIES {
            let message = format!(
                "the request has more than {MAX_POLICIES} policies; split it into several requests"
            );
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
                .map_err(|error| policy_problem(pointer, error))?,
            _ => {
                let message = "a policy must be a name or an object with its sections";
                return Err(Problem::at(
                    ErrorCode::InvalidPolicy,
                    pointer.to_owned(),
                    message,
                ));
            }
        };
        self.resolved.insert(text, policy.clone());
        Ok(Some(policy))
    }
}

fn statistic(at: usize, name: &str) -> Result<Statistic, Problem> {
    Statistic::from_name(name).ok_or_else(|| {
        let available: Vec<_> = Statistic::ALL
            .iter()
            .map(|statistic| format!("`{}`", statistic.name()))
            .collect();
        let message = format!(
            "no statistic is named `{name}`; available statistics: {}",
            available.join(", ")
        );
        Problem::at(
            ErrorCode::UnknownStatistic,
            format!("/statistics/{at}"),
            message,
        )
    })
}

/// Converts an error of the engine to the problem that a reply reports.
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

/// Converts an item of a request to an item of the engine.
#[must_use]
pub fn item(decoded: DecodedItem) -> BatchItem {
    let DecodedItem {
        mut request,
        task,
        checks,
    } = decoded;
    add_templates(&mut request);
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

/// The fact with the name of the template that made the task of an item, and the fact with those of
/// its checks.
const TEMPLATE: &str = "template";
const TEMPLATES_OF_CHECKS: &str = "templates_of_checks";

/// Adds the names of templates to the facts of an item, so that the record contains them. Facts
/// that the caller sent are kept.
fn add_templates(request: &mut ItemRequest) {
    let of_checks: BTreeMap<&str, String> = request
        .checks
        .iter()
        .filter_map(|(check, task)| Some((check.as_str(), TemplateTask::name(task)?)))
        .collect();
    let of_checks = (!of_checks.is_empty()).then(|| fact(&of_checks)).flatten();
    let own = TemplateTask::name(&request.task).and_then(|name| fact(&name));
    for (name, fact) in [(TEMPLATE, own), (TEMPLATES_OF_CHECKS, of_checks)] {
        if let Some(fact) = fact {
            request.meta.rest.entry(name.to_owned()).or_insert(fact);
        }
    }
}

/// A fact about an item. A text or a map of texts can always be written.
fn fact(value: &impl Serialize) -> Option<RawJson> {
    RawJson::compact(&to_raw_value(value).ok()?).ok()
}

/// Converts an error in a policy; `pointer` of the policy is prepended to the pointer of the error.
#[must_use]
pub fn policy_problem(pointer: &str, error: PolicyError) -> Problem {
    Problem::at(
        ErrorCode::InvalidPolicy,
        format!("{pointer}{}", error.pointer),
        error.message,
    )
}
