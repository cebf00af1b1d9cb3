//! One update from completions with advantages, for training loops outside of this crate.

use std::fs;
use std::path::Path;

use anyhow::Context;
use assay_policy_model::optimiser::AdamW;
use assay_policy_model::{Gradients, PolicyModel};
use assay_weights::{Directory, save};
use candle_core::Device;
use serde::{Deserialize, Serialize};

use crate::batch_file::BatchRows;
use crate::budget::{self, Demand, Phase};
use crate::checkpoint;
use crate::config::Config;
use crate::telemetry::Values;
use crate::training::{layout, learner, step_values};

/// Name of the file with the number of updates.
const STATE: &str = "update.json";

/// What the next update depends on, except weights and optimiser state.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// Number of completed updates; the step of the schedule.
    step: u64,
}

/// An update.
#[derive(Clone, Copy)]
pub struct Update<'a> {
    /// The configuration: policy, objective, optimiser, schedule and training.
    pub config: &'a Config,
    /// The device of the policy model.
    pub device: &'a Device,
    /// Output directory of the previous update; `None` for the first one.
    pub previous: Option<&'a Path>,
    /// Directory of the new policy model and the optimiser state.
    pub output: &'a Path,
    /// Whether the completions are from an older model.
    pub is_stale: bool,
}

impl Update<'_> {
    /// Trains on a batch like one step of a run, writes the result and returns the metrics.
    ///
    /// # Errors
    /// The batch does not match the model or the objective, the memory does not suffice, or a file
    /// cannot be read or written.
    pub fn perform(self, batch: &BatchRows) -> anyhow::Result<Values> {
        let (config, path) = (self.config, &self.config.policy.path);
        let state = match self.previous {
            Some(previous) => read_state(previous)?,
            None => State::default(),
        };
        let model = Directory::open(path)?.config()?;
        let lengths = batch.rows.iter();
        let lengths = lengths.map(|row| row.prompt.len() + row.completion.len());
        let demand = Demand {
            config,
            model: &model,
            device: self.device,
            phase: Phase::Rows(batch.rows.len()),
            longest: lengths.max().unwrap_or(1),
        };
        let budget = demand.fit(budget::limit(config, self.device), None)?;
        let options = budget.options(config);
        let dtype = config.policy.dtype.tensors();
        let policy = PolicyModel::open(path, self.device, dtype, &options)?;
        let reference = if config.objective.required_inputs().reference {
            Some(checkpoint::reference(path, None, &policy)?)
        } else {
            None
        };
        let mut optimiser = AdamW::new(config.optimiser.clone(), policy.parameters())?;
        if let Some(previous) = self.previous {
            checkpoint::restore_model(previous, &policy)?;
            checkpoint::restore_optimiser(previous, &mut optimiser)?;
        }
        let mut gradients = Gradients::new(policy.parameters())?;
        let rate = config.schedule.at(state.step, config.training.steps);
        let result = learner(config, &policy, reference.as_ref()).step(
            (&mut optimiser, &mut gradients),
            &batch.rows,
            rate,
            layout(config, budget.micro_tokens),
            !self.is_stale,
        )?;
        checkpoint::write_model(&policy, path, self.output)?;
        checkpoint::write_optimiser(&optimiser, self.output)?;
        let next = State {
            step: state.step + 1,
        };
        save::bytes(&self.output.join(STATE), &serde_json::to_vec(&next)?)?;
        let tokens: usize = batch.rows.iter().map(|row| row.completion.len()).sum();
        let values = [
            ("step", next.step as f64),
            ("num_tokens", tokens as f64),
            ("completions/masked", batch.masked as f64),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        Ok(step_values(values.into(), &result, rate))
    }
}

fn read_state(previous: &Path) -> anyhow::Result<State> {
    let path = previous.join(STATE);
    let text = fs::read(&path)
        .with_context(|| format!("`{}` is not the output of an update", previous.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("`{}` is invalid", path.display()))
}
