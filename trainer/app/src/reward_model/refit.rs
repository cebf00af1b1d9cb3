//! Refits a served reward model beside a training run, as Cooper does (arXiv 2508.05613): pairs of
//! right and wrong rollouts from the record, a fit, an evaluation on held-out prompts, and a
//! replacement in the service if the new model is at least as accurate.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use assay_client::{Client, ClientError};
use assay_core::ErrorCode;
use assay_wire::pairs::RunPairsRequest;
use assay_wire::reward_models::{LoadRequest, ModelInfo};
use candle_core::Device;
use serde::Serialize;
use tokio::runtime::Handle;

use super::directory;
use super::fit::{self, FitSettings};
use super::pairs::{PairSets, PreferencePair};
use super::window::Window;

/// Pairs of a page.
const PAGE: u32 = 500;

/// Overlap of two looks at the record in microseconds: grades of a batch become visible when it
/// ends, and completions of a prompt may be graded in several batches.
const OVERLAP_US: i64 = 10 * 60 * 1_000_000;

/// Minimum number of held-out pairs of a round: fewer do not show which model is better.
pub const MIN_HELD_OUT: usize = 20;

/// Interval at which a wait checks whether it should end.
const TICK: Duration = Duration::from_millis(100);

/// How a reward model is refitted.
#[derive(Debug, Clone, PartialEq)]
pub struct RefitSettings {
    /// Name of the reward model in the service.
    pub name: String,
    /// The service's `reward_models.folder`.
    pub folder: PathBuf,
    /// Directory of the new models, relative to `folder`.
    pub output: String,
    /// The grades from which pairs are chosen.
    pub choice: RunPairsRequest,
    /// How the model is fitted.
    pub fit: FitSettings,
    /// Share of the prompts whose pairs are held out.
    pub held_out: f64,
    /// Number of new pairs after which the model is fitted again.
    pub min_pairs: usize,
    /// Maximum number of pairs of a fit; the newest are used.
    pub window: usize,
    /// Pause before the next check if there are too few new pairs.
    pub interval: Duration,
    /// Number of rounds; endless if `None`.
    pub rounds: Option<u64>,
    /// Number of models to keep.
    pub keep: usize,
}

/// The report of a round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Round {
    /// Number of the round, from 1.
    pub round: u64,
    /// Pairs of the fit and its evaluation.
    pub pairs: usize,
    /// Pairs since the last round.
    pub new_pairs: usize,
    /// Pairs of held-out prompts.
    pub held_out_pairs: usize,
    /// Pairs that the model cannot read.
    pub unreadable: usize,
    /// Mean loss in nats at the end of the fit.
    pub loss: f64,
    /// Share of held-out pairs in the right order, by the model that the service had.
    pub accuracy_before: f64,
    /// The same by the new model.
    pub accuracy_after: f64,
    /// Whether the new model is served.
    pub replaced: bool,
    /// Version of the model that is served.
    pub version: String,
}

/// A loop that refits a reward model.
pub struct Refit<'a> {
    /// Its settings.
    pub settings: &'a RefitSettings,
    /// The service.
    pub client: &'a Client,
    /// The runtime for calls to the service.
    pub runtime: &'a Handle,
    /// The device for fits.
    pub device: &'a Device,
    /// Set to end the loop.
    pub stop: &'a AtomicBool,
}

/// The pairs that were read so far.
struct Progress {
    window: Window,
    /// Pairs since the last round.
    new_pairs: usize,
    /// The last pair that was read.
    after: u64,
    /// Time from which grades are considered.
    since_us: Option<i64>,
    /// Whether the service has had the model.
    model_seen: bool,
}

