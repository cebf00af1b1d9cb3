//! The grader: turns tasks and completions into grades with an implementation of `RewardModels`.

mod evidence;
mod grade;
mod prepare;
mod spec;
mod task;

pub use prepare::RewardModelGrader;
pub use spec::SPEC;
