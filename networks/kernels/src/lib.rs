//! Arithmetic kernels for models: matrix products, exponentials and sums over slices of numbers.
//! Owns no tensors and no threads. Results depend only on the numbers and their count, never on the
//! number of cores or on timing.

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
