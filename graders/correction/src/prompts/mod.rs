//! Owns what the visits to a prompt say about visiting it again: beliefs about its pass rate,
//! values of prompts and of arms of prompts, rollouts to spend. Stores no history, keeps no clock
//! and rolls no dice: visits and random numbers are handed in.

mod arms;
pub mod bandit;
pub mod belief;
pub mod choose;
pub mod dars;
pub mod filter;
pub mod knapsack;
pub mod moments;
pub mod settings;
mod shares;
pub mod vade;

pub use belief::{Belief, Wish};
pub use choose::{Candidate, Suggestion, suggest};
pub use moments::Moments;
pub use settings::{Allocation, BadSetting, Strategy, Suggest};
