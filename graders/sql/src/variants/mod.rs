//! Generates variants of a database: the same schema with different rows. They reveal queries that
//! are correct on the base only by coincidence, or that return a constant.

mod constants;
mod dates;
mod generate;
mod keys;
mod occurrences;
mod shape;
mod values;

pub(crate) use constants::{Constants, constants_of};
pub(crate) use generate::{GenerationOptions, generate};
