//! Normalisation of raw numbers to scores, as declared by the model's files, the operator or the
//! task.

use assay_core::reward_model::{sigmoid, softsign};
use assay_weights::LoadError;
use assay_weights::config::Fields;
use serde::Deserialize;
use serde_json::Value;

use crate::ModelOptions;
use crate::head::OutputKind;

/// How a raw number becomes a score in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Normalise {
    /// The raw number is the score, clamped to [0, 1].
    None,
    /// `1 / (1 + exp(-raw))`.
    Sigmoid,
    /// `(1 + raw / (1 + |raw|)) / 2`.
    Softsign,
    /// `1 / (1 + exp(-(raw - mean) / std))`.
    Affine { mean: f64, std: f64 },
    /// `1 / (1 + exp(raw of the reference - raw))`, after PAR (arXiv 2502.18770).
    Relative,
}

/// Normalisation methods by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NormaliseMethod {
    None,
    Sigmoid,
    Softsign,
    Affine,
    Relative,
}

impl NormaliseMethod {
    fn from_name(name: &str) -> Result<Self, LoadError> {
        serde_json::from_value(Value::from(name)).map_err(|_| {
            LoadError::new(format!(
                "invalid `normalise` `{name}`: use `none`, `sigmoid`, `softsign`, `affine` or \
                 `relative`"
            ))
        })
    }
}

impl Normalise {
    /// The declared normalisation, or the default: none for probabilities; for unbounded numbers
    /// `affine` if options or a configuration written by OpenRLHF declare a standard deviation, a
    /// sigmoid if `log_odds` is set, because the model was trained to predict them, and `softsign`
    /// otherwise.
    pub(crate) fn declared(
        options: &ModelOptions,
        config: &Value,
        output_kind: OutputKind,
        log_odds: bool,
    ) -> Result<Self, LoadError> {
        let fields = Fields(config);
        let in_config = fields.flag_or("normalize_reward", false)
            && options.mean.is_none()
            && options.std.is_none();
        let method = match &options.normalise {
            Some(name) if output_kind == OutputKind::Steps && name != "none" => {
                return Err(LoadError::new(
                    "a process reward model returns probabilities; set `normalise` to `none`",
                ));
            }
            Some(name) => NormaliseMethod::from_name(name)?,
            None if output_kind != OutputKind::Scalar => NormaliseMethod::None,
            None if in_config || options.std.is_some() => NormaliseMethod::Affine,
            None if log_odds => NormaliseMethod::Sigmoid,
            None => NormaliseMethod::Softsign,
        };
        match method {
            NormaliseMethod::None => Ok(Self::None),
            NormaliseMethod::Sigmoid => Ok(Self::Sigmoid),
            NormaliseMethod::Softsign => Ok(Self::Softsign),
            NormaliseMethod::Relative => Ok(Self::Relative),
            NormaliseMethod::Affine => {
                let (mean, std) = if in_config {
                    (
                        fields.number_or("mean", 0.0)?,
                        fields.number_or("std", 1.0)?,
                    )
                } else {
                    (options.mean.unwrap_or(0.0), options.std.unwrap_or(0.0))
                };
                if mean.is_finite() && std.is_finite() && std > 0.0 {
                    return Ok(Self::Affine { mean, std });
                }
                Err(LoadError::new(
                    "`affine` needs a finite `mean` and a `std` above 0",
                ))
            }
        }
    }

    /// Name of the method, as options write it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sigmoid => "sigmoid",
            Self::Softsign => "softsign",
            Self::Affine { .. } => "affine",
            Self::Relative => "relative",
        }
    }

    /// The score of `raw`. `None` if the method needs a reference and there is none.
    pub(crate) fn score(self, raw: f32, reference: Option<f32>) -> Option<f64> {
        let raw = f64::from(raw);
        match self {
            Self::None => Some(raw.clamp(0.0, 1.0)),
            Self::Sigmoid => Some(sigmoid(raw)),
            Self::Softsign => Some(softsign(raw)),
            Self::Affine { mean, std } => Some(sigmoid((raw - mean) / std)),
            Self::Relative => reference.map(|reference| sigmoid(raw - f64::from(reference))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn declared(
        options: Value,
        config: &Value,
        output_kind: OutputKind,
    ) -> Result<Normalise, LoadError> {
        Normalise::declared(
            &serde_json::from_value(options).unwrap(),
            config,
            output_kind,
            false,
        )
    }

    #[test]
    fn declared_methods_override_defaults() {
        let openrlhf = json!({"normalize_reward": true, "mean": 2.0, "std": 4.0});
        let found = |options: Value, config: &Value, output_kind| {
            declared(options, config, output_kind).unwrap()
        };
        assert_eq!(
            found(json!({}), &json!({}), OutputKind::Scalar),
            Normalise::Softsign
        );
        assert_eq!(
            Normalise::declared(
                &ModelOptions::default(),
                &json!({}),
                OutputKind::Scalar,
                true
            )
            .unwrap(),
            Normalise::Sigmoid
        );
        assert_eq!(
            found(json!({}), &json!({}), OutputKind::Steps),
            Normalise::None
        );
        assert_eq!(
            found(json!({}), &openrlhf, OutputKind::Scalar),
            Normalise::Affine {
                mean: 2.0,
                std: 4.0
            }
        );
        assert_eq!(
            found(
                json!({"normalise": "sigmoid"}),
                &openrlhf,
                OutputKind::Scalar
            ),
            Normalise::Sigmoid
        );
        let own = json!({"mean": 1.0, "std": 3.0});
        assert_eq!(
            found(own, &openrlhf, OutputKind::Scalar),
            Normalise::Affine {
                mean: 1.0,
                std: 3.0
            }
        );
        assert!(
            declared(
                json!({"normalise": "affine"}),
                &json!({}),
                OutputKind::Scalar
            )
            .is_err()
        );
        assert!(
            declared(
                json!({"normalise": "affine", "std": 0.0}),
                &json!({}),
                OutputKind::Scalar
            )
            .is_err()
        );
        assert!(
            declared(
                json!({"normalise": "zscore"}),
                &json!({}),
                OutputKind::Scalar
            )
            .is_err()
        );
    }

    #[test]
    fn scores_follow_their_formulas() {
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}");
        };
        near(Normalise::Sigmoid.score(0.0, None), 0.5);
        near(Normalise::Softsign.score(3.0, None), 0.875);
        near(
            Normalise::Affine {
                mean: 2.0,
                std: 4.0,
            }
            .score(6.0, None),
            1.0 / (1.0 + (-1f64).exp()),
        );
        near(Normalise::Relative.score(3.0, Some(3.0)), 0.5);
        near(Normalise::None.score(0.25, None), 0.25);
        near(Normalise::None.score(-2.0, None), 0.0);
        near(Normalise::Sigmoid.score(-1e30, None), 0.0);
        assert_eq!(Normalise::Relative.score(3.0, None), None);
    }
}
