//! Databases beside the one a task gives: same schema, other rows. A query that is right by coincidence, or by a constant, is
//! found out there.

mod dates;
mod generate;
mod homes;
mod keys;
mod mine;
mod values;

pub(crate) use generate::{Manner, generate};
pub(crate) use mine::mine;
