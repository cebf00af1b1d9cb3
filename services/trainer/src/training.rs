//! The loop: which prompts, what is written to them, what it earned, one step of learning, again.
//!
//! With a staleness of `k`, the batch of step `t` is written by the policy of step `t - k`, beside
//! the learning of the steps between: the capacity of AReaL (arXiv 2505.24298, section 4.1) with
//! every batch as early as it may be. What is written depends on no clock, so a run that goes on
//! from a checkpoint is the run that was not broken off.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use assay_core::{Clock, Hash, Visit};
use assay_objective::Advantage;
use assay_policy::optimiser::AdamW;
use assay_policy::{PolicyModel, PolicyModelOptions};
use candle_core::{DType, Device};
use tokio::runtime::Handle;

use crate::checkpoint::{self, Checkpoints, State};
use crate::config::Config;
use crate::data::{Selection, Source, Strategy};
use crate::evaluation::{Examination, examine};
use crate::experience::Experience;
use crate::learn::{Learner, Pieces};
use crate::rewards::Rewards;
use crate::rollout;
use crate::telemetry::{self, Progress, Telemetry, Values};
use crate::text::Tokens;
use crate::writing::{Place, Writer};

/// Prompts looked at before anything is written: whether the policy reads them, and one of each
/// type of task by the service.
pub const LOOKED_AT: u64 = 10_000;

/// Everything a run needs that outlives it.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// What is to be done.
    pub config: &'a Config,
    /// Where it is done.
    pub device: &'a Device,
    /// Prompts to learn from.
    pub source: &'a dyn Source,
    /// Prompts to be examined on.
    pub held_out: &'a dyn Source,
    /// Who grades.
    pub rewards: &'a Rewards,
    /// Who examines: the same service, never permuted.
    pub examiner: &'a Rewards,
    /// Folder of the run: checkpoints, numbers, the model at the end.
    pub folder: &'a Path,
    /// Where calls of the service run.
    pub runtime: &'a Handle,
    /// Raised by whoever wants the run to end.
    pub stop: &'a AtomicBool,
    /// For times among the numbers.
    pub clock: &'a dyn Clock,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All steps are learned.
    Done,
    /// It was told to end; a checkpoint holds everything.
    Stopped,
}

