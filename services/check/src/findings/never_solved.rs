//! `never-solved`: no rollout of a row is right, so that none says more than another. Seen by
//! [`always_solved`](super::always_solved).

use super::{Code, Severity};

pub(super) const CODE: Code = Code {
    name: "never-solved",
    severity: Severity::Warning,
    title: "no rollout is right",
};
