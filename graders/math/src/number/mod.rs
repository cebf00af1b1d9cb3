//! Numbers that the grader computes with: exact rationals, balls of arbitrary precision, residues
//! modulo a prime. This module does not know expressions or answers and uses no machine floats.

pub(crate) mod ball;
pub(crate) mod complex;
pub(crate) mod elementary;
pub(crate) mod rational;
pub(crate) mod residue;

pub use rational::Rational;
