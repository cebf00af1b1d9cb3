//! Files of completions for one update: token ids, log-probabilities, masks, and rewards or
//! advantages, one completion per line.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use assay_base::{json_message, json_pointer};
use assay_objective::{Advantage, Sample};
use serde::{Deserialize, Serialize};

use crate::learn::Row;

/// A completion and its prompt.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Token ids.
    prompt: Vec<u32>,
    /// Token ids; at least one.
    completion: Vec<u32>,
    /// Log-probability of each token of the completion under the model that generated it.
    log_probs: Vec<f32>,
    /// 1 for tokens that are trained, 0 for others, such as the output of tools. Default: all 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    mask: Option<Vec<u8>>,
    /// Completions with equal groups answer the same prompt.
    group: Group,
    /// The reward; null for a completion that was not graded. Advantages are computed from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reward: Option<f64>,
    /// Whether it passed, for estimators that use verdicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pass: Option<bool>,
    /// The advantage: one number, or one for each token of the completion. Replaces the reward.
    #[serde(skip_serializing_if = "Option::is_none")]
    advantage: Option<Numbers>,
    /// The score, for objectives that use scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

/// The name of a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
enum Group {
    Number(u64),
    Text(String),
}

/// One number, or several.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Numbers {
    One(f64),
    Many(Vec<f64>),
}

/// Completions for one update.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BatchRows {
    /// Rows with advantages, group by group.
    pub rows: Vec<Row>,
    /// Number of completions without a reward or advantage, which are excluded.
    pub masked: usize,
}

impl BatchRows {
    /// Reads the text of a file. Advantages that the lines lack are computed from the rewards by
    /// `estimator`.
    ///
    /// # Errors
    /// A line is invalid, with its number and field; some lines have an advantage and others only a
    /// reward; or the estimator requires data that the lines lack.
    pub fn parse(text: &str, estimator: &Advantage) -> anyhow::Result<Self> {
        let mut lines = Vec::new();
        let numbered = text.lines().enumerate();
        for (index, text) in numbered.filter(|(_, text)| !text.trim().is_empty()) {
            let name = || format!("line {}", index + 1);
            let mut reader = serde_json::Deserializer::from_str(text);
            let line: Line = serde_path_to_error::deserialize(&mut reader)
                .map_err(|error| {
                    let pointer = json_pointer(error.path());
                    let message = json_message(error.inner(), text.as_bytes());
                    anyhow::anyhow!("`{pointer}`: {message}")
                })
                .with_context(name)?;
            line.check().with_context(name)?;
            lines.push(line);
        }
        ensure!(!lines.is_empty(), "the batch has no lines");
        Self::new(&lines, estimator)
    }

    fn new(lines: &[Line], estimator: &Advantage) -> anyhow::Result<Self> {
        let mut groups: HashMap<&Group, usize> = HashMap::new();
        let group_of: Vec<usize> = lines
            .iter()
            .map(|line| {
                let next = groups.len();
                *groups.entry(&line.group).or_insert(next)
            })
            .collect();
        let given = lines.iter().filter(|line| line.advantage.is_some()).count();
        let from_rewards = given == 0;
        if !from_rewards && lines.iter().any(|line| line.reward.is_some()) {
            ensure!(
                lines
                    .iter()
                    .all(|line| line.advantage.is_some() || line.reward.is_none()),
                "some lines have an `advantage` and others only a `reward`; use one of both"
            );
        }
        let (values, keep): (Vec<Vec<f64>>, Vec<bool>) = if from_rewards {
            let samples: Vec<Sample> = lines
                .iter()
                .zip(&group_of)
                .map(|(line, group)| Sample {
                    group: *group,
                    rewards: vec![line.reward],
                    pass: line.pass,
                    tokens: line.trained(),
                    ..Sample::default()
                })
                .collect();
            let advantages = estimator.compute(&samples, &BTreeMap::new())?;
            (advantages.values, advantages.keep)
        } else {
            let values = lines.iter().map(|line| match &line.advantage {
                Some(Numbers::One(number)) => vec![*number],
                Some(Numbers::Many(numbers)) => numbers.clone(),
                None => Vec::new(),
            });
            let keep = lines.iter().map(|line| line.advantage.is_some());
            (values.collect(), keep.collect())
        };
        // Rows of a group are contiguous; groups are in the order of their first lines.
        let mut order: Vec<usize> = (0..lines.len()).filter(|index| keep[*index]).collect();
        order.sort_by_key(|index| group_of[*index]);
        let rows = order.iter().map(|index| {
            let line = &lines[*index];
            Row {
                prompt: line.prompt.clone(),
                completion: line.completion.clone(),
                behaviour: line.log_probs.clone(),
                mask: line
                    .mask
                    .as_ref()
                    .map(|mask| mask.iter().map(|one| *one == 1).collect()),
                advantages: spread(&values[*index], line.mask.as_deref()),
                group: group_of[*index],
                score: line.score.unwrap_or_default(),
            }
        });
        Ok(Self {
            rows: rows.collect(),
            masked: lines.len() - order.len(),
        })
    }
}

