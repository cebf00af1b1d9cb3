//! Answers compared with golds.

mod accuracy;
mod allocations;
mod attacks;
mod canonical;
mod cases;
mod commitments;
mod evidence;
mod explain;
mod grading;
#[path = "../../examples/worst/hand/mod.rs"]
mod hand;
#[path = "../../examples/accuracy/labelled/mod.rs"]
mod labelled;
mod laws;
mod monsters;
mod quantities;
