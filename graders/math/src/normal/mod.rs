//! Normal forms: the tree of an answer without differences of notation. Does not decide equality.

pub(crate) mod derive;
mod ellipsis;
mod exact;
mod fold;
mod indices;
mod matrix;
mod signs;

pub(crate) use ellipsis::completed;
pub(crate) use fold::fold;
pub(crate) use signs::expanded;