impl Run<'_> {
    /// Trains until all steps are done or someone raises `stop`; `resume` goes on from the newest
    /// checkpoint.
    ///
    /// # Errors
    /// What is missing or failed. Everything up to the last whole step is in a checkpoint then, or
    /// with `staleness` up to the last one that was due.
    pub fn train(&self, resume: bool) -> anyhow::Result<Ended> {
        let tokens = Tokens::read(&self.config.policy.path)?;
        let checkpoints = Checkpoints::new(self.folder, self.config.training.keep);
        let newest = checkpoints.newest().filter(|_| resume);
        let mut course = Course::open(self, &tokens, checkpoints, newest.as_deref())?;
        if resume && course.step == 0 {
            // Broken off before its first step: what was told of it is told again.
            telemetry::forget(self.folder)?;
        }
        let resumed = (course.step > 0).then_some(course.step);
        let mut telemetry = Telemetry::open(self.folder, resumed, self.clock)?;
        let steps = self.config.training.steps;
        let mut progress = Progress::new(steps, course.step);
        if course.step == 0 {
            let values = course.examined()?;
            telemetry.write(0, &values, self.clock)?;
        }
        while course.step < steps {
            let mut values = match course.advance() {
                Ok(Some(values)) => values,
                Ok(None) => {
                    progress.finish();
                    course.save()?;
                    return Ok(Ended::Stopped);
                }
                Err(error) => {
                    if self.config.rollout.staleness == 0 {
                        course.save().context(format!("after: {error}"))?;
                    }
                    return Err(error);
                }
            };
            let examined = if course.is_examined() {
                course.examined()
            } else {
                Ok(Values::new())
            };
            let (more, failed) =
                examined.map_or_else(|error| (Values::new(), Some(error)), |more| (more, None));
            values.extend(more);
            telemetry.write(course.step, &values, self.clock)?;
            if let Some(error) = failed {
                course.save().context(format!("after: {error}"))?;
                return Err(error);
            }
            let told = ["reward", "held_out/accuracy", "entropy"].map(|name| {
                values
                    .get(name)
                    .map_or(String::new(), |value| format!("{name} {value:.3} "))
            });
            progress.step(course.step, told.concat().trim_end(), self.clock);
            if course.step.is_multiple_of(self.config.training.save_every) {
                course.save()?;
            }
        }
        progress.finish();
        course.save()?;
        checkpoint::write_model(
            &course.policy,
            &self.config.policy.path,
            &self.folder.join(checkpoint::MODEL),
        )?;
        Ok(Ended::Done)
    }

    /// What of the configuration decides what is learned, as a hash: a checkpoint goes on under the
    /// same. Weights, tokenizer and prompts are part of it by their content.
    fn setup(&self) -> anyhow::Result<String> {
        let Config {
            run,
            seed,
            policy,
            data,
            rollout,
            rewards,
            objective,
            optimiser,
            schedule,
            training,
            ..
        } = self.config;
        let pieces = (
            training.epochs,
            training.minibatches,
            training.micro_tokens,
            training.effective_share,
        );
        let decides = (
            &rewards.policy,
            &rewards.statistic,
            rewards.numbered,
            rewards.shuffled,
            training.reset_reference_every,
        );
        let (lora, data) = (
            &policy.lora,
            (
                &data.problems,
                &data.path,
                data.limit,
                data.seed,
                data.suggest.is_some(),
            ),
        );
        let text = format!(
            "{run} {seed} {lora:?} {data:?} {rollout:?} {decides:?} {objective:?} {optimiser:?} \
             {schedule:?} {pieces:?}"
        );
        let mut parts = vec![text.into_bytes()];
        for name in [
            "config.json",
            "model.safetensors",
            "model.safetensors.index.json",
            "tokenizer.json",
        ] {
            let path = self.config.policy.path.join(name);
            let hash = if path.is_file() {
                Hash::of(&std::fs::read(&path)?).to_string()
            } else {
                String::new()
            };
            parts.push(hash.into_bytes());
        }
        for item in (0..self.source.size().unwrap_or_default())
            .filter_map(|index| self.source.problem(index))
        {
            parts.push(
                Hash::of_parts(&[item.key.as_bytes(), item.prompt.as_bytes()])
                    .as_bytes()
                    .to_vec(),
            );
        }
        Ok(Hash::of_parts(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>()).to_string())
    }
}

/// A run on its way.
struct Course<'a> {
    run: Run<'a>,
    setup: String,
    writer: Writer<'a>,
    policy: PolicyModel,
    reference: Option<PolicyModel>,
    own_reference: bool,
    optimiser: AdamW,
    step: u64,
    waiting: VecDeque<Experience>,
    visits: BTreeMap<u64, Vec<Visit>>,
    checkpoints: Checkpoints,
}

impl<'a> Course<'a> {
    fn open(
        run: &Run<'a>,
        tokens: &'a Tokens,
        checkpoints: Checkpoints,
        from: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let config = run.config;
        let path = &config.policy.path;
        let options = PolicyModelOptions {
            lora: config.policy.lora.clone(),
            seed: config.seed,
        };
        let policy = PolicyModel::open(path, run.device, DType::F32, &options)?;
        let mut optimiser = AdamW::new(config.optimiser.clone(), policy.parameters())?;
        let setup = run.setup()?;
        for item in (0..run.source.size().unwrap_or(LOOKED_AT).min(LOOKED_AT))
            .filter_map(|at| run.source.problem(at))
        {
            rollout::read(&item, tokens, &policy)?;
        }
        let (state, own) = match from {
            Some(place) => checkpoint::read(place, &setup, &policy, &mut optimiser)?,
            None => (State::default(), None),
        };
        let reference = if config.objective.needs().reference {
            let place = own.unwrap_or_else(|| path.clone());
            Some(
                PolicyModel::open(
                    &place,
                    run.device,
                    DType::F32,
                    &PolicyModelOptions::default(),
                )?
                .snapshot()?,
            )
        } else {
            None
        };
        let strategy = config
            .data
            .suggest
            .clone()
            .map_or(Strategy::Uniform, Strategy::Suggest);
        let writer = Writer {
            config,
            source: run.source,
            rewards: run.rewards,
            runtime: run.runtime,
            tokens,
            selection: Selection::new(run.source, strategy, config.seed, state.position)?,
            place: Place {
                groups: state.groups,
                open: state.open,
            },
        };
        let State {
            step,
            waiting,
            visits,
            own_reference,
            ..
        } = state;
        Ok(Self {
            run: *run,
            setup,
            writer,
            policy,
            reference,
            own_reference,
            optimiser,
            step,
            waiting,
            visits,
            checkpoints,
        })
    }

