//! Owns what is known of verifier noise and what rewards are made of: rates of channels, appeals,
//! policies, statistics of groups, histories of prompts. Pure functions and their state; owns no
//! grading, no storage and no clock.
//!
//! A member without a reward (ungradable, failed) is masked: it does not vote, and its place in
//! every array is null.

pub mod appeal;
pub mod channel;
pub mod group;
pub mod interval;
pub mod policy;
pub mod prompts;
pub mod rates;
pub mod statistic;
pub mod tally;

pub use group::{Estimator, Group, Member, advantages, mean};
pub use interval::{Estimate, Interval, wilson};
pub use policy::{PolicyError, PolicyRules};
pub use rates::Rates;
pub use statistic::{Statistic, statistics};
pub use tally::Tally;
