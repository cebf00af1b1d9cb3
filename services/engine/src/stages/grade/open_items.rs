//! The items of a batch that are not finished, with their units that are.

use super::unit::GradedUnit;

/// The items that lack units.
pub(super) struct OpenItems {
    /// By position; `None` once the item is finished.
    items: Vec<Option<OpenItem>>,
    open: usize,
}

struct OpenItem {
    units: usize,
    graded: Vec<GradedUnit>,
}

impl OpenItems {
    /// Items with these numbers of units.
    pub(super) fn new(units: impl Iterator<Item = usize>) -> Self {
        let items: Vec<_> = units
            .map(|units| {
                Some(OpenItem {
                    units,
                    graded: Vec::new(),
                })
            })
            .collect();
        Self {
            open: items.len(),
            items,
        }
    }

    /// The number of items that are not finished.
    pub(super) fn len(&self) -> usize {
        self.open
    }

    /// Whether every item is finished.
    pub(super) fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// Whether the item is open and this unit of it is not graded.
    pub(super) fn lacks(&self, item: usize, part: usize) -> bool {
        let open = self.items.get(item).and_then(Option::as_ref);
        open.is_some_and(|item| item.graded.iter().all(|unit| unit.part != part))
    }

    /// Adds a graded unit. Returns the units of its item in their order if it was the last one.
    pub(super) fn add(&mut self, unit: GradedUnit) -> Option<Vec<GradedUnit>> {
        let slot = self.items.get_mut(unit.item)?;
        let item = slot.as_mut()?;
        item.graded.reserve_exact(item.units - item.graded.len());
        item.graded.push(unit);
        if item.graded.len() < item.units {
            return None;
        }
        self.open -= 1;
        let mut units = slot.take()?.graded;
        units.sort_by_key(|unit| unit.part);
        Some(units)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use assay_core::{Lane, Spec};

    use super::super::run::not_graded;
    use super::*;

    const SPEC: &Spec = &Spec {
        name: "exact",
        version: 1,
        summary: "for tests",
        lane: Lane::Cpu,
        task_schema: "{}",
        example_task: "{}",
        example_completion: "",
        verdicts: &[],
        measures: &[],
        deterministic: true,
        reads_context: false,
        max_batch: 1,
        work_unit: "comparisons",
    };

    fn unit(item: usize, part: usize) -> GradedUnit {
        GradedUnit {
            item,
            part,
            spec: SPEC,
            outcome: not_graded(),
            cached: false,
            queue_us: 0,
            grade_us: 0,
            charged: Duration::ZERO,
            time_us: 0,
        }
    }

    #[test]
    fn finished_items_lack_nothing_and_finish_once() {
        let mut open = OpenItems::new([1, 2].into_iter());
        assert!(open.lacks(0, 0) && open.lacks(1, 1));
        assert!(open.add(unit(0, 0)).is_some());
        assert!(!open.lacks(0, 0), "the item was returned");
        assert!(open.add(unit(0, 0)).is_none(), "it is returned once");
        assert!(open.add(unit(1, 1)).is_none());
        assert!(open.lacks(1, 0) && !open.lacks(1, 1) && !open.is_empty());
        let units = open.add(unit(1, 0)).expect("the last unit");
        assert_eq!(
            units.iter().map(|unit| unit.part).collect::<Vec<_>>(),
            [0, 1]
        );
        assert!(open.is_empty());
    }
}
