//! The shape of the house: who may depend on whom, and that nothing in the table of graders is missing a room.

mod arrows;
mod cases;
mod documents;
