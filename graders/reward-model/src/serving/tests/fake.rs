//! A model without weights, a loader without files, and gates with which tests block them.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use assay_core::Clock;
use assay_core::reward_model::{
    ModelInfo, ModelInput, ModelOutput, ModelRequest, Refusal, Scale, Truncate,
};

use super::super::contract::{Loader, Model, RewardScore, RunError, TokenisedInput};
use crate::{ModelOptions, Sequence};

/// Ids that cause a failure in a forward pass.
pub(super) const PANICS: u32 = 900_001;
pub(super) const FAILS: u32 = 900_002;
pub(super) const NAN: u32 = 900_003;
pub(super) const VANISHES: u32 = 900_004;

/// Blocks threads until it is opened.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn open(&self) {
        self.state.lock().unwrap().0 = true;
        self.changed.notify_all();
    }

    pub(super) fn close(&self) {
        self.state.lock().unwrap().0 = false;
    }

    /// Number of threads that have arrived.
    pub(super) fn arrived(&self) -> usize {
        self.state.lock().unwrap().1
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        while !state.0 {
            state = self.changed.wait(state).unwrap();
        }
    }
}

/// State shared by a test and its models.
#[derive(Default)]
pub(super) struct World {
    /// Passed before each forward pass on the first device.
    pub(super) device: Gate,
    /// Passed before each forward pass on the second device.
    pub(super) second: Gate,
    /// Devices on which every forward pass fails.
    pub(super) broken: Mutex<BTreeSet<usize>>,
    /// The device of every attempted forward pass.
    pub(super) devices: Mutex<Vec<usize>>,
    /// Passed before a `slow:` source is loaded, and before the text `wait` is read.
    pub(super) disk: Gate,
    /// Maximum number of tokens of a batch before memory runs out. 0 means unlimited.
    pub(super) memory: Mutex<usize>,
    /// The ids of every attempted forward pass.
    pub(super) batches: Mutex<Vec<Vec<Vec<u32>>>>,
    /// Names of the threads that ran forward passes.
    pub(super) threads: Mutex<BTreeSet<String>>,
}

/// A source is `v` followed by a number, which is the version and the weight. The prefix `slow:`
/// waits for the disk, `unfit:` makes the warm-up fail. `broken` is an error and `panics` panics.
impl Loader for Arc<World> {
    fn load(
        &self,
        name: &str,
        source: &str,
        options: &ModelOptions,
    ) -> Result<Arc<dyn Model>, String> {
        let fit = source.strip_prefix("unfit:");
        let slow = source.strip_prefix("slow:");
        if slow.is_some() {
            self.disk.pass();
        }
        assert_ne!(source, "panics", "on purpose");
        let version = fit.or(slow).unwrap_or(source);
        let number = version
            .strip_prefix('v')
            .and_then(|number| number.parse::<u32>().ok());
        number.ok_or_else(|| format!("no model at `{source}`"))?;
        let info = info(name, version, options.max_tokens.unwrap_or(4_096));
        let warm_up = Sequence::whole(vec![if fit.is_some() { FAILS } else { 1 }]);
        Ok(Arc::new(Fake {
            info: Arc::new(info),
            world: Arc::clone(self),
            warm_up,
        }))
    }
}

pub(super) struct Fake {
    info: Arc<ModelInfo>,
    world: Arc<World>,
    warm_up: Sequence,
}

impl Fake {
    pub(super) fn new(world: &Arc<World>, version: &str) -> Arc<Self> {
        let info = Arc::new(info("m", version, 4_096));
        Arc::new(Self {
            info,
            world: Arc::clone(world),
            warm_up: Sequence::whole(vec![1]),
        })
    }
}

/// The output of a version for these ids. It depends on their order, and is exact in f32 for the
/// ids in tests.
pub(super) fn expected(version: &str, ids: &[u32]) -> f32 {
    let weight: u32 = version.trim_start_matches('v').parse().unwrap();
    let sum: u32 = ids.iter().zip(1..).map(|(id, index)| id % 64 * index).sum();
    (weight * 100_000 + sum) as f32
}

pub(super) fn ids_of(text: &str) -> Vec<u32> {
    text.bytes().map(u32::from).collect()
}

impl Model for Fake {
    fn info(&self) -> &Arc<ModelInfo> {
        &self.info
    }

