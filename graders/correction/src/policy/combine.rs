//! How the outcome and the parts of an item become one number. Each function here grows with the
//! outcome, other parts equal; it knows nothing of the group, of length and of cost. None pays for
//! a part that is not met, of a negative outcome neither: a corrected verdict of no pass is -rho0 /
//! J, and 0 would be more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::explain::{Line, tidy};
use super::read::{self, Checked, Level, PolicyError};
use super::shape::sigmoid;
use super::{Needs, OUTCOME, Sample, Section};

/// How outcome and parts become one number. `outcome` names the outcome among the parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// [`weighted`] mean.
    Weighted(Weights),
    /// [`product`] of the outcome and parts.
    Product(Parts),
    /// [`least`] of the outcome and parts.
    Min(Parts),
    /// [`gate_chain`].
    GateChain(GateChain),
    /// [`rubric`] with critical items and saturation.
    Rubric(Rubric),
    /// [`points`] of a rubric, some of them negative.
    Points(Points),
    /// [`constrained`] reward of a reward model.
    Cgpo(Cgpo),
}

/// Weights by part; `outcome` among them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// At least 0 each, not all 0.
    pub weights: BTreeMap<String, f64>,
}

/// Parts that join the outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// Their names.
    pub parts: Vec<String>,
}

/// Parts in order of priority, behind the outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateChain {
    /// The chain opens when the outcome is above this.
    #[serde(default)]
    pub above: f64,
    /// The parts, the one of highest priority first.
    pub chain: Vec<Link>,
}

/// A part of a [`GateChain`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name.
    pub part: String,
    /// What its score is multiplied by, above 0.
    pub weight: f64,
    /// The next part counts when this one's score is above this, in \[0, 1\].
    #[serde(default)]
    pub above: f64,
}

/// A rubric: weights, critical parts, saturation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rubric {
    /// At least 0 each, not all 0; `outcome` among them.
    pub weights: BTreeMap<String, f64>,
    /// Parts without which nothing is above 0.
    #[serde(default)]
    pub critical: Vec<String>,
    /// How much sooner a part saturates, 0 (not at all) to 100.
    #[serde(default)]
    pub saturation: f64,
}

/// A rubric of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// Points by part; those of a fault are negative. `outcome` among them, with points of 0 or
    /// more.
    pub points: BTreeMap<String, f64>,
}

/// Judges of constraints before a calibrated reward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cgpo {
    /// Parts that all have to be met; `outcome` may be one of them.
    pub judges: Vec<String>,
    /// The measure with the reward model's raw reward.
    pub measure: String,
    /// The raw reward of the reference completion.
    pub reference: Level,
}

/// Weighted mean, sum w s / sum w. In \[0, 1\] for scores; `None` unless the weights sum to more
/// than 0.
#[must_use]
pub fn weighted(terms: &[(f64, f64)]) -> Option<f64> {
    let total: f64 = terms.iter().map(|(weight, _)| weight).sum();
    (total > 0.0).then(|| {
        terms
            .iter()
            .map(|(weight, score)| weight * score)
            .sum::<f64>()
            / total
    })
}

/// Outcome times the scores of all parts, and of a negative outcome no more than the outcome
/// itself: min(outcome, outcome s_1 s_2 ...) there, because cutting a loss would pay for parts that
/// are not met. 1 part of 0 makes an outcome of 0 or more 0.
#[must_use]
pub fn product(outcome: f64, scores: &[f64]) -> f64 {
    let product = scores
        .iter()
        .fold(outcome, |product, score| product * score);
    if outcome < 0.0 {
        product.min(outcome)
    } else {
        product
    }
}

/// The smallest of the outcome and the scores.
#[must_use]
pub fn least(outcome: f64, scores: &[f64]) -> f64 {
    scores
        .iter()
        .fold(outcome, |least, score| least.min(*score))
}

