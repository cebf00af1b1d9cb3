//! All tests of this crate, in one executable.

mod browser;
mod end_to_end;
mod http;
mod postgres;
mod programs;
mod queries;
