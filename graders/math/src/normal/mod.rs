//! Normal forms: the tree of an answer without differences of notation. Does not decide equality.

pub(crate) mod derive;
mod exact;
mod fold;
mod indices;
mod matrix;
mod signs;

pub(crate) use fold::fold;
pub(crate) use signs::expanded;