/// Gated accumulation (G-RA, arXiv 2508.10548): R = R_out + 1\[R_out > v\] sum w_i R_i, where R_i
/// counts only if every part of higher priority is above its threshold too. `chain` holds (weight,
/// threshold, score), highest priority first.
///
/// In \[R_out, R_out + sum w\]; it grows with the outcome because no weight is negative.
#[must_use]
pub fn gate_chain(outcome: f64, above: f64, chain: &[(f64, f64, f64)]) -> f64 {
    let mut reward = outcome;
    let mut open = outcome > above;
    for (weight, above, score) in chain {
        if !open {
            break;
        }
        reward += weight * score;
        open = score > above;
    }
    reward
}

/// Concave map of \[0, 1\] onto itself, g(s) = (1 + c) s / (1 + c s) with c >= 0, continued outside
/// by its tangents (own derivation). c = 0 is the identity; the larger c, the less the last bit of
/// a part is worth beside the first bit of another.
#[must_use]
pub fn saturated(score: f64, c: f64) -> f64 {
    if score < 0.0 {
        (1.0 + c) * score
    } else if score > 1.0 {
        1.0 + (score - 1.0) / (1.0 + c)
    } else {
        (1.0 + c) * score / (1.0 + c * score)
    }
}

/// Rubric aggregation (weights, veto and saturation after Rubric Anchors, arXiv 2508.12790; the
/// form is an own derivation): sum w g(s) / sum w with g [`saturated`], at most 0 when a critical
/// part is not met. `terms` holds (weight, score). The mean is below 0 with a negative outcome
/// only, and then no critical part makes it better by not being met.
///
/// `None` unless the weights sum to more than 0.
#[must_use]
pub fn rubric(critical_met: bool, terms: &[(f64, f64)], saturation: f64) -> Option<f64> {
    let total: f64 = terms.iter().map(|(weight, _)| weight).sum();
    let sum = || {
        terms
            .iter()
            .map(|(weight, score)| weight * saturated(*score, saturation))
            .sum::<f64>()
    };
    (total > 0.0).then(|| {
        if critical_met {
            sum() / total
        } else {
            (sum() / total).min(0.0)
        }
    })
}

/// Rubric of points (RuscaRL): S = sum points b / sum of the positive points, b in \[0, 1\] whether
/// the part is met. `terms` holds (points, b). At most 1; below 0 when faults outweigh. `None`
/// without positive points.
#[must_use]
pub fn points(terms: &[(f64, f64)]) -> Option<f64> {
    let best: f64 = terms.iter().map(|(points, _)| points.max(0.0)).sum();
    (best > 0.0).then(|| terms.iter().map(|(points, met)| points * met).sum::<f64>() / best)
}

/// Calibrated reward under constraints (CGPO, arXiv 2409.20370): sigmoid(r - r_ref) when every
/// judge is met, else 0. In \[0, 1\].
#[must_use]
pub fn constrained(all_met: bool, raw: f64, reference: f64) -> f64 {
    if all_met {
        sigmoid(raw - reference)
    } else {
        0.0
    }
}

