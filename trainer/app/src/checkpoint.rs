//! Checkpoints: everything that the next step of a run depends on. A checkpoint is written to a
//! temporary directory and renamed, so that a run that is killed at any time finds a complete one.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use assay_policy_model::optimiser::AdamW;
use assay_policy_model::{ADAPTERS, PolicyModel};
use assay_rewards::Visit;
use assay_weights::save;
use candle_core::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::experience::Experience;
use crate::rollout::Group;

/// The state of a run, except weights and optimiser state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Hash of the settings and inputs that determine the result of the run.
    pub setup: String,
    /// Number of completed steps.
    pub step: u64,
    /// Number of prompts drawn uniformly.
    pub position: u64,
    /// Number of started groups; the key of their random numbers.
    pub groups: u64,
    /// Generated batches that are not yet used, in order.
    pub pending: VecDeque<Experience>,
    /// Started groups with unfinished completions.
    pub unfinished: Vec<Group>,
    /// Visits to prompts, by their index; recorded only if the advantage estimator uses them.
    pub visits: BTreeMap<u64, Vec<Visit>>,
    /// Tokens of a micro-batch, on which the order of sums depends.
    pub micro_tokens: usize,
    /// Whether the reference was reset and differs from the initial policy model.
    pub reference_was_reset: bool,
}

const STATE: &str = "state.bin";
const OPTIMISER: &str = "optimiser.safetensors";
const REFERENCE: &str = "reference";
/// Prefix of the name of a checkpoint that is being written.
const UNFINISHED: &str = ".unfinished-";
/// Directory of the policy model in the Hugging Face layout.
pub const MODEL: &str = "model";
/// Directory of the adapters in the PEFT layout.
pub const ADAPTER: &str = "adapter";
/// File of weights of a model directory.
const WEIGHTS: &str = "model.safetensors";
/// Tokenizer files that are copied along with the weights.
const TOKENIZER: &[&str] = &[
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "generation_config.json",
];

/// The checkpoints of a run.
pub struct Checkpoints {
    folder: PathBuf,
    keep: usize,
}

impl Checkpoints {
    /// The checkpoints in the directory of a run, of which the newest `keep` are kept.
    #[must_use]
    pub fn new(run: &Path, keep: usize) -> Self {
        Self {
            folder: run.join("checkpoints"),
            keep,
        }
    }

    /// The steps with a checkpoint, in order.
    fn steps(&self) -> Vec<u64> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut steps: Vec<u64> = entries
            .filter_map(|entry| {
                entry
                    .file_name()
                    .to_str()?
                    .strip_prefix("step-")?
                    .parse()
                    .ok()
            })
            .collect();
        steps.sort_unstable();
        steps
    }

    /// The newest checkpoint.
    #[must_use]
    pub fn newest(&self) -> Option<PathBuf> {
        self.steps().last().map(|step| self.path(*step))
    }

    fn path(&self, step: u64) -> PathBuf {
        self.folder.join(format!("step-{step:06}"))
    }

    /// Removes checkpoints whose writing was interrupted.
    fn remove_unfinished(&self) -> anyhow::Result<()> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Ok(());
        };
        for entry in entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(UNFINISHED))
        {
            let path = entry.path();
            fs::remove_dir_all(&path)
                .with_context(|| format!("cannot remove `{}`", path.display()))?;
        }
        Ok(())
    }

    /// Writes a checkpoint, and removes older ones beyond the number to keep.
    ///
    /// # Errors
    /// A file cannot be written; existing checkpoints are unchanged.
    pub fn write(
        &self,
        state: &State,
        policy: &PolicyModel,
        reference: Option<&PolicyModel>,
        optimiser: &AdamW,
        tokenizer: &Path,
    ) -> anyhow::Result<PathBuf> {
        let path = self.path(state.step);
        if path.exists() {
            return Ok(path);
        }
        self.remove_unfinished()?;
        let unfinished = self.folder.join(format!("{UNFINISHED}{:06}", state.step));
        fs::create_dir_all(&unfinished)
            .with_context(|| format!("cannot create `{}`", unfinished.display()))?;
        // With adapters, the frozen weights are those of the initial model.
        if policy.has_adapters() {
            policy.save_adapters(&unfinished.join(ADAPTER))?;
        } else {
            write_model(policy, tokenizer, &unfinished.join(MODEL))?;
        }
        write_optimiser(optimiser, &unfinished)?;
        if let Some(reference) = reference.filter(|_| state.reference_was_reset) {
            if policy.has_adapters() {
                reference.save_adapters(&unfinished.join(REFERENCE))?;
            } else {
                reference.save(&unfinished.join(REFERENCE))?;
            }
        }
        save::bytes(&unfinished.join(STATE), &postcard::to_stdvec(state)?)?;
        fs::rename(&unfinished, &path).with_context(|| {
            format!(
                "cannot rename `{}` to `{}`",
                unfinished.display(),
                path.display()
            )
        })?;
        fs::File::open(&self.folder)?.sync_all()?;
        let steps = self.steps();
        for step in &steps[..steps.len().saturating_sub(self.keep)] {
            fs::remove_dir_all(self.path(*step))?;
        }
        Ok(path)
    }
}

