//! `always-solved`: every rollout of a row is right, so that none says more than another. The
//! survey tells [`never-solved`](super::never_solved) as well.

use serde_json::Value;

use super::{Code, Severity, Sink, Survey, never_solved};
use crate::Rollouts;
use crate::examined::Examined;
use crate::probes::Purpose;
use crate::rollouts::Rolled;

pub(super) const CODE: Code = Code {
    name: "always-solved",
    severity: Severity::Warning,
    title: "every rollout is right",
};

/// Fewest rollouts that say something of a row.
const FEWEST: u32 = 4;

/// What rollouts came to.
pub(super) struct Difficulty<'a> {
    pub(super) rollouts: Option<&'a Rollouts>,
}

impl Survey for Difficulty<'_> {
    fn note(&mut self, row: &Examined, sink: &mut Sink<'_>) {
        let rolled = self
            .rollouts
            .and_then(|rollouts| rollouts.of(&row.key))
            .unwrap_or_else(|| own(row));
        let Rolled { graded, right } = rolled;
        if graded < FEWEST {
            return;
        }
        if right == graded {
            sink.tell(
                &CODE,
                &row.place,
                &row.key,
                format!("all of its {graded} rollouts are right"),
            );
        } else if right == 0 {
            sink.tell(
                &never_solved::CODE,
                &row.place,
                &row.key,
                format!("none of its {graded} rollouts is right"),
            );
        }
    }
}

/// Rollouts of the row's own: completions, which were graded, or their rewards, of which 1 is
/// right.
fn own(row: &Examined) -> Rolled {
    let mut rolled = Rolled::default();
    let passes = row
        .graded()
        .filter(|(answer, _)| answer.purpose == Purpose::Rollout)
        .map(|(_, graded)| graded.pass);
    let given = row
        .made
        .as_ref()
        .ok()
        .and_then(|subject| subject.rollouts.as_ref())
        .into_iter()
        .flatten();
    let given = given.filter_map(|value| match value {
        Value::Bool(right) => Some(*right),
        Value::Number(reward) => Some(reward.as_f64()? >= 1.0),
        _ => None,
    });
    for right in passes.chain(given) {
        rolled.graded += 1;
        rolled.right += u32::from(right);
    }
    rolled
}