impl Combine {
    /// The function's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Weighted(_) => "weighted",
            Self::Product(_) => "product",
            Self::Min(_) => "min",
            Self::GateChain(_) => "gate_chain",
            Self::Rubric(_) => "rubric",
            Self::Points(_) => "points",
            Self::Cgpo(_) => "cgpo",
        }
    }

    /// The number for an item whose outcome is `outcome` and which is `right` or not; `None` when a
    /// part or measure is missing.
    #[must_use]
    pub fn apply(&self, outcome: f64, right: bool, item: &Sample<'_>) -> Option<f64> {
        let score = |name: &str| {
            if name == OUTCOME {
                Some(outcome)
            } else {
                item.part_score(name)
            }
        };
        let met = |name: &String| {
            if name == OUTCOME {
                Some(right)
            } else {
                item.part(name)?.met(None)
            }
        };
        let terms = |weights: &BTreeMap<String, f64>| {
            weights
                .iter()
                .map(|(name, weight)| Some((*weight, score(name)?)))
                .collect::<Option<Vec<_>>>()
        };
        let scores = |parts: &Parts| {
            parts
                .parts
                .iter()
                .map(|name| score(name))
                .collect::<Option<Vec<_>>>()
        };
        match self {
            Self::Weighted(of) => weighted(&terms(&of.weights)?),
            Self::Product(of) => Some(product(outcome, &scores(of)?)),
            Self::Min(of) => Some(least(outcome, &scores(of)?)),
            Self::GateChain(of) => {
                let link = |link: &Link| Some((link.weight, link.above, score(&link.part)?));
                Some(gate_chain(
                    outcome,
                    of.above,
                    &of.chain.iter().map(link).collect::<Option<Vec<_>>>()?,
                ))
            }
            Self::Rubric(of) => {
                let critical = of
                    .critical
                    .iter()
                    .try_fold(true, |all, name| Some(met(name)? && all))?;
                rubric(critical, &terms(&of.weights)?, of.saturation)
            }
            Self::Points(of) => points(&terms(&of.points)?),
            Self::Cgpo(of) => {
                let all = of
                    .judges
                    .iter()
                    .try_fold(true, |all, name| Some(met(name)? && all))?;
                Some(constrained(
                    all,
                    item.measure(&of.measure)?,
                    of.reference.of(item)?,
                ))
            }
        }
    }
}

/// Weights of a mean: the outcome among them, none negative, not all 0.
fn check_weights(weights: &BTreeMap<String, f64>) -> Checked {
    read::listed("weights", weights.len())?;
    for (name, weight) in weights {
        let field = format!("weights/{}", read::escaped(name));
        read::named(&field, name)?;
        read::within(field, *weight, 0.0, 1e9)?;
    }
    if weights.values().all(|weight| *weight <= 0.0) {
        return Err(PolicyError::at(
            "weights",
            "all weights are 0; give at least one part a weight above 0",
        ));
    }
    outcome_among("weights", weights)
}

fn outcome_among(field: &str, weights: &BTreeMap<String, f64>) -> Checked {
    if weights.contains_key(OUTCOME) {
        return Ok(());
    }
    Err(PolicyError::at(
        field,
        "`outcome` is not among them; give it a weight, 0 to leave it out",
    ))
}

impl Section for Combine {
    fn check(&self) -> Checked {
        let checked = match self {
            Self::Weighted(of) => check_weights(&of.weights),
            Self::Product(of) | Self::Min(of) => {
                let part = |(at, name): (usize, &String)| read::part(format!("parts/{at}"), name);
                read::distinct("parts", of.parts.iter().map(String::as_str))
                    .and_then(|()| of.parts.iter().enumerate().try_for_each(part))
            }
            Self::GateChain(of) => of.check(),
            Self::Rubric(of) => of.check(),
            Self::Points(of) => of.check(),
            Self::Cgpo(of) => {
                let judges = read::distinct("judges", of.judges.iter().map(String::as_str));
                judges
                    .and_then(|()| read::named("measure", &of.measure))
                    .and_then(|()| of.reference.check("reference"))
            }
        };
        checked.map_err(|error| error.under(self.name()))
    }

