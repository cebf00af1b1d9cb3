//! Finds constraints that no response can meet together. What it finds is certain; it does not find
//! everything.

use crate::formats::Format;
use crate::language;
use crate::limits::Limits;
use crate::rule::{At, Count, Countable, Measure, Rule};
use crate::task::Constraint;
use crate::text::Text;
use crate::units::Unit;

/// The first constraints that contradict each other or cannot be met; `None` if none is found.
pub(crate) fn find(constraints: &[Constraint]) -> Option<String> {
    let parts: Vec<(usize, &Rule)> = constraints
        .iter()
        .enumerate()
        .flat_map(|(at, constraint)| {
            conjuncts(&constraint.rule)
                .into_iter()
                .map(move |rule| (at, rule))
        })
        .collect();
    let name = |at: usize| format!("`{}`", constraints[at].name);
    let both = |a: usize, b: usize, why: &str| {
        if a == b {
            format!("no response can meet {}: {why}", name(a))
        } else {
            format!("no response can meet {} and {}: {why}", name(a), name(b))
        }
    };
    for (at, rule) in &parts {
        if let Rule::Count(count) = rule
            && (count.limits.is_empty() || count.limits.max.floor() < count.limits.min)
        {
            return Some(both(*at, *at, "no number is within its limits"));
        }
    }
    for (index, (first, rule)) in parts.iter().enumerate() {
        for (second, other) in &parts[index + 1..] {
            if let Some(why) = clash(rule, other).or_else(|| clash(other, rule)) {
                return Some(both(*first, *second, why));
            }
        }
    }
    for (first, rule) in &parts {
        let Some(text) = fixed(rule) else { continue };
        // Other constraints are checked on the only response that meets this one.
        for (at, constraint) in constraints.iter().enumerate() {
            let approximate = constraint.approximate.is_some();
            let is_met = |text: &String| constraint.rule.check(&Text::new(text)).met;
            if at != *first && !approximate && !in_any_case(&text).iter().any(is_met) {
                return Some(both(
                    *first,
                    at,
                    "the first allows one text only, which violates the second",
                ));
            }
        }
    }
    None
}

/// The rules that must all hold.
fn conjuncts(rule: &Rule) -> Vec<&Rule> {
    match rule {
        Rule::All(rules) => rules.iter().flat_map(conjuncts).collect(),
        rule => vec![rule],
    }
}

/// Why two rules cannot both hold.
fn clash(rule: &Rule, other: &Rule) -> Option<&'static str> {
    match (rule, other) {
        (Rule::Count(a), Rule::Count(b)) if same_thing(a, b) => {
            let empty = a.limits.intersect(b.limits).is_empty();
            return empty.then_some("their limits exclude each other");
        }
        (
            Rule::Format(Format::Language { language: a }),
            Rule::Format(Format::Language { language: b }),
        ) => {
            let (a, b) = (language::known(a)?, language::known(b)?);
            return (!language::agrees(a, b)).then_some("they require different languages");
        }
        (
            Rule::Position { unit, at, rule },
            Rule::Position {
                unit: unit_b,
                at: at_b,
                rule: rule_b,
            },
        ) => {
            if unit != unit_b || at != at_b || *at == At::Each {
                return None;
            }
            return clash(rule, rule_b);
        }
        (Rule::Equals { text, .. }, Rule::Equals { text: other, .. }) => {
            let differ = text.to_lowercase() != other.to_lowercase();
            return differ.then_some("they require different texts");
        }
        _ => {}
    }
    // A text that must occur and has more of something than the other rule allows.
    let Rule::Count(limit) = other else {
        return None;
    };
    let grows = limit.measure != Measure::Distinct || limit.limits.max == 0.0;
    let is_limited =
        limit.limits.max.is_finite() && grows && !matches!(limit.what, Countable::Units { .. });
    let exceeds = |text: &str| {
        let forms = in_any_case(text);
        forms
            .iter()
            .all(|text| limit.number(&Text::new(text)).0 > limit.limits.max)
    };
    (is_limited && required(rule).into_iter().any(exceeds))
        .then_some("a text that the one requires contains what the other limits")
}

