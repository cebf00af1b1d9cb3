//! `task-refused`: the grader would refuse the whole request for the shape of the task. The rule
//! tells every reason for which a row has no task.

use super::{Code, Severity, Sink};
use crate::examined::Examined;

pub(crate) const CODE: Code = Code {
    name: "task-refused",
    severity: Severity::Error,
    title: "the grader refuses the shape of the task",
};

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    if let Err(not_made) = &row.made {
        sink.tell(
            not_made.code,
            &row.place,
            &row.key,
            not_made.message.clone(),
        );
    }
}
