//! Tests that run the `assay` binary.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
#![expect(clippy::print_stdout, reason = "tests print their figures")]

mod action;
mod alerts;
mod check;
mod check_files;
mod check_settings;
mod command_line;
mod copying;
mod crash;
mod environment;
mod files;
mod fixtures;
mod jobs;
mod judges;
mod keys;
mod logging;
mod metrics;
mod models;
mod nodes;
mod noise;
mod packages;
mod postgres;
mod reading;
mod receipts;
mod record;
mod retention;
mod shadows;
mod shared;
mod stopping;
mod templates;
mod terminal;
mod tls;
