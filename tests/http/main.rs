//! The service over HTTP, as trainers and operators meet it.

mod bodies;
mod fixtures;
mod grading;
mod limits;
mod repeating;
mod stored;
