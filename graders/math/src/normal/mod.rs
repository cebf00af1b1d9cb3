//! Normal forms: an answer's tree with all that is mere spelling taken out. Decides nothing about
//! equality.

pub(crate) mod derive;
mod exact;
mod fold;
mod matrix;
mod signs;

pub(crate) use fold::fold;
pub(crate) use signs::expanded;
