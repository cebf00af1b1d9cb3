//! Counts above the list of grades: how many grades that match the rest of the filter have each
//! verdict, outcome, grader and cause, or are truncated, each with a link that adds the value to
//! the filter or removes it.

use std::collections::BTreeMap;

use assay_record::chart::{Counted, GradeKind, Topic};
use assay_record::{GradeFilter, KindCounts, Record};

use crate::display::{cell, count};
use crate::failure::Result;
use crate::query::{Listing, Pairs};

/// Maximum number of listed values of a facet, the most frequent first.
const MAX_VALUES: usize = 8;

/// A property with its values.
pub(crate) struct Facet {
    pub(crate) name: &'static str,
    pub(crate) values: Vec<FacetValue>,
    /// Number of values that are not listed.
    pub(crate) left: usize,
}

pub(crate) struct FacetValue {
    pub(crate) value: String,
    pub(crate) grades: String,
    /// The list with this value added to the filter or, if it is chosen, removed.
    pub(crate) address: String,
    pub(crate) chosen: bool,
}

/// The facets of a filter, with whether they count only the newest of the grades that match.
#[derive(Default)]
pub(crate) struct Facets {
    pub(crate) list: Vec<Facet>,
    /// The number of newest grades that are counted, if more match.
    pub(crate) newest: Option<String>,
}

/// Maximum number of grades that are counted where the record has no sums.
const MAX_COUNTED: u32 = 10_000;

/// The facets of a filter; none without a filter.
///
/// A filter by run, steps and facets alone has sums in the record. Other filters are counted grade
/// by grade.
pub(crate) async fn facets(record: &Record, filter: &GradeFilter, pairs: &Pairs) -> Result<Facets> {
    // Without the filters of the facets, each of which counts the values of all others.
    let others = GradeFilter {
        grader: None,
        outcomes: Vec::new(),
        verdicts: Vec::new(),
        causes: Vec::new(),
        truncated: None,
        ..filter.clone()
    };
    let summed = GradeFilter {
        run: filter.run.clone(),
        step: filter.step,
        step_min: filter.step_min,
        step_max: filter.step_max,
        channel: filter.channel.clone(),
        ..GradeFilter::default()
    };
    if others != summed {
        // Keys of prompts are found by their runs only.
        if others.run.is_none() && others.prompt_key.is_some() {
            return Ok(Facets::default());
        }
        let counts = record.kind_counts(&others, MAX_COUNTED).await?;
        return Ok(Facets {
            list: counted(&counts.counted, filter, pairs),
            newest: newest(&counts),
        });
    }
    let Some(run) = &filter.run else {
        if *filter == GradeFilter::default() {
            return Ok(Facets::default());
        }
        // Of all grades, the newest say nothing about rare values: those that match are counted.
        let counts = record.kind_counts(filter, MAX_COUNTED).await?;
        return Ok(Facets {
            list: counted(&counts.counted, filter, pairs),
            newest: newest(&counts),
        });
    };
    // Grades without a step are counted with the smallest integer.
    let is_any = filter.step_min.or(filter.step_max).is_none();
    let lowest = if is_any { i64::MIN } else { i64::MIN + 1 };
    let (min, max) = (
        filter.step_min.unwrap_or(lowest),
        filter.step_max.unwrap_or(i64::MAX),
    );
    let steps = match filter.step {
        Some(step) => min.max(step)..=max.min(step),
        None => min..=max,
    };
    let counts = record.run_counts(run, &steps).await?;
    Ok(Facets {
        list: counted(&counts, filter, pairs),
        newest: None,
    })
}

/// The number of grades that are counted, if more match.
fn newest(counts: &KindCounts) -> Option<String> {
    let counted = counts.counted.values_of(Topic::Kind);
    let counted = counted.map(|(_, grades)| grades).sum();
    counts.more.then(|| count(counted))
}

/// The parameters of the facets, in their order.
const FACETS: [&str; 5] = ["verdict", "outcome", "grader", "truncated", "cause"];

/// Counts the values of each facet among the grades that match the other facets.
fn counted(counts: &Counted, filter: &GradeFilter, pairs: &Pairs) -> Vec<Facet> {
    let truncated = filter.truncated.map(|truncated| truncated.to_string());
    let chosen: [&[String]; 5] = [
        &filter.verdicts,
        &filter.outcomes,
        filter.grader.as_slice(),
        truncated.as_slice(),
        &filter.causes,
    ];
    let mut values = [(); 5].map(|()| BTreeMap::<&str, u64>::new());
    for (word, grades) in counts.values_of(Topic::Kind) {
        let Some(kind) = GradeKind::read(word) else {
            continue;
        };
        if filter
            .channel
            .as_deref()
            .is_some_and(|only| only != kind.channel)
        {
            continue;
        }
        let (verdict, outcome) = match kind.result {
            "failed" | "ungradable" => (None, kind.result),
            verdict => (Some(verdict), "graded"),
        };
        let truncated = if kind.truncated { "true" } else { "false" };
        let kind = [
            verdict,
            Some(outcome),
            Some(kind.grader),
            Some(truncated),
            kind.cause,
        ];
        let matches = |at: usize| {
            let chosen = chosen[at];
            chosen.is_empty() || kind[at].is_some_and(|kind| chosen.iter().any(|one| one == kind))
        };
        for (at, values) in values.iter_mut().enumerate() {
            if let Some(value) = kind[at]
                && (0..kind.len()).all(|other| other == at || matches(other))
            {
                *values.entry(value).or_default() += grades;
            }
        }
    }
    // Without a truncated completion, the facet distinguishes nothing.
    if chosen[3].is_empty() && !values[3].contains_key("true") {
        values[3].clear();
    }
    let facets = FACETS.into_iter().zip(chosen).zip(values);
    let facets = facets.map(|((name, chosen), values)| facet(name, chosen, values, pairs));
    facets.filter(|facet| !facet.values.is_empty()).collect()
}

