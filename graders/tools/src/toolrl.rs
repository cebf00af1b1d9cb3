//! ToolRL's rule-based reward (Qian et al. 2025, arXiv 2504.13958, section 3.3; formulas as its
//! published code computes them): a format of 0 or 1 and a correctness from -3 to 3.

use std::collections::HashMap;

use assay_documents::Json;
use assay_documents::json::Reader;

use crate::compare::{Argument, Expected};
use crate::python;

/// The two parts of the reward, and what is wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Raw {
    pub(crate) format: f64,
    pub(crate) correctness: f64,
    pub(crate) problem: Option<Problem>,
}

/// Why the reward is not the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// No `<tool_call>` block.
    NoCall,
    /// Its lines are not calls.
    Malformed,
    /// Other calls.
    Wrong,
    /// The calls are right and the text around them is not.
    Format,
}

const MOST: f64 = 3.0;
const LEAST: f64 = -3.0;

impl Raw {
    /// Range of the reward: with calls -3 to 4, without any 0 to 1.
    pub(crate) fn range(expects_calls: bool) -> (f64, f64) {
        if expects_calls {
            (LEAST, MOST + 1.0)
        } else {
            (0.0, 1.0)
        }
    }

    pub(crate) fn total(self) -> f64 {
        self.format + self.correctness
    }
}

/// The reward of a text for these calls; `response` is whether the gold has a `<response>` as well.
pub(crate) fn reward(text: &str, expected: &[Expected], response: bool) -> Raw {
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
        return Raw {
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
        return Raw {
            format,
            correctness: LEAST,
            problem: Some(Problem::NoCall),
        };
    };
    let Some(correctness) = lines(block).and_then(|made| correctness(expected, &made)) else {
        return Raw {
            format,
            correctness: LEAST,
            problem: Some(Problem::Malformed),
        };
    };
    let problem = match (correctness < MOST, format < 1.0) {
        (true, _) => Some(Problem::Wrong),
        (false, true) => Some(Problem::Format),
        (false, false) => None,
    };
    Raw {
        format,
        correctness,
        problem,
    }
}

/// Whether the text is `<think>…</think>` and then the blocks the gold has, each once.
fn has_format(text: &str, calls: bool, response: bool) -> bool {
    let once = |name: &str| {
        text.matches(&format!("<{name}>")).count() == 1
            && text.matches(&format!("</{name}>")).count() == 1
    };
    // A final line break is not part of it.
    let text = text.strip_suffix('\n').unwrap_or(text);
    let Some(rest) = text.strip_prefix("<think>") else {
        return false;
    };
    let thoughts = |end: &str, behind: &dyn Fn(&str) -> bool| {
        rest.match_indices(end)
            .any(|(at, _)| behind(&rest[at + end.len()..]))
    };
    let ends_with = |mark: &'static str| move |rest: &str| rest.ends_with(mark);
    match (calls, response) {
        (true, true) => {
            let behind = |rest: &str| {
                rest.find("\n</tool_call>\n<response>").is_some() && rest.ends_with("</response>")
            };
            once("tool_call") && once("response") && thoughts("</think>\n<tool_call>\n", &behind)
        }
        (true, false) => {
            once("tool_call") && thoughts("</think>\n<tool_call>\n", &ends_with("\n</tool_call>"))
        }
        (false, true) => {
            once("response") && thoughts("</think>\n<response>", &ends_with("</response>"))
        }
        (false, false) => rest.ends_with("</think>"),
    }
}

/// A call as ToolRL reads it.
struct Line {
    value: Json,
}

/// Each line of a block as JSON; `None` where one is none.
fn lines(block: &str) -> Option<Vec<Line>> {
    let read = |line: &str| {
        Reader::new(line)
            .with_repeated_keys()
            .all()
            .ok()
            .map(|value| Line {
                value: last_keys(value),
            })
    };
    block.trim().split('\n').map(read).collect()
}

/// Of keys that stand twice the last counts, as `json.loads` has it.
fn last_keys(value: Json) -> Json {
    match value {
        Json::Array(elements) => Json::Array(elements.into_iter().map(last_keys).collect()),
        Json::Object(members) => {
            let mut kept: Vec<(String, Json)> = Vec::with_capacity(members.len());
            let mut places: HashMap<String, usize> = HashMap::with_capacity(members.len());
            for (key, value) in members {
                let value = last_keys(value);
                match places.get(&key).and_then(|place| kept.get_mut(*place)) {
                    Some((_, before)) => *before = value,
                    None => {
                        places.insert(key.clone(), kept.len());
                        kept.push((key, value));
                    }
                }
            }
            Json::Object(kept)
        }
        other => other,
    }
}

/// The correctness; `None` where ToolRL's own code would stumble over a call, which it scores as
/// the least.
fn correctness(expected: &[Expected], made: &[Line]) -> Option<f64> {
    if expected.len() == made.len()
        && expected
            .iter()
            .zip(made)
            .all(|(expected, made)| is_exactly(expected, &made.value))
    {
        return Some(MOST);
    }
    let names: Vec<&Json> = made
        .iter()
        .map(|line| line.value.get("name"))
        .collect::<Option<_>>()?;
    let expected_names: Vec<Json> = expected
        .iter()
        .map(|call| Json::Text(call.name.clone()))
        .collect();
    let mut score = jaccard(&expected_names.iter().collect::<Vec<_>>(), &names);
    let mut most = 1.0;
    let mut used = vec![false; made.len()];
    for (call, name) in expected.iter().zip(&expected_names) {
        most += 1.0 + call.arguments.len() as f64;
        let mut best: Option<(usize, f64)> = None;
        for (at, line) in made.iter().enumerate() {
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
                .filter(|argument| is_value(argument, parameters.get(&argument.name)))
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
    Some((MOST - LEAST) * score / most + LEAST)
}

fn is_value(argument: &Argument, value: Option<&Json>) -> bool {
    value.is_some_and(|value| {
        argument
            .accepted
            .iter()
            .any(|accepted| python::equal(accepted, value))
    })
}

/// Whether a line is the expected call and has nothing else in it.
fn is_exactly(expected: &Expected, made: &Json) -> bool {
    let [_, _] = made.members() else { return false };
    let Some(parameters @ Json::Object(members)) = made.get("parameters") else {
        return false;
    };
    made.get("name").and_then(Json::text) == Some(&expected.name)
        && members.len() == expected.arguments.len()
        && expected
            .arguments
            .iter()
            .all(|argument| is_value(argument, parameters.get(&argument.name)))
}

/// What two bags have in common over what is in either.
fn jaccard(a: &[&Json], b: &[&Json]) -> f64 {
    if a.len() == b.len() && a.iter().zip(b).all(|(a, b)| python::equal(a, b)) {
        return 1.0;
    }
    let mut left: Vec<&Json> = b.to_vec();
    let common = a.iter().filter(|a| {
        let found = left.iter().position(|b| python::equal(a, b));
        found.map(|at| left.swap_remove(at)).is_some()
    });
    let common = common.count();
    common as f64 / (a.len() + b.len() - common) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_the_last_of_repeated_keys() {
        let read = |text: &str| lines(text).unwrap().remove(0).value.to_string();
        assert_eq!(
            read(r#"{"a":1,"b":[{"c":1,"c":2}],"a":3}"#),
            r#"{"a":3,"b":[{"c":2}]}"#
        );
    }
}
