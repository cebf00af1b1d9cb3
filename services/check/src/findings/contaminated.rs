//! `contaminated`: the prompt stands, in part, in a benchmark.

use super::{Code, Severity, Sink, Survey};
use crate::Benchmark;
use crate::examined::Examined;

pub(super) const CODE: Code = Code {
    name: "contaminated",
    severity: Severity::Error,
    title: "the prompt stands in the benchmark",
};

/// Share of runs of words from which a prompt counts as taken from the benchmark, as in Tulu 3
/// (arXiv 2411.15124, section 3.2).
const SHARE: f64 = 0.5;

/// The benchmark that prompts are compared with.
pub(super) struct Against<'a> {
    pub(super) benchmark: &'a Benchmark,
}

impl Survey for Against<'_> {
    fn note(&mut self, row: &Examined, sink: &mut Sink<'_>) {
        let Some(prompt) = row
            .made
            .as_ref()
            .ok()
            .and_then(|subject| subject.prompt.as_deref())
        else {
            return;
        };
        let share = self.benchmark.overlap(prompt);
        if share >= SHARE {
            let percent = share * 100.0;
            let message = format!(
                "{percent:.0} % of its runs of eight words stand in {}",
                self.benchmark.name()
            );
            sink.tell(&CODE, &row.place, &row.key, message);
        }
    }
}
