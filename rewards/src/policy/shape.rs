//! Monotone maps of the combined number, some of them fitted to the group. A map preserves order,
//! so it can be applied to corrected outcomes and raw rewards alike.

use std::f64::consts::FRAC_2_PI;

use serde::{Deserialize, Serialize};

use super::line::{Line, rounded};
use super::number::NumberOrMeasure;
use super::section::{RequiredInputs, Section, as_f64};
use super::validate::{PolicyError, ValidationResult};
use super::{Sample, validate};
use crate::format::format_number;

/// A monotone map of the combined number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// [`par`].
    Sigmoid(Par),
    /// [`lsc`].
    Lsc(Lsc),
    /// [`tanh`].
    Tanh(Centred),
    /// [`arctan`].
    Arctan(Centred),
    /// [`clip`].
    Clip(Clip),
    /// Clamps to `low..=high`.
    Bounds(Bounds),
    /// [`min_max`] of the group.
    MinMax(NoSettings),
    /// [`rank`] in the group.
    Rank(NoSettings),
    /// Clamps to the [`deviation`] of the group.
    Deviation(Deviation),
}

/// Steepness and references of [`par`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Par {
    /// Steepness, above 0, per unit of the number.
    #[serde(default = "one")]
    pub k: f64,
    /// Rewards of reference completions: numbers, or names of measures.
    pub references: Vec<NumberOrMeasure>,
}

/// References of [`lsc`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lsc {
    /// Rewards of at least two reference completions.
    pub references: Vec<f64>,
}

/// Steepness and centre of an S-shaped map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Centred {
    /// Steepness, above 0.
    #[serde(default = "one")]
    pub k: f64,
    /// The number that maps to 0.
    #[serde(default)]
    pub centre: f64,
}

/// The bound of [`clip`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clip {
    /// Numbers from here up map to 0.
    pub eta: f64,
}

/// Lower and upper bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// A function without settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// Width of [`deviation`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// Number of standard deviations, above 0.
    #[serde(default = "one")]
    pub k: f64,
}

fn one() -> f64 {
    1.0
}

/// 1 / (1 + e^-x), in \[0, 1\].
#[must_use]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// log sigmoid(x), at most 0, without overflow.
#[must_use]
pub fn log_sigmoid(x: f64) -> f64 {
    x.min(0.0) - (-x.abs()).exp().ln_1p()
}

/// `over` / `span` clamped to \[0, 1\]: 0 for `over` <= 0, and 1 from `span` on. If `span` is 0, it
/// is 1 for every `over` > 0.
#[must_use]
pub fn ramp(over: f64, span: f64) -> f64 {
    if over <= 0.0 {
        0.0
    } else if span > 0.0 {
        (over / span).min(1.0)
    } else {
        1.0
    }
}

/// Preference as reward (PAR, arXiv 2502.18770): mean of sigmoid(k (r - r_ref)) over the
/// references. In \[0, 1\]; 1/2 without references.
#[must_use]
pub fn par(reward: f64, k: f64, references: &[f64]) -> f64 {
    if references.is_empty() {
        return 0.5;
    }
    references
        .iter()
        .map(|reference| sigmoid(k * (reward - reference)))
        .sum::<f64>()
        / as_f64(references.len())
}

/// The 0.85 quantile of the standard normal distribution.
const Z85: f64 = 1.036_433_389_493_789_8;

/// The 85th percentile of references with a normal distribution: mean + 1.0364 std (population).
/// `None` without references.
#[must_use]
pub fn q85(references: &[f64]) -> Option<f64> {
    moments(references.iter().copied()).map(|(mean, std)| mean + Z85 * std)
}

/// LSC as in the code of PAR (arXiv 2502.18770): log sigmoid(r - q85), with [`q85`] of the rewards
/// of the references. At most 0.
#[must_use]
pub fn lsc(reward: f64, q85: f64) -> f64 {
    log_sigmoid(reward - q85)
}

/// tanh(k (r - centre)), in \[-1, 1\] (a variant in the code of PAR, arXiv 2502.18770).
#[must_use]
pub fn tanh(reward: f64, k: f64, centre: f64) -> f64 {
    (k * (reward - centre)).tanh()
}

/// (2 / pi) arctan(k (r - centre)), in \[-1, 1\] (a variant in the code of PAR, arXiv 2502.18770,
/// scaled to the range of tanh).
#[must_use]
pub fn arctan(reward: f64, k: f64, centre: f64) -> f64 {
    FRAC_2_PI * (k * (reward - centre)).atan()
}

/// Clip (arXiv 2410.15115): min(r - eta, 0). At most 0.
#[must_use]
pub fn clip(reward: f64, eta: f64) -> f64 {
    (reward - eta).min(0.0)
}

