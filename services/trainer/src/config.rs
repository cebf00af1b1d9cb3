//! A run as it is written in a file: every number that decides what is learned, in sections.

use std::path::{Path, PathBuf};

use assay_objective::{Advantage, Aggregation, Objective};
use assay_policy::optimiser::{AdamWSettings, Schedule};
use assay_policy::{LoraSettings, Sampling};
use assay_problems::Mixture;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

/// A run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the run in the service's record.
    pub run: String,
    /// Where every random number of the run starts. Default: 0.
    #[serde(default)]
    pub seed: u64,
    /// What learns.
    pub policy: PolicyConfig,
    /// What it learns from.
    pub data: Data,
    /// How completions are written.
    #[serde(default)]
    pub rollout: Rollout,
    /// Who grades them.
    #[serde(default)]
    pub rewards: Rewards,
    /// What is minimised.
    #[serde(default = "objective")]
    pub objective: Objective,
    /// The optimiser.
    #[serde(default)]
    pub optimiser: AdamWSettings,
    /// Its learning rates.
    #[serde(default)]
    pub schedule: Schedule,
    /// How long, how often, in which pieces.
    #[serde(default)]
    pub training: Training,
    /// How the policy is examined.
    #[serde(default)]
    pub evaluation: Evaluation,
    /// Learning from solutions, by `assay-trainer sft`.
    #[serde(default)]
    pub warmup: Warmup,
}

fn objective() -> Objective {
    // The default preset is one of the table and holds its own checks.
    serde_json::from_str("{}").unwrap_or_else(|_| assay_objective::PRESETS[0].objective())
}

/// What learns.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyConfig {
    /// Directory of a model and its tokenizer, as Hugging Face lays them out; relative to the file
    /// of the run.
    pub path: PathBuf,
    /// Learn adapters only. Default: all weights learn.
    #[serde(default)]
    pub lora: Option<LoraSettings>,
}

/// Prompts with their tasks: one of the two.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Families of problems made by rule.
    #[serde(default)]
    pub problems: Option<Mixture>,
    /// A file with a prompt and its task a line; relative to the file of the run.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// Of families, most problems that are learned from. Default: 20,000.
    #[serde(default = "limit")]
    pub limit: usize,
    /// Of families, the seed of their order. Default: 0; the same in all runs that are to be
    /// compared.
    #[serde(default)]
    pub seed: u64,
    /// How prompts are chosen: settings of the service's `POST /v1/prompts/suggest`. Default:
    /// uniformly, in epochs.
    #[serde(default)]
    pub suggest: Option<Map<String, Value>>,
}

fn limit() -> usize {
    20_000
}

/// How completions are written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rollout {
    /// Prompts a step. Default: 32.
    pub prompts: usize,
    /// Completions of each. Default: 16.
    pub samples: usize,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Steps that a batch may be older than the policy that learns from it (AReaL's
    /// `max_staleness`, arXiv 2505.24298): batches are written that far ahead, beside learning.
    /// Default: 0, each by the policy that learns from it.
    pub staleness: u64,
    /// Groups without a spread are replaced by others, in so many rounds (DAPO's dynamic sampling,
    /// arXiv 2503.14476). Default: 0, they stay, with advantages of 0.
    pub replace: usize,
    /// Prompts started for each one needed; what is not finished when there are enough is gone on
    /// with in the next step (APRIL, arXiv 2509.18521). Default: 1.
    pub ahead: f64,
}

impl Default for Rollout {
    fn default() -> Self {
        Self {
            prompts: 32,
            samples: 16,
            sampling: Sampling::default(),
            staleness: 0,
            replace: 0,
            ahead: 1.0,
        }
    }
}

/// Who grades completions, and which of the service's numbers become advantages.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rewards {
    /// The service. Default: `http://127.0.0.1:8080`; the command line may say otherwise.
    pub server: String,
    /// One of its policies. Default: none, the score is the reward.
    pub policy: Option<String>,
    /// One of its statistics of groups, whose number is the advantage: with `advantage = {
    /// estimator = "service" }`.
    pub statistic: Option<String>,
    /// Seconds a service that is away is waited for. Default: 300.
    pub timeout_s: u64,
    /// Each completion is sent with its number, as `meta.sample`: equal completions are then graded
    /// one by one. Default: no.
    pub numbered: bool,
    /// Results are permuted over the batch before anyone reads them: a control, never for learning.
    /// Default: no.
    pub shuffled: bool,
}

