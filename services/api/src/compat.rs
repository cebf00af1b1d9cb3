//! Routes in the formats of peers, for trainers that speak them already. One peer a file.

pub(crate) mod sandboxfusion;
