//! Facets: which batches contain grades with some property. Writes the facets of new grades, and
//! determines the facets that a filter requires.
//!
//! Facets only limit the batches in which a list looks for grades; every grade is still compared
//! with the filter.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::BatchId;

use super::insert::{Delete, Insert, look_up};
use super::keys::{KindTotals, NO_RUN};
use super::rows::id_bytes;
use crate::GradeFilter;
use crate::StoredGrade;
use crate::access::LOCAL_CALLER;
use crate::database::DatabaseError;
use crate::database::sql::Connection;

/// The number that means any run.
pub(super) const ANY_RUN: i64 = 0;

const INSERT: Insert = Insert {
    prefix: "insert into facets (facet, run, batch)",
    columns: 3,
    suffix: "on conflict do nothing",
};

const DELETE: Delete = Delete {
    prefix: "delete from facets where",
    key: &["facet", "run", "batch"],
};

/// Classes of scores: 0, the tenths between 0 and 1, and 1. Most scores are 0 or 1, so the classes
/// between them are rare and have a common facet as well.
const SCORE_CLASSES: [&str; 12] = [
    "0", ".0", ".1", ".2", ".3", ".4", ".5", ".6", ".7", ".8", ".9", "1",
];
const BETWEEN: &str = "between";

/// The value of a property that grades have or do not have.
const YES: &str = "yes";
const LAST_CLASS: usize = SCORE_CLASSES.len() - 1;

/// The text of a facet in the table.
fn name(property: &str, value: &str) -> String {
    format!("{property}={value}")
}

fn score_class(score: f64) -> usize {
    if score <= 0.0 {
        return 0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and 10"
    )]
    if score < 1.0 {
        1 + ((score * 10.0) as usize).min(9)
    } else {
        LAST_CLASS
    }
}

