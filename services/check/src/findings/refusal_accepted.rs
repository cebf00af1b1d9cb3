//! `refusal-accepted`: a completion that declines passes.

use super::{Code, Severity, Sink, passed};
use crate::examined::Examined;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "refusal-accepted",
    severity: Severity::Error,
    title: "a completion that declines passes",
};

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    if let Some((_, shown)) = passed(row, |purpose| purpose == Purpose::Refusal) {
        sink.tell(
            &CODE,
            &row.place,
            &row.key,
            format!("`{shown}` passes; say more of what is right"),
        );
    }
}
