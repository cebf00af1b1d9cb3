//! What is typed, and what comes of it.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
#![expect(
    clippy::print_stdout,
    reason = "the figures are what the command is run for"
)]

mod check;
mod crash;
mod environment;
mod files;
mod fixtures;
mod logging;
mod models;
mod noise;
mod record;
mod stopping;
mod terminal;
mod typed;