/// The advantages of the trained tokens at the positions of all tokens, unless there is one for
/// all.
fn spread(values: &[f64], mask: Option<&[u8]>) -> Vec<f64> {
    match mask {
        Some(mask) if values.len() > 1 && values.len() != mask.len() => {
            let mut next = values.iter().copied();
            let value = |one: &u8| if *one == 1 { next.next() } else { None };
            let values = mask.iter().map(value);
            values.map(Option::unwrap_or_default).collect()
        }
        _ => values.to_vec(),
    }
}

impl Line {
    /// Number of trained tokens.
    fn trained(&self) -> usize {
        match &self.mask {
            Some(mask) => mask.iter().filter(|one| **one == 1).count(),
            None => self.completion.len(),
        }
    }

    fn check(&self) -> anyhow::Result<()> {
        let tokens = self.completion.len();
        ensure!(!self.prompt.is_empty(), "`prompt` has no tokens");
        ensure!(tokens > 0, "`completion` has no tokens");
        let lengths = [
            ("log_probs", self.log_probs.len()),
            ("mask", self.mask.as_ref().map_or(tokens, Vec::len)),
        ];
        for (name, length) in lengths {
            ensure!(
                length == tokens,
                "`{name}` has {length} entries; `completion` has {tokens} tokens"
            );
        }
        ensure!(
            self.log_probs
                .iter()
                .all(|number| *number <= 0.0 && number.is_finite()),
            "`log_probs` must be finite and at most 0"
        );
        if let Some(mask) = &self.mask {
            ensure!(
                mask.iter().all(|one| *one <= 1) && mask.contains(&1),
                "`mask` must contain 0 and 1, and at least one 1"
            );
        }
        let numbers = match &self.advantage {
            Some(Numbers::Many(numbers)) if numbers.len() != tokens => bail!(
                "`advantage` has {} entries; `completion` has {tokens} tokens",
                numbers.len()
            ),
            Some(Numbers::Many(numbers)) => numbers.as_slice(),
            Some(Numbers::One(number)) => std::slice::from_ref(number),
            None => &[],
        };
        let all = numbers.iter().chain(&self.reward).chain(&self.score);
        ensure!(
            all.into_iter().all(|number| number.is_finite()),
            "numbers must be finite"
        );
        Ok(())
    }
}

