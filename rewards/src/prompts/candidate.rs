//! Prompts that may be sampled.

use crate::Visit;

use super::settings::Suggest;
use crate::group::as_f64;

/// A prompt that may be sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate<'a> {
    /// Key of the prompt in the run.
    pub key: &'a str,
    /// Visits so far, oldest first.
    pub visits: &'a [Visit],
    /// Category; a prompt without one is an arm by itself.
    pub category: Option<&'a str>,
}

impl Candidate<'_> {
    pub(super) fn is_unvisited(&self) -> bool {
        self.visits.iter().all(|visit| visit.judged == 0)
    }
}

/// Number of slots reserved for unvisited prompts: the share of `count`, rounded up.
pub(super) fn reserved_slots(settings: &Suggest, count: usize) -> usize {
    let share = settings.unvisited * as_f64(count);
    (0..count)
        .take_while(|slots| as_f64(*slots) < share)
        .count()
}