    /// One step. `None` where the run is told to end; nothing has changed then.
    fn advance(&mut self) -> anyhow::Result<Option<Values>> {
        let (run, began) = (self.run, self.run.clock.monotonic());
        let config = run.config;
        let ahead = config.rollout.staleness;
        if run.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        // The batch of this step, or those that are written before the first can be written beside
        // learning.
        while (self.waiting.len() as u64) < ahead.max(1) {
            let of = self.step + self.waiting.len() as u64;
            let Some(batch) = self.writer.batch(&self.policy, of, self.step, run.stop)? else {
                return Ok(None);
            };
            self.waiting.push_back(batch);
        }
        let batch = self.waiting.pop_front().context("a batch was prepared")?;
        let written = run.clock.monotonic();
        let mut values = if ahead == 0 {
            self.learn(&batch)?
        } else {
            let snapshot = self.policy.snapshot()?;
            self.learn_beside(&batch, &snapshot)?
        };
        let now = run.clock.monotonic();
        values.insert(
            "time/write".to_owned(),
            written.saturating_sub(began).as_secs_f64(),
        );
        values.insert(
            "time/learn".to_owned(),
            now.saturating_sub(written).as_secs_f64(),
        );
        self.step += 1;
        let every = config.training.reset_reference_every;
        if self.reference.is_some() && every.is_some_and(|every| self.step.is_multiple_of(every)) {
            self.reference = Some(self.policy.snapshot()?);
            self.own_reference = true;
        }
        Ok(Some(values))
    }

    /// Learns from a batch while a later one is written by the policy as it was before. Once begun,
    /// both are finished: a run that ends between them could not go on as if it had not.
    fn learn_beside(
        &mut self,
        batch: &Experience,
        snapshot: &PolicyModel,
    ) -> anyhow::Result<Values> {
        let (of, version) = (self.step + self.run.config.rollout.staleness, self.step);
        let (lesson, policy) = (self.lesson(batch)?, &self.policy);
        let (writer, optimiser) = (&mut self.writer, &mut self.optimiser);
        let learner = learner(self.run.config, policy, self.reference.as_ref());
        let rate = self
            .run
            .config
            .schedule
            .at(self.step, self.run.config.training.steps);
        let fresh = batch
            .groups
            .iter()
            .all(|(group, _)| group.version == version);
        let (written, learned) = std::thread::scope(|scope| {
            let never = AtomicBool::new(false);
            // Also behind the last step: the run may be made longer later, and is then the run that
            // was long from the start.
            let writing = scope.spawn(move || writer.batch(snapshot, of, version, &never));
            let learned = learner.step(
                optimiser,
                &lesson.rows,
                rate,
                pieces(self.run.config),
                fresh,
            );
            (writing.join(), learned)
        });
        let learned = learned?;
        let written = written.map_err(|_| anyhow!("the thread that writes panicked"))??;
        self.waiting
            .push_back(written.context("writing beside learning is not stopped")?);
        self.visit(lesson.visits);
        Ok(told(lesson.values, &learned, rate))
    }