impl Default for Rewards {
    fn default() -> Self {
        let server = "http://127.0.0.1:8080".to_owned();
        Self {
            server,
            policy: None,
            statistic: None,
            timeout_s: 300,
            numbered: false,
            shuffled: false,
        }
    }
}

/// How long, how often, in which pieces.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Training {
    /// Batches learned from. Default: 200.
    pub steps: u64,
    /// Times each batch is gone through. Default: 1.
    pub epochs: usize,
    /// Updates in one pass. Default: 1.
    pub minibatches: usize,
    /// Tokens whose graph is held at a time. Default: 16,384.
    pub micro_tokens: usize,
    /// Steps between two checkpoints. Default: 50.
    pub save_every: u64,
    /// Checkpoints that stay. Default: 2.
    pub keep: usize,
    /// Effective share of a batch at which the learning rate is whole (VCPO, arXiv 2602.17616);
    /// under it the rate shrinks by the root. Default: none.
    pub effective_share: Option<f64>,
    /// Steps after which the reference becomes the policy, again and again (ProRL, arXiv
    /// 2505.24864). Default: never.
    pub reset_reference_every: Option<u64>,
}

impl Default for Training {
    fn default() -> Self {
        Self {
            steps: 200,
            epochs: 1,
            minibatches: 1,
            micro_tokens: 16_384,
            save_every: 50,
            keep: 2,
            effective_share: None,
            reset_reference_every: None,
        }
    }
}

/// How the policy is examined on prompts it never learns from.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Evaluation {
    /// Prompts: of families those held out. Default: 512.
    pub prompts: usize,
    /// A file instead; relative to the file of the run.
    pub path: Option<PathBuf>,
    /// Completions of each prompt; 1 takes the likeliest tokens. Default: 1.
    pub samples: usize,
    /// Steps between two; 0 for never, not even at the end. Default: 20.
    pub every: u64,
}

impl Default for Evaluation {
    fn default() -> Self {
        Self {
            prompts: 512,
            path: None,
            samples: 1,
            every: 20,
        }
    }
}

/// Learning from solutions, before rewards.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Warmup {
    /// Batches. Default: 150.
    pub steps: u64,
    /// Solutions a batch. Default: 256.
    pub batch: usize,
    /// Learning rates. Default: 1e-3 throughout.
    #[serde(deserialize_with = "warmup_schedule")]
    pub schedule: Schedule,
}

/// A schedule whose rate is that of warm-ups where none is said.
fn warmup_schedule<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Schedule, D::Error> {
    let mut table = Map::deserialize(deserializer)?;
    table.entry("learning_rate").or_insert(WARMUP_RATE.into());
    Schedule::deserialize(Value::Object(table)).map_err(de::Error::custom)
}

/// Learning rate of a warm-up, unless it says another.
const WARMUP_RATE: f64 = 1e-3;

impl Default for Warmup {
    fn default() -> Self {
        Self {
            steps: 150,
            batch: 256,
            schedule: Schedule {
                learning_rate: WARMUP_RATE,
                ..Schedule::default()
            },
        }
    }
}

/// A file does not describe a run.
#[derive(Debug, thiserror::Error)]
#[error("`{}`: {problem}", path.display())]
pub struct ConfigError {
    path: PathBuf,
    problem: String,
}

impl Config {
    /// Reads a file in TOML. `changes` are `section.key=value` of the command line, which win.
    ///
    /// # Errors
    /// What is wrong and where.
    pub fn read(path: &Path, changes: &[String]) -> Result<Self, ConfigError> {
        let wrong = |problem: String| ConfigError {
            path: path.to_owned(),
            problem,
        };
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        Self::parse(&text, changes, folder).map_err(wrong)
    }

