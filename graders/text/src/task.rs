//! A `text` task in a request. Checks the types and ranges of its fields.

use assay_core::error::invalid;
use assay_core::{Task, TaskError};
use serde::Deserialize;

/// Maximum number of golds of a task.
const MAX_GOLDS: usize = 64;

/// Maximum length of a gold, in bytes.
const MAX_GOLD_BYTES: usize = 64 << 10;

/// Smallest similarity of `fuzzy` if the task has none.
const DEFAULT_THRESHOLD: f64 = 0.9;

/// The gold: one text, or several of which any is accepted.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "`answer` must be a string or an array of strings"
)]
enum Answer {
    One(String),
    Any(Vec<String>),
}

/// How a text is compared with a gold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Match {
    #[default]
    Exact,
    Normalised,
    Contains,
    Pattern,
    Fuzzy,
    Squad,
    Number,
    Date,
    Name,
}

impl Match {
    /// The name in tasks and evidence.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Normalised => "normalised",
            Self::Contains => "contains",
            Self::Pattern => "pattern",
            Self::Fuzzy => "fuzzy",
            Self::Squad => "squad",
            Self::Number => "number",
            Self::Date => "date",
            Self::Name => "name",
        }
    }
}

/// Which part of a completion is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Extract {
    #[default]
    Whole,
    Auto,
}

/// Which golds a text must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Require {
    #[default]
    Any,
    All,
}

/// The score of a text that is partly right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scoring {
    /// 1 or 0.
    #[default]
    Exact,
    /// The F1 of its tokens, for `squad`.
    F1,
    /// The share of the golds that it matches, for `require: all`.
    Share,
}

/// How many words a text must have. A word is a run of letters, digits and underscores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Words {
    #[serde(default)]
    pub(crate) min: u32,
    #[serde(default = "unlimited")]
    pub(crate) max: u32,
}

fn no_answer() -> Answer {
    Answer::Any(Vec::new())
}

