//! Routes in the formats of peers, for trainers that speak them already. One peer a file.

pub(crate) mod openrlhf;
pub(crate) mod peer;
mod reward;
pub(crate) mod sandboxfusion;
pub(crate) mod sglang;
pub(crate) mod tei;
pub(crate) mod vllm;
