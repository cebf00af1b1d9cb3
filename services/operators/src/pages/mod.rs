//! A module for each page: what it reads, what it shows, its template.

pub(crate) mod channels;
pub(crate) mod check;
pub(crate) mod checks;
pub(crate) mod disagreements;
pub(crate) mod grade;
pub(crate) mod grades;
pub(crate) mod home;
pub(crate) mod queue;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod suspects;

/// Newest grades that pages look through where the record keeps no sums: enough to see a habit, few
/// enough to read at once.
pub(crate) const NEWEST: u32 = 1_000;
