//! The settings of a judge, as the operator writes them in `[judges.NAME]`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use assay_base::url::{Url, redacted};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::route::Route;

/// Maximum length of a template, in bytes.
const MAX_TEMPLATE_BYTES: usize = 64 << 10;

/// Maximum number of labels.
const MAX_LABELS: usize = 64;

/// Maximum length of the name of a judge, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Maximum absolute value of a bound of a score. Differences of larger ones could overflow.
const MAX_BOUND: f64 = 1e9;

/// Fields of a request that `options` must not contain: the question is Assay's, and one reply is
/// read, as a whole.
const OWN_FIELDS: [&str; 5] = ["messages", "model", "n", "stream", "stream_options"];

/// How a judge is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Chat completions as OpenAI defines them, which vLLM, SGLang, llama.cpp and most hosts serve.
    Chat,
    /// A server that receives the item as JSON and replies with a score.
    Http,
    /// A resources server of NeMo Gym.
    NemoGym,
    /// A rubric of the library `verifiers`, behind the route that the documentation describes.
    Verifiers,
    /// Kimina's Lean server, which checks proofs.
    Kimina,
}

/// What a judge replies with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyForm {
    /// A number within `range`.
    #[default]
    Score,
    /// One of `labels`.
    Label,
    /// Which of two completions is better.
    Pairwise,
    /// For each criterion of the task, whether it is met.
    Criteria,
}

impl ReplyForm {
    /// The name in settings and evidence.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Label => "label",
            Self::Pairwise => "pairwise",
            Self::Criteria => "criteria",
        }
    }
}

/// How a judge writes its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// A JSON object, which may be in a code fence.
    #[default]
    Json,
    /// A tag in a text, such as `<score>7</score>`.
    Tagged,
}

/// A secret, which is never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret. White space around it, such as the line end of a file, is removed.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The secret.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "none" } else { "***" })
    }
}

/// `[judges.NAME]`
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JudgeSettings {
    /// `chat`: chat completions as OpenAI defines them; `http`: a server that receives the item as
    /// JSON and replies as `reply` says; `nemo_gym`: the route `/verify` of a resources server of
    /// NeMo Gym, whose reward is the score; `verifiers`: a rubric of the library `verifiers`, whose
    /// reward is the score; `kimina`: the route `/api/check` or `/verify` of Kimina's Lean server.
    pub kind: Kind,
    /// URL to which requests are posted, such as `http://127.0.0.1:8000/v1/chat/completions`.
    #[serde(serialize_with = "serialize_redacted")]
    pub url: String,
    /// Name of the model, which `chat` sends.
    pub model: String,
    /// File that contains the key, which is sent as a bearer token; empty for none.
    pub key_file: PathBuf,
    /// Environment variable that contains the key; empty for none.
    pub key_env: String,
    /// What the judge replies with: `score`, `label`, `pairwise` or `criteria`.
    pub reply: ReplyForm,
    /// Encoding of the reply: `json` or `tagged`.
    pub format: Encoding,
    /// The lowest and the highest number of a `score`, which is mapped to 0 to 1. Unless set,
    /// `[0.0, 10.0]` for `chat` and `http`, and `[0.0, 1.0]` for other kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// The score of each label, from 0 to 1.
    pub labels: BTreeMap<String, f64>,
    /// Score from which an item passes. Without one, a `label` passes from 0.5, the better
    /// completion of a pair passes, and other replies are neither a pass nor a fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// System message; empty for the built-in one.
    pub system: String,
    /// Template of the user message, in Jinja; empty for the built-in one of `reply`.
    pub prompt: String,
    /// Sampling temperature.
    pub temperature: f64,
    /// Maximum number of tokens of a reply.
    pub max_tokens: u32,
    /// Whether to send the JSON Schema of the reply as `response_format`.
    pub json_schema: bool,
    /// Other fields of the request, such as `chat_template_kwargs`.
    pub options: Map<String, Value>,
    /// Longest completion that is judged, in bytes; longer ones are `too_long`. Items with a longer
    /// question are `ungradable`.
    pub completion_bytes: usize,
    /// Maximum number of calls at the same time; other items wait.
    pub in_flight: usize,
    /// Maximum time of one call, in seconds.
    pub call_seconds: f64,
    /// Maximum time of an item from its first call, with pauses and further calls, in seconds.
    pub item_seconds: f64,
    /// Maximum number of retries after a failed call.
    pub retries: u32,
    /// Number of failed calls in a row after which the judge is not called for `pause_seconds`.
    pub max_failures: u32,
    /// Time for which a judge is not called after `max_failures`, in seconds.
    pub pause_seconds: f64,
    /// Maximum size of a reply, in bytes.
    pub reply_bytes: usize,
    /// Size of the cache of replies, in bytes; 0 disables it.
    pub cache_bytes: u64,
    /// Price of a million tokens that the judge reads.
    pub input_price: f64,
    /// Price of a million tokens that the judge writes.
    pub output_price: f64,
    /// Price of a call.
    pub call_price: f64,
    /// Maximum number of tokens of one run; 0 for no limit.
    pub tokens_per_run: u64,
    /// Maximum cost of one run; 0 for no limit.
    pub cost_per_run: f64,
    /// Share of pairs that are judged in both orders.
    pub swap_share: f64,
    /// The key. It is read from `key_env` with the configuration, and from `key_file` when the node
    /// starts.
    #[serde(skip)]
    pub key: Secret,
    /// Why the key cannot be read; `None` if it could, or if the judge needs none. Such a judge is
    /// never called, and its items fail. Commands that call no judge ignore the error.
    #[serde(skip)]
    pub key_error: Option<String>,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self {
            kind: Kind::Chat,
            url: String::new(),
            model: String::new(),
            key_file: PathBuf::new(),
            key_env: String::new(),
            reply: ReplyForm::Score,
            format: Encoding::Json,
            range: None,
            labels: BTreeMap::from([("no".to_owned(), 0.0), ("yes".to_owned(), 1.0)]),
            threshold: None,
            system: String::new(),
            prompt: String::new(),
            temperature: 0.0,
            max_tokens: 1_024,
            json_schema: false,
            options: Map::new(),
            completion_bytes: 64 << 10,
            in_flight: 64,
            call_seconds: 60.0,
            item_seconds: 300.0,
            retries: 3,
            max_failures: 10,
            pause_seconds: 30.0,
            reply_bytes: 256 << 10,
            cache_bytes: 16 << 20,
            input_price: 0.0,
            output_price: 0.0,
            call_price: 0.0,
            tokens_per_run: 0,
            cost_per_run: 0.0,
            swap_share: 0.1,
            key: Secret::default(),
            key_error: None,
        }
    }
}

