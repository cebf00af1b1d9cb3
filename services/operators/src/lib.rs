//! Owns the pages under `/ui`: what operators see of runs, grades, channels and queues, and the two
//! things they do there, saying what is true of a grade and grading it again. Everything is written
//! here, on the server; the script only adds keys and the choice of colours. Estimates nothing,
//! grades nothing and reads the record only through the engine's store.
//!
//! `routes` is the list of pages, `pages` has a module for each. Texts of completions, tasks and
//! trainers are hostile: they pass `show` on their way into a template, and templates escape.

mod assets;
mod chart;
mod diff;
mod failure;
mod grade;
mod page;
mod pages;
mod query;
mod routes;
mod row;
mod show;

pub use routes::router;
