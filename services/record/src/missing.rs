//! Rewards that are missing, by what is known of an item without its reward. They are counted by
//! step with the topic [`Signal`](Topic::Signal), for batches in which a reward is missing: rewards
//! that are missing at random are missing as often for each value.
//!
//! A reward is missing if the item has none and its task is not at fault.

use std::collections::{BTreeMap, HashMap};

use assay_core::Hash;
use assay_rewards::detectors::Share;

use crate::chart::{Counted, Part, SEPARATOR, Topic};
use crate::{Entry, ItemGrade, NewGrade};

/// What is known of an item without its reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Observable {
    /// The length of its completion.
    Bytes,
    /// Whether rewards of other items of its group are missing.
    Prompt,
    /// How many other items of its group that have a verdict pass.
    Neighbours,
}

impl Observable {
    /// Every observable, in the order in which they are shown.
    pub const ALL: &'static [Self] = &[Self::Bytes, Self::Prompt, Self::Neighbours];

    /// Name in the record.
    const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Prompt => "prompt",
            Self::Neighbours => "neighbours",
        }
    }
}

/// Start of the words of items whose reward is missing, and of the others.
const KINDS: [&str; 2] = ["missing", "present"];

/// Whether the reward of an item is missing.
fn is_missing(grade: &ItemGrade) -> bool {
    grade.reward.is_none() && grade.outcome != "ungradable"
}

/// Members of a group.
#[derive(Default)]
struct Group {
    missing: u64,
    judged: u64,
    passed: u64,
}

impl Counted {
    /// Counts the new grades of an entry, if one of its rewards is missing. `sizes` are the sizes
    /// of its bodies in bytes. The other items of a group are those of the entry.
    pub(crate) fn push_missing(
        &mut self,
        entry: &Entry,
        new: &[&NewGrade],
        sizes: &HashMap<Hash, u32>,
    ) {
        let all = || entry.grades.iter().map(|new| &new.row.grade);
        if !all().any(is_missing) {
            return;
        }
        let mut groups: HashMap<&str, Group> = HashMap::new();
        for grade in all() {
            let Some(name) = &grade.group else { continue };
            let group = groups.entry(name).or_default();
            let pass = grade.pass_after_appeal();
            group.missing += u64::from(is_missing(grade));
            group.judged += u64::from(pass.is_some());
            group.passed += u64::from(pass == Some(true));
        }
        for new in new {
            let grade = &new.row.grade;
            let missing = is_missing(grade);
            let group = grade.group.as_deref().and_then(|name| groups.get(name));
            let bytes = sizes.get(&new.row.source.completion_hash);
            if let Some(bytes) = bytes {
                let bits = u32::BITS - bytes.leading_zeros();
                self.observe(missing, Observable::Bytes, &bits.to_string());
            }
            let Some(group) = group else { continue };
            let others = group.missing - u64::from(missing) > 0;
            let others = if others { "others" } else { "alone" };
            self.observe(missing, Observable::Prompt, others);
            let pass = grade.pass_after_appeal();
            let judged = group.judged - u64::from(pass.is_some());
            let passed = group.passed - u64::from(pass == Some(true));
            let class = match (judged, passed) {
                (0, _) => continue,
                (_, 0) => "none",
                (judged, passed) if judged == passed => "all",
                _ => "some",
            };
            self.observe(missing, Observable::Neighbours, class);
        }
    }

    fn observe(&mut self, missing: bool, observable: Observable, value: &str) {
        let part = Part {
            grades: 1,
            ..Part::default()
        };
        let kind = KINDS[usize::from(!missing)];
        let word = [kind, observable.name(), value].join(SEPARATOR.encode_utf8(&mut [0; 4]));
        self.word(Topic::Signal, &word, &part);
    }

    /// Of the items with each value of an observable, those whose reward is missing, in batches in
    /// which a reward is missing.
    #[must_use]
    pub fn missing_by(&self, observable: Observable) -> BTreeMap<String, Share> {
        let mut found: BTreeMap<String, Share> = BTreeMap::new();
        for (word, grades) in self.values_of(Topic::Signal) {
            let parts: Vec<&str> = word.split(SEPARATOR).collect();
            let [kind, name, value] = parts[..] else {
                continue;
            };
            if name != observable.name() || !KINDS.contains(&kind) {
                continue;
            }
            let share = found.entry(value.to_owned()).or_default();
            share.of += grades;
            share.hits += if kind == KINDS[0] { grades } else { 0 };
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assay_core::clock::BatchId;

    use super::*;
    use crate::StoredGrade;

    /// Items of one group: whether each passes, or its outcome without a reward.
    fn entry(group: &[Result<bool, &'static str>]) -> Entry {
        let grades = (0..).zip(group).map(|(position, item)| {
            let text = format!("completion {position}");
            let mut stored =
                StoredGrade::passed(BatchId::default(), position, Hash::of(text.as_bytes()));
            stored.grade.group = Some("g".to_owned());
            match item {
                Ok(pass) => stored.grade.pass = Some(*pass),
                Err(outcome) => {
                    stored.grade.outcome = (*outcome).into();
                    (stored.grade.pass, stored.grade.reward) = (None, None);
                }
            }
            NewGrade::new(stored.source, &stored.grade, |_| None)
        });
        Entry {
            grades: grades.collect(),
            ..Entry::of_events(BatchId::default(), Arc::from("local"), Vec::new(), 0)
        }
    }

    fn counted(entry: &Entry) -> Counted {
        let sizes = (entry.grades.iter())
            .map(|new| (new.row.source.completion_hash, 100))
            .collect();
        let mut counted = Counted::default();
        let new: Vec<&NewGrade> = entry.grades.iter().collect();
        counted.push_missing(entry, &new, &sizes);
        counted
    }

    #[test]
    fn counts_missing_rewards_by_what_is_known_without_them() {
        let counted = counted(&entry(&[Ok(true), Ok(false), Err("failed"), Err("failed")]));
        let by = |observable| {
            let found = counted.missing_by(observable);
            let found = found
                .iter()
                .map(|(value, share)| (value.clone(), share.hits, share.of));
            found.collect::<Vec<_>>()
        };
        // 100 bytes have 7 bits.
        assert_eq!(by(Observable::Bytes), [("7".to_owned(), 2, 4)]);
        assert_eq!(by(Observable::Prompt), [("others".to_owned(), 2, 4)]);
        // Of the passing item, no other passes; of the other one, all do.
        let neighbours = [("all", 0, 1), ("none", 0, 1), ("some", 2, 2)];
        let neighbours = neighbours.map(|(value, hits, of)| (value.to_owned(), hits, of));
        assert_eq!(by(Observable::Neighbours), neighbours);
    }

    #[test]
    fn counts_nothing_if_no_reward_is_missing() {
        assert!(counted(&entry(&[Ok(true), Ok(false)])).is_empty());
        assert!(counted(&entry(&[Ok(true), Err("ungradable")])).is_empty());
        let alone = counted(&entry(&[Err("failed"), Ok(true)]));
        let prompt = alone.missing_by(Observable::Prompt);
        assert_eq!(prompt["alone"], Share { hits: 1, of: 1 });
        assert_eq!(prompt["others"], Share { hits: 0, of: 1 });
    }
}