impl fmt::Debug for JudgeSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JudgeSettings")
            .field("kind", &self.kind)
            .field("url", &redacted(&self.url))
            .field("model", &self.model)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

fn serialize_redacted<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&redacted(url))
}

/// Whether a text can be the name of a judge: letters, digits, `-`, `_` and `.`.
#[must_use]
pub fn is_judge_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.chars().all(is_allowed)
}

impl JudgeSettings {
    /// The score from which an item passes.
    pub(crate) fn default_threshold(&self) -> Option<f64> {
        if self.kind == Kind::Kimina {
            return self.threshold.or(Some(1.0));
        }
        self.threshold.or(match self.reply {
            ReplyForm::Label => Some(0.5),
            ReplyForm::Pairwise => Some(1.0),
            ReplyForm::Score | ReplyForm::Criteria => None,
        })
    }

    /// The lowest and the highest number of a score.
    pub(crate) fn range(&self) -> [f64; 2] {
        let default = match self.kind {
            Kind::Chat | Kind::Http => [0.0, 10.0],
            Kind::NemoGym | Kind::Verifiers | Kind::Kimina => [0.0, 1.0],
        };
        self.range.unwrap_or(default)
    }

    /// Checks types, ranges and combinations.
    ///
    /// # Errors
    /// What is wrong, with the name of the setting. The message never contains the URL, which may
    /// contain a key.
    pub fn check(&self) -> Result<(), String> {
        self.check_url()?;
        if self.kind == Kind::Chat && self.model.is_empty() {
            return Err("`model` is empty; name the model that the server serves".to_owned());
        }
        let chooses = matches!(self.kind, Kind::Chat | Kind::Http);
        if !chooses && self.reply != ReplyForm::Score {
            return Err("`reply` must be `score` for judges of this `kind`".to_owned());
        }
        if self.kind == Kind::Kimina && Route::of(&self.url).is_none() {
            return Err("`url` must end with `/api/check` or `/verify` for `kimina`".to_owned());
        }
        self.check_options()?;
        if !self.key_file.as_os_str().is_empty() && !self.key_env.is_empty() {
            return Err("`key_file` and `key_env` are both set; use one".to_owned());
        }
        let [lowest, highest] = self.range();
        let is_allowed = |bound: f64| (-MAX_BOUND..=MAX_BOUND).contains(&bound);
        if !(is_allowed(lowest) && is_allowed(highest) && lowest < highest) {
            let message = "`range` must be two numbers from -1e9 to 1e9, the lower one first";
            return Err(message.to_owned());
        }
        self.check_labels()?;
        if self.tokens_per_run > 0 && self.kind != Kind::Chat {
            return Err("`tokens_per_run` limits judges of the kind `chat` only".to_owned());
        }
        let prices = [self.input_price, self.output_price, self.call_price];
        if self.cost_per_run > 0.0 && prices == [0.0; 3] {
            return Err("`cost_per_run` needs a price, which is 0".to_owned());
        }
        for (name, value, lowest, highest) in [
            ("threshold", self.threshold.unwrap_or(0.0), 0.0, 1.0),
            ("temperature", self.temperature, 0.0, 2.0),
            ("swap_share", self.swap_share, 0.0, 1.0),
            ("call_seconds", self.call_seconds, 0.01, 3_600.0),
            ("item_seconds", self.item_seconds, 0.01, 86_400.0),
            ("pause_seconds", self.pause_seconds, 0.0, 3_600.0),
            ("input_price", self.input_price, 0.0, 1e6),
            ("output_price", self.output_price, 0.0, 1e6),
            ("call_price", self.call_price, 0.0, 1e6),
            ("cost_per_run", self.cost_per_run, 0.0, 1e12),
            ("completion_bytes", self.completion_bytes as f64, 1.0, 16e6),
            ("in_flight", self.in_flight as f64, 1.0, 65_536.0),
            ("retries", f64::from(self.retries), 0.0, 20.0),
            ("max_failures", f64::from(self.max_failures), 1.0, 1e6),
            ("max_tokens", f64::from(self.max_tokens), 1.0, 1e6),
            ("reply_bytes", self.reply_bytes as f64, 64.0, 16e6),
            ("cache_bytes", self.cache_bytes as f64, 0.0, 1e12),
        ] {
            if !(lowest..=highest).contains(&value) {
                return Err(format!("`{name}` must be from {lowest} to {highest}"));
            }
        }
        for (name, text) in [("system", &self.system), ("prompt", &self.prompt)] {
            if text.len() > MAX_TEMPLATE_BYTES {
                let message = format!("`{name}` must have at most {MAX_TEMPLATE_BYTES} bytes");
                return Err(message);
            }
        }
        Ok(())
    }

