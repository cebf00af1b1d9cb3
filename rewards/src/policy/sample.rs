//! Input and result of a policy for one item.

use assay_core::{Reward, Score};
use serde::{Serialize, Serializer};

use super::label::Label;
use crate::propensity::Propensity;

/// Input of a policy: one item of a group.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample<'a> {
    /// Score after appeal; `None` for a masked item, which gets no reward and is not counted.
    pub score: Option<Score>,
    /// Whether it passed; `None` for graders without a notion of pass, whose items are neither
    /// right nor wrong.
    pub pass: Option<bool>,
    /// Backward-corrected outcome; `None` unless the channel may be corrected.
    pub corrected: Option<Reward>,
    /// Checks and components of the grader.
    pub parts: &'a [Part<'a>],
    /// Measures of graders, by name.
    pub measures: &'a [(&'a str, f64)],
    /// Text of the completion.
    pub text: &'a str,
    /// Length in tokens of the trainer's tokenizer.
    pub tokens: Option<f64>,
    /// Whether the completion was truncated at the length limit.
    pub truncated: bool,
    /// Extracted answer in canonical form.
    pub answer: Option<&'a str>,
    /// Model that generated the completion, if there are several.
    pub model: Option<&'a str>,
    /// Scores of a process reward model, one for each step, in \[0, 1\].
    pub steps: &'a [f64],
}

/// A check or a component of an item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part<'a> {
    /// Name in the request.
    pub name: &'a str,
    /// Score; `None` if it is ungradable or failed.
    pub score: Option<Score>,
    /// Whether it passed; `None` for graders without a notion of pass.
    pub pass: Option<bool>,
}

impl Part<'_> {
    /// Whether the part is met: its score is at least `at_least`, if given; else it passed; else
    /// (without a notion of pass) its score is at least 1/2. `None` without a score.
    #[must_use]
    pub fn met(&self, at_least: Option<f64>) -> Option<bool> {
        let score = self.score?.get();
        Some(match (at_least, self.pass) {
            (Some(bound), _) => score >= bound,
            (None, Some(pass)) => pass,
            (None, None) => score >= 0.5,
        })
    }
}

impl<'a> Sample<'a> {
    /// The part with this name.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&'a Part<'a>> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// The score of the part with this name.
    #[must_use]
    pub fn part_score(&self, name: &str) -> Option<f64> {
        Some(self.part(name)?.score?.get())
    }

    /// The measure with this name, if it is finite.
    #[must_use]
    pub fn measure(&self, name: &str) -> Option<f64> {
        self.measures
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
            .filter(|value| value.is_finite())
    }

    /// Length in tokens, if it is finite and at least 0.
    #[must_use]
    pub fn length(&self) -> Option<f64> {
        self.tokens
            .filter(|tokens| tokens.is_finite() && *tokens >= 0.0)
    }
}

/// Kind of a term of a reward, which defines the meaning of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TermKind {
    /// A part of the veto was not met; the value is the upper limit of the reward.
    Veto,
    /// The outcome, or its combination with parts; the value is the resulting number.
    Outcome,
    /// A monotone map; the value is the mapped number.
    Shape,
    /// A part of a gate was not met; the value is the factor on a reward above 0.
    Gate,
    /// The value is a factor in \[0, 1\] on the difference between a right answer and its floor:
    /// the reward of a wrong answer with the same parts, or of the best wrong answer of the group
    /// that is not above it.
    Efficiency,
    /// The value is a factor of at least 1 on the same difference.
    Bonus,
    /// The value is added. It is at most 0, except for `right_answer_floor`, which offsets
    /// penalties below the floor.
    Penalty,
}

/// One step in the computation of a reward. Terms are listed in the order of application.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Term<'p> {
    /// Name of the function; for vetoes and gates, of the part.
    pub name: &'p str,
    /// Kind of the term.
    pub kind: TermKind,
    /// Value, with the meaning defined by `kind`.
    pub value: f64,
    /// Quantity it was computed from, if any: tokens, calls, work, cost, members with an equal
    /// answer, or share of the text that is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<f64>,
}

pub(super) fn term<'p>(name: &'p str, kind: TermKind, value: f64, of: Option<f64>) -> Term<'p> {
    Term {
        name,
        kind,
        value,
        of,
    }
}

impl Term<'_> {
    /// Whether the term changed the number.
    fn has_effect(&self) -> bool {
        let neutral = match self.kind {
            TermKind::Gate | TermKind::Efficiency | TermKind::Bonus => 1.0,
            TermKind::Penalty => 0.0,
            TermKind::Veto | TermKind::Outcome | TermKind::Shape => return true,
        };
        (self.value - neutral).abs() > 0.0
    }
}

fn terms_with_effect<S: Serializer>(terms: &[Term<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(terms.iter().filter(|term| term.has_effect()))
}

/// Result of a policy for one item: the reward and its breakdown. The JSON contains the breakdown
/// only, without empty fields; the reward is another field of the reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RewardResult<'p> {
    /// Reward; `None` for a masked item, if a required input is missing, and if the group has no
    /// label under `consensus`.
    #[serde(skip)]
    pub reward: Option<Reward>,
    /// Terms of the reward; empty without a reward. The JSON omits terms without effect.
    #[serde(serialize_with = "terms_with_effect")]
    pub terms: Vec<Term<'p>>,
    /// Rewards at the end of each step, in addition to the reward; empty without a `steps` section.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<f64>,
    /// Probability with which to sample this item from its group, in \[0, 1\]; `None` without a
    /// `filter` section or a reward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Weight of the item under `weights`; `None` without the section or a reward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propensity: Option<Propensity>,
    /// Batch to train the item in: `priority` or `compensation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<&'static str>,
    /// Label of the group under `consensus`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// Which required input the item lacks, or why the reward is not finite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl RewardResult<'_> {
    /// Whether the breakdown is empty: the reward is the outcome, without other fields.
    #[must_use]
    pub fn is_trivial(&self) -> bool {
        let Self {
            terms,
            steps,
            weight,
            propensity,
            tag,
            label,
            missing,
            ..
        } = self;
        terms.iter().filter(|term| term.has_effect()).count() <= 1
            && steps.is_empty()
            && (weight.is_none() && propensity.is_none() && tag.is_none())
            && (label.is_none() && missing.is_none())
    }
}
