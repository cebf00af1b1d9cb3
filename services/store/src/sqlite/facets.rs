//! Responsible for facets, which say what batches hold: writing those of new grades, and which ones
//! a filter asks for.
//!
//! A facet never decides whether a grade is listed, only which batches are looked into.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::BatchId;
use assay_core::record::GradeRecord;
use assay_core::store::GradeFilter;
use sqlx::sqlite::SqliteConnection;

use super::apply::{NO_RUN, Sum};
use super::insert::Insert;
use super::rows::id_bytes;
use crate::database::DatabaseError;

/// How a run is written where any is meant.
pub(super) const ANY_RUN: i64 = 0;

const INSERT: Insert = Insert {
    into: "insert or ignore into facets (facet, run, batch)",
    columns: 3,
    then: "",
};

/// Classes of scores: 0, the tenths between, and 1. Most scores are 0 or 1, so those between are
/// rare and have a name together.
const SCORES: [&str; 12] = [
    "0", ".0", ".1", ".2", ".3", ".4", ".5", ".6", ".7", ".8", ".9", "1",
];
const BETWEEN: &str = "between";
const LAST: usize = SCORES.len() - 1;

/// How a facet is written in its table.
fn name(of: &str, value: &str) -> String {
    format!("{of}={value}")
}

fn class(score: f64) -> usize {
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
        LAST
    }
}

/// Writes the facets of new grades: what their kinds say from `sums`, groups and scores from the
/// grades with the numbers of their runs.
pub(super) async fn insert<'g>(
    connection: &mut SqliteConnection,
    sums: &[Sum<'_>],
    grades: impl Iterator<Item = (i64, &'g GradeRecord)>,
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
    }
    let mut groups: Vec<(&str, BatchId)> = Vec::new();
    let mut scores: BTreeMap<(i64, BatchId), [bool; SCORES.len()]> = BTreeMap::new();
    for (run, grade) in grades {
        if let Some(group) = grade.group.as_deref()
            // Members of a group stand side by side.
            && groups.last() != Some(&(group, grade.batch))
        {
            groups.push((group, grade.batch));
        }
        if let Some(score) = grade.score {
            scores.entry((run, grade.batch)).or_default()[class(score)] = true;
        }
    }
    for ((run, batch), classes) in scores {
        for (at, _) in classes.iter().enumerate().filter(|(_, there)| **there) {
            add("score", SCORES[at], run, batch);
            if at != 0 && at != LAST {
                add("score", BETWEEN, run, batch);
            }
        }
    }
    // Once for any run: a group's batches are few, and their runs stand in `batches`.
    facets.extend(
        groups
            .into_iter()
            .map(|(group, batch)| ("group", group, ANY_RUN, batch)),
    );
    let facets: Vec<_> = facets.into_iter().collect();
    INSERT
        .run(connection, &facets, |values, (of, value, run, batch)| {
            values.add(name(of, value)).add(*run).add(id_bytes(*batch));
        })
        .await?;
    Ok(())
}

/// What batches must hold for a filter to keep a grade of them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Wanted {
    /// Each of these, the rarest first, with the run it stands under.
    pub(super) all: Vec<(String, i64)>,
    /// One of these, under the filter's run; empty where that narrows nothing.
    pub(super) any: Vec<String>,
    /// No batch holds what is asked for.
    pub(super) nothing: bool,
}

/// The facets of a filter; `run` is the number of its run, or stands for any.
pub(super) fn wanted(filter: &GradeFilter, run: i64) -> Wanted {
    let mut wanted = Wanted::default();
    if let Some(group) = &filter.group {
        wanted.all.push((name("group", group), ANY_RUN));
    }
    let outcome = filter
        .outcome
        .as_ref()
        .filter(|outcome| *outcome != "graded");
    for (of, value) in [("outcome", outcome), ("appeal", filter.appeal.as_ref())] {
        wanted.all.extend(value.map(|value| (name(of, value), run)));
    }
    add_scores(&mut wanted, filter, run);
    for (of, value) in [
        ("verdict", &filter.verdict),
        ("channel", &filter.channel),
        ("grader", &filter.grader),
    ] {
        wanted
            .all
            .extend(value.as_ref().map(|value| (name(of, value), run)));
    }
    wanted
}

fn add_scores(wanted: &mut Wanted, filter: &GradeFilter, run: i64) {
    if filter.score_min.is_none() && filter.score_max.is_none() {
        return;
    }
    let (min, max) = (
        filter.score_min.unwrap_or(0.0),
        filter.score_max.unwrap_or(1.0),
    );
    let (first, last) = (class(min), class(max));
    let score = |value| name("score", value);
    if min > max {
        wanted.nothing = true;
    } else if first == last {
        wanted.all.push((score(SCORES[first]), run));
    } else if first > 0 && last < LAST {
        wanted.all.push((score(BETWEEN), run));
        wanted.any = SCORES[first..=last]
            .iter()
            .map(|value| score(value))
            .collect();
    } else if first > 0 || last < LAST {
        let end = if first > 0 { SCORES[LAST] } else { SCORES[0] };
        wanted.any = vec![score(end), score(BETWEEN)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(min: Option<f64>, max: Option<f64>) -> Wanted {
        wanted(
            &GradeFilter {
                score_min: min,
                score_max: max,
                ..GradeFilter::default()
            },
            7,
        )
    }

    #[test]
    fn scores_fall_into_their_classes() {
        let classes =
            [-0.0, 0.0, 1e-9, 0.1, 0.35, 0.999_999, 1.0].map(|score| SCORES[class(score)]);
        assert_eq!(classes, ["0", "0", ".0", ".1", ".3", ".9", "1"]);
    }

    #[test]
    fn a_range_asks_for_the_classes_it_meets() {
        assert_eq!(of(None, None), Wanted::default());
        assert_eq!(of(Some(0.0), None), Wanted::default());
        assert_eq!(of(Some(1.0), None).all, [("score=1".to_owned(), 7)]);
        assert_eq!(of(Some(0.31), Some(0.39)).all, [("score=.3".to_owned(), 7)]);
        let middle = of(Some(0.31), Some(0.5));
        assert_eq!(middle.all, [("score=between".to_owned(), 7)]);
        assert_eq!(middle.any, ["score=.3", "score=.4", "score=.5"]);
        assert_eq!(of(Some(0.1), None).any, ["score=1", "score=between"]);
        assert_eq!(of(None, Some(0.9)).any, ["score=0", "score=between"]);
        assert!(of(Some(0.5), Some(0.4)).nothing);
    }

    #[test]
    fn the_rarest_leads_and_a_group_stands_under_any_run() {
        let text = |text: &str| Some(text.to_owned());
        let filter = GradeFilter {
            group: text("p1"),
            verdict: text("correct"),
            outcome: text("graded"),
            grader: text("math"),
            ..GradeFilter::default()
        };
        let names = [
            ("group=p1", ANY_RUN),
            ("verdict=correct", 7),
            ("grader=math", 7),
        ];
        assert_eq!(
            wanted(&filter, 7).all,
            names.map(|(name, run)| (name.to_owned(), run))
        );
    }
}
