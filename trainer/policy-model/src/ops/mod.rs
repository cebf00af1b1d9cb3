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
mod norm;
mod parallel;
mod rotary;
mod rows;
mod swiglu;
mod tape;
mod vocabulary;

pub(crate) use add::{add, add_bias};
pub(crate) use attention::{Heads, Masks, Span, attention, scale_of, softmax};
pub(crate) use fused::{Number, ReadGuard, is_fused};
pub(crate) use linear::Weight;
pub(crate) use norm::rms_norm;
pub(crate) use parallel::{add_to, on_thread_pool};
pub(crate) use rotary::{RotaryTable, rotate};
pub(crate) use rows::rows;
pub(crate) use swiglu::swiglu;
pub(crate) use tape::Tape;
pub(crate) use vocabulary::{HEAD_ROWS, ScoredRows, Vocabulary, default_rows, score_rows};

#[cfg(test)]
mod tests;
