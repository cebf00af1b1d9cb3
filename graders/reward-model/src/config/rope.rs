//! Rotary positions: how fast each pair of dimensions turns.

use serde_json::Value;

use super::Fields;
use crate::LoadError;

/// Rotary positions of one kind of layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rope {
    /// Base of the frequencies.
    pub(crate) theta: f64,
    /// How frequencies are changed for long texts.
    pub(crate) scaling: Scaling,
}

/// How frequencies are changed for long texts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scaling {
    None,
    /// All divided.
    Linear(f64),
    /// Slow ones divided, fast ones kept, those between blended (Llama 3.1).
    Llama3 {
        factor: f64,
        low: f64,
        high: f64,
        original: f64,
    },
}

impl Rope {
    /// Reads both places where configurations keep it: `rope_parameters`, or `rope_theta` beside `rope_scaling`.
    pub(crate) fn read(fields: Fields<'_>, default_theta: f64) -> Result<Self, LoadError> {
        let inside = fields.object("rope_parameters");
        let scaling = inside.or_else(|| fields.object("rope_scaling"));
        let beside = fields.number_or("rope_theta", default_theta)?;
        let theta = inside.map_or(Ok(beside), |inside| Fields(inside).number_or("rope_theta", beside))?;
        Ok(Self { theta: positive(theta, "rope_theta")?, scaling: scaling.map_or(Ok(Scaling::None), Scaling::read)? })
    }

    /// Reads `rope_parameters` of one kind of layer.
    pub(crate) fn of_layers(parameters: &Value, default_theta: f64) -> Result<Self, LoadError> {
        let theta = Fields(parameters).number_or("rope_theta", default_theta)?;
        Ok(Self { theta: positive(theta, "rope_theta")?, scaling: Scaling::read(parameters)? })
    }

    /// Turns per token, in radians, of each pair of the `head_dim` dimensions.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "as peers compute it: in f32")]
    pub(crate) fn frequencies(&self, head_dim: usize) -> Vec<f32> {
        let plain = (0..head_dim / 2).map(|at| {
            let exponent = (2 * at) as f32 / head_dim as f32;
            1.0 / (self.theta as f32).powf(exponent)
        });
        match self.scaling {
            Scaling::None => plain.collect(),
            Scaling::Linear(factor) => plain.map(|frequency| frequency / factor as f32).collect(),
            Scaling::Llama3 { factor, low, high, original } => plain
                .map(|frequency| {
                    let wave = std::f32::consts::TAU / frequency;
                    if f64::from(wave) > original / low {
                        return frequency / factor as f32;
                    }
                    if f64::from(wave) < original / high {
                        return frequency;
                    }
                    let smooth = (original as f32 / wave - low as f32) / (high - low) as f32;
                    (1.0 - smooth) * frequency / factor as f32 + smooth * frequency
                })
                .collect(),
        }
    }
}

impl Scaling {
    fn read(value: &Value) -> Result<Self, LoadError> {
        let fields = Fields(value);
        let kind = fields.text("rope_type").or_else(|| fields.text("type")).unwrap_or("default");
        let number = |name: &str| {
            let value = value.get(name).and_then(Value::as_f64);
            positive(value.ok_or_else(|| LoadError::new(format!("rotary scaling `{kind}` has no `{name}`")))?, name)
        };
        if fields.number_or("partial_rotary_factor", 1.0)? != 1.0 {
            return Err(LoadError::new("`partial_rotary_factor` other than 1 is not known"));
        }
        match kind {
            "default" => Ok(Self::None),
            "linear" => Ok(Self::Linear(number("factor")?)),
            "llama3" => Ok(Self::Llama3 {
                factor: number("factor")?,
                low: number("low_freq_factor")?,
                high: number("high_freq_factor")?,
                original: number("original_max_position_embeddings")?,
            }),
            other => Err(LoadError::new(format!(
                "rotary scaling `{other}` is not known; `default`, `linear` and `llama3` are"
            ))),
        }
    }
}

fn positive(number: f64, name: &str) -> Result<f64, LoadError> {
    if number.is_finite() && number > 0.0 {
        return Ok(number);
    }
    Err(LoadError::new(format!("`{name}` is above 0: {number}")))
}