impl Refit<'_> {
    /// Refits until all rounds are done or `stop` is set; calls `report` after each round.
    /// Waits while the service is unavailable.
    ///
    /// # Errors
    /// The service rejects a request, the model cannot be fitted, or a file cannot be written.
    pub fn run(&self, report: &mut dyn FnMut(&Round) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let mut progress = Progress {
            window: Window::new(self.settings.window),
            new_pairs: 0,
            after: 0,
            since_us: None,
            model_seen: false,
        };
        let mut round = 0;
        while self.settings.rounds.is_none_or(|rounds| round < rounds) && !self.stopped() {
            let done = self
                .runtime
                .block_on(self.collect(&mut progress))
                .and_then(|()| self.round(&mut progress, round + 1));
            match done {
                Ok(Some(done)) => {
                    round += 1;
                    report(&done)?;
                }
                Ok(None) => self.pause(),
                Err(error) if is_unavailable(&error, progress.model_seen) => {
                    tracing::warn!("waiting for the service: {error:#}");
                    self.pause();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn pause(&self) {
        let mut left = self.settings.interval;
        while !left.is_zero() && !self.stopped() {
            let tick = left.min(TICK);
            std::thread::sleep(tick);
            left -= tick;
        }
    }

    /// Has the service choose pairs of new grades, and reads new pairs.
    async fn collect(&self, progress: &mut Progress) -> anyhow::Result<()> {
        let name = &self.settings.name;
        let choice = RunPairsRequest {
            since_us: progress.since_us,
            ..self.settings.choice.clone()
        };
        match self.client.collect_pairs_of_run(name, &choice).await {
            Ok(found) => {
                if found.added + found.known == 0 && found.uncertain > 0 {
                    tracing::warn!(
                        "none of {} completions is certain enough; calibrate the channel, have a \
                         share of its verdicts appealed, or lower `--min-certainty`",
                        found.uncertain
                    );
                }
                let since_us = found.newest_us.map(|time| time.saturating_sub(OVERLAP_US));
                progress.since_us = progress.since_us.max(since_us);
                progress.model_seen = true;
            }
            // The run has not started yet.
            Err(ClientError::Refused { problem, .. }) if problem.code == ErrorCode::NotFound => {
                tracing::info!("{}", problem.message);
            }
            Err(error) => return Err(error.into()),
        }
        loop {
            let query = [
                ("after", progress.after.to_string()),
                ("limit", PAGE.to_string()),
            ];
            let page = self.client.pairs(name, &query).await?;
            progress.new_pairs += page.pairs.len();
            for pair in page.pairs {
                progress.window.push(PreferencePair::from(pair));
            }
            progress.after = page.next;
            if !page.more {
                return Ok(());
            }
        }
    }

    /// Fits a model to the pairs; `None` if there are too few new ones, or if the model was
    /// replaced by someone else meanwhile.
    fn round(&self, progress: &mut Progress, round: u64) -> anyhow::Result<Option<Round>> {
        let settings = self.settings;
        if progress.new_pairs < settings.min_pairs.max(1) {
            return Ok(None);
        }
        let Some(served) = self.runtime.block_on(self.served())? else {
            return Ok(None);
        };
        let (from, reader) = directory::of_served(&settings.folder, &served)?;
        let sets = PairSets::new(&reader, progress.window.iter(), settings.held_out);
        drop(reader);
        ensure!(
            sets.unreadable == 0 || sets.unreadable < progress.window.iter().count(),
            "the model cannot read any of {} pairs; check its template and `--reference`",
            sets.unreadable
        );
        if sets.held_out.len() < MIN_HELD_OUT || sets.training.is_empty() {
            tracing::info!(
                "waiting for more prompts: {} pairs to train on, and {} of at least {MIN_HELD_OUT} \
                 held-out pairs",
                sets.training.len(),
                sets.held_out.len()
            );
            // They are not tokenised again before there are more.
            progress.new_pairs = 0;
            return Ok(None);
        }
        let model = directory::open(
            &from,
            self.device,
            &settings.fit.trained,
            settings.fit.seed.wrapping_add(round),
        )?;
        let accuracy = || -> anyhow::Result<f64> {
            fit::accuracy(&model, &sets.held_out, settings.fit.micro_tokens)?
                .context("no pairs are held out")
        };
        let before = accuracy()?;
        let loss = fit::fit(&model, &sets.training, &settings.fit, self.stop)?;
        if self.stopped() {
            return Ok(None);
        }
        let after = accuracy()?;
        let replacement = if after >= before {
            let raw = fit::scores(&model, &sets.training, settings.fit.micro_tokens)?;
            let (source, to) = self.new_directory()?;
            directory::write(&model, &from, &to, None, &raw)?;
            let Some(replacement) = self.runtime.block_on(self.replace(&served, &source, &to))?
            else {
                return Ok(None);
            };
            self.runtime.block_on(self.prune(&served.source));
            Some(replacement)
        } else {
            None
        };
        let new_pairs = std::mem::take(&mut progress.new_pairs);
        Ok(Some(Round {
            round,
            pairs: sets.training.len() + sets.held_out.len(),
            new_pairs,
            held_out_pairs: sets.held_out.len(),
            unreadable: sets.unreadable,
            loss,
            accuracy_before: before,
            accuracy_after: after,
            replaced: replacement.is_some(),
            version: replacement.unwrap_or(served).version,
        }))
    }

    /// The model that the service has loaded under the name; `None` while it is loading.
    async fn served(&self) -> anyhow::Result<Option<ModelInfo>> {
        let name = &self.settings.name;
        let models = self.client.reward_models().await?.reward_models;
        let Some(model) = models.into_iter().find(|model| model.name == *name) else {
            bail!("the service has no reward model `{name}`; load it with `assay models load`");
        };
        if model.model.is_none() && model.state != "loading" {
            let problem = model.problem.unwrap_or_default();
            bail!("the reward model `{name}` is not loaded: {problem}");
        }
        Ok(model.model)
    }

    /// Replaces the served model, unless it was replaced by another one meanwhile: then `None`.
    async fn replace(
        &self,
        served: &ModelInfo,
        source: &str,
        directory: &Path,
    ) -> anyhow::Result<Option<ModelInfo>> {
        let request = LoadRequest {
            source: Some(source.to_owned()),
            expected_version: Some(served.version.clone()),
            ..LoadRequest::default()
        };
        match self.client.load_model(&self.settings.name, &request).await {
            Ok(model) => Ok(Some(model)),
            Err(error) => self.not_replaced(error, source, directory).await,
        }
    }

    /// Examines why the model was not replaced. Its directory is only removed if the service
    /// cannot be using it.
    async fn not_replaced(
        &self,
        error: ClientError,
        source: &str,
        directory: &Path,
    ) -> anyhow::Result<Option<ModelInfo>> {
        let ClientError::Refused { status, problem } = &error else {
            // The reply was lost, and the model may still be loading.
            return Err(error.into());
        };
        let is_mismatch = problem.code == ErrorCode::ModelVersionMismatch;
        if is_mismatch {
            // A request that was sent again after a lost reply finds the new model.
            let served = self.served().await?;
            if let Some(served) = served.filter(|served| served.source == source) {
                return Ok(Some(served));
            }
            tracing::warn!("{}; fitting again", problem.message);
        }
        if *status < 500 {
            let _ = fs::remove_dir_all(directory);
        }
        if is_mismatch {
            Ok(None)
        } else {
            Err(error.into())
        }
    }

    /// Source and path of the next model, whose directory is created: no other refit gets it.
    fn new_directory(&self) -> anyhow::Result<(String, PathBuf)> {
        let output = self.settings.folder.join(&self.settings.output);
        fs::create_dir_all(&output)
            .with_context(|| format!("cannot create `{}`", output.display()))?;
        loop {
            let name = file_name(
                numbers(&output)
                    .last()
                    .map_or(1, |last| last.saturating_add(1)),
            );
            let directory = output.join(&name);
            match fs::create_dir(&directory) {
                Ok(()) => {
                    let source = format!("{}/{name}", self.settings.output.trim_end_matches('/'));
                    return Ok((source, directory));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("cannot create `{}`", directory.display()));
                }
            }
        }
    }

    /// Removes the oldest models, except those that the service has loaded under any name and the
    /// one that was replaced: requests may still use it.
    async fn prune(&self, replaced: &str) {
        let Ok(models) = self.client.reward_models().await else {
            return;
        };
        let loaded = models.reward_models.into_iter();
        let in_use: Vec<PathBuf> = loaded
            .filter_map(|model| Some(model.model?.source))
            .chain([replaced.to_owned()])
            .filter_map(|source| self.settings.folder.join(source).canonicalize().ok())
            .collect();
        let output = self.settings.folder.join(&self.settings.output);
        let found = numbers(&output);
        let surplus = found.len().saturating_sub(self.settings.keep.max(1));
        for number in found.into_iter().take(surplus) {
            let path = output.join(file_name(number));
            let is_in_use = path.canonicalize().is_ok_and(|path| in_use.contains(&path));
            if !is_in_use && let Err(error) = fs::remove_dir_all(&path) {
                tracing::warn!("cannot remove `{}`: {error}", path.display());
            }
        }
    }
}

/// Name of the directory of a model.
fn file_name(number: u64) -> String {
    format!("{number:06}")
}

/// Numbers of the models in a directory.
fn numbers(directory: &Path) -> BTreeSet<u64> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let name = name.to_str()?;
            let number = name.parse().ok()?;
            (name == file_name(number)).then_some(number)
        })
        .collect()
}

/// Whether a call failed because the service cannot be reached, is overloaded, or was restarted and
/// has not loaded the model again.
fn is_unavailable(error: &anyhow::Error, model_seen: bool) -> bool {
    match error.downcast_ref::<ClientError>() {
        Some(ClientError::Transport { .. }) => true,
        Some(ClientError::Refused { status, problem }) => {
            matches!(status, 429 | 503) || (model_seen && problem.code == ErrorCode::UnknownModel)
        }
        _ => false,
    }
}
