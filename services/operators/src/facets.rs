//! Counts above the list of grades: how many grades of the run and steps of a filter have each
//! verdict, outcome and grader, each with a link that adds the value to the filter or removes it.

use std::collections::BTreeMap;

use assay_record::chart::{Counted, SEPARATOR, Topic};
use assay_record::{GradeFilter, Record};

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

/// The facets of a filter with a run; none for other filters, for which there are no sums.
pub(crate) async fn facets(
    record: &Record,
    filter: &GradeFilter,
    pairs: &Pairs,
) -> Result<Vec<Facet>> {
    let Some(run) = &filter.run else {
        return Ok(Vec::new());
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
    Ok(counted(
        &record.run_counts(run, &steps).await?,
        filter,
        pairs,
    ))
}

/// Counts the values of each facet among the grades that match the other facets.
fn counted(counts: &Counted, filter: &GradeFilter, pairs: &Pairs) -> Vec<Facet> {
    let chosen = [
        ("verdict", &*filter.verdicts),
        ("outcome", &*filter.outcomes),
        ("grader", filter.grader.as_slice()),
    ];
    let mut values = [(); 3].map(|()| BTreeMap::<&str, u64>::new());
    for (kind, grades) in counts.values_of(Topic::Kind) {
        let mut parts = kind.split(SEPARATOR);
        let (Some(grader), Some(channel), Some(last)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if filter
            .channel
            .as_deref()
            .is_some_and(|only| only != channel)
        {
            continue;
        }
        let kind = match last {
            "failed" | "ungradable" => [None, Some(last), Some(grader)],
            verdict => [Some(verdict), Some("graded"), Some(grader)],
        };
        let matches = |at: usize| {
            let (_, chosen) = chosen[at];
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
    let facets = chosen.into_iter().zip(values);
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
        // A filter has several verdicts and outcomes, but one grader.
        if !is_chosen(value) {
            if name == "grader" {
                selected.clear();
            }
            selected.push(value);
        }
        let selected = selected.join(",");
        let selected = Some(selected.as_str()).filter(|selected| !selected.is_empty());
        FacetValue {
            value: cell(value),
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
    use assay_record::chart::Part;

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
