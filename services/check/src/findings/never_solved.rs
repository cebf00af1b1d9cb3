//! `never-solved`: no rollout of a row is right, so its group has no learning signal. Reported by
//! [`always_solved`](super::always_solved).

use super::code::{Code, Severity};

pub(super) const CODE: Code = Code {
    name: "never-solved",
    severity: Severity::Warning,
    title: "no rollout is right",
    found: "\
At least four rollouts of the row were graded, and none of them is right.",
    why: "\
A group without differences has no advantages. A wrong gold has the same effect.",
    remedy: "\
Check the gold. If it is right, keep the row for a stronger model.",
    example: None,
};