/// (r - low) / (high - low) clamped to \[0, 1\], where `low` and `high` are the minimum and maximum
/// of the group (a variant in the code of PAR, arXiv 2502.18770). If they are equal, r clamped to
/// \[0, 1\].
#[must_use]
pub fn min_max(reward: f64, low: f64, high: f64) -> f64 {
    let span = high - low;
    let scaled = if span > 0.0 && span.is_finite() {
        (reward - low) / span
    } else {
        reward
    };
    scaled.clamp(0.0, 1.0)
}

/// Mid-rank of the reward: the share of `sorted` (ascending) below it, plus half of the share equal
/// to it. In \[0, 1\]; 1/2 if all numbers are equal, and for an empty group.
#[must_use]
pub fn rank(reward: f64, sorted: &[f64]) -> f64 {
    if sorted.is_empty() {
        return 0.5;
    }
    let below = sorted.partition_point(|other| *other < reward);
    let not_above = sorted.partition_point(|other| *other <= reward);
    as_f64(below + not_above) / (2.0 * as_f64(sorted.len()))
}

/// The bounds mean - k std and mean + k std (population), to which the code of PAR clips (arXiv
/// 2502.18770). `None` without values.
#[must_use]
pub fn deviation(values: &[f64], k: f64) -> Option<(f64, f64)> {
    let (mean, std) = moments(values.iter().copied())?;
    let (low, high) = (mean - k * std, mean + k * std);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// Mean and population standard deviation (divisor n; 0 for one value). `None` without values, and
/// if a result is not finite.
#[must_use]
pub fn moments(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let (mut n, mut sum) = (0, 0.0);
    for value in values.clone() {
        n += 1;
        sum += value;
    }
    let mean = sum / f64::from(n);
    let std = (values.map(|value| (value - mean).powi(2)).sum::<f64>() / f64::from(n)).sqrt();
    (n > 0 && mean.is_finite() && std.is_finite()).then_some((mean, std))
}

/// A shape with the statistics of the group.
pub(super) struct FittedShape<'p> {
    shape: &'p Shape,
    sorted: Vec<f64>,
    bounds: Option<(f64, f64)>,
    /// References, if they are the same for all items.
    references: Option<Vec<f64>>,
}

impl Shape {
    /// The function's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sigmoid(_) => "sigmoid",
            Self::Lsc(_) => "lsc",
            Self::Tanh(_) => "tanh",
            Self::Arctan(_) => "arctan",
            Self::Clip(_) => "clip",
            Self::Bounds(_) => "bounds",
            Self::MinMax(_) => "min_max",
            Self::Rank(_) => "rank",
            Self::Deviation(_) => "deviation",
        }
    }

    /// Computes the statistics of a group that the map uses.
    pub(super) fn fit(&self, values: impl Iterator<Item = f64>) -> FittedShape<'_> {
        let (mut sorted, mut bounds, mut references) = (Vec::new(), None, None);
        match self {
            Self::MinMax(_) | Self::Rank(_) => {
                sorted.extend(values);
                sorted.sort_by(f64::total_cmp);
                bounds = sorted.first().copied().zip(sorted.last().copied());
            }
            Self::Deviation(of) => {
                sorted.extend(values);
                bounds = deviation(&sorted, of.k);
            }
            Self::Lsc(of) => bounds = q85(&of.references).map(|q85| (q85, q85)),
            Self::Sigmoid(of) => {
                let number = |level: &NumberOrMeasure| {
                    if let NumberOrMeasure::Number(number) = level {
                        Some(*number)
                    } else {
                        None
                    }
                };
                references = of.references.iter().map(number).collect();
            }
            Self::Tanh(_) | Self::Arctan(_) | Self::Clip(_) | Self::Bounds(_) => {}
        }
        FittedShape {
            shape: self,
            sorted,
            bounds,
            references,
        }
    }
}

impl FittedShape<'_> {
    /// The mapped number; `None` if the item lacks a reference.
    pub(super) fn apply(&self, value: f64, item: &Sample<'_>) -> Option<f64> {
        let (low, high) = self.bounds.unwrap_or((value, value));
        Some(match self.shape {
            Shape::Sigmoid(of) => match &self.references {
                Some(references) => par(value, of.k, references),
                None => {
                    let own = of.references.iter().map(|reference| reference.of(item));
                    par(value, of.k, &own.collect::<Option<Vec<_>>>()?)
                }
            },
            Shape::Lsc(_) => lsc(value, low),
            Shape::Tanh(of) => tanh(value, of.k, of.centre),
            Shape::Arctan(of) => arctan(value, of.k, of.centre),
            Shape::Clip(of) => clip(value, of.eta),
            Shape::Bounds(of) => value.max(of.low).min(of.high),
            Shape::MinMax(_) => min_max(value, low, high),
            Shape::Rank(_) => rank(value, &self.sorted),
            Shape::Deviation(_) => value.max(low).min(high),
        })
    }
}

