//! JSON types for the reply to a batch, except its grades.

use std::borrow::Cow;

use assay_core::Fault;
use assay_record::{GroupResult, ItemGrade};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Warning;

/// Reply to a batch.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GradeReply<'a> {
    /// Id of the batch, a ULID.
    pub batch: String,
    /// One result for each item, in the order of the items.
    pub results: Vec<ItemGrade>,
    /// One entry for each group, in the order in which the groups first appear.
    pub groups: Vec<GroupResult>,
    /// One entry for each channel, in the order in which the channels first appear.
    #[schema(value_type = Vec<ChannelBody>)]
    pub channels: Vec<ChannelBody<'a>>,
    /// Defects of the request that did not cause its rejection.
    #[schema(value_type = Vec<Warning>)]
    pub warnings: Cow<'a, [Warning]>,
}

/// Error rates of one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChannelBody<'a> {
    /// Grader and task family.
    #[schema(value_type = String)]
    pub channel: Cow<'a, str>,
    /// False-positive rate; null if not known.
    pub rho0: Option<f64>,
    /// False-negative rate; null if not known.
    pub rho1: Option<f64>,
    /// 1 - rho0 - rho1; null if not known.
    pub j: Option<f64>,
    /// 95 % interval of `rho0`: lower and upper bound.
    pub rho0_interval: Option<[f64; 2]>,
    /// 95 % interval of `rho1`.
    pub rho1_interval: Option<[f64; 2]>,
    /// 95 % interval of `j`.
    pub j_interval: Option<[f64; 2]>,
    /// Whether the rates are those after appeals and audits with binding verdicts.
    pub after_appeals: bool,
    /// Why scores of the channel are not corrected; null if they can be.
    pub uncorrected: Option<String>,
}

/// Number of items of a batch by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Counts {
    /// Number of items.
    pub items: usize,
    /// Of those, graded.
    pub graded: usize,
    /// Of those, ungradable.
    pub ungradable: usize,
    /// Of those, failed.
    pub failed: usize,
}

/// One line of a streamed reply.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamLine<'a> {
    /// An item is done. Lines are in the order in which items finish; fields that need the whole
    /// group are null.
    Result(Box<ItemGrade>),
    /// A group is done.
    Group(GroupResult),
    /// A channel of the batch.
    Channel(ChannelBody<'a>),
    /// A defect of the request that did not cause its rejection.
    Warning(Warning),
    /// The stream failed and will not send `end`.
    Error {
        /// The reason.
        error: Fault,
    },
    /// The batch is done. A stream without this line is incomplete.
    End {
        /// Id of the batch.
        batch: String,
        /// Number of items by outcome.
        counts: Counts,
    },
}
