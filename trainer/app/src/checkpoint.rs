//! Checkpoints: everything that the next step of a run depends on. A checkpoint is written to a
//! temporary directory and renamed, so that a run that is killed at any time finds a complete one.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use assay_policy_model::PolicyModel;
use assay_policy_model::optimiser::AdamW;
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
    /// Whether the reference was reset and differs from the initial policy model.
    pub reference_was_reset: bool,
}

const STATE: &str = "state.bin";
const WEIGHTS: &str = "trained.safetensors";
const OPTIMISER: &str = "optimiser.safetensors";
const REFERENCE: &str = "reference";
/// Prefix of the name of a checkpoint that is being written.
const UNFINISHED: &str = ".unfinished-";
/// Directory of the policy model in the Hugging Face layout.
pub const MODEL: &str = "model";
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
        write_model(policy, tokenizer, &unfinished.join(MODEL))?;
        save::tensors(&unfinished.join(WEIGHTS), &policy.trained_tensors())?;
        save::tensors(&unfinished.join(OPTIMISER), &optimiser.state()?)?;
        if let Some(reference) = reference.filter(|_| state.reference_was_reset) {
            reference.save(&unfinished.join(REFERENCE))?;
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

/// Writes the policy model with its tokenizer in the Hugging Face layout, and adapters separately.
///
/// # Errors
/// A file cannot be written.
pub fn write_model(policy: &PolicyModel, tokenizer: &Path, to: &Path) -> anyhow::Result<()> {
    policy.save(to)?;
    policy.save_adapters(to)?;
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

/// Restores a policy model and an optimiser from a checkpoint. If the reference was reset, its
/// directory is returned as well.
///
/// # Errors
/// A file cannot be read, or the checkpoint belongs to another policy model or setup.
pub fn read(
    checkpoint: &Path,
    setup: &str,
    policy: &PolicyModel,
    optimiser: &mut AdamW,
) -> anyhow::Result<(State, Option<PathBuf>)> {
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
    policy.restore(&tensors(&checkpoint.join(WEIGHTS))?)?;
    optimiser.restore(&tensors(&checkpoint.join(OPTIMISER))?)?;
    let reference = state
        .reference_was_reset
        .then(|| checkpoint.join(REFERENCE));
    Ok((state, reference))
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
