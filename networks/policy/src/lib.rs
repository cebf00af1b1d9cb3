//! A decoder that learns and writes. Owns the differentiable operations, the weights, the writing of completions and the optimiser.
//! Owns no loss, no reward and no problem.
mod ops;