    fn needs<'p>(&'p self, needs: &mut Needs<'p>) {
        match self {
            Self::Weighted(of) => of.weights.keys().for_each(|name| needs.part(name)),
            Self::Product(of) | Self::Min(of) => of.parts.iter().for_each(|name| needs.part(name)),
            Self::GateChain(of) => of.chain.iter().for_each(|link| needs.part(&link.part)),
            Self::Rubric(of) => of
                .weights
                .keys()
                .chain(&of.critical)
                .for_each(|name| needs.part(name)),
            Self::Points(of) => of.points.keys().for_each(|name| needs.part(name)),
            Self::Cgpo(of) => {
                of.judges.iter().for_each(|name| needs.part(name));
                needs.measure(&of.measure);
                of.reference.needs(needs);
            }
        }
    }

    fn explain(&self) -> Vec<Line> {
        let sum = |weights: &BTreeMap<String, f64>| {
            weights
                .iter()
                .map(|(name, weight)| format!("{weight} {name}"))
                .collect::<Vec<_>>()
                .join(" + ")
        };
        let (formula, meaning) = match self {
            Self::Weighted(of) => {
                let total: f64 = of.weights.values().sum();
                (
                    format!("({}) / {}", sum(&of.weights), tidy(total)),
                    "each part counts by its weight",
                )
            }
            Self::Product(of) => (
                format!("outcome * {}, at most outcome", of.parts.join(" * ")),
                "each part cuts what the others leave, of a gain and not of a loss",
            ),
            Self::Min(of) => (
                format!("min(outcome, {})", of.parts.join(", ")),
                "only the weakest part counts",
            ),
            Self::GateChain(of) => {
                let chain = of
                    .chain
                    .iter()
                    .map(|link| format!("{} {} [> {}]", link.weight, link.part, link.above));
                let chain = chain.collect::<Vec<_>>().join(" -> ");
                (
                    format!("outcome [> {}] -> + {chain}", of.above),
                    "a part counts only when all before it are above their bounds, so that none \
                     is gained in another's stead",
                )
            }
            Self::Rubric(of) => {
                let (c, total) = (of.saturation, of.weights.values().sum::<f64>());
                let terms = of
                    .weights
                    .iter()
                    .map(|(name, weight)| format!("{weight} g({name})"))
                    .collect::<Vec<_>>()
                    .join(" + ");
                let unless = if of.critical.is_empty() {
                    String::new()
                } else {
                    format!("at most 0 unless met: {}; ", of.critical.join(", "))
                };
                (
                    format!(
                        "{unless}({terms}) / {}, g(s) = {} s / (1 + {c} s)",
                        tidy(total),
                        tidy(1.0 + c)
                    ),
                    "a rubric whose critical parts cannot be made up for and whose parts saturate",
                )
            }
            Self::Points(of) => {
                let best: f64 = of.points.values().map(|points| points.max(0.0)).sum();
                (
                    format!("({}) / {}", sum(&of.points), tidy(best)),
                    "points for what is met, negative points for faults",
                )
            }
            Self::Cgpo(of) => (
                format!(
                    "sigmoid({} - {}) if met: {}; else 0",
                    of.measure,
                    of.reference,
                    of.judges.join(", ")
                ),
                "the reward model counts only where every judge is met",
            ),
        };
        vec![Line::new(self.name(), self.name(), formula, meaning)]
    }
}

impl GateChain {
    fn check(&self) -> Checked {
        read::finite("above", self.above)?;
        read::distinct("chain", self.chain.iter().map(|link| link.part.as_str()))?;
        for (at, link) in self.chain.iter().enumerate() {
            read::part(format!("chain/{at}/part"), &link.part)?;
            read::positive(format!("chain/{at}/weight"), link.weight)?;
            read::within(format!("chain/{at}/weight"), link.weight, 0.0, 1e9)?;
            read::within(format!("chain/{at}/above"), link.above, 0.0, 1.0)?;
        }
        Ok(())
    }
}

impl Rubric {
    fn check(&self) -> Checked {
        check_weights(&self.weights)?;
        if !self.critical.is_empty() {
            read::distinct("critical", self.critical.iter().map(String::as_str))?;
        }
        read::within("saturation", self.saturation, 0.0, 100.0)
    }
}