/// Writes the facets of new grades: those of their kinds from `sums`, and those of groups and
/// scores from the grades, which come with the number of their run.
pub(super) async fn insert<'g>(
    connection: &mut Connection,
    sums: &[KindTotals<'_>],
    grades: impl Iterator<Item = (i64, &'g StoredGrade)>,
) -> Result<(), DatabaseError> {
    let mut facets: BTreeSet<(&str, &str, i64, BatchId)> = BTreeSet::new();
    let mut add = |name, value, run, batch| {
        facets.insert((name, value, ANY_RUN, batch));
        if run != NO_RUN {
            facets.insert((name, value, run, batch));
        }
    };
    for (batch, kind, _) in sums {
        let (run, id) = (batch.run, batch.entry.batch);
        // Without keys, all batches have the same caller, and the facet would distinguish nothing.
        let caller = batch.entry.caller.as_ref();
        if caller != LOCAL_CALLER {
            add("caller", caller, run, id);
        }
        add("channel", kind.channel, run, id);
        add("grader", kind.grader, run, id);
        if kind.outcome != "graded" {
            add("outcome", kind.outcome, run, id);
        }
        if let Some(verdict) = kind.verdict {
            add("verdict", verdict, run, id);
        }
        if let Some(appeal) = kind.appeal {
            add("appeal", appeal, run, id);
        }
        if let Some(cause) = kind.cause {
            add("cause", cause, run, id);
        }
        if kind.truncated {
            add("truncated", YES, run, id);
        }
    }
    let mut groups: Vec<(&str, BatchId)> = Vec::new();
    let mut scores: BTreeMap<(i64, BatchId), [bool; SCORE_CLASSES.len()]> = BTreeMap::new();
    for (run, stored) in grades {
        if let Some(group) = stored.grade.group.as_deref()
            // Members of a group are adjacent.
            && groups.last() != Some(&(group, stored.source.batch))
        {
            groups.push((group, stored.source.batch));
        }
        if let Some(score) = stored.grade.score {
            scores.entry((run, stored.source.batch)).or_default()[score_class(score)] = true;
        }
    }
    for ((run, batch), classes) in scores {
        for (at, _) in classes.iter().enumerate().filter(|(_, present)| **present) {
            add("score", SCORE_CLASSES[at], run, batch);
            if at != 0 && at != LAST_CLASS {
                add("score", BETWEEN, run, batch);
            }
        }
    }
    // Only for any run: a group has few batches, and `batches` has their runs.
    facets.extend(
        groups
            .into_iter()
            .map(|(group, batch)| ("group", group, ANY_RUN, batch)),
    );
    let facets: Vec<_> = facets.into_iter().collect();
    INSERT
        .run(
            connection,
            &facets,
            |values, (property, value, run, batch)| {
                values
                    .add(name(property, value))
                    .add(*run)
                    .add(id_bytes(*batch));
            },
        )
        .await?;
    Ok(())
}

/// The facets of grades that are deleted.
#[derive(Default)]
pub(super) struct DeletedFacets {
    /// By batch and its run, kinds.
    kinds: BTreeMap<(BatchId, i64), BTreeSet<i64>>,
    /// Names, with the batch and its run.
    facets: BTreeSet<(String, i64, BatchId)>,
}

impl DeletedFacets {
    /// Adds those that all grades of a batch have.
    pub(super) fn add_batch(&mut self, batch: (BatchId, i64), caller: &str) {
        if caller != LOCAL_CALLER {
            self.add_name(batch, "caller", caller);
        }
    }

    /// Adds those of a grade of a batch with this run.
    pub(super) fn add(
        &mut self,
        (batch, run): (BatchId, i64),
        kind: i64,
        group: Option<&str>,
        score: Option<f64>,
    ) {
        self.kinds.entry((batch, run)).or_default().insert(kind);
        if let Some(group) = group {
            self.facets.insert((name("group", group), ANY_RUN, batch));
        }
        if let Some(score) = score {
            let class = score_class(score);
            self.add_name((batch, run), "score", SCORE_CLASSES[class]);
            if class != 0 && class != LAST_CLASS {
                self.add_name((batch, run), "score", BETWEEN);
            }
        }
    }

    fn add_name(&mut self, (batch, run): (BatchId, i64), property: &str, value: &str) {
        for run in [ANY_RUN, run] {
            self.facets.insert((name(property, value), run, batch));
        }
    }

    /// Deletes them.
    pub(super) async fn delete(mut self, connection: &mut Connection) -> Result<(), DatabaseError> {
        const PROPERTIES: [&str; 6] =
            ["channel", "grader", "outcome", "verdict", "appeal", "cause"];
        let kinds: BTreeSet<i64> = self.kinds.values().flatten().copied().collect();
        let kinds: Vec<i64> = kinds.into_iter().collect();
        let select = "select no, channel, grader, outcome, verdict, appeal, cause, truncated \
                      from kinds where no in";
        let rows = look_up(connection, select, &kinds).await?;
        let mut properties: BTreeMap<i64, Vec<(&str, String)>> = BTreeMap::new();
        for row in &rows {
            let of_kind = properties.entry(row.try_get("no")?).or_default();
            for property in PROPERTIES {
                let value: Option<String> = row.try_get(property)?;
                of_kind.extend(value.map(|value| (property, value)));
            }
            if row.try_get("truncated")? {
                of_kind.push(("truncated", YES.to_owned()));
            }
        }
        for (batch, kinds) in std::mem::take(&mut self.kinds) {
            for (property, value) in kinds.iter().filter_map(|no| properties.get(no)).flatten() {
                self.add_name(batch, property, value);
            }
        }
        let facets: Vec<_> = self.facets.into_iter().collect();
        DELETE
            .run(connection, &facets, |values, (facet, run, batch)| {
                values.add(facet.as_str()).add(*run).add(id_bytes(*batch));
            })
            .await
    }
}

/// The facets that a batch must have to contain a grade that matches a filter.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RequiredFacets {
    /// All of these, the rarest first, with their run.
    pub(super) all_of: Vec<(String, i64)>,
    /// One of each of these, with the filter's run.
    pub(super) any_of: Vec<Vec<String>>,
    /// Whether no batch can match.
    pub(super) matches_nothing: bool,
}

/// The facets that a filter requires; `run` is the number of its run, or [`ANY_RUN`].
pub(super) fn required(filter: &GradeFilter, run: i64) -> RequiredFacets {
    let mut required = RequiredFacets::default();
    if let Some(group) = &filter.group {
        required.all_of.push((name("group", group), ANY_RUN));
    }
    // Most batches contain graded items, so that outcome has no facet.
    if filter.outcomes.iter().all(|outcome| outcome != "graded") {
        required.add_one_of("outcome", &filter.outcomes, run);
    }
    required.add_one_of("appeal", &filter.appeals, run);
    required.add_one_of("cause", &filter.causes, run);
    if filter.truncated == Some(true) {
        required.all_of.push((name("truncated", YES), run));
    }
    add_scores(&mut required, filter, run);
    if filter.caller.as_deref() != Some(LOCAL_CALLER) {
        required.add_one_of("caller", filter.caller.as_slice(), run);
    }
    required.add_one_of("verdict", &filter.verdicts, run);
    required.add_one_of("channel", filter.channel.as_slice(), run);
    required.add_one_of("grader", filter.grader.as_slice(), run);
    required
}

