//! Error rates of channels with intervals, estimated from counts of graded and checked items.
//!
//! Data flow: counts by time bucket ([`counts`], [`window`]) -> share of negatives that are right
//! and of positives that are wrong ([`checks`]) -> rates ([`estimate`]) -> choice among measured,
//! calibrated and declared rates (`resolve`) -> report of one channel ([`report`]) and of all
//! channels ([`ledger`]). Two diagnostics use the same counts: whether the channel changed
//! ([`drift`]), and whether the same answer always gets the same verdict ([`persistence`]).
//! [`advice`] says what to do next to know the rates better.

pub mod advice;
pub mod checks;
pub mod compare;
pub mod counts;
pub mod dawid_skene;
pub mod drift;
pub mod estimate;
pub mod ledger;
pub mod persistence;
pub mod report;
mod resolve;
mod settings;
pub mod window;

pub use advice::Advice;
pub use compare::Comparison;
pub use counts::ChannelCounts;
pub use ledger::Ledger;
pub use report::Report;
pub use settings::Settings;
