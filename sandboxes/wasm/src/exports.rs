//! The functions and the memory that a guest exports.

use wasmtime::{Memory, TypedFunc};

/// The exports of every image.
pub(crate) struct Exports {
    pub(crate) memory: Memory,
    pub(crate) allocate: TypedFunc<u32, u32>,
    pub(crate) handle: TypedFunc<(u32, u32), i32>,
    pub(crate) reply_pointer: TypedFunc<(), u32>,
    pub(crate) reply_length: TypedFunc<(), u32>,
}