impl Section for Shape {
    fn check(&self) -> ValidationResult {
        let steep = |of: &Centred| {
            validate::check_positive("k", of.k)
                .and_then(|()| validate::check_finite("centre", of.centre))
        };
        let checked = match self {
            Self::Sigmoid(of) => validate::check_positive("k", of.k).and_then(|()| {
                validate::check_list("references", of.references.len())?;
                of.references
                    .iter()
                    .enumerate()
                    .try_for_each(|(at, level)| level.check(&format!("references/{at}")))
            }),
            Self::Lsc(of) => {
                validate::check_list("references", of.references.len()).and_then(|()| {
                    if of.references.len() < 2 {
                        return Err(PolicyError::at(
                            "references",
                            "at least two references are required",
                        ));
                    }
                    let finite = |(at, value): (usize, &f64)| {
                        validate::check_finite(format!("references/{at}"), *value)
                    };
                    of.references.iter().enumerate().try_for_each(finite)
                })
            }
            Self::Tanh(of) | Self::Arctan(of) => steep(of),
            Self::Clip(of) => validate::check_finite("eta", of.eta),
            Self::Bounds(of) => validate::check_finite("low", of.low)
                .and_then(|()| validate::check_finite("high", of.high))
                .and_then(|()| {
                    let message = format!(
                        "`low` {} must be below `high` {}",
                        format_number(of.low),
                        format_number(of.high)
                    );
                    if of.low < of.high {
                        Ok(())
                    } else {
                        Err(PolicyError::at("low", message))
                    }
                }),
            Self::MinMax(_) | Self::Rank(_) => Ok(()),
            Self::Deviation(of) => validate::check_positive("k", of.k),
        };
        checked.map_err(|error| error.under(self.name()))
    }