fn facet(
    name: &'static str,
    chosen: &[String],
    values: BTreeMap<&str, u64>,
    pairs: &Pairs,
) -> Facet {
    let is_chosen = |value: &str| chosen.iter().any(|one| one == value);
    let mut values: Vec<(&str, u64)> = values.into_iter().collect();
    values.sort_by_key(|(value, grades)| (!is_chosen(value), std::cmp::Reverse(*grades)));
    let left = values.len().saturating_sub(MAX_VALUES);
    let value = |(value, grades): (&str, u64)| {
        let others = chosen
            .iter()
            .map(String::as_str)
            .filter(|one| *one != value);
        let mut selected: Vec<&str> = others.collect();
        // A filter has several verdicts, outcomes and causes, but one grader.
        if !is_chosen(value) {
            if ["grader", "truncated"].contains(&name) {
                selected.clear();
            }
            selected.push(value);
        }
        let selected = selected.join(",");
        let selected = Some(selected.as_str()).filter(|selected| !selected.is_empty());
        FacetValue {
            value: match (name, value) {
                ("truncated", "true") => "yes".to_owned(),
                ("truncated", _) => "no".to_owned(),
                _ => cell(value),
            },
            grades: count(grades),
            address: Listing::link_with(pairs, &[(name, selected), ("before", None)]),
            chosen: is_chosen(value),
        }
    };
    Facet {
        name,
        values: values.into_iter().take(MAX_VALUES).map(value).collect(),
        left,
    }
}

#[cfg(test)]
mod tests {
    use assay_record::chart::{Part, SEPARATOR};

    use super::*;

    fn counts() -> Counted {
        let mut counts = Counted::default();
        for (grader, channel, last, grades) in [
            ("math", "math/default", "correct", 5),
            ("math", "math/default", "wrong_answer", 3),
            ("math", "math/gsm", "wrong_answer", 2),
            ("code", "code/default", "correct", 1),
            ("code", "code/default", "failed", 4),
        ] {
            let kind = [grader, channel, last].join(&SEPARATOR.to_string());
            let part = Part {
                grades,
                ..Part::default()
            };
            counts.word(Topic::Kind, &kind, &part);
        }
        counts
    }

    fn with_causes() -> Counted {
        let mut counts = counts();
        for (result, truncated, cause, grades) in [
            ("wrong_answer", true, None, 7),
            ("failed", false, Some("timeout"), 2),
        ] {
            let kind = GradeKind {
                grader: "math",
                channel: "math/default",
                result,
                truncated,
                cause,
            };
            let part = Part {
                grades,
                ..Part::default()
            };
            counts.word(Topic::Kind, &kind.word(), &part);
        }
        counts
    }

    #[test]
    fn counts_truncated_completions_and_causes() {
        let counts = |query| -> Vec<String> {
            let pairs = Pairs::read(query);
            let filter = Listing::read(&pairs).unwrap().filter;
            let facets = counted(&with_causes(), &filter, &pairs).into_iter();
            let of = |facet: Facet| {
                let values = facet.values.into_iter();
                let shown = values.map(|value| format!("{} {}", value.value, value.grades));
                let shown: Vec<_> = shown.collect();
                format!("{}: {}", facet.name, shown.join(", "))
            };
            facets.map(of).collect()
        };
        assert_eq!(
            counts("run=r&truncated=true"),
            [
                "verdict: wrong_answer 7",
                "outcome: graded 7",
                "grader: math 7",
                "truncated: yes 7, no 17"
            ]
        );
        assert_eq!(
            counts("run=r&cause=timeout"),
            ["outcome: failed 2", "grader: math 2", "cause: timeout 2"]
        );
    }

    fn shown(query: &str) -> Vec<(String, String, String)> {
        let pairs = Pairs::read(query);
        let filter = Listing::read(&pairs).unwrap().filter;
        let facets = counted(&counts(), &filter, &pairs);
        let values = facets.into_iter().flat_map(|facet| facet.values);
        values
            .map(|value| (value.value, value.grades, value.address))
            .collect()
    }

    #[test]
    fn counts_values_among_the_grades_that_match_the_other_facets() {
        let counts = |query| -> Vec<String> {
            let values = shown(query).into_iter();
            values
                .map(|(value, grades, _)| format!("{value} {grades}"))
                .collect()
        };
        assert_eq!(
            counts("run=r"),
            [
                "correct 6",
                "wrong_answer 5",
                "graded 11",
                "failed 4",
                "math 10",
                "code 5"
            ]
        );
        assert_eq!(
            counts("run=r&grader=code&verdict=correct"),
            ["correct 1", "graded 1", "code 1", "math 5"]
        );
        assert_eq!(
            counts("run=r&channel=math/gsm"),
            ["wrong_answer 2", "graded 2", "math 2"]
        );
    }

    #[test]
    fn links_add_and_remove_a_value_and_start_at_the_newest_grade() {
        let link = |query: &str, value: &str| {
            let values = shown(query).into_iter();
            let mut found = values.filter(|(name, ..)| name == value);
            found.next().unwrap().2
        };
        let before = "before=00000000000000000000000007";
        assert_eq!(
            link(&format!("run=r&verdict=correct&{before}"), "wrong_answer"),
            "/ui/grades?run=r&verdict=correct%2Cwrong_answer"
        );
        assert_eq!(link("run=r&verdict=correct", "correct"), "/ui/grades?run=r");
        assert_eq!(
            link("run=r&grader=math", "code"),
            "/ui/grades?run=r&grader=code"
        );
    }
}