/// Writes rows with their advantages as a file that [`BatchRows::parse`] reads.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    for row in rows {
        let line = Line {
            prompt: row.prompt.clone(),
            completion: row.completion.clone(),
            log_probs: row.behaviour.clone(),
            mask: row
                .mask
                .as_ref()
                .map(|mask| mask.iter().map(|one| u8::from(*one)).collect()),
            group: Group::Number(row.group as u64),
            reward: None,
            pass: None,
            advantage: Some(match row.advantages.as_slice() {
                [one] => Numbers::One(*one),
                many => Numbers::Many(many.to_vec()),
            }),
            score: Some(row.score),
        };
        serde_json::to_writer(&mut bytes, &line)?;
        bytes.push(b'\n');
    }
    let failed = || format!("cannot write `{}`", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(failed)?;
    }
    let mut file = std::fs::File::create(path).with_context(failed)?;
    file.write_all(&bytes).with_context(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<BatchRows> {
        let objective: assay_objective::Objective = serde_json::from_str("{}").unwrap();
        BatchRows::parse(text, &objective.advantage)
    }

    #[test]
    fn computes_advantages_from_rewards_within_groups() {
        let text = r#"{"prompt":[1],"completion":[2,3],"log_probs":[-1,-2],"group":"a","reward":1}
            {"prompt":[4],"completion":[5],"log_probs":[-1],"group":7,"advantage":null,"reward":0}

            {"prompt":[1],"completion":[2],"log_probs":[-1],"group":"a","reward":0}
            {"prompt":[1],"completion":[9],"log_probs":[-1],"group":"a","reward":null}
            {"prompt":[4],"completion":[6],"log_probs":[-1],"group":7,"reward":1}"#;
        let batch = parse(text).unwrap();
        assert_eq!(batch.masked, 1);
        let groups: Vec<usize> = batch.rows.iter().map(|row| row.group).collect();
        assert_eq!(groups, [0, 0, 1, 1]);
        assert_eq!(batch.rows[0].completion, [2, 3]);
        let advantages: Vec<f64> = batch.rows.iter().map(|row| row.advantages[0]).collect();
        assert!(
            advantages[0] > 0.5 && advantages[1] < -0.5,
            "{advantages:?}"
        );
        assert_eq!(advantages[..2], [advantages[3], advantages[2]]);
    }

    #[test]
    fn written_rows_are_read_again() {
        let row = |group: usize| Row {
            prompt: vec![1, 2],
            completion: vec![3, 4, 5],
            behaviour: vec![-0.1, -1.0e-7, -3.3],
            mask: (group == 1).then(|| vec![true, false, true]),
            advantages: if group == 0 {
                vec![0.1 + 0.2]
            } else {
                vec![1.0 / 3.0, 0.0, -2.0]
            },
            group,
            score: 0.7,
        };
        let rows = vec![row(0), row(1)];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("batches/000001.jsonl");
        write(&path, &rows).unwrap();
        let batch = parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!((batch.rows, batch.masked), (rows, 0));
    }

    #[test]
    fn errors_name_the_line_and_what_is_wrong() {
        let good = r#"{"prompt":[1],"completion":[2],"log_probs":[-1],"group":0,"reward":1}"#;
        for (bad, part) in [
            (
                r#"{"prompt":[],"completion":[2],"log_probs":[-1],"group":0}"#,
                "`prompt`",
            ),
            (
                r#"{"prompt":[1],"completion":[2],"log_probs":[],"group":0}"#,
                "`log_probs` has 0",
            ),
            (
                r#"{"prompt":[1],"completion":[2],"log_probs":[1],"group":0}"#,
                "at most 0",
            ),
            (
                r#"{"prompt":[1],"completion":[2],"log_probs":[-1],"group":0,"mask":[0]}"#,
                "at least one 1",
            ),
            (
                r#"{"prompt":[1],"completion":[2],"log_probs":[-1],"group":0,"advantage":[1,2]}"#,
                "`advantage` has 2",
            ),
            (
                r#"{"prompt":["a"],"completion":[2],"log_probs":[-1],"group":0}"#,
                "/prompt/0",
            ),
            (
                r#"{"prompt":[1],"completion":[2],"log_probs":[-1],"group":0,"a":1}"#,
                "`a`",
            ),
        ] {
            let error = format!("{:#}", parse(&format!("{good}\n{bad}\n")).unwrap_err());
            assert!(
                error.contains("line 2") && error.contains(part),
                "{bad}: {error}"
            );
        }
        let mixed = good.replace("\"reward\"", "\"advantage\"");
        let error = parse(&format!("{good}\n{mixed}\n"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("use one of both"), "{error}");
        assert!(parse("\n").unwrap_err().to_string().contains("no lines"));
    }
}
