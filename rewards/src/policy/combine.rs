//! Combination of the outcome and the parts of an item into one number.
//!
//! Every function increases with the outcome and does not depend on other members, length or cost.
//! No function increases the number because a part is not met, also for negative outcomes: a
//! corrected outcome without a pass is -rho0 / J, so a factor of 0 would raise it.

use std::collections::BTreeMap;

use assay_base::pointer::escaped;
use assay_core::aggregate::{points, saturated};
use serde::{Deserialize, Serialize};

use super::line::{Line, rounded};
use super::number::NumberOrMeasure;
use super::section::{RequiredInputs, Section};
use super::shape::sigmoid;
use super::validate::{OUTCOME, PolicyError, ValidationResult};
use super::{Sample, validate};

/// How outcome and parts are combined. `outcome` is the name of the outcome among the parts.
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
    /// [`rubric`] with critical parts and saturation.
    Rubric(Rubric),
    /// [`points`] of a rubric, some of them negative.
    Points(Points),
    /// [`constrained`] reward of a reward model.
    Cgpo(Cgpo),
}

/// Weights by part, including `outcome`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Weights, each at least 0 and not all 0.
    pub weights: BTreeMap<String, f64>,
}

/// Parts that are combined with the outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// Names of the parts.
    pub parts: Vec<String>,
}

/// Parts in order of priority, after the outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateChain {
    /// Threshold of the outcome: parts count if the outcome is above it.
    #[serde(default)]
    pub above: f64,
    /// Parts, highest priority first.
    pub chain: Vec<Link>,
}

/// A part of a [`GateChain`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name of the part.
    pub part: String,
    /// Factor of its score, above 0.
    pub weight: f64,
    /// Threshold in \[0, 1\]: parts of lower priority count if this part's score is above it.
    #[serde(default)]
    pub above: f64,
}

/// A rubric: weights, critical parts, saturation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rubric {
    /// Weights, including `outcome`, each at least 0 and not all 0.
    pub weights: BTreeMap<String, f64>,
    /// Parts that must be met for a result above 0.
    #[serde(default)]
    pub critical: Vec<String>,
    /// Saturation c of [`saturated`], from 0 (linear) to 100.
    #[serde(default)]
    pub saturation: f64,
}

/// A rubric of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// Points by part, negative for faults. Must include `outcome` with at least 0 points.
    pub points: BTreeMap<String, f64>,
}

/// Constraints of a calibrated reward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cgpo {
    /// Parts that must all be met; may include `outcome`.
    pub judges: Vec<String>,
    /// Name of the measure with the raw reward of the reward model.
    pub measure: String,
    /// Raw reward of the reference completion.
    pub reference: NumberOrMeasure,
}

/// Weighted mean sum w s / sum w. In \[0, 1\] for scores in \[0, 1\]; `None` unless the sum of the
/// weights is above 0.
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

/// Outcome times the scores of all parts. For a negative outcome it is min(outcome, outcome s_1 s_2
/// ...), because reducing a loss would reward parts that are not met.
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
/// counts only if every part of higher priority is above its threshold as well. `chain` has
/// (weight, threshold, score), highest priority first.
///
/// In \[R_out, R_out + sum w\]. It increases with the outcome because no weight is negative.
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

/// Rubric aggregation: sum w g(s) / sum w with g [`saturated`], at most 0 if a critical part is not
/// met (weights, veto and saturation after the idea of Rubric Anchors, arXiv 2508.12790; own
/// derivation of the formula). `terms` has (weight, score).
///
/// At most 1 for scores in \[0, 1\]. The mean is below 0 for a negative outcome only, and then an
/// unmet critical part does not raise it. `None` unless the sum of the weights is above 0.
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

/// Calibrated reward under constraints (CGPO, arXiv 2409.20370): sigmoid(r - r_ref) if all judges
/// are met, else 0. In \[0, 1\].
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

    /// The number for an item with this outcome that is `right` or not; `None` if a part or measure
    /// is missing.
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

