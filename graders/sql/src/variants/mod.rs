//! Generated variants of the task's database: same schema, other rows. A query that is right by
//! coincidence, or by a constant, is found out there.

mod constants;
mod dates;
mod generate;
mod keys;
mod occurrences;
mod values;

pub(crate) use constants::constants_of;
pub(crate) use generate::{Manner, generate};
