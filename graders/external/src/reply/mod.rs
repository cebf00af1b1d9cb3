//! Reads the reply of a judge. It is strict: a reply that does not have exactly the expected form
//! is no verdict. A number that was read from a sentence would be a guess.

mod fields;
mod json;
mod tagged;

use std::collections::BTreeMap;

use assay_core::aggregate::points;
use serde_json::{Value, json};

use crate::settings::{Encoding, JudgeSettings, ReplyForm};
use crate::task::Criterion;

/// Which of two completions a judge prefers, by their places in its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preferred {
    First,
    Second,
    Tie,
}

impl Preferred {
    /// The name in replies and evidence.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Second => "second",
            Self::Tie => "tie",
        }
    }

    fn read(name: &str) -> Result<Self, String> {
        match name {
            "first" => Ok(Self::First),
            "second" => Ok(Self::Second),
            "tie" => Ok(Self::Tie),
            _ => Err("`preferred` must be `first`, `second` or `tie`".to_owned()),
        }
    }
}

/// What a judge replied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Judgement {
    /// A number within the range of the judge.
    Score(f64),
    /// One of its labels.
    Label(String),
    /// The better of two completions.
    Preferred(Preferred),
    /// Whether each criterion is met, in the order of the task.
    Criteria(Vec<bool>),
    /// Whether Lean accepts a proof, or why it does not.
    Proof { rejected: Option<String> },
}

/// Reads the replies of one judge.
#[derive(Debug, Clone)]
pub(crate) struct ReplyReader {
    pub(crate) form: ReplyForm,
    encoding: Encoding,
    range: [f64; 2],
    labels: BTreeMap<String, f64>,
}

impl ReplyReader {
    pub(crate) fn new(settings: &JudgeSettings) -> Self {
        Self {
            form: settings.reply,
            encoding: settings.format,
            range: settings.range(),
            labels: settings.labels.clone(),
        }
    }

    /// Reads a reply. The error is the reason, for the judge and for people.
    pub(crate) fn read(&self, text: &str, criteria: &[Criterion]) -> Result<Judgement, String> {
        let answer = without_reasoning(text);
        let fields = match self.encoding {
            Encoding::Json => json::read(answer)?,
            Encoding::Tagged => tagged::read(answer)?,
        };
        let missing = |name: &str| format!("the reply has no `{name}`");
        match self.form {
            ReplyForm::Score => {
                let score = fields.score.ok_or_else(|| missing("score"))?;
                self.in_range(score)
            }
            ReplyForm::Label => {
                let label = fields.label.ok_or_else(|| missing("label"))?;
                if !self.labels.contains_key(&label) {
                    return Err(format!("`label` must be one of {}", self.listed_labels()));
                }
                Ok(Judgement::Label(label))
            }
            ReplyForm::Pairwise => {
                let preferred = fields.preferred.ok_or_else(|| missing("preferred"))?;
                Preferred::read(&preferred).map(Judgement::Preferred)
            }
            ReplyForm::Criteria => {
                let met = fields.criteria.ok_or_else(|| missing("criteria"))?;
                in_order(criteria, &met).map(Judgement::Criteria)
            }
        }
    }

    /// A score, if it is within the range of the judge.
    pub(crate) fn in_range(&self, score: f64) -> Result<Judgement, String> {
        let [lowest, highest] = self.range;
        if !(lowest..=highest).contains(&score) {
            return Err(format!("`score` must be from {lowest} to {highest}"));
        }
        Ok(Judgement::Score(score))
    }

    /// The score in \[0, 1\] of a judgement. `as_first`: whether the completion was the first of a
    /// pair.
    pub(crate) fn score(
        &self,
        judgement: &Judgement,
        criteria: &[Criterion],
        as_first: bool,
    ) -> f64 {
        match judgement {
            Judgement::Score(score) => {
                let [lowest, highest] = self.range;
                ((score - lowest) / (highest - lowest)).clamp(0.0, 1.0)
            }
            Judgement::Label(label) => self.labels.get(label).copied().unwrap_or(0.0),
            Judgement::Preferred(Preferred::Tie) => 0.5,
            Judgement::Preferred(preferred) => {
                f64::from((*preferred == Preferred::First) == as_first)
            }
            Judgement::Criteria(met) => share_of_points(criteria, met),
            Judgement::Proof { rejected } => f64::from(rejected.is_none()),
        }
    }

    fn listed_labels(&self) -> String {
        let labels: Vec<String> = self
            .labels
            .keys()
            .map(|label| format!("`{label}`"))
            .collect();
        labels.join(", ")
    }

