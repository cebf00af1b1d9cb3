//! Selection of the prompts to sample next, from the history of visits: beliefs about pass rates,
//! values of prompts and of arms (categories of prompts), and allocation of rollouts.
//!
//! Pure functions: the caller provides visits and random numbers.

mod arms;
pub mod bandit;
pub mod belief;
mod candidate;
pub mod choose;
pub mod dars;
pub mod filter;
pub mod knapsack;
pub mod moments;
pub mod settings;
mod softmax_tree;
pub mod vade;

pub use belief::{Belief, Goal};
pub use candidate::Candidate;
pub use choose::{Suggestion, suggest};
pub use moments::Moments;
pub use settings::{Allocation, InvalidSetting, Strategy, Suggest};
