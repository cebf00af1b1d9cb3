//! JSON with numbers as they were written: integers of any size stay exact, and `1` can be
//! distinguished from `1.0`.

mod compare;
pub mod number;
mod pointer;
mod read;
mod tree;
mod write;

pub use compare::{Leaf, leaves, same, same_members};
pub use pointer::{Pointer, PointerError, index};
pub use read::{MAX_DEPTH, Reader, SyntaxError, is_duplicate};
pub use tree::Json;
pub(crate) use write::number_value;