/// Validates the weights of a mean: they include `outcome`, none is negative, not all are 0.
fn check_weights(weights: &BTreeMap<String, f64>) -> ValidationResult {
    validate::check_list("weights", weights.len())?;
    for (name, weight) in weights {
        let field = format!("weights/{}", escaped(name));
        validate::check_name(&field, name)?;
        validate::check_range(field, *weight, 0.0, 1e9)?;
    }
    if weights.values().all(|weight| *weight <= 0.0) {
        return Err(PolicyError::at(
            "weights",
            "all weights are 0; set at least one weight above 0",
        ));
    }
    outcome_among("weights", weights)
}

fn outcome_among(field: &str, weights: &BTreeMap<String, f64>) -> ValidationResult {
    if weights.contains_key(OUTCOME) {
        return Ok(());
    }
    Err(PolicyError::at(
        field,
        "`outcome` is missing; add it, with 0 to ignore it",
    ))
}

impl Section for Combine {
    fn check(&self) -> ValidationResult {
        let checked = match self {
            Self::Weighted(of) => check_weights(&of.weights),
            Self::Product(of) | Self::Min(of) => {
                let part = |(at, name): (usize, &String)| {
                    validate::check_part(format!("parts/{at}"), name)
                };
                validate::check_distinct("parts", of.parts.iter().map(String::as_str))
                    .and_then(|()| of.parts.iter().enumerate().try_for_each(part))
            }
            Self::GateChain(of) => of.check(),
            Self::Rubric(of) => of.check(),
            Self::Points(of) => of.check(),
            Self::Cgpo(of) => {
                let judges =
                    validate::check_distinct("judges", of.judges.iter().map(String::as_str));
                judges
                    .and_then(|()| validate::check_name("measure", &of.measure))
                    .and_then(|()| of.reference.check("reference"))
            }
        };
        checked.map_err(|error| error.under(self.name()))
    }

    fn required_inputs<'p>(&'p self, inputs: &mut RequiredInputs<'p>) {
        match self {
            Self::Weighted(of) => of.weights.keys().for_each(|name| inputs.part(name)),
            Self::Product(of) | Self::Min(of) => of.parts.iter().for_each(|name| inputs.part(name)),
            Self::GateChain(of) => of.chain.iter().for_each(|link| inputs.part(&link.part)),
            Self::Rubric(of) => of
                .weights
                .keys()
                .chain(&of.critical)
                .for_each(|name| inputs.part(name)),
            Self::Points(of) => of.points.keys().for_each(|name| inputs.part(name)),
            Self::Cgpo(of) => {
                of.judges.iter().for_each(|name| inputs.part(name));
                inputs.measure(&of.measure);
                of.reference.required_inputs(inputs);
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
                    format!("({}) / {}", sum(&of.weights), rounded(total)),
                    "each part counts by its weight",
                )
            }
            Self::Product(of) => (
                format!("outcome * {}, at most outcome", of.parts.join(" * ")),
                "multiplies the outcome by the scores of the parts, but does not reduce a loss",
            ),
            Self::Min(of) => (
                format!("min(outcome, {})", of.parts.join(", ")),
                "the lowest of the outcome and the parts",
            ),
            Self::GateChain(of) => {
                let chain = of
                    .chain
                    .iter()
                    .map(|link| format!("{} {} [> {}]", link.weight, link.part, link.above));
                let chain = chain.collect::<Vec<_>>().join(" -> ");
                (
                    format!("outcome [> {}] -> + {chain}", of.above),
                    "a part counts only if all parts before it are above their thresholds",
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
                        rounded(total),
                        rounded(1.0 + c)
                    ),
                    "a rubric with saturating parts and critical parts that nothing compensates",
                )
            }
            Self::Points(of) => {
                let best: f64 = of.points.values().map(|points| points.max(0.0)).sum();
                (
                    format!("({}) / {}", sum(&of.points), rounded(best)),
                    "points for met parts, negative points for faults",
                )
            }
            Self::Cgpo(of) => (
                format!(
                    "sigmoid({} - {}) if met: {}; else 0",
                    of.measure,
                    of.reference,
                    of.judges.join(", ")
                ),
                "the reward of the reward model if every judge is met",
            ),
        };
        vec![Line::new(self.name(), self.name(), formula, meaning)]
    }
}

