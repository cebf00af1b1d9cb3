//! `instructions`: no response is known to meet the constraints, except for the solution of the
//! row. Mutants are texts without words.

use super::probe::{Probe, Prober, Purpose, text};

pub(super) const PROBER: Prober = Prober {
    name: "instructions",
    gold: &[],
    golds: |_| Vec::new(),
    solution: text,
    requires_answer: |_| true,
    wrong_completions: |_| vec![Probe::new(Purpose::Mutant("a full stop"), text("."))],
};
