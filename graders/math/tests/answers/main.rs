//! Answers compared with golds.

mod attacks;
mod cases;
mod laws;
mod quantities;
