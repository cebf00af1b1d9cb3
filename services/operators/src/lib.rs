//! Owns the operator pages under `/ui`: runs, grades, channels, the adjudication queue and checks
//! of datasets. Operators can adjudicate a grade and replay it. Pages are rendered on the server;
//! the script only adds keyboard shortcuts, the choice of colours and the refresh of pages.
//! Estimates nothing, grades nothing, and reads the record only through the store of the engine.
//!
//! `routes` lists the pages and `pages` has a module for each. Texts of completions, tasks and
//! trainers are untrusted: they pass through `display` into templates, which escape them.

mod advice;
mod assets;
mod bar;
mod changes;
mod chart;
mod contradicted;
mod diff;
mod display;
mod facets;
mod failure;
mod failure_page;
mod focus;
mod grade;
mod live;
mod missing;
mod page;
mod pages;
mod query;
mod record;
mod routes;
mod row;
mod site;
mod trend;
mod verifier;

pub use routes::{is_page, refusal, router, session};
