//! The section `[reward_models]`: which models are loaded, their sources, and how they run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use assay_core::reward_model::ModelLoad;
use assay_reward_model::{AttentionKernel, GpuOptions, ModelOptions, ProductRows};
use assay_wire::reward_models::invalid_model_name;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::Fetching;
use super::error::shown;
use super::sections::{check_workers, serialize_lossy};
use super::server_url::ServerUrl;

/// `[reward_models]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RewardModels {
    /// Folder of the models. Sources that are relative paths are resolved in it, and requests
    /// cannot use directories outside it.
    #[serde(serialize_with = "serialize_lossy")]
    pub folder: PathBuf,
    /// Model of requests that do not name one; empty for the only loaded model.
    pub default: String,
    /// Hub from which sources that are not in the folder are fetched; empty for none.
    pub hub: ServerUrl,
    /// Models that requests may fetch from the hub: `false`, `true`, or names such as `org/name`
    /// and `org/*`. Sources in `load` are always fetched.
    pub fetch: Fetching,
    /// Device: `cpu`, `cuda:N`, or several GPUs of one kind separated by commas, such as
    /// `cuda:0,cuda:1`. Every model is loaded on each of them.
    pub device: String,
    /// Rows in which products with weights are computed on a GPU: a power of two from 64 to 16384;
    /// 0 lets the library choose by the batch, so the last bits of a score may depend on the batch.
    pub product_rows: usize,
    /// Attention on a GPU: `tiles`, `flash` (FlashAttention for 16-bit types and heads of 64 or 128
    /// numbers, tiles for others) or `auto`, which is `flash` if the
    /// binary contains it.
    pub attention: AttentionKernel,
    /// Maximum number of tokens in one forward pass; 0 for 1,024 on a CPU and 16,384 on a GPU.
    pub batch_tokens: usize,
    /// Maximum number of queued tokens; further requests are rejected with status 429.
    pub queue_tokens: usize,
    /// Size of the cache of scores, in bytes; 0 disables it.
    pub cache_bytes: u64,
    /// Number of CPU threads; 0 for one per core.
    pub threads: usize,
    /// Models that are loaded at startup, by name: a `source`, and options as in `assay.json`.
    pub load: BTreeMap<String, Table>,
}

impl Default for RewardModels {
    fn default() -> Self {
        Self {
            folder: PathBuf::from("models"),
            default: String::new(),
            hub: "https://huggingface.co".into(),
            fetch: Fetching::default(),
            device: "cpu".to_owned(),
            product_rows: ProductRows::default().get().unwrap_or_default(),
            attention: AttentionKernel::default(),
            batch_tokens: 0,
            queue_tokens: 4 << 20,
            cache_bytes: 64 << 20,
            threads: 0,
            load: BTreeMap::new(),
        }
    }
}

impl RewardModels {
    /// The models that are loaded at startup, by name.
    ///
    /// # Errors
    /// A message with the invalid key.
    pub fn loads(&self) -> Result<Vec<(String, ModelLoad)>, String> {
        let load = |(name, table): (&String, &Table)| {
            if let Some(message) = invalid_model_name(name) {
                return Err(format!(
                    "`reward_models.load`: {message}: `{}`",
                    shown(name)
                ));
            }
            let mut options = table.clone();
            let Some(Value::String(source)) = options
                .remove("source")
                .filter(|source| source.as_str() != Some(""))
            else {
                return Err(format!(
                    "`reward_models.load.{name}` needs a `source`: a directory, or `org/name` on \
                     the hub"
                ));
            };
            // Only dates in a TOML table have no JSON form, and no option is a date.
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
                    expected_version: None,
                },
            ))
        };
        self.load.iter().map(load).collect()
    }

    /// The names of the devices.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        self.device.split(',').map(str::trim)
    }

    /// How networks compute on a GPU.
    ///
    /// # Errors
    /// A message with the invalid key.
    pub fn gpu(&self) -> Result<GpuOptions, String> {
        let product_rows = ProductRows::new(self.product_rows)
            .map_err(|error| format!("`reward_models.product_rows` {error}"))?;
        Ok(GpuOptions {
            product_rows,
            attention: self.attention,
        })
    }

    fn check_device(&self) -> Result<(), String> {
        let gpu = |name: &str| name.strip_prefix("cuda:")?.parse::<u16>().ok();
        let several = self.device.contains(',');
        let mut seen = BTreeSet::new();
        for name in self.devices() {
            let index = gpu(name);
            if name == "cpu" && several {
                return Err(
                    "`reward_models.device` must be `cpu` alone or GPUs only: a CPU is one device \
                     with `reward_models.threads` threads"
                        .to_owned(),
                );
            }
            if name != "cpu" && index.is_none() {
                return Err(format!(
                    "`reward_models.device` must be `cpu` or GPUs such as `cuda:0,cuda:1`: `{}`",
                    shown(&self.device)
                ));
            }
            if !seen.insert(index) {
                return Err(format!("`reward_models.device` names `{name}` twice"));
            }
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let loads = self.loads()?;
        if !self.default.is_empty() && loads.iter().all(|(name, _)| *name != self.default) {
            return Err(format!(
                "`reward_models.default` is not in `reward_models.load`: `{}`",
                shown(&self.default)
            ));
        }
        self.check_device()?;
        self.gpu()?;
        self.fetch.check()?;
        if self.queue_tokens == 0 {
            return Err("`reward_models.queue_tokens` must be at least 1".to_owned());
        }
        check_workers("reward_models.threads", self.threads)
    }
}
