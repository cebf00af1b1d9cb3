//! Grades a completion: finds what it selects and compares that with the right options.

use std::collections::BTreeSet;

use assay_core::grader::grade_each;
use assay_core::{BoxFuture, Evidence, Grade, GradeContext, Item, Outcome, Prepared, Verdict};

use crate::evidence;
use crate::none;
use crate::select::Shown;
use crate::task::Require;

/// A task with its options in the order in which they are shown.
pub(crate) struct PreparedChoice {
    pub(crate) shown: Shown,
    /// Positions of the right options; empty if none is right.
    pub(crate) right: BTreeSet<usize>,
    pub(crate) require: Require,
    /// Which option of the task is shown at each position, if a key shuffles them.
    pub(crate) order: Option<Vec<usize>>,
}

impl Prepared for PreparedChoice {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        grade_each(items, |item| self.grade_one(item, cx))
    }

    fn bytes(&self) -> usize {
        let texts = self.shown.texts.iter().map(String::len).sum::<usize>();
        let values = self
            .shown
            .values
            .iter()
            .flatten()
            .map(|value| value.prepared.bytes());
        size_of::<Self>() + 3 * texts + values.sum::<usize>()
    }
}

impl PreparedChoice {
    async fn grade_one(&self, item: &Item, cx: &GradeContext) -> Outcome {
        let text = item.completion.text();
        let selection = self.shown.selection(&text, &item.meta, cx).await;
        let chosen = selection.as_ref().filter(|selection| selection.is_choice());
        let verdict = match (chosen, &selection) {
            (Some(selection), _) if self.is_right(&selection.options) => Verdict::CORRECT,
            (Some(_), _) => Verdict::WRONG_ANSWER,
            (None, selection) => {
                let offers = selection
                    .as_ref()
                    .is_some_and(|found| !found.options.is_empty());
                let visible =
                    assay_extraction::reasoning::visible_text(&text, item.meta.think_open);
                match selection {
                    _ if self.right.is_empty() && !offers && none::is_stated(&visible) => {
                        Verdict::CORRECT
                    }
                    Some(_) if offers || self.right.is_empty() => Verdict::WRONG_ANSWER,
                    Some(found) if found.by == "nothing" => Verdict::WRONG_ANSWER,
                    _ => Verdict::NO_ANSWER,
                }
            }
        };
        let evidence = selection.map_or_else(Evidence::new, |selection| {
            evidence::of(
                &selection,
                &self.shown.labels,
                &self.right,
                self.order.as_deref(),
            )
        });
        let grade = Grade::all_or_nothing(verdict).with_evidence(evidence);
        Outcome::Graded(grade.with_work(text.len() as u64))
    }

    fn is_right(&self, selected: &BTreeSet<usize>) -> bool {
        match self.require {
            Require::All => *selected == self.right,
            Require::Any => selected.len() == 1 && selected.is_subset(&self.right),
        }
    }
}
