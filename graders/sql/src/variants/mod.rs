//! Databases beside the one a task gives: same schema, other rows. A query that is right by
//! coincidence, or by a constant, is found out there.

mod dates;
mod generate;
mod keys;
mod mine;
mod occurrences;
mod values;

pub(crate) use generate::{Manner, generate};
pub(crate) use mine::mine;
