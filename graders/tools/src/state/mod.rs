//! The state of a task, which calls change by the effects that the task declares. Executes no code:
//! an effect is a JSON Patch with placeholders for arguments, applied completely or not at all.

mod amount;
mod bag;
mod effects;
mod patch;
mod raw;
mod template;

use assay_core::{ErrorCode, TaskError};
use assay_documents::Json;
use assay_documents::json::{Pointer, leaves};

use crate::compare::{ActualCall, Comparator, short};
use crate::tool::{Tools, field};

use bag::Bag;
use patch::Budget;

pub(crate) use effects::Effects;
pub(crate) use raw::{RawState, Reads};

/// Maximum number of leaves that are compared to list the differences of two states.
const MAX_LEAVES: usize = 10_000;

/// Maximum number of differences that are listed.
const MAX_DIFFERENCES: usize = 20;

/// The state of a task.
pub(crate) struct StateTask {
    pub(crate) initial: Json,
    /// The expected state after the last call, if the task contains one.
    pub(crate) expected: Option<Json>,
    pub(crate) effects: Effects,
    ignore: Vec<Pointer>,
    bags: Vec<Bag>,
    pub(crate) reads: Reads,
}

impl StateTask {
    pub(crate) fn read(raw: &RawState, tools: &Tools) -> Result<Self, TaskError> {
        let invalid = |pointer: &str, message: String| {
            TaskError::new(ErrorCode::InvalidTask, pointer, message)
        };
        let effects = Effects::read(&field(&raw.effects, "/state/effects")?)
            .map_err(|(pointer, message)| invalid(&format!("/state/effects{pointer}"), message))?;
        if let Some(name) = tools.names().find(|name| !effects.contains(name)) {
            let message =
                format!("declare the effects of `{name}`; an empty array means that it only reads");
            return Err(invalid("/state/effects", message));
        }
        if let Some(name) = effects
            .tools()
            .find(|name| tools.are_defined() && tools.get(name).is_none())
        {
            return Err(invalid(
                "/state/effects",
                format!("`{name}` is not one of the task's `tools`"),
            ));
        }
        let bags = raw.bags.iter().enumerate().map(|(at, text)| {
            Bag::read(text).map_err(|message| invalid(&format!("/state/bags/{at}"), message))
        });
        let bags = bags.collect::<Result<_, _>>()?;
        let ignored = raw.ignore.iter().enumerate().map(|(at, text)| {
            let pointer = format!("/state/ignore/{at}");
            if text.is_empty() {
                return Err(invalid(
                    &pointer,
                    "an empty pointer would ignore the whole state".to_owned(),
                ));
            }
            Pointer::read(text).map_err(|error| invalid(&pointer, error.to_string()))
        });
        let ignore = ignored.collect::<Result<_, _>>()?;
        Ok(Self {
            initial: field(&raw.initial, "/state/initial")?,
            expected: raw
                .expected
                .as_ref()
                .map(|raw| field(raw, "/state/expected"))
                .transpose()?,
            effects,
            ignore,
            bags,
            reads: raw.reads,
        })
    }

    /// Whether two states are equal except for ignored parts.
    pub(crate) fn same(&self, a: &Json, b: &Json, comparator: &Comparator<'_>) -> bool {
        if self.ignore.is_empty() && self.bags.is_empty() {
            return comparator.same(a, b);
        }
        comparator.same(&self.comparable(a), &self.comparable(b))
    }

