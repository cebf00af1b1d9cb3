//! The grader: prepares tasks.

use std::sync::Arc;

use assay_core::grader::PrepareError;
use assay_core::{
    Checked, ErrorCode, Fault, Grader, PrepareContext, Prepared, Spec, Task, TaskError,
};
use assay_documents::Json;
use assay_documents::calls::Form;

use crate::compare::{Expected, Made, Terms};
use crate::grade::PreparedTools;
use crate::spec::SPEC;
use crate::state::Running;
use crate::task::{Mode, ToolsTask};

/// Most bytes of the states after all turns together.
const STATES: usize = 64 << 20;

/// The grader of `tools` tasks.
pub struct ToolsGrader;

impl Grader for ToolsGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, cx: &PrepareContext<'_>) -> Checked {
        let read = ToolsTask::read(task)?;
        let nested = read.last.as_ref().map(|last| cx.check_nested(last));
        nested.transpose().map(drop).map_err(|error| {
            TaskError::new(
                error.code,
                &format!("/final{}", error.pointer),
                error.message,
            )
        })
    }

    fn prepare(
        &self,
        task: &Task,
        cx: &PrepareContext<'_>,
    ) -> Result<Arc<dyn Prepared>, PrepareError> {
        let at_fault = |message: String| {
            PrepareError::Ungradable(Fault::permanent(ErrorCode::TaskAtFault, message))
        };
        let read = ToolsTask::read(task).map_err(|error| at_fault(error.to_string()))?;
        if read.mode != Mode::Bfcl {
            read.tools.compile().map_err(at_fault)?;
        }
        if matches!(read.mode, Mode::All | Mode::Fraction | Mode::F1) {
            hold_golds(&read).map_err(at_fault)?;
        }
        let states = expected_states(&read).map_err(at_fault)?;
        let last = read.last.as_ref().map(|last| cx.nested(last)).transpose()?;
        Ok(Arc::new(PreparedTools::new(read, states, last)))
    }
}

/// Rejects expected calls that violate a schema, because no completion could match them.
fn hold_golds(task: &ToolsTask) -> Result<(), String> {
    for (turn, calls) in task.turns.iter().flatten().enumerate() {
        for (at, expected) in calls.iter().enumerate() {
            let Some(tool) = task.tools.get(&expected.name) else {
                continue;
            };
            // Each accepted value once, with the first value of the other arguments.
            let spread = expected
                .arguments
                .iter()
                .map(|argument| argument.accepted.len())
                .max()
                .unwrap_or(1);
            for choice in 0..spread {
                let made = example(expected, choice);
                if let Some(violation) = tool.violation(&made.arguments) {
                    return Err(format!(
                        "call {at} of turn {turn} is expected, but `{}` would refuse its \
                         arguments: {} (at `{}`)",
                        expected.name, violation.reason, violation.pointer
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The expected call with the accepted values at this index, or the last ones.
fn example(expected: &Expected, choice: usize) -> Made {
    let value = |argument: &crate::compare::Argument| {
        let value = argument.accepted.get(choice).or(argument.accepted.last());
        value.map(|value| (argument.name.clone(), value.clone()))
    };
    let arguments = Json::Object(expected.arguments.iter().filter_map(value).collect());
    Made {
        name: expected.name.clone(),
        arguments,
        unsound: None,
        form: Form::Json,
        span: 0..0,
    }
}

/// The state after each turn that results from the expected calls, or that the task contains; none
/// for a task without a state.
fn expected_states(task: &ToolsTask) -> Result<Vec<Json>, String> {
    let Some(state) = &task.state else {
        return Ok(Vec::new());
    };
    let mut running = Running::new(state, &task.tools);
    let (mut states, mut bytes) = (Vec::new(), 0);
    for (turn, calls) in task.turns.iter().flatten().enumerate() {
        for (at, expected) in calls.iter().enumerate() {
            running.call(&example(expected, 0)).map_err(|reason| {
                format!(
                    "`{}` would reject the expected call {at} of turn {turn}: {reason}",
                    expected.name
                )
            })?;
        }
        if state.expected.is_some() {
            continue;
        }
        bytes += running.now.bytes();
        if bytes > STATES {
            return Err(format!(
                "the states after each turn take more than {} MiB; give only the last as \
                 `expected`",
                STATES >> 20
            ));
        }
        states.push(running.now.clone());
    }
    let Some(expected) = &state.expected else {
        return Ok(states);
    };
    let terms = Terms {
        tools: &task.tools,
        strings: task.strings,
        tolerance: task.tolerance,
    };
    if task.turns.is_some() && !state.same(expected, &running.now, &terms) {
        let [place, wanted, got] = state
            .differences(expected, &running.now, &terms)
            .into_iter()
            .next()
            .unwrap_or_default();
        return Err(format!(
            "the expected calls result in {got} at `{place}`, but the expected state has {wanted}"
        ));
    }
    Ok(vec![expected.clone()])
}
