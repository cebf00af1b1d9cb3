//! `empty-accepted`: a completion without a word passes.

use super::{Code, Severity, Sink, passed};
use crate::examined::Examined;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "empty-accepted",
    severity: Severity::Error,
    title: "an empty completion passes",
};

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    if passed(row, |purpose| purpose == Purpose::Empty).is_some() {
        sink.tell(
            &CODE,
            &row.place,
            &row.key,
            "an empty completion passes; say more of what is right".to_owned(),
        );
    }
}
