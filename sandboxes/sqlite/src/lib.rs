//! Re-exports a current `libsqlite3-sys` under a version that sqlx accepts. Owns nothing.
#![no_std]

pub use newest::*;