/// Whether two counts are of the same things.
fn same_thing(a: &Count, b: &Count) -> bool {
    let plain = |count: &Count| count.measure == Measure::All;
    if !plain(a) || !plain(b) {
        return false;
    }
    match (&a.what, &b.what) {
        (
            Countable::Units {
                unit,
                list: None,
                matching: None,
            },
            Countable::Units {
                unit: other,
                list: None,
                matching: None,
            },
        ) => unit == other && *unit != Unit::Sentences,
        (Countable::Texts(a), Countable::Texts(b)) => match (a.as_slice(), b.as_slice()) {
            ([a], [b]) => {
                a.regex.as_str() == b.regex.as_str()
                    && a.text.to_lowercase() == b.text.to_lowercase()
            }
            _ => false,
        },
        (Countable::Pattern(a), Countable::Pattern(b)) => a.as_str() == b.as_str(),
        _ => false,
    }
}

/// Texts that occur in every response that meets a rule, in any case.
fn required(rule: &Rule) -> Vec<&str> {
    match rule {
        Rule::Contains(needles) => needles.iter().map(|needle| needle.text.as_str()).collect(),
        Rule::Count(Count {
            what: Countable::Texts(needles),
            limits: Limits { min, .. },
            ..
        }) if *min >= 1.0 && needles.len() == 1 => {
            vec![needles[0].text.as_str()]
        }
        Rule::Equals { text, .. } | Rule::Format(Format::Repeats { text }) => vec![text.as_str()],
        _ => Vec::new(),
    }
}

/// A text as it is written, in upper case and in lower case: texts are found in any case.
fn in_any_case(text: &str) -> [String; 3] {
    [text.to_owned(), text.to_uppercase(), text.to_lowercase()]
}

/// The only text that meets a rule, apart from its case and white space.
fn fixed(rule: &Rule) -> Option<String> {
    match rule {
        Rule::Equals { text, .. } => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use assay_core::Task;

    use super::*;
    use crate::task::InstructionsTask;

    fn conflict(constraints: &str) -> Option<String> {
        let json = format!(r#"{{"type":"instructions","constraints":[{constraints}]}}"#);
        find(
            &InstructionsTask::read(&Task::from_json(&json).unwrap())
                .unwrap()
                .constraints,
        )
    }

    #[test]
    fn finds_contradictions() {
        for constraints in [
            r#"{"id":"length_constraints:number_words","kwargs":{"relation":"less than","num_words":0}}"#,
            r#"{"id":"count:word_count_range","kwargs":{"min_words":9,"max_words":5}}"#,
            r#"{"id":"length_constraints:number_words","kwargs":{"relation":"less than","num_words":50}},
               {"id":"count:word_count_range","kwargs":{"min_words":50,"max_words":60}}"#,
            r#"{"id":"keywords:existence","kwargs":{"keywords":["river"]}},
               {"id":"keywords:forbidden_words","kwargs":{"forbidden_words":["lake","River"]}}"#,
            r#"{"id":"combination:repeat_prompt","kwargs":{"prompt_to_repeat":"First, write a poem."}},
               {"id":"punctuation:no_comma"}"#,
            r#"{"id":"language:response_language","kwargs":{"language":"de"}},
               {"id":"change_case:english_capital"}"#,
            r#"{"id":"change_case:english_lowercase"},{"id":"change_case:english_capital"}"#,
            r#"{"id":"repeat:repeat_simple"},{"id":"punctuation:no_comma"}"#,
            r#"{"id":"repeat:repeat_simple"},
               {"id":"length_constraints:number_words","kwargs":{"relation":"at least","num_words":50}}"#,
            r#"{"id":"keywords:frequency","kwargs":{"keyword":"tea","relation":"at least","frequency":3}},
               {"id":"keywords:word_once","kwargs":{"keyword":"tea"}}"#,
        ] {
            assert!(conflict(constraints).is_some(), "{constraints}");
        }
    }

    #[test]
    fn finds_no_contradiction_where_there_is_none() {
        for constraints in [
            r#"{"id":"startend:quotation"},{"id":"detectable_format:json_format"}"#,
            r#"{"id":"keywords:existence","kwargs":{"keywords":["riverbank"]}},
               {"id":"keywords:forbidden_words","kwargs":{"forbidden_words":["river"]}}"#,
            r#"{"id":"change_case:english_capital"},
               {"id":"keywords:existence","kwargs":{"keywords":["river"]}}"#,
            r#"{"id":"count:numbers","kwargs":{"N":2}},{"id":"punctuation:no_comma"}"#,
        ] {
            assert_eq!(conflict(constraints), None, "{constraints}");
        }
    }
}
