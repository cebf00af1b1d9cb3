//! Differentiable operations on matrices. On a CPU in `f32` and `f64`, each is one fused pass over
//! its numbers with its own backward pass, recorded on a tape. On other devices and for other
//! types, each is composed of operations that candle differentiates.
//!
//! The fused operations of candle have no backward pass and silently cut the graph, so they are
//! not used here.

mod add;
mod attention;
mod fused;
mod linear;
mod log_probs;
mod norm;
mod parallel;
mod rotary;
mod rows;
mod swiglu;
mod tape;

pub(crate) use add::{add, add_bias};
pub(crate) use attention::{Heads, Span, attention, scale_of, softmax};
pub(crate) use fused::ReadGuard;
pub(crate) use linear::Weight;
pub(crate) use log_probs::log_probs;
pub(crate) use norm::rms_norm;
pub(crate) use parallel::on_thread_pool;
pub(crate) use rotary::{RotaryTable, rotate};
pub(crate) use rows::rows;
pub(crate) use swiglu::swiglu;
pub(crate) use tape::Tape;

#[cfg(test)]
mod tests;
