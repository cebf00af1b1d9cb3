//! The judges of a node, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_base::did_you_mean;
use assay_core::Clock;

use crate::judge::Judge;
use crate::metrics;
use crate::prompt::{Entropy, system_entropy};
use crate::settings::{JudgeSettings, is_judge_name};

/// The judges of a node. Cheap to clone.
#[derive(Clone, Default)]
pub struct Judges(Arc<BTreeMap<String, Arc<Judge>>>);

/// A judge cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`judges.{name}`: {reason}")]
pub struct JudgeError {
    /// Its name.
    pub name: String,
    /// What is wrong with its settings.
    pub reason: String,
}

impl Judges {
    /// Creates the judges of these settings, with the random numbers of the system.
    ///
    /// # Errors
    /// [`JudgeError`] for the first judge that cannot be used.
    pub fn new(
        settings: &BTreeMap<String, JudgeSettings>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, JudgeError> {
        Self::with_entropy(settings, clock, &system_entropy())
    }

    /// Creates the judges of these settings.
    ///
    /// # Errors
    /// As [`Judges::new`].
    pub fn with_entropy(
        settings: &BTreeMap<String, JudgeSettings>,
        clock: &Arc<dyn Clock>,
        entropy: &Entropy,
    ) -> Result<Self, JudgeError> {
        let create = |(name, settings): (&String, &JudgeSettings)| {
            let error = |reason: String| JudgeError {
                name: name.clone(),
                reason,
            };
            if !is_judge_name(name) {
                let reason = "a name must have 1 to 64 letters, digits, `-`, `_` and `.`";
                return Err(error(reason.to_owned()));
            }
            let judge = Judge::new(name, settings.clone(), clock, entropy).map_err(error)?;
            Ok((name.clone(), Arc::new(judge)))
        };
        let judges: BTreeMap<String, Arc<Judge>> =
            settings.iter().map(create).collect::<Result<_, _>>()?;
        metrics::describe(judges.keys().map(String::as_str));
        Ok(Self(Arc::new(judges)))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The judge of this name, or why there is none.
    pub(crate) fn get(&self, name: &str) -> Result<&Arc<Judge>, String> {
        self.0.get(name).ok_or_else(|| {
            let names: Vec<String> = self.0.keys().map(|name| format!("`{name}`")).collect();
            let similar = did_you_mean(name, self.0.keys().map(String::as_str));
            format!(
                "no judge is named `{name}`; this node has {}{similar}",
                names.join(", ")
            )
        })
    }
}
