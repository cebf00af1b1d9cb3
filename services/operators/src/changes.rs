//! Shows how two sets of grades differ: totals side by side, what contributes to the difference of
//! the rewards, and the prompts that flipped.

use assay_review::comparison::{ComparedGrades, ComparedPart, Comparison, Difference, PartBody};

use crate::chart::{Svg, bar};
use crate::display::{bytes, cell, count, number, optional_number, percent};
use crate::query::link;

/// Maximum number of listed parts of a topic; the others contribute less.
const MAX_PARTS: usize = 8;

/// A comparison as a page shows it.
pub(crate) struct Changes {
    /// The result in one sentence.
    pub(crate) sentence: String,
    pub(crate) totals: Vec<Total>,
    pub(crate) topics: Vec<TopicRows>,
    /// Numbers of prompts: in both sets, gained, lost.
    pub(crate) common: String,
    pub(crate) gained: String,
    pub(crate) lost: String,
    pub(crate) prompts: Vec<PromptRow>,
}

/// A total of both sets.
pub(crate) struct Total {
    pub(crate) name: &'static str,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) difference: String,
    /// Whether the interval of the difference excludes 0.
    pub(crate) clear: bool,
}

/// The parts of a topic.
pub(crate) struct TopicRows {
    pub(crate) name: String,
    pub(crate) parts: Vec<PartRow>,
    /// Number of parts that are not listed.
    pub(crate) left: usize,
}

pub(crate) struct PartRow {
    pub(crate) value: String,
    /// The grades of this part in the second set.
    pub(crate) address: Option<String>,
    pub(crate) a_share: String,
    pub(crate) b_share: String,
    pub(crate) a_reward: String,
    pub(crate) b_reward: String,
    pub(crate) contribution: String,
    pub(crate) bar: Svg,
}

pub(crate) struct PromptRow {
    pub(crate) key: String,
    /// The grades of the prompt in the second set.
    pub(crate) address: String,
    pub(crate) a: String,
    pub(crate) b: String,
}

impl Changes {
    pub(crate) fn of(comparison: &Comparison) -> Self {
        let (a, b) = (&comparison.a, &comparison.b);
        let prompts = &comparison.prompts;
        let rate = |passes, judged| format!("{} of {}", count(passes), count(judged));
        Self {
            sentence: sentence(comparison),
            totals: totals(comparison),
            topics: topics(&comparison.parts, b),
            common: count(prompts.common),
            gained: count(prompts.gained),
            lost: count(prompts.lost),
            prompts: (prompts.flipped.iter())
                .map(|prompt| PromptRow {
                    key: cell(&prompt.prompt_key),
                    address: grades_of(b, "prompt_key", &prompt.prompt_key),
                    a: rate(prompt.a_passes, prompt.a_judged),
                    b: rate(prompt.b_passes, prompt.b_judged),
                })
                .collect(),
        }
        .without_topics_of_empty_sets(a, b)
    }

    /// Drops the topics if either set has no grades: there is nothing to attribute.
    fn without_topics_of_empty_sets(mut self, a: &ComparedGrades, b: &ComparedGrades) -> Self {
        if a.grades == 0 || b.grades == 0 {
            self.topics.clear();
        }
        self
    }
}

fn sentence(comparison: &Comparison) -> String {
    let Some(reward) = comparison.reward else {
        return "A or B has no rewards.".to_owned();
    };
    let interval = format!(
        "95 % interval {} to {}",
        signed(reward.low),
        signed(reward.high)
    );
    if !reward.is_clear() {
        return format!(
            "The mean rewards do not differ clearly: {} ({interval}).",
            signed(reward.value)
        );
    }
    let direction = if reward.value > 0.0 {
        "higher"
    } else {
        "lower"
    };
    let mut sentence = format!(
        "The mean reward of B is {} {direction} ({interval}).",
        number(reward.value.abs())
    );
    let main = (comparison.parts.iter()).find(|part| {
        part.topic == "verdict"
            && (part.contribution).is_some_and(|share| share * reward.value > 0.0)
    });
    if let Some(part) = main {
        sentence.push_str(&format!(
            " Of the verdicts, `{}` contributes most: {} of the grades of B, {} of those of A.",
            cell(&part.value),
            share(&part.b),
            share(&part.a)
        ));
    }
    sentence
}

