//! ToolRL's rule-based reward: a format reward of 0 or 1 and a correctness reward from -3 to 3
//! (Qian et al. 2025, arXiv 2504.13958, section 3.3, with the formulas of its published code).

use std::collections::HashMap;

use assay_documents::Json;
use assay_documents::json::Reader;

use crate::compare::{Argument, ExpectedCall};
use crate::python;

/// The two parts of the reward, and the problem of the text, if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RawReward {
    pub(crate) format: f64,
    pub(crate) correctness: f64,
    pub(crate) problem: Option<Problem>,
}

/// Why the reward is below its maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// There is no `<tool_call>` block.
    NoCall,
    /// A line of the block is not a call.
    Malformed,
    /// The calls differ from the expected ones.
    Wrong,
    /// The calls are correct, but the format of the text is not.
    Format,
}

/// Maximum correctness.
const MAX_CORRECTNESS: f64 = 3.0;
/// Minimum correctness.
const MIN_CORRECTNESS: f64 = -3.0;

impl RawReward {
    /// Range of the reward: -3 to 4 if calls are expected, otherwise 0 to 1.
    pub(crate) fn range(expects_calls: bool) -> (f64, f64) {
        if expects_calls {
            (MIN_CORRECTNESS, MAX_CORRECTNESS + 1.0)
        } else {
            (0.0, 1.0)
        }
    }

    pub(crate) fn total(self) -> f64 {
        self.format + self.correctness
    }
}

/// The reward of a text for the expected calls. `response` is whether the gold also has a
/// `<response>`.
pub(crate) fn reward(text: &str, expected: &[ExpectedCall], response: bool) -> RawReward {
    let expects_calls = !expected.is_empty();
    let format = f64::from(u8::from(has_format(text, expects_calls, response)));
    if !expects_calls {
        let problem = (format == 0.0).then(|| {
            if text.contains("<tool_call>") {
                Problem::Wrong
            } else {
                Problem::Format
            }
        });
        return RawReward {
            format,
            correctness: 0.0,
            problem,
        };
    }
    let block = text
        .split("<tool_call>")
        .nth(1)
        .filter(|_| text.contains("</tool_call>"));
    let Some(block) = block.map(|block| block.split("</tool_call>").next().unwrap_or_default())
    else {
        return RawReward {
            format,
            correctness: MIN_CORRECTNESS,
            problem: Some(Problem::NoCall),
        };
    };
    let Some(correctness) = lines(block).and_then(|actual| correctness(expected, &actual)) else {
        return RawReward {
            format,
            correctness: MIN_CORRECTNESS,
            problem: Some(Problem::Malformed),
        };
    };
    let problem = match (correctness < MAX_CORRECTNESS, format < 1.0) {
        (true, _) => Some(Problem::Wrong),
        (false, true) => Some(Problem::Format),
        (false, false) => None,
    };
    RawReward {
        format,
        correctness,
        problem,
    }
}

/// Whether the text is `<think>…</think>`, followed by the blocks of the gold, each once.
fn has_format(text: &str, calls: bool, response: bool) -> bool {
    let once = |name: &str| {
        text.matches(&format!("<{name}>")).count() == 1
            && text.matches(&format!("</{name}>")).count() == 1
    };
    // A final line break is ignored.
    let text = text.strip_suffix('\n').unwrap_or(text);
    let Some(rest) = text.strip_prefix("<think>") else {
        return false;
    };
    // Whether `end` occurs with a valid text after it.
    let has_after = |end: &str, is_valid: &dyn Fn(&str) -> bool| {
        rest.match_indices(end)
            .any(|(at, _)| is_valid(&rest[at + end.len()..]))
    };
    let ends_with = |mark: &'static str| move |rest: &str| rest.ends_with(mark);
    match (calls, response) {
        (true, true) => {
            let is_valid = |rest: &str| {
                rest.find("\n</tool_call>\n<response>").is_some() && rest.ends_with("</response>")
            };
            once("tool_call") && once("response") && has_after("</think>\n<tool_call>\n", &is_valid)
        }
        (true, false) => {
            once("tool_call") && has_after("</think>\n<tool_call>\n", &ends_with("\n</tool_call>"))
        }
        (false, true) => {
            once("response") && has_after("</think>\n<response>", &ends_with("</response>"))
        }
        (false, false) => rest.ends_with("</think>"),
    }
}

/// A line of a `<tool_call>` block, which ToolRL reads as one call.
struct ParsedLine {
    value: Json,
}

/// The lines of a block; `None` if one of them is not JSON.
fn lines(block: &str) -> Option<Vec<ParsedLine>> {
    let read = |line: &str| {
        Reader::new(line)
            .with_repeated_keys()
            .all()
            .ok()
            .map(|value| ParsedLine {
                value: last_keys(value),
            })
    };
    block.trim().split('\n').map(read).collect()
}

