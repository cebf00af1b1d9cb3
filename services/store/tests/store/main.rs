//! What the record promises, stated over the traits `Recorder` and `Reader`: another database joins
//! by opening in `world`.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

mod channels;
mod checks;
mod claims;
mod faults;
mod model;
mod pairs;
mod reads;
mod recovery;
mod refused;
mod world;
