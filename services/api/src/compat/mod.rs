//! Routes in the formats of other servers, so that their clients work unchanged. One server per
//! file.

mod codeforces;
pub(crate) mod e2b;
mod grading;
mod interpreter;
mod ioi;
pub(crate) mod jupyter;
pub(crate) mod mcp;
pub(crate) mod nemo_gym;
pub(crate) mod openrlhf;
pub(crate) mod peer;
pub(crate) mod peer_error;
pub(crate) mod piston;
mod programs;
mod reward;
pub(crate) mod sandboxfusion;
pub(crate) mod scalebox;
pub(crate) mod sglang;
pub(crate) mod tei;
pub(crate) mod verl_tool;
pub(crate) mod vllm;