/// Writes the policy model with its tokenizer in the Hugging Face layout. Adapters are merged into
/// the weights, and also written to the directory [`ADAPTER`] in it.
///
/// # Errors
/// A file cannot be written.
pub fn write_model(policy: &PolicyModel, tokenizer: &Path, to: &Path) -> anyhow::Result<()> {
    policy.save(to)?;
    policy.save_adapters(&to.join(ADAPTER))?;
    copy_tokenizer(tokenizer, to)
}

/// Copies the files of a tokenizer.
///
/// # Errors
/// A file cannot be read or written.
pub fn copy_tokenizer(tokenizer: &Path, to: &Path) -> anyhow::Result<()> {
    for name in TOKENIZER {
        let from = tokenizer.join(name);
        if from.is_file() {
            save::bytes(
                &to.join(name),
                &fs::read(&from).with_context(|| format!("cannot read `{}`", from.display()))?,
            )?;
        }
    }
    Ok(())
}

/// Reads the state of a checkpoint.
///
/// # Errors
/// The file cannot be read, or the checkpoint belongs to another setup.
pub fn read_state(checkpoint: &Path, setup: &str) -> anyhow::Result<State> {
    let bytes = fs::read(checkpoint.join(STATE))
        .with_context(|| format!("`{}` is not a checkpoint", checkpoint.display()))?;
    let state: State = postcard::from_bytes(&bytes).with_context(|| {
        format!(
            "`{}` was written by an incompatible version",
            checkpoint.join(STATE).display()
        )
    })?;
    ensure!(
        state.setup == setup,
        "the run of `{}` was started with another configuration of policy, data, rollout, \
         objective or optimiser; start a new run in another directory",
        checkpoint.display()
    );
    Ok(state)
}

/// Restores a policy model and an optimiser from a checkpoint.
///
/// # Errors
/// A file cannot be read, or the checkpoint belongs to another policy model.
pub fn restore(
    checkpoint: &Path,
    policy: &PolicyModel,
    optimiser: &mut AdamW,
) -> anyhow::Result<()> {
    if policy.has_adapters() {
        restore_model(checkpoint, policy)?;
    } else {
        restore_model(&checkpoint.join(MODEL), policy)?;
    }
    restore_optimiser(checkpoint, optimiser)
}

/// Restores the trained parameters from a directory that [`write_model`] wrote, or from one that
/// has the directory [`ADAPTER`].
///
/// # Errors
/// A file cannot be read, or it belongs to another policy model.
pub fn restore_model(directory: &Path, policy: &PolicyModel) -> anyhow::Result<()> {
    let weights = if policy.has_adapters() {
        directory.join(ADAPTER).join(ADAPTERS)
    } else {
        directory.join(WEIGHTS)
    };
    Ok(policy.restore(&tensors(&weights)?)?)
}

/// Restores an optimiser from a directory that [`write_optimiser`] wrote to.
///
/// # Errors
/// The file cannot be read, or it belongs to other parameters.
pub fn restore_optimiser(directory: &Path, optimiser: &mut AdamW) -> anyhow::Result<()> {
    Ok(optimiser.restore(&tensors(&directory.join(OPTIMISER))?)?)
}

/// Writes the state of an optimiser to a directory.
///
/// # Errors
/// The file cannot be written.
pub fn write_optimiser(optimiser: &AdamW, directory: &Path) -> anyhow::Result<()> {
    Ok(save::tensors(
        &directory.join(OPTIMISER),
        &optimiser.state()?,
    )?)
}

/// The reference of a policy model: the model with the initial weights, or with those of the last
/// reset that `checkpoint` has.
///
/// # Errors
/// A file cannot be read.
pub fn reference(
    initial: &Path,
    checkpoint: Option<&Path>,
    policy: &PolicyModel,
) -> anyhow::Result<PolicyModel> {
    let reset = checkpoint.map(|checkpoint| checkpoint.join(REFERENCE));
    match (policy.base()?, reset) {
        (Some(base), None) => Ok(base),
        (Some(_), Some(reset)) => Ok(policy.with_adapters(&tensors(&reset.join(ADAPTERS))?)?),
        (None, reset) => Ok(PolicyModel::open_frozen(
            reset.as_deref().unwrap_or(initial),
            policy.device(),
            policy.dtype(),
            policy.computation(),
        )?),
    }
}

fn tensors(path: &Path) -> anyhow::Result<BTreeMap<String, Tensor>> {
    let tensors = candle_core::safetensors::load(path, &Device::Cpu).map_err(|error| {
        anyhow::anyhow!(
            "`{}`: {}",
            path.display(),
            assay_weights::first_line(&error)
        )
    })?;
    Ok(tensors.into_iter().collect())
}
