//! What is known of the noise of one channel: rates with intervals, from counts of what was graded
//! and what was checked.
//!
//! The way of a number: counts by bucket of time ([`window`]) -> share of negatives that are right
//! and of positives that are wrong ([`checks`]) -> rates ([`estimate`]) -> which number stands for
//! each ([`report`], [`ledger`]). Beside it stand two questions about the counts: did the channel
//! change ([`drift`]), and does the same answer always get the same verdict ([`persistence`])?

pub mod checks;
pub mod compare;
pub mod dawid_skene;
pub mod drift;
pub mod estimate;
pub mod ledger;
pub mod persistence;
pub mod report;
mod resolve;
pub mod window;

pub use compare::Comparison;
pub use ledger::{Ledger, Settings};
pub use report::Report;