    fn check_url(&self) -> Result<(), String> {
        let example = "such as `http://127.0.0.1:8000/v1/chat/completions`";
        let Some(url) = Url::parse(&self.url).filter(|url| !url.host.is_empty()) else {
            return Err(format!("`url` must be an HTTP URL, {example}"));
        };
        if !matches!(url.scheme, "http" | "https") {
            return Err(format!("`url` must be an HTTP URL, {example}"));
        }
        if url.user.is_some() {
            let message = "`url` contains a user name; put the key into `key_file` or `key_env`";
            return Err(message.to_owned());
        }
        Ok(())
    }

    fn check_options(&self) -> Result<(), String> {
        match OWN_FIELDS
            .iter()
            .find(|name| self.options.contains_key(**name))
        {
            Some(name) => Err(format!(
                "`options` contains `{name}`, which Assay sets; one reply to one question is read"
            )),
            None => Ok(()),
        }
    }

    fn check_labels(&self) -> Result<(), String> {
        if self.labels.is_empty() || self.labels.len() > MAX_LABELS {
            return Err(format!("`labels` must have 1 to {MAX_LABELS} labels"));
        }
        for (label, score) in &self.labels {
            if label.trim() != label || label.is_empty() || label.len() > MAX_NAME_BYTES {
                let message = format!(
                    "a label must have 1 to {MAX_NAME_BYTES} bytes, without white space at its ends"
                );
                return Err(message);
            }
            if !(0.0..=1.0).contains(score) {
                return Err(format!(
                    "the score of the label `{label}` must be from 0 to 1"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut JudgeSettings);

    fn settings() -> JudgeSettings {
        JudgeSettings {
            url: "http://127.0.0.1:8000/v1/chat/completions?api-key=s3cr3t".to_owned(),
            model: "m".to_owned(),
            key: Secret::new("s3cr3t\n"),
            ..JudgeSettings::default()
        }
    }

    #[test]
    fn rejects_settings_out_of_range_by_name() {
        settings().check().unwrap();
        let change: [(&str, Change); 14] = [
            ("`url`", |judge| judge.url = "ftp://a".to_owned()),
            ("`url`", |judge| judge.url = "http://me:s3cr3t@a".to_owned()),
            ("`model`", |judge| judge.model.clear()),
            ("`range`", |judge| judge.range = Some([1.0, 1.0])),
            ("`range`", |judge| judge.range = Some([-1e308, 1e308])),
            ("`stream`", |judge| {
                judge.options.insert("stream".to_owned(), true.into());
            }),
            ("`messages`", |judge| {
                judge.options.insert("messages".to_owned(), Value::Null);
            }),
            ("`/verify`", |judge| judge.kind = Kind::Kimina),
            ("`threshold`", |judge| judge.threshold = Some(f64::NAN)),
            ("`in_flight`", |judge| judge.in_flight = 0),
            ("`cost_per_run`", |judge| judge.cost_per_run = 1.0),
            ("`tokens_per_run`", |judge| {
                (judge.kind, judge.tokens_per_run) = (Kind::Http, 9);
            }),
            ("label", |judge| {
                judge.labels.insert("bad".to_owned(), 1.5);
            }),
            ("`key_file`", |judge| {
                judge.key_file = "key".into();
                judge.key_env = "KEY".to_owned();
            }),
        ];
        for (named, change) in change {
            let mut changed = settings();
            change(&mut changed);
            let message = changed.check().unwrap_err();
            assert!(message.contains(named), "{message}");
            assert!(!message.contains("s3cr3t"), "{message}");
        }
    }

    #[test]
    fn prints_no_key() {
        let printed = format!(
            "{:?} {}",
            settings(),
            serde_json::to_string(&settings()).unwrap()
        );
        assert!(!printed.contains("s3cr3t"), "{printed}");
    }
}
