//! `instructions`: no response is known to meet the constraints, except for the solution of the
//! row. Mutants are texts without words. A copy of the prompt may meet the constraints.

use super::probe::{Probe, Prober, Purpose, plain};

pub(super) const PROBER: Prober = Prober {
    name: "instructions",
    wrong_completions: |_| vec![Probe::new(Purpose::Mutant("a full stop"), plain("."))],
    tries_prompt: |_| false,
    ..Prober::BASE
};
