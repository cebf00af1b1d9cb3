//! The shape of the house: who may depend on whom, and that nothing in the table of graders is missing a room.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod arrows;
mod cases;
mod documents;
