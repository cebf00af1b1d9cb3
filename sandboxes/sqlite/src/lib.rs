//! `libsqlite3-sys` in its present version, under the version that sqlx asks for. Owns nothing.
#![no_std]

pub use newest::*;