    fn required_inputs<'p>(&'p self, inputs: &mut RequiredInputs<'p>) {
        if let Self::Sigmoid(of) = self {
            of.references
                .iter()
                .for_each(|reference| reference.required_inputs(inputs));
        }
    }

    fn explain(&self) -> Vec<Line> {
        let (formula, meaning) = match self {
            Self::Sigmoid(of) => {
                let references = of
                    .references
                    .iter()
                    .map(NumberOrMeasure::to_string)
                    .collect::<Vec<_>>()
                    .join(", ");
                (
                    format!(
                        "mean of sigmoid({} (R - ref)) over ref = {references}",
                        of.k
                    ),
                    "probability of being preferred to the references; saturates, which limits \
                     reward hacking",
                )
            }
            Self::Lsc(of) => {
                let q85 = q85(&of.references).unwrap_or_default();
                (
                    format!("log sigmoid(R - {})", rounded(q85)),
                    "saturates above the 85th percentile of the references",
                )
            }
            Self::Tanh(of) => (
                format!("tanh({} (R - {}))", of.k, of.centre),
                "saturates at -1 and 1",
            ),
            Self::Arctan(of) => (
                format!("2/pi arctan({} (R - {}))", of.k, of.centre),
                "saturates slowly at -1 and 1",
            ),
            Self::Clip(of) => (
                format!("min(R - {}, 0)", of.eta),
                "0 from `eta` up, negative below",
            ),
            Self::Bounds(of) => (
                format!("R clamped to [{}, {}]", of.low, of.high),
                "clamps to the bounds",
            ),
            Self::MinMax(_) => (
                "(R - min) / (max - min) of the group".to_owned(),
                "0 for the worst of the group, 1 for the best",
            ),
            Self::Rank(_) => (
                "(below + equal / 2) / n of the group".to_owned(),
                "rank within the group",
            ),
            Self::Deviation(of) => (
                format!("R clamped to mean -+ {} std of the group", of.k),
                "clamps outliers of the group",
            ),
        };
        vec![Line::new(self.name(), self.name(), formula, meaning)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn sigmoids_match_reference_values() {
        // python: 1 / (1 + math.exp(-1.5))
        assert_close(sigmoid(1.5), 0.817_574_476_193_643_7);
        assert_close(sigmoid(-1e9), 0.0);
        // python: math.log(1 / (1 + math.exp(2)))
        assert_close(log_sigmoid(-2.0), -2.126_928_011_042_972_7);
        assert_close(log_sigmoid(-1e9), -1e9);
        assert_close(log_sigmoid(1e9), 0.0);
    }

    #[test]
    fn ramp_without_a_span_is_a_step() {
        assert_close(ramp(3.0, 4.0), 0.75);
        assert_close(ramp(-3.0, 4.0), 0.0);
        assert_close(ramp(9.0, 4.0), 1.0);
        assert_close(ramp(0.0, 0.0), 0.0);
        assert_close(ramp(1e-9, 0.0), 1.0);
        assert_close(ramp(f64::MAX, f64::MAX), 1.0);
    }

    #[test]
    fn par_is_the_mean_over_references() {
        // python: (1 / (1 + math.exp(-2 * (1 - 0.5))) + 1 / (1 + math.exp(-2 * (1 - 2)))) / 2
        assert_close(par(1.0, 2.0, &[0.5, 2.0]), 0.425_130_750_326_061_24);
        assert_close(par(1.0, 2.0, &[]), 0.5);
    }

    #[test]
    fn lsc_uses_the_85th_percentile() {
        // Mean 2, population std 1: python: 2 + statistics.NormalDist().inv_cdf(.85) =
        // 3.0364333894937896
        assert_close(q85(&[1.0, 3.0]).unwrap(), 3.036_433_389_493_79);
        // python: math.log(1 / (1 + math.exp(-(2 - 3.0364333894937896))))
        assert_close(lsc(2.0, 3.036_433_389_493_79), -1.340_026_385_135_130_8);
        assert_eq!(q85(&[]), None);
    }

    #[test]
    fn saturating_maps_match_reference_values() {
        // python: math.tanh(2 * (1 - 0.5)); 2 / math.pi * math.atan(1.0) = 1/2
        assert_close(tanh(1.0, 2.0, 0.5), 0.761_594_155_955_764_9);
        assert_close(arctan(1.0, 2.0, 0.5), 0.5);
        assert_close(clip(0.3, 0.5), -0.2);
        assert_close(clip(0.7, 0.5), 0.0);
    }

    #[test]
    fn maps_of_a_group_are_defined_if_all_numbers_are_equal() {
        assert_close(min_max(3.0, 1.0, 5.0), 0.5);
        assert_close(min_max(1.0, 1.0, 1.0), 1.0);
        assert_close(min_max(-3.0, -3.0, -3.0), 0.0);
        // Of 0, 1, 1, 2: one below 1 and two equal, (1 + 2 / 2) / 4.
        assert_close(rank(1.0, &[0.0, 1.0, 1.0, 2.0]), 0.5);
        assert_close(rank(2.0, &[0.0, 1.0, 1.0, 2.0]), 0.875);
        assert_close(rank(1.0, &[1.0, 1.0]), 0.5);
        assert_close(rank(1.0, &[]), 0.5);
        // Mean 2, std 1 (population): 2 -+ 1.5.
        assert_eq!(deviation(&[1.0, 3.0], 1.5), Some((0.5, 3.5)));
        assert_eq!(deviation(&[2.0], 1.5), Some((2.0, 2.0)));
        assert_eq!(deviation(&[], 1.0), None);
        assert_eq!(moments([f64::MAX, f64::MAX].into_iter()), None);
    }

    fn shapes() -> impl Strategy<Value = Shape> {
        let centred = (0.1..5.0f64, -1.0..1.0f64).prop_map(|(k, centre)| Centred { k, centre });
        prop_oneof![
            (0.1..5.0f64, -1.0..1.0f64).prop_map(|(k, at)| Shape::Sigmoid(Par {
                k,
                references: vec![NumberOrMeasure::Number(at), NumberOrMeasure::Number(0.3)]
            })),
            (0.0..2.0f64).prop_map(|at| Shape::Lsc(Lsc {
                references: vec![at, 1.0]
            })),
            centred.clone().prop_map(Shape::Tanh),
            centred.prop_map(Shape::Arctan),
            (-1.0..1.0f64).prop_map(|eta| Shape::Clip(Clip { eta })),
            (-1.0..0.4f64).prop_map(|low| Shape::Bounds(Bounds { low, high: 0.5 })),
            Just(Shape::MinMax(NoSettings {})),
            Just(Shape::Rank(NoSettings {})),
            (0.1..2.0f64).prop_map(|k| Shape::Deviation(Deviation { k })),
        ]
    }

    proptest! {
        #[test]
        fn shapes_are_monotone_and_finite(
            shape in shapes(),
            values in prop::collection::vec(-2.0..2.0f64, 1..8),
            at in -2.0..2.0f64,
        ) {
            let fitted = shape.fit(values.iter().copied());
            let item = Sample::default();
            for value in values {
                let (low, high) = (value.min(at), value.max(at));
                let [low, high] = [low, high].map(|value| fitted.apply(value, &item).unwrap());
                prop_assert!(low <= high && low.is_finite() && high.is_finite());
            }
        }
    }
}
