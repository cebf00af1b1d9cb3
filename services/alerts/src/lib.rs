//! Owns the alerts of a node: rules over sums that the record and the engine keep, the problems
//! that are open, and their delivery to a webhook. Does not read single grades.
//!
//! Data flow: settings -> rules ([`rules`]) -> sums of runs, channels and the node (`measure`) ->
//! what fires and what clears (`open`) -> metrics, log and webhook (`webhook`). [`Alerts`] connects
//! them on one timer.

mod alerts;
mod measure;
pub mod metrics;
mod open;
mod reward_drop;
pub mod rules;
mod totals_window;
mod webhook;

pub use alerts::Alerts;
pub use rules::{Settings, is_rule};
