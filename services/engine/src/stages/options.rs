//! The parameters of a run of the pipeline.

use assay_core::BatchId;
use assay_record::Record;

use crate::idempotency::IdempotentRequest;
use crate::reply::Mode;

/// The parameters of one run of the pipeline, other than the batch.
pub(crate) struct PipelineOptions<'a> {
    pub(crate) id: BatchId,
    pub(crate) mode: &'a Mode,
    pub(crate) keyed: Option<&'a IdempotentRequest>,
    pub(crate) record: Option<&'a Record>,
    pub(crate) use_cache: bool,
    /// Whether the caller uses the rewards. A replay and a check of a dataset use only verdicts.
    pub(crate) has_rewards: bool,
}