    fn learn(&mut self, batch: &Experience) -> anyhow::Result<Values> {
        let lesson = self.lesson(batch)?;
        let learner = learner(self.run.config, &self.policy, self.reference.as_ref());
        let rate = self
            .run
            .config
            .schedule
            .at(self.step, self.run.config.training.steps);
        let fresh = batch
            .groups
            .iter()
            .all(|(group, _)| group.version == self.step);
        let learned = learner.step(
            &mut self.optimiser,
            &lesson.rows,
            rate,
            pieces(self.run.config),
            fresh,
        )?;
        self.visit(lesson.visits);
        Ok(told(lesson.values, &learned, rate))
    }

    fn lesson(&self, batch: &Experience) -> anyhow::Result<crate::experience::Lesson> {
        let advantage = &self.run.config.objective.advantage;
        let mut lesson =
            batch.lesson(advantage, self.run.source, self.writer.tokens, &self.visits)?;
        let oldest = batch
            .groups
            .iter()
            .map(|(group, _)| self.step.saturating_sub(group.version))
            .max();
        lesson
            .values
            .insert("staleness".to_owned(), oldest.unwrap_or_default() as f64);
        Ok(lesson)
    }

    /// Keeps visits where the advantage looks at them.
    fn visit(&mut self, visits: Vec<(u64, Visit)>) {
        if matches!(self.run.config.objective.advantage, Advantage::Named { .. }) {
            for (prompt, visit) in visits {
                self.visits.entry(prompt).or_default().push(visit);
            }
        }
    }

    /// Whether the policy is examined after this step.
    fn is_examined(&self) -> bool {
        let every = self.run.config.evaluation.every;
        every > 0
            && (self.step == self.run.config.training.steps || self.step.is_multiple_of(every))
    }

    fn examined(&self) -> anyhow::Result<Values> {
        if self.run.config.evaluation.every == 0 {
            return Ok(Values::new());
        }
        let examination = Examination {
            policy: &self.policy,
            tokens: self.writer.tokens,
            source: self.run.held_out,
            rewards: self.run.examiner,
            runtime: self.run.runtime,
            config: self.run.config,
        };
        examine(&examination, self.step)
    }

    fn save(&self) -> anyhow::Result<()> {
        let state = State {
            setup: self.setup.clone(),
            step: self.step,
            position: self.writer.selection.position(),
            groups: self.writer.place.groups,
            waiting: self.waiting.clone(),
            open: self.writer.place.open.clone(),
            visits: self.visits.clone(),
            own_reference: self.own_reference,
        };
        let tokenizer = &self.run.config.policy.path;
        self.checkpoints.write(
            &state,
            &self.policy,
            self.reference.as_ref(),
            &self.optimiser,
            tokenizer,
        )?;
        Ok(())
    }
}

fn learner<'a>(
    config: &'a Config,
    policy: &'a PolicyModel,
    reference: Option<&'a PolicyModel>,
) -> Learner<'a> {
    let temperature = config.rollout.sampling.scoring_temperature();
    Learner {
        policy,
        reference,
        objective: &config.objective,
        temperature,
    }
}

fn pieces(config: &Config) -> Pieces {
    let training = &config.training;
    Pieces {
        epochs: training.epochs,
        minibatches: training.minibatches,
        micro_tokens: training.micro_tokens,
        effective_share: training.effective_share,
    }
}

/// The numbers of a step by the names trainers use.
fn told(mut values: Values, learned: &crate::learn::Learned, rate: f64) -> Values {
    // Losses of several updates add up; what is told is that of one.
    let updates = learned.updates.len().max(1) as f64;
    let of_one = |(name, value): (&str, f64)| {
        let sum = matches!(name, "loss" | "policy_loss" | "imitation_loss");
        (name.to_owned(), if sum { value / updates } else { value })
    };
    values.extend(learned.metrics.iter().map(of_one));
    values.insert("lr".to_owned(), rate * learned.rate_scale);
    if let Some(last) = learned.updates.last() {
        values.insert("grad_norm".to_owned(), last.grad_norm);
        let refused = learned
            .updates
            .iter()
            .filter(|update| !update.applied)
            .count();
        if refused > 0 {
            tracing::warn!(
                refused,
                "gradients were not finite, or too large: the weights stay as they are"
            );
        }
        values.insert("updates/refused".to_owned(), refused as f64);
    }
    values
}
