//! Numbers the grader computes with: exact rationals, balls of arbitrary precision, residues modulo
//! a prime. Nothing here knows of expressions or answers, and nothing here is a machine float.

pub(crate) mod ball;
pub(crate) mod complex;
pub(crate) mod elementary;
pub(crate) mod rational;
pub(crate) mod residue;

pub use rational::Rational;