fn unlimited() -> u32 {
    u32::MAX
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskBody {
    #[serde(default = "no_answer")]
    answer: Answer,
    #[serde(default)]
    consensus: bool,
    #[serde(default)]
    unanswerable: bool,
    threshold: Option<f64>,
    #[serde(default)]
    score: Scoring,
    #[serde(default)]
    require: Require,
    #[serde(default)]
    reject: Vec<String>,
    words: Option<Words>,
    #[serde(default, rename = "match")]
    by: Match,
    #[serde(default)]
    extract: Extract,
}

impl TaskBody {
    /// Checks that a task without a gold has nothing that needs one.
    fn check_consensus(&self, golds: &[String]) -> Result<(), TaskError> {
        if !self.consensus {
            return Ok(());
        }
        if !golds.is_empty() {
            let message = "the task has an `answer`, so it needs no consensus; remove one";
            return Err(invalid("/consensus", message));
        }
        if !matches!(self.by, Match::Exact | Match::Normalised) {
            let message = format!(
                "`{}` compares with a gold; without one use `exact` or `normalised`",
                self.by.as_str()
            );
            return Err(invalid("/match", message));
        }
        if !self.reject.is_empty() || self.words.is_some() || self.unanswerable {
            let message = "`reject`, `words` and `unanswerable` decide a verdict, which a task \
                           without a gold does not have; use a check";
            return Err(invalid("/consensus", message));
        }
        Ok(())
    }
}

/// A validated task.
#[derive(Debug)]
pub(crate) struct TextTask {
    pub(crate) golds: Vec<String>,
    /// The task has no gold, and answers are compared with each other.
    pub(crate) consensus: bool,
    pub(crate) require: Require,
    /// Texts that must not match.
    pub(crate) rejected: Vec<String>,
    pub(crate) words: Option<Words>,
    pub(crate) by: Match,
    pub(crate) extract: Extract,
    /// The statement that the question has no answer is right.
    pub(crate) unanswerable: bool,
    /// Smallest similarity that `fuzzy` accepts.
    pub(crate) threshold: f64,
    pub(crate) scoring: Scoring,
}

impl TextTask {
    /// Reads a task.
    ///
    /// # Errors
    /// [`TaskError`] with a pointer to the field with the wrong type or range.
    pub(crate) fn read(task: &Task) -> Result<Self, TaskError> {
        let body: TaskBody = task.parse()?;
        let golds = match &body.answer {
            Answer::One(gold) => vec![gold.clone()],
            Answer::Any(golds) => golds.clone(),
        };
        body.check_consensus(&golds)?;
        let has_golds = !golds.is_empty() || body.unanswerable || body.consensus;
        if !has_golds || golds.len() > MAX_GOLDS {
            let message = format!(
                "a task must have 1 to {MAX_GOLDS} golds, not {}; for a task without a gold write \
                 `\"consensus\": true`",
                golds.len()
            );
            return Err(invalid("/answer", message));
        }
        if body.reject.len() > MAX_GOLDS {
            let message = format!(
                "a task must have at most {MAX_GOLDS} rejected texts, not {}",
                body.reject.len()
            );
            return Err(invalid("/reject", message));
        }
        check_texts("/answer", "a gold", &golds)?;
        check_texts("/reject", "a rejected text", &body.reject)?;
        if let Some(words) = body.words
            && words.min > words.max
        {
            let message = format!(
                "the smallest number of words is larger than the largest: {} and {}",
                words.min, words.max
            );
            return Err(invalid("/words", message));
        }
        let threshold = match (body.by, body.threshold) {
            (Match::Fuzzy, Some(threshold)) if threshold > 0.0 && threshold <= 1.0 => threshold,
            (Match::Fuzzy, None) => DEFAULT_THRESHOLD,
            (Match::Fuzzy, Some(threshold)) => {
                let message = format!("must be above 0 and at most 1, not {threshold}");
                return Err(invalid("/threshold", message));
            }
            (_, None) => 1.0,
            (_, Some(_)) => {
                return Err(invalid(
                    "/threshold",
                    "only `\"match\": \"fuzzy\"` has a threshold",
                ));
            }
        };
        match (body.score, body.by, body.require) {
            (Scoring::F1, by, _) if by != Match::Squad => {
                return Err(invalid(
                    "/score",
                    "only `\"match\": \"squad\"` has the score `f1`",
                ));
            }
            (Scoring::Share, _, Require::Any) => {
                return Err(invalid(
                    "/score",
                    "the score `share` needs `\"require\": \"all\"`",
                ));
            }
            _ => {}
        }
        Ok(Self {
            golds,
            consensus: body.consensus,
            require: body.require,
            rejected: body.reject,
            words: body.words,
            by: body.by,
            extract: body.extract,
            unanswerable: body.unanswerable,
            threshold,
            scoring: body.score,
        })
    }
}

fn check_texts(pointer: &str, what: &str, texts: &[String]) -> Result<(), TaskError> {
    if texts.iter().any(|text| text.trim().is_empty()) {
        return Err(invalid(pointer, format!("{what} is empty")));
    }
    if texts.iter().any(|text| text.len() > MAX_GOLD_BYTES) {
        let message = format!("{what} must have at most {MAX_GOLD_BYTES} bytes");
        return Err(invalid(pointer, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_point_to_field() {
        for (json, pointer) in [
            (r#"{"type":"text","answer":[]}"#, "/answer"),
            (r#"{"type":"text","answer":" "}"#, "/answer"),
            (
                r#"{"type":"text","answer":"a","match":"similar"}"#,
                "/match",
            ),
            (
                r#"{"type":"text","answer":"a","match":"fuzzy","threshold":0}"#,
                "/threshold",
            ),
            (
                r#"{"type":"text","answer":"a","threshold":0.5}"#,
                "/threshold",
            ),
            (r#"{"type":"text","answer":"a","score":"f1"}"#, "/score"),
            (r#"{"type":"text","answer":"a","score":"share"}"#, "/score"),
            (r#"{"type":"text"}"#, "/answer"),
            (
                r#"{"type":"text","answer":"a","consensus":true}"#,
                "/consensus",
            ),
            (
                r#"{"type":"text","consensus":true,"match":"pattern"}"#,
                "/match",
            ),
            (
                r#"{"type":"text","consensus":true,"reject":["a"]}"#,
                "/consensus",
            ),
            (
                r#"{"type":"text","answer":"a","extract":"box"}"#,
                "/extract",
            ),
            (r#"{"type":"text","answer":"a","mach":"exact"}"#, "/mach"),
            (r#"{"type":"text","answer":"a","reject":[""]}"#, "/reject"),
            (
                r#"{"type":"text","answer":"a","words":{"min":2,"max":1}}"#,
                "/words",
            ),
            (
                r#"{"type":"text","answer":"a","require":"some"}"#,
                "/require",
            ),
        ] {
            let task = Task::from_json(json).unwrap();
            assert_eq!(
                TextTask::read(&task).unwrap_err().pointer,
                pointer,
                "{json}"
            );
        }
    }

    #[test]
    fn a_task_has_at_most_64_golds() {
        let read = |count: usize| {
            let golds = vec![r#""a""#; count].join(",");
            let task = Task::from_json(&format!(r#"{{"type":"text","answer":[{golds}]}}"#));
            TextTask::read(&task.unwrap()).map(|task| task.golds.len())
        };
        assert_eq!(read(64).unwrap(), 64);
        assert_eq!(
            read(65).unwrap_err().message,
            "a task must have 1 to 64 golds, not 65; for a task without a gold write \
             `\"consensus\": true`"
        );
    }
}
