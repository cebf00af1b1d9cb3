//! Owns the tests that meet the house as a user does, and what they share. No product code.

pub mod rollouts;