/// Keeps the last value of a duplicate key, as `json.loads` does.
fn last_keys(value: Json) -> Json {
    match value {
        Json::Array(elements) => Json::Array(elements.into_iter().map(last_keys).collect()),
        Json::Object(members) => {
            let mut unique: Vec<(String, Json)> = Vec::with_capacity(members.len());
            let mut positions: HashMap<String, usize> = HashMap::with_capacity(members.len());
            for (key, value) in members {
                let value = last_keys(value);
                match positions
                    .get(&key)
                    .and_then(|position| unique.get_mut(*position))
                {
                    Some((_, before)) => *before = value,
                    None => {
                        positions.insert(key.clone(), unique.len());
                        unique.push((key, value));
                    }
                }
            }
            Json::Object(unique)
        }
        other => other,
    }
}

/// The correctness; `None` if ToolRL's code raises an exception for one of the calls, which it
/// scores with the minimum.
fn correctness(expected: &[ExpectedCall], actual: &[ParsedLine]) -> Option<f64> {
    if expected.len() == actual.len()
        && expected
            .iter()
            .zip(actual)
            .all(|(expected, actual)| is_exact(expected, &actual.value))
    {
        return Some(MAX_CORRECTNESS);
    }
    let names: Vec<&Json> = actual
        .iter()
        .map(|line| line.value.get("name"))
        .collect::<Option<_>>()?;
    let expected_names: Vec<Json> = expected
        .iter()
        .map(|call| Json::Text(call.name.clone()))
        .collect();
    let mut score = jaccard(&expected_names.iter().collect::<Vec<_>>(), &names);
    let mut max_score = 1.0;
    let mut used = vec![false; actual.len()];
    for (call, name) in expected.iter().zip(&expected_names) {
        max_score += 1.0 + call.arguments.len() as f64;
        let mut best: Option<(usize, f64)> = None;
        for (at, line) in actual.iter().enumerate() {
            if used[at] || !python::equal(names[at], name) {
                continue;
            }
            let Some(parameters @ Json::Object(members)) = line.value.get("parameters") else {
                return None;
            };
            let keys: Vec<Json> = members
                .iter()
                .map(|(key, _)| Json::Text(key.clone()))
                .collect();
            let expected_keys: Vec<Json> = call
                .arguments
                .iter()
                .map(|argument| Json::Text(argument.name.clone()))
                .collect();
            let mut total = jaccard(
                &expected_keys.iter().collect::<Vec<_>>(),
                &keys.iter().collect::<Vec<_>>(),
            );
            total += call
                .arguments
                .iter()
                .filter(|argument| accepts(argument, parameters.get(&argument.name)))
                .count() as f64;
            if total > best.map_or(0.0, |(_, total)| total) {
                best = Some((at, total));
            }
        }
        if let Some((at, total)) = best {
            used[at] = true;
            score += total;
        }
    }
    Some((MAX_CORRECTNESS - MIN_CORRECTNESS) * score / max_score + MIN_CORRECTNESS)
}

/// Whether a value is one of the accepted ones of an argument.
fn accepts(argument: &Argument, value: Option<&Json>) -> bool {
    value.is_some_and(|value| {
        argument
            .accepted
            .iter()
            .any(|accepted| python::equal(accepted, value))
    })
}

/// Whether a line is exactly the expected call, without other keys.
fn is_exact(expected: &ExpectedCall, actual: &Json) -> bool {
    let [_, _] = actual.members() else {
        return false;
    };
    let Some(parameters @ Json::Object(members)) = actual.get("parameters") else {
        return false;
    };
    actual.get("name").and_then(Json::text) == Some(&expected.name)
        && members.len() == expected.arguments.len()
        && expected
            .arguments
            .iter()
            .all(|argument| accepts(argument, parameters.get(&argument.name)))
}

/// The Jaccard index of two multisets: size of the intersection over size of the union.
fn jaccard(a: &[&Json], b: &[&Json]) -> f64 {
    if a.len() == b.len() && a.iter().zip(b).all(|(a, b)| python::equal(a, b)) {
        return 1.0;
    }
    let mut unmatched: Vec<&Json> = b.to_vec();
    let common = a.iter().filter(|a| {
        let found = unmatched.iter().position(|b| python::equal(a, b));
        found.map(|at| unmatched.swap_remove(at)).is_some()
    });
    let common = common.count();
    common as f64 / (a.len() + b.len() - common) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requires_each_block_of_the_gold_once() {
        let (think, call, response) = (
            "<think>t</think>\n",
            "<tool_call>\n{}\n</tool_call>\n",
            "<response>r</response>\n",
        );
        let is_valid = |blocks: &[&str]| has_format(&blocks.concat(), true, true);
        assert!(is_valid(&[think, call, response]));
        assert!(!is_valid(&[think, call, response, response]));
        assert!(!is_valid(&[think, call, call, response]));
        assert!(!is_valid(&[think, response, call]));
        assert!(!is_valid(&[think, call]));
    }

    #[test]
    fn uses_the_last_of_repeated_keys() {
        let read = |text: &str| lines(text).unwrap().remove(0).value.to_string();
        assert_eq!(
            read(r#"{"a":1,"b":[{"c":1,"c":2}],"a":3}"#),
            r#"{"a":3,"b":[{"c":2}]}"#
        );
    }
}