impl Points {
    fn check(&self) -> Checked {
        read::listed("points", self.points.len())?;
        for (name, points) in &self.points {
            let field = format!("points/{}", read::escaped(name));
            read::named(&field, name)?;
            read::within(field, *points, -1e9, 1e9)?;
        }
        outcome_among("points", &self.points)?;
        if self.points.get(OUTCOME).is_some_and(|points| *points < 0.0) {
            return Err(PolicyError::at(
                "points/outcome",
                "being right is no fault; give it 0 points or more",
            ));
        }
        if self.points.values().all(|points| *points <= 0.0) {
            return Err(PolicyError::at(
                "points",
                "no part has points above 0; give at least one part some",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use assay_core::Score;
    use proptest::prelude::*;

    use super::super::Part;
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn a_weighted_mean_divides_by_the_weights() {
        // (3 * 1 + 1 * 0.5) / 4 = 0.875
        near(weighted(&[(3.0, 1.0), (1.0, 0.5)]).unwrap(), 0.875);
        assert_eq!(weighted(&[(0.0, 1.0)]), None);
        assert_eq!(weighted(&[]), None);
    }

    #[test]
    fn a_product_and_a_least_are_what_they_say() {
        near(product(1.0, &[0.5, 0.5]), 0.25);
        // A loss is not cut: -0.6 * 0.5 would be more than -0.6.
        near(product(-0.6, &[0.5, 0.0]), -0.6);
        near(product(-0.6, &[1.0]), -0.6);
        near(least(1.0, &[0.5, 0.7]), 0.5);
        near(least(0.2, &[0.5, 0.7]), 0.2);
    }

    #[test]
    fn a_part_behind_a_closed_gate_does_not_count() {
        let chain = [(0.3, 0.5, 0.8), (0.2, 0.0, 1.0)];
        // 1 + 0.3 * 0.8 + 0.2 * 1 = 1.44: 1 > 0.5 and 0.8 > 0.5.
        near(gate_chain(1.0, 0.5, &chain), 1.44);
        // The first part is at 0.4, not above 0.5, so the second does not count: 1 + 0.3 * 0.4.
        near(
            gate_chain(1.0, 0.5, &[(0.3, 0.5, 0.4), (0.2, 0.0, 1.0)]),
            1.12,
        );
        // The outcome itself is not above its bound.
        near(gate_chain(0.5, 0.5, &chain), 0.5);
    }

    #[test]
    fn saturation_is_concave_and_smooth() {
        // c = 1: 2 * 0.5 / 1.5
        near(saturated(0.5, 1.0), 2.0 / 3.0);
        near(saturated(0.5, 0.0), 0.5);
        near(saturated(0.0, 3.0), 0.0);
        near(saturated(1.0, 3.0), 1.0);
        // Tangents: slope 1 + c = 2 below 0, 1 / (1 + c) = 1/2 above 1.
        near(saturated(-0.25, 1.0), -0.5);
        near(saturated(1.5, 1.0), 1.25);
    }

    #[test]
    fn a_critical_part_cannot_be_made_up_for() {
        // (2 * g(1) + 1 * g(0.5)) / 3 with c = 1: (2 + 2/3) / 3
        near(
            rubric(true, &[(2.0, 1.0), (1.0, 0.5)], 1.0).unwrap(),
            8.0 / 9.0,
        );
        near(rubric(false, &[(2.0, 1.0), (1.0, 0.5)], 1.0).unwrap(), 0.0);
        // A loss stays: (2 * -0.6 + 1 * 0) / 3, and not 0; (2 * -0.6 + 1 * 1) / 3 is what it would
        // be with the other part.
        near(
            rubric(false, &[(2.0, -0.6), (1.0, 0.0)], 0.0).unwrap(),
            -0.4,
        );
        near(
            rubric(true, &[(2.0, -0.6), (1.0, 1.0)], 0.0).unwrap(),
            -0.2 / 3.0,
        );
        assert_eq!(rubric(true, &[], 1.0), None);
    }

    #[test]
    fn faults_cost_points() {
        // (5 + 0 - 4 * 0.5) / (5 + 5) = 0.3
        near(points(&[(5.0, 1.0), (5.0, 0.0), (-4.0, 0.5)]).unwrap(), 0.3);
        assert_eq!(points(&[(-1.0, 1.0)]), None);
    }

    #[test]
    fn a_reward_model_counts_only_under_its_constraints() {
        // python: 1 / (1 + math.exp(-(2.5 - 1.0))) = 0.8175744761936437
        near(constrained(true, 2.5, 1.0), 0.817_574_476_193_643_7);
        near(constrained(false, 2.5, 1.0), 0.0);
    }

    #[test]
    fn the_outcome_stands_among_the_parts() {
        let parts = [Part {
            name: "style",
            score: Score::new(0.5).ok(),
            pass: None,
        }];
        let item = Sample {
            score: Some(Score::ONE),
            parts: &parts,
            ..Sample::default()
        };
        let weights = [(OUTCOME.to_owned(), 3.0), ("style".to_owned(), 1.0)];
        let combine = Combine::Weighted(Weights {
            weights: weights.into(),
        });
        near(combine.apply(1.0, true, &item).unwrap(), 0.875);
        let lacking = Combine::Min(Parts {
            parts: vec!["tone".to_owned()],
        });
        assert_eq!(lacking.apply(1.0, true, &item), None);
        let judged = Combine::Cgpo(Cgpo {
            judges: vec![OUTCOME.to_owned(), "style".to_owned()],
            measure: "raw".to_owned(),
            reference: Level::Number(1.0),
        });
        let item = Sample {
            measures: &[("raw", 2.5)],
            ..item
        };
        near(
            judged.apply(1.0, true, &item).unwrap(),
            0.817_574_476_193_643_7,
        );
        near(judged.apply(0.0, false, &item).unwrap(), 0.0);
    }

    proptest! {
        #[test]
        fn a_part_that_is_not_met_never_pays(
            outcome in -2.0..2.0f64, scores in prop::collection::vec(0.0..=1.0f64, 1..4), at in 0..4usize,
            saturation in 0.0..5.0f64, raw in -3.0..3.0f64,
        ) {
            let mut met = scores.clone();
            let at = at % met.len();
            met[at] = 1.0;
            let below = |worse: f64, better: f64| worse <= better + 1e-12;
            prop_assert!(below(product(outcome, &scores), product(outcome, &met)));
            prop_assert!(below(least(outcome, &scores), least(outcome, &met)));
            let terms = |scores: &[f64]| {
                let parts = scores.iter().map(|score| (0.5, *score));
                std::iter::once((1.0, outcome)).chain(parts).collect::<Vec<_>>()
            };
            prop_assert!(below(weighted(&terms(&scores)).unwrap(), weighted(&terms(&met)).unwrap()));
            let rubric = |critical, scores: &[f64]| rubric(critical, &terms(scores), saturation).unwrap();
            prop_assert!(below(rubric(false, &scores), rubric(true, &met)));
            prop_assert!(below(rubric(false, &scores), rubric(false, &met)));
            prop_assert!(below(constrained(false, raw, 0.0), constrained(true, raw, 0.0)));
            let chain = |scores: &[f64]| scores.iter().map(|score| (0.5, 0.5, *score)).collect::<Vec<_>>();
            prop_assert!(below(gate_chain(outcome, -1.0, &chain(&scores)), gate_chain(outcome, -1.0, &chain(&met))));
        }

        #[test]
        fn more_of_the_outcome_is_never_less(
            a in -2.0..2.0f64, b in -2.0..2.0f64, scores in prop::collection::vec(0.0..=1.0f64, 1..4),
        ) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(product(low, &scores) <= product(high, &scores));
            let rubric = |outcome, critical| rubric(critical, &[(2.0, outcome), (1.0, scores[0])], 1.0).unwrap();
            prop_assert!(rubric(low, false) <= rubric(high, false) && rubric(low, true) <= rubric(high, true));
        }
    }
}
