//! `mutant-accepted`: a completion that is wrong whatever the task passes.

use super::{Code, Severity, Sink, passed};
use crate::examined::Examined;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "mutant-accepted",
    severity: Severity::Error,
    title: "a completion that is wrong on purpose passes",
};

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    if let Some((Purpose::Mutant(what), _)) =
        passed(row, |purpose| matches!(purpose, Purpose::Mutant(_)))
    {
        sink.tell(
            &CODE,
            &row.place,
            &row.key,
            format!("{what} passes; the tests say too little of what is right"),
        );
    }
}
