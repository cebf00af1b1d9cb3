//! Fields of a configuration, read one by one.

use serde_json::Value;

use crate::LoadError;

/// Typed access to the fields of a JSON object, with errors that name the field. A field that is
/// `null` counts as missing.
#[derive(Clone, Copy)]
pub struct Fields<'a>(pub &'a Value);

impl<'a> Fields<'a> {
    fn present(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A required size from 1 to 2^31.
    ///
    /// # Errors
    /// The field is missing or not a size.
    pub fn size(self, name: &str) -> Result<usize, LoadError> {
        self.size_or_none(name)?
            .ok_or_else(|| LoadError::new(format!("`config.json` has no `{name}`")))
    }

    /// A size from 1 to 2^31, or `default` if the field is missing.
    ///
    /// # Errors
    /// The field is present but not a size.
    pub fn size_or(self, name: &str, default: usize) -> Result<usize, LoadError> {
        Ok(self.size_or_none(name)?.unwrap_or(default))
    }

    /// A size from 1 to 2^31, or `None` if the field is missing.
    ///
    /// # Errors
    /// The field is present but not a size.
    pub fn size_or_none(self, name: &str) -> Result<Option<usize>, LoadError> {
        let Some(value) = self.present(name) else {
            return Ok(None);
        };
        let size = value
            .as_u64()
            .filter(|size| (1..=1 << 31).contains(size))
            .and_then(|size| usize::try_from(size).ok());
        size.map(Some).ok_or_else(|| {
            LoadError::new(format!(
                "`{name}` of `config.json` is not a size from 1 to 2^31: {value}"
            ))
        })
    }

    /// A count, possibly 0, or `default` if the field is missing or not a count.
    #[must_use]
    pub fn count_or(self, name: &str, default: usize) -> usize {
        self.present(name)
            .and_then(Value::as_u64)
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(default)
    }

    /// A token id, or `None` if the field is missing or not an id.
    #[must_use]
    pub fn id(self, name: &str) -> Option<u32> {
        self.present(name)
            .and_then(Value::as_u64)
            .and_then(|id| u32::try_from(id).ok())
    }

    /// A finite number, or `default` if the field is missing.
    ///
    /// # Errors
    /// The field is present but not a number.
    pub fn number_or(self, name: &str, default: f64) -> Result<f64, LoadError> {
        let Some(value) = self.present(name) else {
            return Ok(default);
        };
        let number = value.as_f64().filter(|number| number.is_finite());
        number.ok_or_else(|| {
            LoadError::new(format!(
                "`{name}` of `config.json` is not a number: {value}"
            ))
        })
    }

    /// A flag, or `default` if the field is missing or not a flag.
    #[must_use]
    pub fn flag_or(self, name: &str, default: bool) -> bool {
        self.present(name)
            .and_then(Value::as_bool)
            .unwrap_or(default)
    }

    /// A string, or `None` if the field is missing or not a string.
    #[must_use]
    pub fn text(self, name: &str) -> Option<&'a str> {
        self.present(name).and_then(Value::as_str)
    }

    /// An object, or `None` if the field is missing or not an object.
    #[must_use]
    pub fn object(self, name: &str) -> Option<&'a Value> {
        self.present(name).filter(|value| value.is_object())
    }

    /// A list of strings, or `None` if the field is missing or not such a list.
    #[must_use]
    pub fn texts(self, name: &str) -> Option<Vec<&'a str>> {
        self.present(name)?
            .as_array()?
            .iter()
            .map(Value::as_str)
            .collect()
    }

    /// Checks that the activation is one of `known`. A missing field means the default activation
    /// and is accepted.
    ///
    /// # Errors
    /// The activation is a different one.
    pub fn activation(self, name: &str, known: &[&str]) -> Result<(), LoadError> {
        match self.text(name) {
            Some(activation) if !known.contains(&activation) => Err(LoadError::new(format!(
                "activation `{activation}` is not supported; only {} is",
                known.join(" or ")
            ))),
            _ => Ok(()),
        }
    }

    /// Names of the classes in the order of their numbers: from `id2label`, or otherwise
    /// `num_labels` (default 2) generated names.
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
        /// Limit on the number of classes, larger than in any known head.
        const MAX: usize = 10_000;
        (0..self.count_or("num_labels", 2).min(MAX))
            .map(|number| format!("LABEL_{number}"))
            .collect()
    }
}

/// Checks that one size is divisible by another.
pub(super) fn check_divisible(value: usize, divisor: usize, what: &str) -> Result<(), LoadError> {
    if divisor == 0 || !value.is_multiple_of(divisor) {
        return Err(LoadError::new(format!(
            "{what}: {value} is not divisible by {divisor}"
        )));
    }
    Ok(())
}

/// Reads the number of layers. Rejects more layers than any known model has, before memory is
/// allocated for each.
pub(super) fn layers(fields: Fields<'_>) -> Result<usize, LoadError> {
    const MAX: usize = 10_000;
    match fields.size("num_hidden_layers")? {
        layers if layers <= MAX => Ok(layers),
        layers => Err(LoadError::new(format!(
            "`num_hidden_layers` is {layers}, but at most {MAX} is allowed"
        ))),
    }
}