    fn read(&self, input: &ModelInput, _: Truncate) -> Result<TokenisedInput, Refusal> {
        let whole = |text: &str| Sequence::whole(ids_of(text));
        let (main, reference) = match input {
            ModelInput::Text(text) if &**text == "panic" => panic!("on purpose"),
            ModelInput::Text(text) | ModelInput::Bare { text, .. } => {
                if &**text == "wait" {
                    self.world.disk.pass();
                }
                (whole(text), None)
            }
            ModelInput::Pair(main, reference) => (whole(main), Some(whole(reference))),
            ModelInput::Ids(ids) => (Sequence::whole(ids.clone()), None),
            ModelInput::Rollout { .. } => {
                return Err(Refusal::Unreadable("rollouts are not supported".to_owned()));
            }
        };
        let (tokens, max) = (main.len(), self.info.max_tokens);
        if tokens > max {
            Err(Refusal::TooLong { tokens, max })
        } else {
            Ok(TokenisedInput { main, reference })
        }
    }

    fn run(&self, batch: &[&Sequence]) -> Result<Vec<ModelOutput>, RunError> {
        self.run_on(0, batch)
    }

    fn run_on(&self, device: usize, batch: &[&Sequence]) -> Result<Vec<ModelOutput>, RunError> {
        if device == 0 {
            self.world.device.pass();
        } else {
            self.world.second.pass();
        }
        self.world.devices.lock().unwrap().push(device);
        if self.world.broken.lock().unwrap().contains(&device) {
            return Err(RunError::Device("the device is broken".to_owned()));
        }
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        self.world.threads.lock().unwrap().insert(thread);
        self.world
            .batches
            .lock()
            .unwrap()
            .push(batch.iter().map(|sequence| sequence.ids.clone()).collect());
        let has = |id: u32| batch.iter().any(|sequence| sequence.ids.contains(&id));
        let memory = *self.world.memory.lock().unwrap();
        assert!(!has(PANICS), "on purpose");
        if has(FAILS) {
            return Err(RunError::Device("the device failed on purpose".to_owned()));
        }
        if memory > 0 && batch.iter().map(|sequence| sequence.len()).sum::<usize>() > memory {
            return Err(RunError::OutOfMemory);
        }
        let readout = |sequence: &&&Sequence| {
            let number = expected(&self.info.version, &sequence.ids);
            ModelOutput::Scalar(if sequence.ids.contains(&NAN) {
                f32::NAN
            } else {
                number
            })
        };
        Ok(batch
            .iter()
            .filter(|sequence| !sequence.ids.contains(&VANISHES))
            .map(|sequence| readout(&sequence))
            .collect())
    }

    fn score(&self, readout: &ModelOutput, reference: Option<&ModelOutput>) -> RewardScore {
        let number = |readout: &ModelOutput| match readout {
            ModelOutput::Scalar(number) => *number,
            other => panic!("unexpected readout {other:?}"),
        };
        let raw = number(readout) - reference.map_or(0.0, number);
        RewardScore {
            raw: Some(raw),
            score: Some(0.5),
        }
    }

    fn warm_up(&self, batch_tokens: usize) -> Vec<Sequence> {
        assert!(batch_tokens > 0);
        vec![self.warm_up.clone()]
    }
}

fn info(name: &str, version: &str, max_tokens: usize) -> ModelInfo {
    ModelInfo {
        name: name.to_owned(),
        version: version.to_owned(),
        source: version.to_owned(),
        architecture: "Fake".to_owned(),
        head: "scalar".into(),
        pooling: "last".to_owned(),
        scale: Scale::Logit,
        normalise: "none".into(),
        labels: Vec::new(),
        template: "text".into(),
        parameters: 0,
        hidden: 1,
        layers: 0,
        max_tokens,
        dtype: "f32".into(),
        device: "cpu".to_owned(),
        loaded_us: 0,
    }
}

/// A clock that tests set.
#[derive(Default)]
pub(super) struct HandClock(Mutex<Duration>);

impl HandClock {
    pub(super) fn set(&self, seconds: u64) {
        *self.0.lock().unwrap() = Duration::from_secs(seconds);
    }
}

impl Clock for HandClock {
    fn unix_us(&self) -> i64 {
        0
    }

    fn monotonic(&self) -> Duration {
        *self.0.lock().unwrap()
    }
}

/// A request for the only model.
pub(super) fn request(caller: &str, inputs: Vec<ModelInput>) -> ModelRequest {
    ModelRequest {
        model: None,
        caller: Arc::from(caller),
        use_cache: true,
        inputs,
        truncate: Truncate::Reject,
        expected_version: None,
        timeout: None,
    }
}

/// An input of `tokens` times the id `mark`.
pub(super) fn ids(mark: u32, tokens: usize) -> ModelInput {
    ModelInput::Ids(vec![mark; tokens])
}

pub(super) fn text(text: &str) -> ModelInput {
    ModelInput::Text(Arc::from(text))
}
