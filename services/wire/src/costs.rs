//! JSON types for what items cost.

use assay_record::StoredGrade;
use assay_record::cost::CostRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What items cost, by run, caller and grader, those with the most grading time first.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CostsBody {
    /// By run; the name is null for items without one.
    pub runs: Vec<CostRow>,
    /// By caller.
    pub callers: Vec<CostRow>,
    /// By grader.
    pub graders: Vec<CostRow>,
    /// The slowest grades, slowest first, at most fifty of each run and grader.
    pub slowest: Vec<StoredGrade>,
}
