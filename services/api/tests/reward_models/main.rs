//! Reward models over HTTP, with a model that answers by rule: the API's own routes, and those of
//! other servers as their clients ask them.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod fixtures;
mod loading;
mod openrlhf;
mod pairs;
mod scoring;
mod sglang;
mod store;
mod tei;
mod vllm;
