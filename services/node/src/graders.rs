//! The table of graders, which the command line, the OpenAPI document, metric labels and tests use.

use std::sync::Arc;
use std::time::Duration;

use assay_choice::ChoiceGrader;
use assay_code::CodeGrader;
use assay_core::GraderTable;
use assay_core::reward_model::RewardModels;
use assay_external::{ExternalGrader, Judges};
use assay_instructions::InstructionsGrader;
use assay_math::MathGrader;
use assay_reward_model::RewardModelGrader;
use assay_rubric::RubricGrader;
use assay_sessions::SessionGrader;
use assay_sql::SqlGrader;
use assay_structured::StructuredGrader;
use assay_text::TextGrader;
use assay_tools::ToolsGrader;

use crate::sandboxes::Sandboxes;

/// All graders of this binary, in the order in which they are listed. A new grader needs a crate, a
/// file of cases and a line here. `state_bytes` is the largest state of an interpreter session.
#[must_use]
pub fn graders(
    sandboxes: &Sandboxes,
    models: Arc<dyn RewardModels>,
    judges: Judges,
    state_bytes: u64,
) -> GraderTable {
    // As other items, logs of sessions wait for workers as long as it takes.
    let interpreters = sandboxes.interpreters(Duration::MAX);
    GraderTable::new(vec![
        Arc::new(MathGrader),
        Arc::new(CodeGrader::new(sandboxes.programs.clone())),
        Arc::new(SqlGrader::new(sandboxes.queries.clone())),
        Arc::new(ToolsGrader),
        Arc::new(StructuredGrader),
        Arc::new(TextGrader),
        Arc::new(ChoiceGrader),
        Arc::new(InstructionsGrader),
        Arc::new(RewardModelGrader::new(models)),
        Arc::new(ExternalGrader::new(judges)),
        Arc::new(RubricGrader::default()),
        Arc::new(SessionGrader::new(
            interpreters,
            state_bytes,
            sandboxes.calls(),
        )),
    ])
}
