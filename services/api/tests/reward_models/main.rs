//! Reward models over HTTP, with fake models: the API's own routes, and the routes of other servers
//! with the requests of their clients. Also the ids of requests.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod fixtures;
mod loading;
mod openrlhf;
mod pairs;
mod request_ids;
mod scoring;
mod sglang;
mod tei;
mod vllm;