    fn parse(text: &str, changes: &[String], folder: &Path) -> Result<Self, String> {
        let mut table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| error.to_string())?;
        for change in changes {
            apply(&mut table, change)?;
        }
        // Through JSON, whose errors name the path: objectives have the same form in both.
        let value = serde_json::to_value(table).map_err(|error| error.to_string())?;
        let mut config: Self = serde_path_to_error::deserialize(value)
            .map_err(|error| format!("`{}`: {}", error.path(), error.inner()))?;
        let place = |path: &mut PathBuf| *path = folder.join(&*path);
        place(&mut config.policy.path);
        config.data.path.iter_mut().for_each(place);
        config.evaluation.path.iter_mut().for_each(place);
        // Dr. GRPO divides by a length that does not depend on the batch: the longest there can be.
        if let Aggregation::SeqMeanTokenSumNorm {
            length: length @ None,
        } = &mut config.objective.aggregation
        {
            #[expect(clippy::cast_precision_loss, reason = "completions are short")]
            let most = config.rollout.sampling.max_tokens as f64;
            *length = Some(most);
        }
        // What is suggested is worth as many completions as any other prompt, unless it says
        // otherwise.
        if let Some(suggest) = &mut config.data.suggest {
            suggest
                .entry("rollouts")
                .or_insert(config.rollout.samples.into());
        }
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        if self.data.problems.is_some() == self.data.path.is_some() {
            return Err("`data` has either `problems` or `path`".to_owned());
        }
        let counts = [
            ("rollout.prompts", self.rollout.prompts),
            ("rollout.samples", self.rollout.samples),
            ("training.epochs", self.training.epochs),
            ("training.minibatches", self.training.minibatches),
            ("training.micro_tokens", self.training.micro_tokens),
            ("training.keep", self.training.keep),
            ("evaluation.prompts", self.evaluation.prompts),
            ("evaluation.samples", self.evaluation.samples),
            ("warmup.batch", self.warmup.batch),
            ("data.limit", self.data.limit),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(format!("`{name}` is at least 1"));
        }
        if self.rollout.prompts.saturating_mul(self.rollout.samples) > MOST_COMPLETIONS {
            return Err(format!(
                "`rollout.prompts` times `rollout.samples` is at most {MOST_COMPLETIONS}"
            ));
        }
        let compares = matches!(
            self.objective.advantage,
            Advantage::Group { .. }
                | Advantage::Service {}
                | Advantage::Best { .. }
                | Advantage::Traces { .. }
        );
        if self.rollout.samples < 2 && compares {
            return Err(
                "`objective.advantage` compares completions of a prompt: `rollout.samples` is at \
                 least 2"
                    .to_owned(),
            );
        }
        if self.training.minibatches > self.rollout.prompts {
            return Err(
                "`training.minibatches` is at most `rollout.prompts`: groups are not cut"
                    .to_owned(),
            );
        }
        if self.training.save_every == 0 || self.training.reset_reference_every == Some(0) {
            return Err(
                "`training.save_every` and `training.reset_reference_every` are at least 1"
                    .to_owned(),
            );
        }
        if !(1.0..=16.0).contains(&self.rollout.ahead) {
            return Err(format!(
                "`rollout.ahead` is from 1 to 16: {}",
                self.rollout.ahead
            ));
        }
        if self
            .training
            .effective_share
            .is_some_and(|share| !(share > 0.0 && share <= 1.0))
        {
            return Err("`training.effective_share` is above 0 and at most 1".to_owned());
        }
        if self.rewards.statistic.is_some()
            && !matches!(self.objective.advantage, Advantage::Service {})
        {
            return Err(
                "`rewards.statistic` is used by `objective.advantage = { estimator = \
                        \"service\" }` only"
                    .to_owned(),
            );
        }
        if self.objective.needs().teacher || self.objective.needs().demonstrations {
            return Err(
                "`objective` needs a teacher or demonstrations, which this loop does not have"
                    .to_owned(),
            );
        }
        match self.objective.advantage {
            Advantage::Named { name } if NEED_RATES.contains(&name.name()) => {
                return Err(format!(
                    "`objective.advantage` names `{}`, which needs the rates of the service's \
                     channels: ask the service for it by `rewards.statistic = \"{0}\"` with \
                     `objective.advantage = {{ estimator = \"service\" }}`",
                    name.name()
                ));
            }
            Advantage::Greedy {} => {
                return Err(
                    "`objective.advantage` asks for greedy completions, which this loop does not \
                     write"
                        .to_owned(),
                );
            }
            Advantage::Gae { .. } => {
                return Err(
                    "`objective.advantage` asks for the values of a critic, which this loop does \
                     not have"
                        .to_owned(),
                );
            }
            _ => {}
        }
        self.rollout
            .sampling
            .check()
            .map_err(|error| text(&error))?;
        self.optimiser.check().map_err(|error| text(&error))?;
        self.schedule.check().map_err(|error| text(&error))?;
        self.warmup.schedule.check().map_err(|error| text(&error))
    }
}

