//! Owns the statistics of groups: pure functions over the rewards and passes of members. Owns no grading and no state.
//!
//! A member without a reward (ungradable, failed) is masked: it does not vote, and its place in every array is null.

pub mod group;
pub mod statistic;

pub use group::{Member, coefficients, mean};
pub use statistic::Statistic;
