//! A run on disk: everything the next step depends on. Written beside its place and moved there, so
//! that a run that is killed at any moment finds a whole one.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use assay_core::Visit;
use assay_policy::PolicyModel;
use assay_policy::optimiser::AdamW;
use assay_weights::save;
use candle_core::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::experience::Experience;
use crate::rollout::Group;

/// What a run is besides weights and moments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// What the run was configured with, of what decides what is learned.
    pub setup: String,
    /// Steps learned.
    pub step: u64,
    /// Prompts taken.
    pub position: u64,
    /// Groups started, which names their random numbers.
    pub groups: u64,
    /// Batches that wait to be learned from, the next one first.
    pub waiting: VecDeque<Experience>,
    /// Groups that were started and not finished.
    pub open: Vec<Group>,
    /// Visits to prompts, by their number; kept where the advantage looks at them.
    pub visits: BTreeMap<u64, Vec<Visit>>,
    /// Whether the reference is no longer the policy the run started from.
    pub own_reference: bool,
}

const STATE: &str = "state.bin";
const WEIGHTS: &str = "trained.safetensors";
const OPTIMISER: &str = "optimiser.safetensors";
const REFERENCE: &str = "reference";
/// What the name of a checkpoint starts with while it is written.
const UNFINISHED: &str = ".unfinished-";
/// Folder of the policy as others read it.
pub const MODEL: &str = "model";
/// Files of a tokenizer that go with the weights.
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
    /// Those in the folder of a run, of which so many stay.
    #[must_use]
    pub fn new(run: &Path, keep: usize) -> Self {
        Self {
            folder: run.join("checkpoints"),
            keep,
        }
    }

    /// Steps there is a checkpoint of, in order.
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

    /// The newest one.
    #[must_use]
    pub fn newest(&self) -> Option<PathBuf> {
        self.steps().last().map(|step| self.place(*step))
    }

    fn place(&self, step: u64) -> PathBuf {
        self.folder.join(format!("step-{step:06}"))
    }

    /// Removes what was being written when a run was killed.
    fn remove_unfinished(&self) -> anyhow::Result<()> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Ok(());
        };
        for entry in entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(UNFINISHED))
        {
            let place = entry.path();
            fs::remove_dir_all(&place)
                .with_context(|| format!("cannot remove `{}`", place.display()))?;
        }
        Ok(())
    }

    /// Writes one, and removes those that are too old.
    ///
    /// # Errors
    /// What cannot be written; what was there before is as it was.
    pub fn write(
        &self,
        state: &State,
        policy: &PolicyModel,
        reference: Option<&PolicyModel>,
        optimiser: &AdamW,
        tokenizer: &Path,
    ) -> anyhow::Result<PathBuf> {
        let place = self.place(state.step);
        if place.exists() {
            return Ok(place);
        }
        self.remove_unfinished()?;
        let beside = self.folder.join(format!("{UNFINISHED}{:06}", state.step));
        fs::create_dir_all(&beside)
            .with_context(|| format!("cannot make `{}`", beside.display()))?;
        write_model(policy, tokenizer, &beside.join(MODEL))?;
        save::tensors(&beside.join(WEIGHTS), &policy.numbers())?;
        save::tensors(&beside.join(OPTIMISER), &optimiser.state()?)?;
        if let Some(reference) = reference.filter(|_| state.own_reference) {
            reference.save(&beside.join(REFERENCE))?;
        }
        save::bytes(&beside.join(STATE), &postcard::to_stdvec(state)?)?;
        fs::rename(&beside, &place)
            .with_context(|| format!("cannot move `{}` to its place", beside.display()))?;
        fs::File::open(&self.folder)?.sync_all()?;
        let steps = self.steps();
        for step in &steps[..steps.len().saturating_sub(self.keep)] {
            fs::remove_dir_all(self.place(*step))?;
        }
        Ok(place)
    }
}

/// Writes the policy with its tokenizer, as Hugging Face lays them out; adapters also on their own.
///
/// # Errors
/// Which file cannot be written.
pub fn write_model(policy: &PolicyModel, tokenizer: &Path, place: &Path) -> anyhow::Result<()> {
    policy.save(place)?;
    policy.save_adapters(place)?;
    copy_tokenizer(tokenizer, place)
}

/// Copies the files of a tokenizer.
///
/// # Errors
/// Which file cannot be read or written.
pub fn copy_tokenizer(tokenizer: &Path, place: &Path) -> anyhow::Result<()> {
    for name in TOKENIZER {
        let from = tokenizer.join(name);
        if from.is_file() {
            save::bytes(
                &place.join(name),
                &fs::read(&from).with_context(|| format!("cannot read `{}`", from.display()))?,
            )?;
        }
    }
    Ok(())
}

/// Reads a checkpoint into a policy and an optimiser. The reference comes as a directory, where the
/// run has one of its own.
///
/// # Errors
/// What cannot be read, is of another policy or of another setup.
pub fn read(
    place: &Path,
    setup: &str,
    policy: &PolicyModel,
    optimiser: &mut AdamW,
) -> anyhow::Result<(State, Option<PathBuf>)> {
    let bytes = fs::read(place.join(STATE))
        .with_context(|| format!("`{}` is no checkpoint", place.display()))?;
    let state: State = postcard::from_bytes(&bytes).with_context(|| {
        format!(
            "`{}` is not readable by this version",
            place.join(STATE).display()
        )
    })?;
    ensure!(
        state.setup == setup,
        "the run in `{}` was started with another configuration of policy, data, rollouts, \
         objective or optimiser; start a new run in another folder",
        place.display()
    );
    policy.restore(&tensors(&place.join(WEIGHTS))?)?;
    optimiser.restore(&tensors(&place.join(OPTIMISER))?)?;
    let reference = state.own_reference.then(|| place.join(REFERENCE));
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
