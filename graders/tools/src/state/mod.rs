//! The state that calls change, by the effects that their task declares. No code runs: an effect
//! is a JSON Patch with placeholders for arguments, applied completely or not at all.

mod amount;
mod effects;
mod patch;
mod template;

use assay_core::{ErrorCode, TaskError};
use assay_documents::Json;
use assay_documents::json::{Pointer, leaves};

pub(crate) use effects::Effects;

use crate::compare::{Made, Terms, short};
use crate::task::{RawState, Reads, field};
use crate::tool::Tools;

/// Most leaves that are compared to describe how two states differ.
const LEAVES: usize = 10_000;

/// Most differences that are reported.
const TOLD: usize = 20;

/// The state of a task.
pub(crate) struct StateTask {
    pub(crate) initial: Json,
    /// The expected state after the last call, if the task contains one.
    pub(crate) expected: Option<Json>,
    pub(crate) effects: Effects,
    ignore: Vec<Pointer>,
    pub(crate) reads: Reads,
}

impl StateTask {
    pub(crate) fn read(raw: &RawState, tools: &Tools) -> Result<Self, TaskError> {
        let invalid = |pointer: &str, message: String| {
            TaskError::new(ErrorCode::InvalidTask, pointer, message)
        };
        let effects = Effects::read(&field(&raw.effects, "/state/effects")?)
            .map_err(|(place, message)| invalid(&format!("/state/effects{place}"), message))?;
        if let Some(name) = tools.names().find(|name| !effects.knows(name)) {
            let message =
                format!("declare the effects of `{name}`; an empty array means that it only reads");
            return Err(invalid("/state/effects", message));
        }
        if let Some(name) = effects
            .tools()
            .find(|name| tools.are_given() && tools.get(name).is_none())
        {
            return Err(invalid(
                "/state/effects",
                format!("`{name}` is not one of the task's `tools`"),
            ));
        }
        let ignored = raw.ignore.iter().enumerate().map(|(at, text)| {
            let place = format!("/state/ignore/{at}");
            if text.is_empty() {
                return Err(invalid(
                    &place,
                    "an empty pointer would ignore the whole state".to_owned(),
                ));
            }
            Pointer::read(text).map_err(|error| invalid(&place, error.to_string()))
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
            reads: raw.reads,
        })
    }

    /// Whether two states are equal except for ignored parts.
    pub(crate) fn same(&self, a: &Json, b: &Json, terms: &Terms<'_>) -> bool {
        if self.ignore.is_empty() {
            return terms.same(a, b);
        }
        terms.same(&self.kept(a), &self.kept(b))
    }

    /// Differences of two states: the pointer, the expected value and the actual one.
    pub(crate) fn differences(
        &self,
        expected: &Json,
        got: &Json,
        terms: &Terms<'_>,
    ) -> Vec<[String; 3]> {
        let (expected, got) = (self.kept(expected), self.kept(got));
        let (wanted, there) = (leaves(&expected, LEAVES), leaves(&got, LEAVES));
        let mut found = Vec::new();
        for leaf in &wanted {
            let at = Pointer::read(&leaf.pointer).ok();
            let other = at.as_ref().and_then(|at| at.find(&got));
            if !other.is_some_and(|other| terms.same(leaf.value, other)) {
                found.push([
                    leaf.pointer.clone(),
                    short(leaf.value),
                    other.map_or_else(|| "nothing".to_owned(), short),
                ]);
            }
        }
        for leaf in &there {
            let at = Pointer::read(&leaf.pointer).ok();
            if at.as_ref().is_some_and(|at| at.find(&expected).is_none()) {
                found.push([
                    leaf.pointer.clone(),
                    "nothing".to_owned(),
                    short(leaf.value),
                ]);
            }
        }
        found.truncate(TOLD);
        found
    }

    fn kept(&self, state: &Json) -> Json {
        let mut state = state.clone();
        for place in &self.ignore {
            // A missing value does not have to be removed.
            let _ = patch::remove(&mut state, place);
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

/// A state to which the calls of a trace are applied.
pub(crate) struct Running<'a> {
    task: &'a StateTask,
    tools: &'a Tools,
    pub(crate) now: Json,
    /// Bytes that may still be added, which bounds repeated copies.
    room: usize,
    /// Number of changes.
    pub(crate) work: u64,
}

/// Bytes that the calls of a trace may add to a state.
const ROOM: usize = 16 << 20;

impl<'a> Running<'a> {
    pub(crate) fn new(task: &'a StateTask, tools: &'a Tools) -> Self {
        Self {
            task,
            tools,
            now: task.initial.clone(),
            room: ROOM,
            work: 0,
        }
    }

    /// Applies a call. Returns whether it changed the state.
    ///
    /// # Errors
    /// Why the tool rejects it; the state is unchanged.
    pub(crate) fn call(&mut self, made: &Made) -> Result<bool, String> {
        if made.unsound.is_some() {
            return Err("the call is not valid for the tool".to_owned());
        }
        let rules = self
            .task
            .effects
            .of(&made.name)
            .ok_or_else(|| format!("`{}` has no declared effect", made.name))?;
        let tool = self.tools.get(&made.name);
        let argument = |name: &str| {
            made.arguments
                .get(name)
                .or_else(|| tool?.default_of(name))
                .cloned()
        };
        let Some(rule) = effects::chosen(rules, &self.now, &argument)? else {
            return Ok(false);
        };
        if self.room == 0 && rule.changes() {
            return Err(template::FULL.to_owned());
        }
        let mut undo = Vec::new();
        for operation in &rule.patch {
            self.work += 1;
            if let Err(reason) = patch::apply(
                &mut self.now,
                operation,
                &argument,
                &mut self.room,
                &mut undo,
            ) {
                undo.into_iter()
                    .rev()
                    .for_each(|change| change.undo(&mut self.now));
                // Rejected operations count as well, which bounds their number.
                if reason == template::FULL {
                    self.room = 0;
                }
                return Err(reason);
            }
        }
        Ok(rule.changes())
    }
}
