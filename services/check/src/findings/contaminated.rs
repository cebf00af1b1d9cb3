//! `contaminated`: a large part of the prompt occurs in a benchmark.

use super::Sink;
use super::code::{Code, code};
use super::rule::DatasetRule;
use crate::Benchmark;
use crate::graded_row::{GradedRow, excerpt};

pub(super) const CODE: Code = code!("contaminated", Error);

/// Compares prompts with a benchmark.
pub(super) struct Contamination<'a> {
    pub(super) benchmark: &'a Benchmark,
}

impl DatasetRule for Contamination<'_> {
    fn add_row(&mut self, row: &GradedRow, sink: &mut Sink<'_>) {
        let Some(prompt) = row
            .subject
            .as_ref()
            .ok()
            .and_then(|subject| subject.prompt.as_deref())
        else {
            return;
        };
        let thresholds = sink.thresholds();
        let (share, masked) = (
            thresholds.contaminated_share,
            thresholds.contaminated_masked_share,
        );
        let Some(found) = self.benchmark.overlap(prompt, share, masked) else {
            return;
        };
        let percent = found.share * 100.0;
        let masked = if found.is_masked {
            ", with numbers and names masked,"
        } else {
            ""
        };
        let message = format!(
            "{percent:.0} % of the 8-word sequences of the prompt `{}`{masked} occur in {}: `{}`; \
             drop the row",
            excerpt(prompt),
            found.location,
            found.prompt
        );
        sink.add(&CODE, &row.location, &row.key, message);
    }
}
