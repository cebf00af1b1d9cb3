//! The grader: prepares tasks.

use std::sync::Arc;

use assay_core::grader::{Preparation, PrepareError};
use assay_core::{Checked, Grader, PrepareContext, Prepared, Spec, Task, TaskError};
use assay_documents::Json;
use assay_documents::calls::Form;

use crate::compare::{ActualCall, Argument, ExpectedCall};
use crate::grade::PreparedTools;
use crate::spec::SPEC;
use crate::state::Simulation;
use crate::task::{Mode, ToolsTask};

/// Maximum size of the states after all turns together, in bytes.
const MAX_STATES_BYTES: usize = 64 << 20;

/// The grader of `tools` tasks.
pub struct ToolsGrader;

impl Grader for ToolsGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, cx: &PrepareContext<'_>) -> Checked {
        read_and_check(task, cx).map(drop)
    }

    /// Tasks that need no schema, state or other task are ready when they are read.
    fn check_and_prepare(
        &self,
        task: &Task,
        cx: &PrepareContext<'_>,
    ) -> Result<Option<Arc<dyn Prepared>>, TaskError> {
        let read = read_and_check(task, cx)?;
        let is_ready = read.mode == Mode::Bfcl && read.state.is_none() && read.last.is_none();
        let ready = is_ready.then(|| PreparedTools::new(read, Vec::new(), None));
        Ok(ready.map(|ready| Arc::new(ready) as Arc<dyn Prepared>))
    }

    fn prepare(&self, task: &Task, cx: &PrepareContext<'_>) -> Preparation {
        let read = ToolsTask::read(task)?;
        if read.mode != Mode::Bfcl {
            read.tools.compile().map_err(PrepareError::task_at_fault)?;
        }
        if matches!(read.mode, Mode::All | Mode::Fraction | Mode::F1) {
            check_expected_calls(&read).map_err(PrepareError::task_at_fault)?;
        }
        let states = expected_states(&read).map_err(PrepareError::task_at_fault)?;
        let last = read.last.as_ref().map(|last| cx.nested(last)).transpose()?;
        Ok(Arc::new(PreparedTools::new(read, states, last)))
    }
}

fn read_and_check(task: &Task, cx: &PrepareContext<'_>) -> Result<ToolsTask, TaskError> {
    let read = ToolsTask::read(task)?;
    let nested = read.last.as_ref().map(|last| cx.check_nested(last));
    nested.transpose().map_err(|error| {
        TaskError::new(
            error.code,
            &format!("/final{}", error.pointer),
            error.message,
        )
    })?;
    Ok(read)
}

/// Rejects expected calls that violate a schema, because no completion could match them.
fn check_expected_calls(task: &ToolsTask) -> Result<(), String> {
    for (turn, calls) in task.turns.iter().flatten().enumerate() {
        for (at, expected) in calls.iter().enumerate() {
            let Some(tool) = task.tools.get(&expected.name) else {
                continue;
            };
            // Validates each accepted value of each argument in one of these calls.
            let choices = expected
                .arguments
                .iter()
                .map(|argument| argument.accepted.len())
                .max()
                .unwrap_or(1);
            for choice in 0..choices {
                let actual = example(expected, choice);
                if let Some(violation) = tool.violation(&actual.arguments) {
                    return Err(format!(
                        "the expected call {at} of turn {turn} violates the schema of `{}`: {} \
                         (at `{}`)",
                        expected.name, violation.reason, violation.pointer
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The expected call with the accepted value of each argument at this index, or the last one.
fn example(expected: &ExpectedCall, choice: usize) -> ActualCall {
    let value = |argument: &Argument| {
        let value = argument.accepted.get(choice).or(argument.accepted.last());
        value.map(|value| (argument.name.clone(), value.clone()))
    };
    let arguments = Json::Object(expected.arguments.iter().filter_map(value).collect());
    ActualCall {
        name: expected.name.clone(),
        arguments,
        error: None,
        failed: false,
        form: Form::Json,
        span: 0..0,
    }
}

/// The state after each turn that results from the expected calls, or only the final state that the
/// task contains. Empty for a task without a state.
fn expected_states(task: &ToolsTask) -> Result<Vec<Json>, String> {
    let Some(state) = &task.state else {
        return Ok(Vec::new());
    };
    let mut simulation = Simulation::new(state, &task.tools);
    let (mut states, mut bytes) = (Vec::new(), 0);
    for (turn, calls) in task.turns.iter().flatten().enumerate() {
        for (at, expected) in calls.iter().enumerate() {
            let (result, name) = (simulation.call(&example(expected, 0)), &expected.name);
            match (result, expected.refused) {
                (Err(reason), false) => {
                    return Err(format!(
                        "`{name}` rejects the expected call {at} of turn {turn}: {reason}; if it \
                         should, set `refused`"
                    ));
                }
                (Ok(_), true) => {
                    return Err(format!(
                        "`{name}` accepts the expected call {at} of turn {turn}, which has \
                         `refused`"
                    ));
                }
                _ => {}
            }
        }
        if state.expected.is_some() {
            continue;
        }
        bytes += simulation.state.bytes();
        if bytes > MAX_STATES_BYTES {
            return Err(format!(
                "the states after each turn take more than {} MiB; set only the last one as \
                 `state.expected`",
                MAX_STATES_BYTES >> 20
            ));
        }
        states.push(simulation.state.clone());
    }
    let Some(expected) = &state.expected else {
        return Ok(states);
    };
    let comparator = task.comparator();
    if task.turns.is_some() && !state.same(expected, &simulation.state, &comparator) {
        let [pointer, value, got] = state
            .differences(expected, &simulation.state, &comparator)
            .into_iter()
            .next()
            .unwrap_or_default();
        return Err(format!(
            "the expected calls result in {got} at `{pointer}`, but the expected state has {value}"
        ));
    }
    Ok(vec![expected.clone()])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The number of states of a task with 16 turns, after each of which the state has this size.
    fn count_states(bytes: usize) -> Result<usize, String> {
        let empty = Json::read(r#"{"text":""}"#).unwrap().bytes();
        let initial = json!({"text": "x".repeat(bytes - empty)});
        let turns: Vec<Value> = vec![json!([]); 16];
        let task = json!({
            "type": "tools", "turns": turns, "state": {"initial": initial, "effects": {}},
        });
        let task = Task::from_json(&task.to_string()).unwrap();
        let read = ToolsTask::read(&task).unwrap();
        expected_states(&read).map(|states| states.len())
    }

    #[test]
    fn bounds_the_states_after_all_turns_together() {
        assert_eq!(count_states(4 << 20), Ok(16));
        assert_eq!(
            count_states((4 << 20) + 1).unwrap_err(),
            "the states after each turn take more than 64 MiB; set only the last one as \
             `state.expected`"
        );
    }
}
