//! What crates share that has nothing to do with grading: positions and pointers in JSON, texts
//! that are shown to people, times, suggestions for misspelled names, random numbers, URLs.

pub mod causes;
pub mod json_error;
mod large_integers;
pub mod pointer;
pub mod random;
pub mod similar;
pub mod truncate;
pub mod url;
pub mod utc;
pub mod visible;

pub use json_error::{TextPosition, json_message, json_reason};
pub use large_integers::has_large_integer;
pub use pointer::json_pointer;
pub use random::Random;
pub use similar::{did_you_mean, nearest};
pub use truncate::truncated;