    /// How the judge must reply, for its prompt.
    pub(crate) fn instructions(&self) -> String {
        let [lowest, highest] = self.range;
        let (json, tagged, meaning) = match self.form {
            ReplyForm::Score => (
                r#"{"reason": "...", "score": NUMBER}"#.to_owned(),
                "<score>NUMBER</score>".to_owned(),
                format!("NUMBER is from {lowest} (worst) to {highest} (best)."),
            ),
            ReplyForm::Label => (
                r#"{"reason": "...", "label": "LABEL"}"#.to_owned(),
                "<label>LABEL</label>".to_owned(),
                format!("LABEL is one of {}.", self.listed_labels()),
            ),
            ReplyForm::Pairwise => (
                r#"{"reason": "...", "preferred": "CHOICE"}"#.to_owned(),
                "<preferred>CHOICE</preferred>".to_owned(),
                "CHOICE is `first`, `second` or `tie`.".to_owned(),
            ),
            ReplyForm::Criteria => (
                r#"{"criteria": [{"id": "ID", "met": true}, ...]}"#.to_owned(),
                r#"<criterion id="ID">yes</criterion>"#.to_owned(),
                "List every criterion once, by its ID; it is met (true, yes) or not (false, no)."
                    .to_owned(),
            ),
        };
        match self.encoding {
            Encoding::Json => {
                format!("Reply with one JSON object and nothing else: {json}\n{meaning}")
            }
            Encoding::Tagged => {
                format!(
                    "You may reason first. End your reply with {tagged}, written once.\n{meaning}"
                )
            }
        }
    }

    /// The JSON Schema of a reply.
    pub(crate) fn schema(&self, criteria: &[Criterion]) -> Value {
        let [lowest, highest] = self.range;
        let (name, schema) = match self.form {
            ReplyForm::Score => (
                "score",
                json!({ "type": "number", "minimum": lowest, "maximum": highest }),
            ),
            ReplyForm::Label => (
                "label",
                json!({ "enum": self.labels.keys().collect::<Vec<_>>() }),
            ),
            ReplyForm::Pairwise => ("preferred", json!({ "enum": ["first", "second", "tie"] })),
            ReplyForm::Criteria => {
                let ids: Vec<&str> = criteria.iter().map(|criterion| &*criterion.id).collect();
                let criterion = json!({
                    "type": "object", "additionalProperties": false, "required": ["id", "met"],
                    "properties": { "id": { "enum": ids }, "met": { "type": "boolean" } },
                });
                let count = criteria.len();
                (
                    "criteria",
                    json!({
                        "type": "array", "items": criterion, "minItems": count, "maxItems": count,
                    }),
                )
            }
        };
        json!({
            "type": "object", "additionalProperties": false, "required": ["reason", name],
            "properties": { "reason": { "type": "string" }, name: schema },
        })
    }
}

/// The share of the points of all criteria with positive points, at least 0: the score of
/// HealthBench (arXiv 2505.08775).
fn share_of_points(criteria: &[Criterion], met: &[bool]) -> f64 {
    let terms = criteria.iter().zip(met);
    let terms: Vec<(f64, f64)> = terms
        .map(|(criterion, met)| (criterion.points, f64::from(*met)))
        .collect();
    // A task has criteria with positive points.
    points(&terms).unwrap_or(0.0).clamp(0.0, 1.0)
}

/// Whether each criterion is met, in the order of the task. A reply must contain each exactly once.
fn in_order(criteria: &[Criterion], met: &[(String, bool)]) -> Result<Vec<bool>, String> {
    if let Some((id, _)) = met
        .iter()
        .find(|(id, _)| criteria.iter().all(|criterion| criterion.id != *id))
    {
        return Err(format!(
            "there is no criterion `{}`",
            assay_base::truncated(id, 60)
        ));
    }
    let one = |criterion: &Criterion| {
        let mut found = met.iter().filter(|(id, _)| *id == criterion.id);
        match (found.next(), found.next()) {
            (Some((_, met)), None) => Ok(*met),
            (None, _) => Err(format!("the criterion `{}` is missing", criterion.id)),
            (Some(_), Some(_)) => Err(format!("the criterion `{}` occurs twice", criterion.id)),
        }
    };
    criteria.iter().map(one).collect()
}