/// Most completions of a step.
const MOST_COMPLETIONS: usize = 1 << 20;

/// Estimators of the service that look at the rates of channels, which only it knows.
const NEED_RATES: &[&str] = &["zfix", "gain", "backward", "forward"];

/// Sets `a.b = value`, making tables on the way; a value that is no TOML is a text.
fn apply(table: &mut toml::Table, change: &str) -> Result<(), String> {
    let (path, value) = change
        .split_once('=')
        .ok_or_else(|| format!("`{change}` is not `section.key=value`"))?;
    let (path, value) = (path.trim(), value.trim());
    let parsed = format!("value = {value}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut table| table.remove("value"));
    let value = parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let mut place = table;
    let mut parts = path.split('.').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            place.insert(part.to_owned(), value);
            return Ok(());
        }
        let next = place
            .entry(part)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        place = next
            .as_table_mut()
            .ok_or_else(|| format!("`{part}` of `{change}` is no section"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str =
        "run = \"r\"\npolicy = { path = \"start\" }\ndata = { path = \"p.jsonl\" }\n";

    fn parse(text: &str, changes: &[&str]) -> Result<Config, String> {
        let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
        Config::parse(text, &changes, Path::new("runs"))
    }

    #[test]
    fn little_has_to_be_said() {
        let config = parse(LEAST, &[]).unwrap();
        assert_eq!(config.policy.path, Path::new("runs/start"));
        assert_eq!(
            (
                config.rollout.prompts,
                config.rollout.samples,
                config.training.steps
            ),
            (32, 16, 200)
        );
    }

    #[test]
    fn the_command_line_wins() {
        let changes = [
            "seed=7",
            "objective.preset=dapo",
            "rollout.sampling.temperature = 0.5",
            "rewards.server=http://a:1",
        ];
        let config = parse(LEAST, &changes).unwrap();
        assert_eq!((config.seed, config.rollout.sampling.temperature), (7, 0.5));
        assert_eq!(config.rewards.server, "http://a:1");
        assert_ne!(config.objective, parse(LEAST, &[]).unwrap().objective);
    }

    #[test]
    fn what_follows_from_other_settings_is_filled_in() {
        let changes = [
            "objective.preset=dr_grpo",
            "rollout.sampling.max_tokens=9",
            "warmup.schedule.decay=cosine",
            "data.suggest={}",
        ];
        let config = parse(LEAST, &changes).unwrap();
        assert_eq!(
            config.objective.aggregation,
            Aggregation::SeqMeanTokenSumNorm { length: Some(9.0) }
        );
        assert_eq!(config.warmup.schedule.learning_rate, WARMUP_RATE);
        assert_eq!(config.data.suggest.unwrap()["rollouts"], 16);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (change, word) in [
            ("rollout.promts=3", "promts"),
            ("rollout.prompts=0", "rollout.prompts"),
            ("objective.preset=ppo2", "objective"),
            ("training.minibatches=99", "minibatches"),
            ("data.problems=[]", "data"),
            ("rollout.sampling.top_p=2", "top_p"),
            ("seed", "section.key=value"),
            ("rollout.samples=1", "at least 2"),
            ("rollout.samples=1000000000000", "at most"),
            (
                "objective.advantage={ estimator = \"named\", name = \"gain\" }",
                "rewards.statistic",
            ),
            ("rewards.statistic=gain", "advantage"),
            ("run.x=1", "no section"),
            ("optimiser.eps=0", "eps"),
        ] {
            let error = parse(LEAST, &[change]).unwrap_err();
            assert!(error.contains(word), "{change}: {error}");
        }
        assert!(parse("run = 3", &[]).is_err());
    }
}
