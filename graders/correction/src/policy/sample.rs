//! What a policy sees of an item, and what it makes of it. Holds borrowed facts only; computes
//! nothing.

use assay_core::{Reward, Score};
use serde::{Serialize, Serializer};

use super::consensus::Label;

/// What a policy sees of one item of a group.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample<'a> {
    /// Score after appeal; `None` for a masked item, which gets no reward and does not vote.
    pub score: Option<Score>,
    /// Whether it passed; `None` for graders without a notion of pass: such an item is neither
    /// right nor wrong.
    pub pass: Option<bool>,
    /// The backward-corrected outcome; present only when the channel allows a correction.
    pub corrected: Option<Reward>,
    /// Checks and nested components.
    pub parts: &'a [Part<'a>],
    /// Measures of graders, by name.
    pub measures: &'a [(&'a str, f64)],
    /// The completion's text.
    pub text: &'a str,
    /// Its length in tokens of the trainer's tokenizer.
    pub tokens: Option<f64>,
    /// Whether it was cut at the length limit.
    pub truncated: bool,
    /// The extracted answer in canonical form.
    pub answer: Option<&'a str>,
    /// The model that wrote it, where several do.
    pub model: Option<&'a str>,
    /// Scores of a process reward model, one for each step, in \[0, 1\].
    pub steps: &'a [f64],
}

/// A check or a component of an item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part<'a> {
    /// Its name in the request.
    pub name: &'a str,
    /// Its score; `None` when we failed to grade it or its task is at fault.
    pub score: Option<Score>,
    /// Whether it passed; `None` for graders without a notion of pass.
    pub pass: Option<bool>,
}

impl Part<'_> {
    /// Whether the part is met: its score is at least `at_least` where that is given, else it
    /// passed, else (no notion of pass) its score is at least 1/2. `None` without a score.
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
    /// The part of this name.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&'a Part<'a>> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// The score of the part of this name.
    #[must_use]
    pub fn part_score(&self, name: &str) -> Option<f64> {
        Some(self.part(name)?.score?.get())
    }

    /// The measure of this name, if it is a finite number.
    #[must_use]
    pub fn measure(&self, name: &str) -> Option<f64> {
        self.measures
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
            .filter(|value| value.is_finite())
    }

    /// Its length in tokens, if that is a number from 0 up.
    #[must_use]
    pub fn length(&self) -> Option<f64> {
        self.tokens
            .filter(|tokens| tokens.is_finite() && *tokens >= 0.0)
    }
}

/// What a term of a reward does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TermKind {
    /// A part was not met that forbids any gain; the value is the bound on the reward.
    Veto,
    /// The outcome, and what it is combined with; the value is the number itself.
    Outcome,
    /// A monotone map; the value is the number after it.
    Shape,
    /// A part was not met that cuts the reward; the value is the factor on a reward above 0.
    Gate,
    /// The value is a factor in \[0, 1\] on what a right answer has above its floor: a wrong answer
    /// with the same parts, or the best wrong answer of the group that does not stand above it.
    Efficiency,
    /// The value is a factor of at least 1 on the same.
    Bonus,
    /// The value is added; it is at most 0, but for `right_answer_floor`, which gives back what
    /// penalties would take below the floor.
    Penalty,
}

/// One step on the way from the verdict to the reward, in the order in which they were taken.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Term<'p> {
    /// The function's name, or the part's for vetoes and gates.
    pub name: &'p str,
    /// What it does, which says how `value` is meant.
    pub kind: TermKind,
    /// Its value.
    pub value: f64,
    /// The quantity it was computed from, where there is one: tokens, calls, work, cost, share of
    /// the text that loops.
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
    /// Whether it changed the number.
    fn acts(&self) -> bool {
        let neutral = match self.kind {
            TermKind::Gate | TermKind::Efficiency | TermKind::Bonus => 1.0,
            TermKind::Penalty => 0.0,
            TermKind::Veto | TermKind::Outcome | TermKind::Shape => return true,
        };
        (self.value - neutral).abs() > 0.0
    }
}

fn acting<S: Serializer>(terms: &[Term<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(terms.iter().filter(|term| term.acts()))
}

/// What a policy made of one item. As JSON it holds how the reward came about, absent where there
/// is nothing to say, and not the reward itself, which stands beside it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Composed<'p> {
    /// The reward; `None` for a masked item, one of whose parts is missing, or one whose group
    /// agreed on no label.
    #[serde(skip)]
    pub reward: Option<Reward>,
    /// How it came about; empty without a reward. As JSON without the terms that changed nothing.
    #[serde(serialize_with = "acting")]
    pub terms: Vec<Term<'p>>,
    /// Rewards of the steps, to be added to the reward at the end of each; empty without a `steps`
    /// section.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<f64>,
    /// Probability with which to draw this item among its group; `None` without a `filter` section
    /// or a reward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Which batch to train it in: `priority` or `compensation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<&'static str>,
    /// What the group agreed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// What the policy asks for and the item does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl Composed<'_> {
    /// Whether there is nothing to say: the reward is the outcome, and nothing stands beside it.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        let Self {
            terms,
            steps,
            weight,
            tag,
            label,
            missing,
            ..
        } = self;
        terms.iter().filter(|term| term.acts()).count() <= 1
            && steps.is_empty()
            && (weight.is_none() && tag.is_none() && label.is_none() && missing.is_none())
    }
}
