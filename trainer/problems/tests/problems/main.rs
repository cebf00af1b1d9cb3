//! Generated problems.

mod families;
mod grading;
