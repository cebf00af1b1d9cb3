//! The grader over whatever holds reward models: tasks in, grades out.

mod evidence;
mod grade;
mod prepare;
mod spec;
mod task;

pub use prepare::RewardModelGrader;
pub use spec::SPEC;
