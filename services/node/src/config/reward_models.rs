//! The section `[reward_models]`: which models are loaded, from where, and how they run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_core::reward_model::ModelLoad;
use assay_reward_model::ModelOptions;
use assay_wire::reward_models::bad_model_name;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::{Fetching, MAX_WORKERS, printed};

/// `[reward_models]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RewardModels {
    /// Folder of the models: a source that is a path is looked for in it, and requests may name
    /// none beyond it.
    #[serde(serialize_with = "printed")]
    pub folder: PathBuf,
    /// Model of requests that name none; empty for the one that is loaded.
    pub default: String,
    /// Where sources that are not in the folder are fetched from; empty for nowhere.
    pub hub: String,
    /// Models that requests may fetch from the hub: `false`, `true`, or names such as `org/name`
    /// and `org/*`. Sources in `load` are always fetched.
    pub fetch: Fetching,
    /// Where they run: `cpu` or `cuda:N`.
    pub device: String,
    /// Tokens of one forward pass; 0 for 1,024 on a CPU and 16,384 on a GPU.
    pub batch_tokens: usize,
    /// Tokens that may wait; more are answered 429.
    pub queue_tokens: usize,
    /// Bytes of answers kept; 0 asks the model each time.
    pub cache_bytes: u64,
    /// Threads of the CPU; 0 for one a core.
    pub threads: usize,
    /// What is loaded at the start, by name: a `source`, and options as in `assay.json`.
    pub load: BTreeMap<String, Table>,
}

impl Default for RewardModels {
    fn default() -> Self {
        Self {
            folder: PathBuf::from("models"),
            default: String::new(),
            hub: "https://huggingface.co".to_owned(),
            fetch: Fetching::default(),
            device: "cpu".to_owned(),
            batch_tokens: 0,
            queue_tokens: 4 << 20,
            cache_bytes: 64 << 20,
            threads: 0,
            load: BTreeMap::new(),
        }
    }
}

impl RewardModels {
    /// What is loaded at the start, by name.
    ///
    /// # Errors
    /// What is wrong, with the key.
    pub fn loads(&self) -> Result<Vec<(String, ModelLoad)>, String> {
        let load = |(name, table): (&String, &Table)| {
            if let Some(message) = bad_model_name(name) {
                return Err(format!(
                    "`reward_models.load`: {message}: `{}`",
                    name.escape_debug()
                ));
            }
            let mut options = table.clone();
            let Some(Value::String(source)) = options
                .remove("source")
                .filter(|source| source.as_str() != Some(""))
            else {
                return Err(format!(
                    "`reward_models.load.{name}` needs a `source`: a directory, or `org/name` of \
                     the hub"
                ));
            };
            // A TOML table is JSON but for its dates, which no option has.
            let options = match serde_json::to_value(options) {
                Ok(serde_json::Value::Object(options)) => Some(options),
                _ => None,
            };
            if let Some(Err(error)) = options.clone().map(ModelOptions::read) {
                return Err(format!("`reward_models.load.{name}`: {error}"));
            }
            Ok((
                name.clone(),
                ModelLoad {
                    source: Some(source),
                    options,
                },
            ))
        };
        self.load.iter().map(load).collect()
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let loads = self.loads()?;
        if !self.default.is_empty() && loads.iter().all(|(name, _)| *name != self.default) {
            return Err(format!(
                "`reward_models.default` names none of `reward_models.load`: `{}`",
                self.default
            ));
        }
        let numbered = self
            .device
            .strip_prefix("cuda:")
            .is_some_and(|number| number.parse::<u16>().is_ok());
        if self.device != "cpu" && !numbered {
            return Err(format!(
                "`reward_models.device` is `cpu`, or `cuda:0` and so on: `{}`",
                self.device
            ));
        }
        self.fetch.check()?;
        if self.queue_tokens == 0 {
            return Err("`reward_models.queue_tokens` is at least 1".to_owned());
        }
        if self.threads > MAX_WORKERS {
            return Err(format!(
                "`reward_models.threads` is 0 (one a core) to {MAX_WORKERS}: {}",
                self.threads
            ));
        }
        Ok(())
    }
}
