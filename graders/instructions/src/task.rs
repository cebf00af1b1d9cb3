//! An `instructions` task in a request. Reads its constraints and their rules.

use assay_core::error::invalid;
use assay_core::{Task, TaskError};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::published;
use crate::rule::Rule;

/// Maximum number of constraints of a task.
const MAX_CONSTRAINTS: usize = 64;

/// Maximum length of the name of a constraint, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// Whether the response is checked as it is, or may be changed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    #[default]
    Strict,
    Loose,
}

/// The score of a response that meets some constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scoring {
    /// 1 if all are met, otherwise 0.
    #[default]
    All,
    /// The share of constraints that are met.
    Share,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskBody {
    constraints: Vec<ConstraintBody>,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    score: Scoring,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConstraintBody {
    id: Option<String>,
    kwargs: Option<Map<String, Value>>,
    rule: Option<Value>,
    name: Option<String>,
}

/// A constraint with its rule.
#[derive(Debug)]
pub(crate) struct Constraint {
    /// The name in evidence: the id of a published instruction, or the given name.
    pub(crate) name: String,
    /// What makes the verdict approximate.
    pub(crate) approximate: Option<&'static str>,
    pub(crate) rule: Rule,
}

/// A validated task.
#[derive(Debug)]
pub(crate) struct InstructionsTask {
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) mode: Mode,
    pub(crate) scoring: Scoring,
}

impl InstructionsTask {
    /// Reads a task.
    ///
    /// # Errors
    /// [`TaskError`] with a pointer to the constraint or argument that is wrong.
    pub(crate) fn read(task: &Task) -> Result<Self, TaskError> {
        let body: TaskBody = task.parse()?;
        if body.constraints.is_empty() || body.constraints.len() > MAX_CONSTRAINTS {
            let message = format!(
                "a task must have 1 to {MAX_CONSTRAINTS} constraints, not {}",
                body.constraints.len()
            );
            return Err(invalid("/constraints", message));
        }
        let constraints = body.constraints.into_iter().enumerate();
        let constraints = constraints.map(|(at, constraint)| {
            constraint.read(at).map_err(|(pointer, message)| {
                invalid(&format!("/constraints/{at}{pointer}"), message)
            })
        });
        Ok(Self {
            constraints: constraints.collect::<Result<_, _>>()?,
            mode: body.mode,
            scoring: body.score,
        })
    }
}

impl ConstraintBody {
    fn read(self, at: usize) -> Result<Constraint, (String, String)> {
        let name = self.name.unwrap_or_default();
        if name.len() > MAX_NAME_BYTES {
            let message = format!("a name must have at most {MAX_NAME_BYTES} bytes");
            return Err(("/name".to_owned(), message));
        }
        match (self.id, self.rule) {
            (Some(id), None) => {
                let found = published::find(&id).map_err(|message| ("/id".to_owned(), message))?;
                let rule = found.rule(&self.kwargs.unwrap_or_default()).map_err(
                    |(argument, message)| {
                        let pointer =
                            argument.map_or("/kwargs".to_owned(), |name| format!("/kwargs/{name}"));
                        (pointer, message)
                    },
                )?;
                let rule =
                    Rule::read(&rule).map_err(|(_, message)| ("/kwargs".to_owned(), message))?;
                Ok(Constraint {
                    name: if name.is_empty() { id } else { name },
                    approximate: found.approximate.as_deref(),
                    rule,
                })
            }
            (None, Some(rule)) if self.kwargs.is_none() => {
                let rule = Rule::read(&rule)
                    .map_err(|(pointer, message)| (format!("/rule{pointer}"), message))?;
                let name = if name.is_empty() {
                    format!("constraint {}", at + 1)
                } else {
                    name
                };
                Ok(Constraint {
                    name,
                    approximate: None,
                    rule,
                })
            }
            _ => Err((
                String::new(),
                "a constraint must have either an `id` with its `kwargs`, or a `rule`".to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_point_to_the_constraint() {
        for (constraint, pointer) in [
            (r#"{"id":"punctuation:no_coma"}"#, "/constraints/0/id"),
            (r#"{"id":"count:numbers"}"#, "/constraints/0/kwargs"),
            (
                r#"{"id":"count:numbers","kwargs":{"N":"x"}}"#,
                "/constraints/0/kwargs/N",
            ),
            (r#"{"id":"count:numbers","rule":{}}"#, "/constraints/0"),
            (
                r#"{"rule":{"count":{"unit":"words"}}}"#,
                "/constraints/0/rule/count",
            ),
            (
                r#"{"rule":{"all":[{"contains":""}]}}"#,
                "/constraints/0/rule/all/0/contains",
            ),
            (
                r#"{"rule":{"format":"jsom"}}"#,
                "/constraints/0/rule/format",
            ),
            (
                r#"{"rule":{"count":{"pattern":"(","min":1}}}"#,
                "/constraints/0/rule/count",
            ),
        ] {
            let json = format!(r#"{{"type":"instructions","constraints":[{constraint}]}}"#);
            let task = Task::from_json(&json).unwrap();
            assert_eq!(
                InstructionsTask::read(&task).unwrap_err().pointer,
                pointer,
                "{constraint}"
            );
        }
    }
}
