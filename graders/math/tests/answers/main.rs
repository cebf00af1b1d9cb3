//! Answers compared with golds.

mod allocations;
mod attacks;
mod cases;
mod explain;
mod forgeries;
mod grading;
#[path = "../../examples/worst/hand/mod.rs"]
mod hand;
mod laws;
mod monsters;
mod quantities;
