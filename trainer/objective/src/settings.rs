//! The configuration format of an objective.

use serde::{Deserialize, Deserializer, de};

use crate::presets::preset;
use crate::{
    Advantage, Aggregation, Correction, Demonstrations, Level, Masks, Objective, ObjectiveError,
    Penalty, PolicyVersion, Surrogate,
};

/// A preset and the axes that override it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    preset: Option<String>,
    advantage: Option<Advantage>,
    anchor: Option<PolicyVersion>,
    level: Option<Level>,
    surrogate: Option<Surrogate>,
    aggregation: Option<Aggregation>,
    correction: Option<Correction>,
    masks: Option<Masks>,
    penalties: Option<Vec<Penalty>>,
    demonstrations: Option<Demonstrations>,
    entropy: Option<f64>,
}

impl TryFrom<Settings> for Objective {
    type Error = ObjectiveError;

    fn try_from(settings: Settings) -> Result<Self, ObjectiveError> {
        let base = preset(settings.preset.as_deref().unwrap_or("grpo"))?;
        let objective = Self {
            advantage: settings.advantage.unwrap_or(base.advantage),
            anchor: settings.anchor.unwrap_or(base.anchor),
            level: settings.level.unwrap_or(base.level),
            surrogate: settings.surrogate.unwrap_or(base.surrogate),
            aggregation: settings.aggregation.unwrap_or(base.aggregation),
            correction: settings.correction.unwrap_or(base.correction),
            masks: settings.masks.unwrap_or(base.masks),
            penalties: settings.penalties.unwrap_or(base.penalties),
            demonstrations: settings.demonstrations.unwrap_or(base.demonstrations),
            entropy: settings.entropy.unwrap_or(base.entropy),
        };
        objective.check()?;
        Ok(objective)
    }
}

impl<'de> Deserialize<'de> for Objective {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let settings = Settings::deserialize(deserializer)?;
        Self::try_from(settings).map_err(de::Error::custom)
    }
}