    /// Differences of two states: the pointer, the expected value and the actual one.
    pub(crate) fn differences(
        &self,
        expected: &Json,
        got: &Json,
        comparator: &Comparator<'_>,
    ) -> Vec<[String; 3]> {
        let (expected, got) = (self.comparable(expected), self.comparable(got));
        let (expected_leaves, actual_leaves) =
            (leaves(&expected, MAX_LEAVES), leaves(&got, MAX_LEAVES));
        let mut found = Vec::new();
        for leaf in &expected_leaves {
            let at = Pointer::read(&leaf.pointer).ok();
            let other = at.as_ref().and_then(|at| at.find(&got));
            if !other.is_some_and(|other| comparator.same(leaf.value, other)) {
                found.push([
                    leaf.pointer.clone(),
                    short(leaf.value),
                    other.map_or_else(|| "nothing".to_owned(), short),
                ]);
            }
        }
        for leaf in &actual_leaves {
            let at = Pointer::read(&leaf.pointer).ok();
            if at.as_ref().is_some_and(|at| at.find(&expected).is_none()) {
                found.push([
                    leaf.pointer.clone(),
                    "nothing".to_owned(),
                    short(leaf.value),
                ]);
            }
        }
        found.truncate(MAX_DIFFERENCES);
        found
    }

    /// The state without the ignored values, with the elements of bags in one order.
    fn comparable(&self, state: &Json) -> Json {
        let mut state = state.clone();
        for pointer in &self.ignore {
            // The value may be missing, which is not an error.
            let _ = patch::remove(&mut state, pointer);
        }
        for bag in &self.bags {
            bag.sort(&mut state);
        }
        state
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        2 * self.initial.bytes()
            + self.expected.as_ref().map_or(0, Json::bytes)
            + self.effects.bytes()
    }
}

/// Applies the calls of a trace to the initial state of a task.
pub(crate) struct Simulation<'a> {
    task: &'a StateTask,
    tools: &'a Tools,
    /// The current state.
    pub(crate) state: Json,
    budget: Budget,
    /// Number of operations that were applied.
    pub(crate) work: u64,
}

/// Maximum number of bytes that the calls of a trace may add to a state.
const MAX_ADDED_BYTES: usize = 16 << 20;

/// Maximum number of operations that the calls of a trace may apply.
const MAX_OPERATIONS: u64 = 200_000;

impl<'a> Simulation<'a> {
    pub(crate) fn new(task: &'a StateTask, tools: &'a Tools) -> Self {
        Self {
            task,
            tools,
            state: task.initial.clone(),
            budget: Budget {
                bytes: MAX_ADDED_BYTES,
                operations: MAX_OPERATIONS,
            },
            work: 0,
        }
    }

    /// Applies a call. Returns whether it changed the state.
    ///
    /// # Errors
    /// Why the tool rejects it; the state is unchanged.
    pub(crate) fn call(&mut self, actual: &ActualCall) -> Result<bool, String> {
        if actual.error.is_some() {
            return Err("the call is not valid for the tool".to_owned());
        }
        if actual.failed {
            return Err("the message of the tool reports an error".to_owned());
        }
        let rules = self
            .task
            .effects
            .rules_of(&actual.name)
            .ok_or_else(|| format!("`{}` has no declared effect", actual.name))?;
        let tool = self.tools.get(&actual.name);
        let argument = |name: &str| {
            let given = |name: &str| {
                let given = actual.arguments.get(name);
                given.or_else(|| tool?.default_of(name))
            };
            // `{order/id}` is a part of the argument `order`.
            match (given(name), name.split_once('/')) {
                (Some(value), _) => Some(value.clone()),
                (None, Some((own, _))) => patch::lookup_in(given(own)?, own, name),
                (None, None) => None,
            }
        };
        let Some(rule) = effects::applicable(rules, &self.state, &argument)? else {
            return Ok(false);
        };
        if self.budget.bytes == 0 && rule.changes() {
            return Err(template::FULL.to_owned());
        }
        let mut undo = Vec::new();
        let before = self.budget.operations;
        for operation in &rule.patch {
            if let Err(reason) = patch::apply(
                &mut self.state,
                operation,
                &argument,
                &mut self.budget,
                &mut undo,
            ) {
                undo.into_iter()
                    .rev()
                    .for_each(|change| change.undo(&mut self.state));
                // Rejected operations count as well, which bounds their number.
                if reason == template::FULL {
                    self.budget.bytes = 0;
                }
                self.work += before - self.budget.operations;
                return Err(reason);
            }
        }
        self.work += before - self.budget.operations;
        Ok(rule.changes())
    }
}
