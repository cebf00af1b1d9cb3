//! What `config.json` says of a body: sizes, positions, windows. Every field that changes a score
//! is read or refused.

mod bert;
mod decoder;
mod family;
mod modernbert;
mod rope;

pub use bert::BertConfig;
pub use decoder::DecoderConfig;
pub use family::{BodyConfig, Family};
pub use modernbert::ModernBertConfig;
pub use rope::{Rope, Scaling};

use serde_json::Value;

use crate::LoadError;

/// A configuration with readers that say which field is wrong. A field of `null` is as one that is
/// not there.
#[derive(Clone, Copy)]
pub struct Fields<'a>(pub &'a Value);

impl<'a> Fields<'a> {
    fn present(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A size from 1 to 2^31 that must be there.
    ///
    /// # Errors
    /// It is missing, or no size.
    pub fn size(self, name: &str) -> Result<usize, LoadError> {
        self.size_or_none(name)?
            .ok_or_else(|| LoadError::new(format!("`config.json` has no `{name}`")))
    }

    /// A size from 1 to 2^31.
    ///
    /// # Errors
    /// It is there and no size.
    pub fn size_or(self, name: &str, default: usize) -> Result<usize, LoadError> {
        Ok(self.size_or_none(name)?.unwrap_or(default))
    }

    /// A size from 1 to 2^31, where it is there.
    ///
    /// # Errors
    /// It is there and no size.
    pub fn size_or_none(self, name: &str) -> Result<Option<usize>, LoadError> {
        let Some(value) = self.present(name) else {
            return Ok(None);
        };
        let size = value
            .as_u64()
            .filter(|size| (1..=1 << 31).contains(size))
            .and_then(|size| usize::try_from(size).ok());
        size.map(Some)
            .ok_or_else(|| LoadError::new(format!("`{name}` of `config.json` is no size: {value}")))
    }

    /// A count that may be 0.
    #[must_use]
    pub fn count_or(self, name: &str, default: usize) -> usize {
        self.present(name)
            .and_then(Value::as_u64)
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(default)
    }

    /// The id of a token.
    #[must_use]
    pub fn id(self, name: &str) -> Option<u32> {
        self.present(name)
            .and_then(Value::as_u64)
            .and_then(|id| u32::try_from(id).ok())
    }

    /// A finite number.
    ///
    /// # Errors
    /// It is there and no number.
    pub fn number_or(self, name: &str, default: f64) -> Result<f64, LoadError> {
        let Some(value) = self.present(name) else {
            return Ok(default);
        };
        let number = value.as_f64().filter(|number| number.is_finite());
        number.ok_or_else(|| {
            LoadError::new(format!("`{name}` of `config.json` is no number: {value}"))
        })
    }

    /// A flag.
    #[must_use]
    pub fn flag_or(self, name: &str, default: bool) -> bool {
        self.present(name)
            .and_then(Value::as_bool)
            .unwrap_or(default)
    }

    /// A text.
    #[must_use]
    pub fn text(self, name: &str) -> Option<&'a str> {
        self.present(name).and_then(Value::as_str)
    }

    /// An object.
    #[must_use]
    pub fn object(self, name: &str) -> Option<&'a Value> {
        self.present(name).filter(|value| value.is_object())
    }

    /// A list of texts.
    #[must_use]
    pub fn texts(self, name: &str) -> Option<Vec<&'a str>> {
        self.present(name)?
            .as_array()?
            .iter()
            .map(Value::as_str)
            .collect()
    }

    /// Refuses every activation but those named; none is the usual one.
    ///
    /// # Errors
    /// It is another.
    pub fn activation(self, name: &str, known: &[&str]) -> Result<(), LoadError> {
        match self.text(name) {
            Some(activation) if !known.contains(&activation) => Err(LoadError::new(format!(
                "the activation `{activation}` is not known; {} is",
                known.join(" or ")
            ))),
            _ => Ok(()),
        }
    }

    /// Names of classes in the order of their numbers, from `id2label`, or `num_labels` (2 without
    /// it) unnamed ones.
    #[must_use]
    pub fn labels(self) -> Vec<String> {
        if let Some(names) = self.object("id2label").and_then(Value::as_object) {
            let mut numbered: Vec<(usize, &str)> = names
                .iter()
                .filter_map(|(number, name)| Some((number.parse().ok()?, name.as_str()?)))
                .collect();
            numbered.sort_unstable();
            return numbered
                .into_iter()
                .map(|(_, name)| name.to_owned())
                .collect();
        }
        /// More classes than any head has.
        const MOST: usize = 10_000;
        (0..self.count_or("num_labels", 2).min(MOST))
            .map(|number| format!("LABEL_{number}"))
            .collect()
    }
}

/// Refuses more layers than any model has, before anything is made for each.
fn layers(fields: Fields<'_>) -> Result<usize, LoadError> {
    const MOST: usize = 10_000;
    match fields.size("num_hidden_layers")? {
        layers if layers <= MOST => Ok(layers),
        layers => Err(LoadError::new(format!(
            "`num_hidden_layers` is at most {MOST}: {layers}"
        ))),
    }
}

/// Refuses heads that do not divide.
fn divides(of: usize, into: usize, what: &str) -> Result<(), LoadError> {
    if into == 0 || !of.is_multiple_of(into) {
        return Err(LoadError::new(format!(
            "{what}: {of} does not divide by {into}"
        )));
    }
    Ok(())
}
