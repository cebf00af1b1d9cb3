//! `never-solved`: no rollout of a row is right, so its group has no learning signal. Reported by
//! [`always_solved`](super::always_solved).

use super::{Code, Severity};

pub(super) const CODE: Code = Code {
    name: "never-solved",
    severity: Severity::Warning,
    title: "no rollout is right",
};