impl RequiredFacets {
    /// Adds the facets of the values that a filter accepts; none if it accepts any value.
    fn add_one_of(&mut self, property: &str, values: &[String], run: i64) {
        match values {
            [] => {}
            [value] => self.all_of.push((name(property, value), run)),
            values => {
                let names = values.iter().map(|value| name(property, value));
                self.any_of.push(names.collect());
            }
        }
    }
}

fn add_scores(required: &mut RequiredFacets, filter: &GradeFilter, run: i64) {
    if filter.score_min.is_none() && filter.score_max.is_none() {
        return;
    }
    let (min, max) = (
        filter.score_min.unwrap_or(0.0),
        filter.score_max.unwrap_or(1.0),
    );
    let (first, last) = (score_class(min), score_class(max));
    let score = |value| name("score", value);
    if min > max {
        required.matches_nothing = true;
    } else if first == last {
        required.all_of.push((score(SCORE_CLASSES[first]), run));
    } else if first > 0 && last < LAST_CLASS {
        required.all_of.push((score(BETWEEN), run));
        let classes = SCORE_CLASSES[first..=last].iter();
        required
            .any_of
            .push(classes.map(|value| score(value)).collect());
    } else if first > 0 || last < LAST_CLASS {
        let end = if first > 0 {
            SCORE_CLASSES[LAST_CLASS]
        } else {
            SCORE_CLASSES[0]
        };
        required.any_of.push(vec![score(end), score(BETWEEN)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn required_for(min: Option<f64>, max: Option<f64>) -> RequiredFacets {
        required(
            &GradeFilter {
                score_min: min,
                score_max: max,
                ..GradeFilter::default()
            },
            7,
        )
    }

    #[test]
    fn classifies_scores() {
        let classes = [-0.0, 0.0, 1e-9, 0.1, 0.35, 0.999_999, 1.0]
            .map(|score| SCORE_CLASSES[score_class(score)]);
        assert_eq!(classes, ["0", "0", ".0", ".1", ".3", ".9", "1"]);
    }

    #[test]
    fn a_range_of_scores_requires_its_classes() {
        assert_eq!(required_for(None, None), RequiredFacets::default());
        assert_eq!(required_for(Some(0.0), None), RequiredFacets::default());
        assert_eq!(
            required_for(Some(1.0), None).all_of,
            [("score=1".to_owned(), 7)]
        );
        assert_eq!(
            required_for(Some(0.31), Some(0.39)).all_of,
            [("score=.3".to_owned(), 7)]
        );
        let middle = required_for(Some(0.31), Some(0.5));
        assert_eq!(middle.all_of, [("score=between".to_owned(), 7)]);
        assert_eq!(middle.any_of, [["score=.3", "score=.4", "score=.5"]]);
        assert_eq!(
            required_for(Some(0.1), None).any_of,
            [["score=1", "score=between"]]
        );
        assert_eq!(
            required_for(None, Some(0.9)).any_of,
            [["score=0", "score=between"]]
        );
        assert!(required_for(Some(0.5), Some(0.4)).matches_nothing);
    }

    #[test]
    fn sorts_facets_by_rarity_and_ignores_the_run_for_groups() {
        let text = |text: &str| Some(text.to_owned());
        let filter = GradeFilter {
            group: text("p1"),
            verdicts: vec!["correct".to_owned()],
            outcomes: vec!["graded".to_owned()],
            grader: text("math"),
            ..GradeFilter::default()
        };
        let names = [
            ("group=p1", ANY_RUN),
            ("verdict=correct", 7),
            ("grader=math", 7),
        ];
        assert_eq!(
            required(&filter, 7).all_of,
            names.map(|(name, run)| (name.to_owned(), run))
        );
        let several = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let filter = GradeFilter {
            outcomes: several(&["failed", "graded"]),
            verdicts: several(&["wrong_answer", "no_answer"]),
            ..GradeFilter::default()
        };
        let required = required(&filter, 7);
        assert!(required.all_of.is_empty());
        assert_eq!(
            required.any_of,
            [["verdict=wrong_answer", "verdict=no_answer"]]
        );
    }
}