impl GateChain {
    fn check(&self) -> ValidationResult {
        validate::check_finite("above", self.above)?;
        validate::check_distinct("chain", self.chain.iter().map(|link| link.part.as_str()))?;
        for (at, link) in self.chain.iter().enumerate() {
            validate::check_part(format!("chain/{at}/part"), &link.part)?;
            validate::check_positive(format!("chain/{at}/weight"), link.weight)?;
            validate::check_range(format!("chain/{at}/weight"), link.weight, 0.0, 1e9)?;
            validate::check_range(format!("chain/{at}/above"), link.above, 0.0, 1.0)?;
        }
        Ok(())
    }
}

impl Rubric {
    fn check(&self) -> ValidationResult {
        check_weights(&self.weights)?;
        if !self.critical.is_empty() {
            validate::check_distinct("critical", self.critical.iter().map(String::as_str))?;
        }
        validate::check_range("saturation", self.saturation, 0.0, 100.0)
    }
}

impl Points {
    fn check(&self) -> ValidationResult {
        validate::check_list("points", self.points.len())?;
        for (name, points) in &self.points {
            let field = format!("points/{}", escaped(name));
            validate::check_name(&field, name)?;
            validate::check_range(field, *points, -1e9, 1e9)?;
        }
        outcome_among("points", &self.points)?;
        if self.points.get(OUTCOME).is_some_and(|points| *points < 0.0) {
            return Err(PolicyError::at(
                "points/outcome",
                "must be at least 0; negative points are for faults",
            ));
        }
        if self.points.values().all(|points| *points <= 0.0) {
            return Err(PolicyError::at(
                "points",
                "no part has points above 0; set the points of at least one part above 0",
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

    fn assert_close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn weighted_divides_by_the_sum_of_weights() {
        // (3 * 1 + 1 * 0.5) / 4 = 0.875
        assert_close(weighted(&[(3.0, 1.0), (1.0, 0.5)]).unwrap(), 0.875);
        assert_eq!(weighted(&[(0.0, 1.0)]), None);
        assert_eq!(weighted(&[]), None);
    }

    #[test]
    fn product_and_least_match_reference_values() {
        assert_close(product(1.0, &[0.5, 0.5]), 0.25);
        // A loss is not reduced: -0.6 * 0.5 would be more than -0.6.
        assert_close(product(-0.6, &[0.5, 0.0]), -0.6);
        assert_close(product(-0.6, &[1.0]), -0.6);
        assert_close(least(1.0, &[0.5, 0.7]), 0.5);
        assert_close(least(0.2, &[0.5, 0.7]), 0.2);
    }

    #[test]
    fn gate_chain_ignores_parts_behind_a_closed_gate() {
        let chain = [(0.3, 0.5, 0.8), (0.2, 0.0, 1.0)];
        // 1 + 0.3 * 0.8 + 0.2 * 1 = 1.44: 1 > 0.5 and 0.8 > 0.5.
        assert_close(gate_chain(1.0, 0.5, &chain), 1.44);
        // The first part is at 0.4, not above 0.5, so the second does not count: 1 + 0.3 * 0.4.
        assert_close(
            gate_chain(1.0, 0.5, &[(0.3, 0.5, 0.4), (0.2, 0.0, 1.0)]),
            1.12,
        );
        // The outcome is not above its threshold.
        assert_close(gate_chain(0.5, 0.5, &chain), 0.5);
    }

    #[test]
    fn saturation_is_concave_and_smooth() {
        // c = 1: 2 * 0.5 / 1.5
        assert_close(saturated(0.5, 1.0), 2.0 / 3.0);
        assert_close(saturated(0.5, 0.0), 0.5);
        assert_close(saturated(0.0, 3.0), 0.0);
        assert_close(saturated(1.0, 3.0), 1.0);
        // Tangents: slope 1 + c = 2 below 0, 1 / (1 + c) = 1/2 above 1.
        assert_close(saturated(-0.25, 1.0), -0.5);
        assert_close(saturated(1.5, 1.0), 1.25);
    }

    #[test]
    fn rubric_is_at_most_zero_without_critical_parts() {
        // (2 * g(1) + 1 * g(0.5)) / 3 with c = 1: (2 + 2/3) / 3
        assert_close(
            rubric(true, &[(2.0, 1.0), (1.0, 0.5)], 1.0).unwrap(),
            8.0 / 9.0,
        );
        assert_close(rubric(false, &[(2.0, 1.0), (1.0, 0.5)], 1.0).unwrap(), 0.0);
        // A loss is not raised to 0: (2 * -0.6 + 1 * 0) / 3; with the other part it would be (2 *
        // -0.6 + 1 * 1) / 3.
        assert_close(
            rubric(false, &[(2.0, -0.6), (1.0, 0.0)], 0.0).unwrap(),
            -0.4,
        );
        assert_close(
            rubric(true, &[(2.0, -0.6), (1.0, 1.0)], 0.0).unwrap(),
            -0.2 / 3.0,
        );
        assert_eq!(rubric(true, &[], 1.0), None);
    }

    #[test]
    fn points_of_faults_are_subtracted() {
        // (5 + 0 - 4 * 0.5) / (5 + 5) = 0.3
        assert_close(points(&[(5.0, 1.0), (5.0, 0.0), (-4.0, 0.5)]).unwrap(), 0.3);
        assert_eq!(points(&[(-1.0, 1.0)]), None);
    }

    #[test]
    fn constrained_reward_needs_all_judges() {
        // python: 1 / (1 + math.exp(-(2.5 - 1.0))) = 0.8175744761936437
        assert_close(constrained(true, 2.5, 1.0), 0.817_574_476_193_643_7);
        assert_close(constrained(false, 2.5, 1.0), 0.0);
    }

    #[test]
    fn parts_may_include_the_outcome() {
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
        assert_close(combine.apply(1.0, true, &item).unwrap(), 0.875);
        let lacking = Combine::Min(Parts {
            parts: vec!["tone".to_owned()],
        });
        assert_eq!(lacking.apply(1.0, true, &item), None);
        let judged = Combine::Cgpo(Cgpo {
            judges: vec![OUTCOME.to_owned(), "style".to_owned()],
            measure: "raw".to_owned(),
            reference: NumberOrMeasure::Number(1.0),
        });
        let item = Sample {
            measures: &[("raw", 2.5)],
            ..item
        };
        assert_close(
            judged.apply(1.0, true, &item).unwrap(),
            0.817_574_476_193_643_7,
        );
        assert_close(judged.apply(0.0, false, &item).unwrap(), 0.0);
    }

    proptest! {
        #[test]
        fn meeting_a_part_never_lowers_the_number(
            outcome in -2.0..2.0f64,
            scores in prop::collection::vec(0.0..=1.0f64, 1..4),
            at in 0..4usize,
            saturation in 0.0..5.0f64,
            raw in -3.0..3.0f64,
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
            let weighted = |scores: &[f64]| weighted(&terms(scores)).unwrap();
            prop_assert!(below(weighted(&scores), weighted(&met)));
            let rubric =
                |critical, scores: &[f64]| rubric(critical, &terms(scores), saturation).unwrap();
            prop_assert!(below(rubric(false, &scores), rubric(true, &met)));
            prop_assert!(below(rubric(false, &scores), rubric(false, &met)));
            prop_assert!(below(constrained(false, raw, 0.0), constrained(true, raw, 0.0)));
            let chained = |scores: &[f64]| {
                let chain: Vec<_> = scores.iter().map(|score| (0.5, 0.5, *score)).collect();
                gate_chain(outcome, -1.0, &chain)
            };
            prop_assert!(below(chained(&scores), chained(&met)));
        }

        #[test]
        fn product_and_rubric_increase_with_the_outcome(
            a in -2.0..2.0f64,
            b in -2.0..2.0f64,
            scores in prop::collection::vec(0.0..=1.0f64, 1..4),
        ) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(product(low, &scores) <= product(high, &scores));
            let rubric = |outcome, critical| {
                rubric(critical, &[(2.0, outcome), (1.0, scores[0])], 1.0).unwrap()
            };
            prop_assert!(rubric(low, false) <= rubric(high, false));
            prop_assert!(rubric(low, true) <= rubric(high, true));
        }
    }
}
