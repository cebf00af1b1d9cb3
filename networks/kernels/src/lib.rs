//! Arithmetic on rows of numbers that models are made of: products of matrices in place,
//! exponentials, sums. Owns no tensor and no thread. Results depend on the numbers and their count
//! alone, never on cores or time.

mod exponential;
mod fold;
mod multiply;
mod packed;
mod real;
mod wide;

pub use exponential::exponentials;
pub use fold::{dot, fold, largest, sum};
pub use multiply::{Product, View, multiply};
pub use packed::PackedWeights;
pub use real::Real;
pub use wide::wide;
