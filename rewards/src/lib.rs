//! Verifier noise and rewards: error rates of channels, appeals, reward policies, statistics of
//! groups, and values of prompts from their history.
//!
//! Pure functions and their state. Grading, storage and clocks are owned by other crates.
//!
//! A member without a reward (ungradable or failed) is masked: it counts in no statistic, and its
//! entry in every array is null.

pub mod appeal;
pub mod bias;
pub mod channel;
pub mod clustered;
pub mod detectors;
mod format;
pub mod gold;
pub mod group;
pub mod interval;
pub mod pairs;
pub mod policy;
pub mod prompts;
pub mod propensity;
pub mod rates;
pub mod statistic;
pub mod sum;
pub mod tally;
pub mod trust;
mod visit;
pub mod votes;

pub use group::{Estimator, Group, Member, advantages, mean};
pub use interval::{Estimate, Interval, wilson};
pub use policy::{PolicyError, PolicyRules};
pub use rates::Rates;
pub use statistic::{Statistic, statistics};
pub use tally::Tally;
pub use visit::Visit;