fn totals(comparison: &Comparison) -> Vec<Total> {
    let (a, b) = (&comparison.a, &comparison.b);
    let with_error = |grades: &ComparedGrades| match grades.reward_error {
        Some(error) => format!(
            "{} ± {}",
            optional_number(grades.mean_reward),
            number(error)
        ),
        None => "–".to_owned(),
    };
    let measured = |name,
                    [a, b]: [String; 2],
                    difference: Option<Difference>,
                    shown: fn(f64) -> String| Total {
        name,
        a,
        b,
        difference: difference.map_or_else(String::new, |difference| {
            let [value, low, high] = [difference.value, difference.low, difference.high].map(shown);
            format!("{value} ({low} to {high})")
        }),
        clear: difference.is_some_and(|difference| difference.is_clear()),
    };
    let counted = |name, of: fn(&ComparedGrades) -> u64| Total {
        name,
        a: format!("{} ({})", count(of(a)), percent(of(a), a.grades)),
        b: format!("{} ({})", count(of(b)), percent(of(b), b.grades)),
        difference: String::new(),
        clear: false,
    };
    let length = |grades: &ComparedGrades| grades.mean_bytes.map_or_else(|| "–".to_owned(), bytes);
    vec![
        Total {
            a: count(a.grades),
            b: count(b.grades),
            ..counted("grades", |grades| grades.grades)
        },
        measured(
            "mean reward",
            [with_error(a), with_error(b)],
            comparison.reward,
            signed,
        ),
        measured(
            "passed after appeals",
            [percent(a.passed, a.graded), percent(b.passed, b.graded)],
            comparison.pass,
            |share| format!("{:+.1} %", 100.0 * share),
        ),
        measured(
            "mean length",
            [length(a), length(b)],
            comparison.bytes,
            |length| format!("{length:+.0} B"),
        ),
        counted("truncated", |grades| grades.truncated),
        counted("ungradable", |grades| grades.ungradable),
        counted("failed", |grades| grades.failed),
    ]
}

fn topics(parts: &[ComparedPart], b: &ComparedGrades) -> Vec<TopicRows> {
    let largest = (parts.iter())
        .filter_map(|part| part.contribution)
        .fold(0.0, |largest: f64, contribution| {
            largest.max(contribution.abs())
        });
    let mut names: Vec<&str> = Vec::new();
    for part in parts {
        if !names.contains(&&*part.topic) {
            names.push(&part.topic);
        }
    }
    let of_topic = |name: &str| {
        let parts: Vec<_> = parts.iter().filter(|part| part.topic == name).collect();
        TopicRows {
            name: name.to_owned(),
            left: parts.len().saturating_sub(MAX_PARTS),
            parts: (parts.iter().take(MAX_PARTS))
                .map(|part| row(part, b, largest))
                .collect(),
        }
    };
    // A topic with one value explains nothing.
    let topics = names.into_iter().map(of_topic);
    topics
        .filter(|topic| topic.parts.len() > 1 || topic.name == "cause")
        .collect()
}

fn row(part: &ComparedPart, b: &ComparedGrades, largest: f64) -> PartRow {
    let value = match (&*part.topic, &*part.value) {
        ("truncated", "truncated") => "true",
        ("truncated", _) => "false",
        (_, value) => value,
    };
    PartRow {
        value: cell(&part.value),
        address: Some(grades_of(b, &part.topic, value)),
        a_share: share(&part.a),
        b_share: share(&part.b),
        a_reward: optional_number(part.a.mean_reward),
        b_reward: optional_number(part.b.mean_reward),
        contribution: part.contribution.map_or_else(|| "–".to_owned(), signed),
        bar: part
            .contribution
            .map_or_else(Svg::new, |contribution| bar(contribution, largest)),
    }
}

/// The grades of a set with this value of a filter.
fn grades_of(set: &ComparedGrades, filter: &str, value: &str) -> String {
    let step = |step: Option<i64>| step.map(|step| step.to_string());
    let (min, max) = (step(set.range.from), step(set.range.to));
    let parameters = [
        ("run", Some(&*set.range.run)),
        ("step_min", min.as_deref()),
        ("step_max", max.as_deref()),
        (filter, Some(value)),
    ];
    link("/ui/grades", &parameters)
}

fn share(part: &PartBody) -> String {
    format!("{:.1} %", 100.0 * part.share)
}

fn signed(value: f64) -> String {
    format!("{value:+.3}")
}
