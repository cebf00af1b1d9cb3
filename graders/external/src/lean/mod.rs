//! Proofs in Lean 4 that a server of Kimina checks. The statement that must be proved is the
//! task's: it is declared before the proof, and the proof is checked against this declaration.

mod kimina;
mod source;
mod statement;

pub(crate) use kimina::{reply, request, verdict};
pub(crate) use source::{Source, source};
pub(crate) use statement::Statement;
