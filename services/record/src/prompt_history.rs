//! History of prompts over the steps of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_rewards::Visit;

use crate::StoredGrade;

/// Visits by run, prompt and step.
pub type Visits = BTreeMap<(Arc<str>, String, Option<i64>), Visit>;

/// Adds grades to their visits. Grades without a run or a prompt key are ignored.
pub fn add_grades<'g>(visits: &mut Visits, grades: impl IntoIterator<Item = &'g StoredGrade>) {
    for stored in grades {
        let (Some(run), Some(prompt)) = (&stored.source.run, &stored.grade.prompt_key) else {
            continue;
        };
        let step = stored.source.step;
        let visit = visits
            .entry((Arc::clone(run), prompt.clone(), step))
            .or_insert_with(|| Visit {
                step,
                ..Visit::default()
            });
        if let Some(pass) = stored.grade.pass_after_appeal() {
            visit.add(&Visit {
                judged: 1,
                passes: u32::from(pass),
                ..Visit::default()
            });
        }
        if let Some(reward) = stored.grade.reward {
            visit.add_reward(reward);
        }
    }
}