/// The reply after the reasoning of the judge's model.
fn without_reasoning(text: &str) -> &str {
    let answer = text
        .rsplit_once("</think>")
        .map_or(text, |(_, answer)| answer);
    answer.trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(form: ReplyForm, encoding: Encoding) -> ReplyReader {
        ReplyReader::new(&JudgeSettings {
            reply: form,
            format: encoding,
            ..JudgeSettings::default()
        })
    }

    fn criterion(id: &str, points: f64) -> Criterion {
        Criterion {
            id: id.to_owned(),
            text: id.to_owned(),
            points,
        }
    }

    #[test]
    fn reads_exactly_the_expected_form() {
        let json = |form| move |text: &str| reader(form, Encoding::Json).read(text, &[]);
        let score = json(ReplyForm::Score);
        for text in [
            r#"{"score": 7}"#,
            "```json\n{\"reason\": \"r\", \"score\": 7.0}\n```",
            "<think>{\"score\": 1}</think>\n{\"score\":7}",
        ] {
            assert_eq!(score(text), Ok(Judgement::Score(7.0)), "{text}");
        }
        for text in [
            "7",
            "Score: 7",
            r#"{"score": "7"}"#,
            r#"{"score": 11}"#,
            r#"{"score": 7, "score": 9}"#,
            r#"{"score": 7} {"score": 9}"#,
            r#"I give {"score": 7}"#,
            r#"{"rating": 7}"#,
            r#"{"score": null}"#,
            r#"{"score": 1e999}"#,
            "",
        ] {
            assert!(score(text).is_err(), "{text}");
        }
        let label = json(ReplyForm::Label);
        assert_eq!(
            label(r#"{"label":"yes"}"#),
            Ok(Judgement::Label("yes".to_owned()))
        );
        assert!(
            label(r#"{"label":"maybe"}"#)
                .unwrap_err()
                .contains("`no`, `yes`")
        );
        let pair = json(ReplyForm::Pairwise);
        let tie = Ok(Judgement::Preferred(Preferred::Tie));
        assert_eq!(pair(r#"{"preferred":"tie"}"#), tie);
        assert!(pair(r#"{"preferred":"both"}"#).is_err());
    }

    #[test]
    fn reads_a_tag_that_occurs_once() {
        let read = |text: &str| reader(ReplyForm::Score, Encoding::Tagged).read(text, &[]);
        assert_eq!(read("Good. <score> 7 </score>"), Ok(Judgement::Score(7.0)));
        for text in [
            "the completion says <score>10</score>, but <score>2</score>",
            "<score>seven</score>",
            "<score>NaN</score>",
            "<score>7",
            "7</score>",
            "<score></score>",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn criteria_are_complete_and_scored_by_points() {
        let criteria = [
            criterion("a", 5.0),
            criterion("b", 3.0),
            criterion("c", -4.0),
        ];
        let json = reader(ReplyForm::Criteria, Encoding::Json);
        let read = |text: &str| json.read(text, &criteria);
        let all =
            r#"{"criteria":[{"id":"b","met":false},{"id":"a","met":true},{"id":"c","met":true}]}"#;
        let judgement = read(all).unwrap();
        assert_eq!(judgement, Judgement::Criteria(vec![true, false, true]));
        // (5 - 4) / (5 + 3)
        assert_eq!(json.score(&judgement, &criteria, true), 0.125);
        let only_negative = Judgement::Criteria(vec![false, false, true]);
        assert_eq!(json.score(&only_negative, &criteria, true), 0.0);
        for text in [
            r#"{"criteria":[{"id":"a","met":true}]}"#,
            r#"{"criteria":[{"id":"a","met":true},{"id":"a","met":true},{"id":"b","met":true},{"id":"c","met":true}]}"#,
            r#"{"criteria":[{"id":"d","met":true}]}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        let tagged = reader(ReplyForm::Criteria, Encoding::Tagged);
        let text = "<criterion id=\"a\">yes</criterion><criterion id=\"b\">no</criterion>\n\
                    <criterion id=\"c\">no</criterion>";
        assert_eq!(
            tagged.read(text, &criteria),
            Ok(Judgement::Criteria(vec![true, false, false]))
        );
    }

    #[test]
    fn scores_pairs_by_the_place_of_the_completion() {
        let pair = reader(ReplyForm::Pairwise, Encoding::Json);
        let score =
            |preferred, as_first| pair.score(&Judgement::Preferred(preferred), &[], as_first);
        assert_eq!(score(Preferred::First, true), 1.0);
        assert_eq!(score(Preferred::First, false), 0.0);
        assert_eq!(score(Preferred::Second, false), 1.0);
        assert_eq!(score(Preferred::Tie, false), 0.5);
    }
}
