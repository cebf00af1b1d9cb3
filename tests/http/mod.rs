//! The service over HTTP, as trainers and operators use it.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod access;
mod alerts;
mod audit;
mod bodies;
mod checks;
mod comments;
mod connections;
mod contract;
mod dashboards;
mod digits;
mod filled;
mod fixtures;
mod grading;
mod images;
mod interpreters;
mod jobs;
mod judges;
mod keys;
mod limits;
mod lists;
mod models;
mod names;
mod noise;
mod pages;
mod piston;
mod programs;
mod proxied;
mod quotas;
mod reading;
mod repeating;
mod reward_models;
mod runs;
mod searching;
mod sessions;
mod shapes;
mod sharing;
mod storage;
mod stored;
mod templates;
mod texts;
mod tls;
mod trainers;
mod verifier;
mod workers;
