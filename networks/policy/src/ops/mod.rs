//! Differentiable operations on matrices. On a CPU each is one pass over its numbers with a way
//! back of its own, kept on a tape; elsewhere, and for other types than `f32` and `f64`, each is
//! composed of operations the library differentiates.
//!
//! The library's own fused operations have no backward pass and cut the graph without a word, so
//! none of them is used here.

mod add;
mod attention;
mod linear;
mod log_probs;
mod norm;
mod numbers;
mod passes;
mod rotary;
mod rows;
mod swiglu;
mod tape;

pub(crate) use add::{add, add_bias};
pub(crate) use attention::{Heads, Span, attention, scale_of, softmax};
pub(crate) use linear::Weight;
pub(crate) use log_probs::log_probs;
pub(crate) use norm::rms_norm;
pub(crate) use numbers::Held;
pub(crate) use passes::on_workers;
pub(crate) use rotary::{Turns, rotate};
pub(crate) use rows::rows;
pub(crate) use swiglu::swiglu;
pub(crate) use tape::Tape;

#[cfg(test)]
mod tests;
