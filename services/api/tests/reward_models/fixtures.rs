//! The router with fake reward models, which compute scores from the text of their inputs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_access::Gate;
use assay_alerts::{Alerts, Settings};
use assay_api::{Api, ApiLimits, ApiParts};
use assay_core::execution::{Execute, ExecuteError, Execution, ExecutionResult, Runtime};
use assay_core::reward_model::{
    ModelError, ModelInfo, ModelInput, ModelLoad, ModelOutput, ModelReply, ModelRequest,
    ModelScore, ModelState, ModelStatus, Refusal, RewardModels, Scale,
};
use assay_core::{BoxFuture, Fault, GraderTable, Ids, SystemClock};
use assay_engine::{ChannelSettings, Engine, EngineParts, Limits, Policies};
use assay_jobs::Jobs;
use assay_record::{Record, RecordOptions};
use assay_sessions::Sessions;
use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

/// The score of a text: the number at its end, so that a test's inputs determine the expected
/// scores.
fn number_at_end(text: &str) -> f32 {
    let digits = text
        .rsplit(|letter: char| !(letter.is_ascii_digit() || letter == '.' || letter == '-'))
        .next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0.0)
}

/// Maximum length of an input. The fake models count each byte as a token.
pub(crate) const MAX_TOKENS: usize = 1_000;

/// A model with this head.
pub(crate) fn model(name: &str, head: &'static str) -> ModelInfo {
    let labels: &[&str] = match head {
        "classes" => &["bad", "middling", "good"],
        "labels" => &["A", "B"],
        _ => &[],
    };
    ModelInfo {
        name: name.to_owned(),
        version: "0123abcd".to_owned(),
        source: format!("org/{name}"),
        architecture: "FakeForSequenceClassification".to_owned(),
        head: head.into(),
        pooling: "last".to_owned(),
        scale: match head {
            "labels" | "steps" => Scale::Probability,
            "embedding" => Scale::Cosine,
            _ => Scale::Logit,
        },
        normalise: "sigmoid".into(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        template: "chat".into(),
        parameters: 1,
        hidden: 2,
        layers: 1,
        max_tokens: MAX_TOKENS,
        dtype: "f32".into(),
        device: "cpu".to_owned(),
        loaded_us: 1_795_000_000_000_000,
    }
}

/// Fake models by name; the first is the default.
pub(crate) struct FakeModels {
    models: Mutex<BTreeMap<String, Arc<ModelInfo>>>,
    default: String,
    /// All scored requests.
    pub(crate) requests: Mutex<Vec<ModelRequest>>,
    /// The error that every request returns, if set.
    pub(crate) error: Mutex<Option<ModelError>>,
    /// All loads, with the name of the model.
    pub(crate) loaded: Mutex<Vec<(String, ModelLoad)>>,
}

impl FakeModels {
    fn new(models: Vec<ModelInfo>) -> Self {
        let default = models
            .first()
            .map(|model| model.name.clone())
            .unwrap_or_default();
        let models = models
            .into_iter()
            .map(|model| (model.name.clone(), Arc::new(model)))
            .collect();
        Self {
            models: Mutex::new(models),
            default,
            requests: Mutex::default(),
            error: Mutex::default(),
            loaded: Mutex::default(),
        }
    }

    /// The inputs of the last request.
    pub(crate) fn last_inputs(&self) -> Vec<ModelInput> {
        self.requests.lock().unwrap().last().unwrap().inputs.clone()
    }
}

fn text_of(input: &ModelInput) -> Result<String, Refusal> {
    match input {
        ModelInput::Rollout { completion, .. } => Ok(completion.text().into_owned()),
        ModelInput::Text(text) | ModelInput::Bare { text, .. } | ModelInput::Pair(_, text) => {
            Ok(text.to_string())
        }
        ModelInput::Ids(ids) if ids.contains(&99) => {
            Err(Refusal::Unreadable("99 is not a token".to_owned()))
        }
        ModelInput::Ids(ids) => Ok(ids.last().unwrap().to_string()),
    }
}

fn score(model: &ModelInfo, input: &ModelInput) -> Result<ModelScore, Refusal> {
    let text = text_of(input)?;
    if text.len() > MAX_TOKENS {
        return Err(Refusal::TooLong {
            tokens: text.len(),
            max: MAX_TOKENS,
        });
    }
    let value = if text.contains("overflow") {
        f32::NAN
    } else {
        number_at_end(&text)
    };
    let (readout, raw) = match &*model.head {
        "classes" => (ModelOutput::Classes(vec![-100.0, value, 0.0]), None),
        "labels" => (ModelOutput::Labels(vec![value, 1.0 - value]), Some(value)),
        "steps" => (ModelOutput::Steps(vec![0.75, value]), Some(value.min(0.75))),
        "embedding" => (
            ModelOutput::Embedding(vec![3.0, value]),
            matches!(input, ModelInput::Rollout { .. }).then_some(value),
        ),
        _ => (ModelOutput::Scalar(value), Some(value)),
    };
    let score = raw.map(|raw| 1.0 / (1.0 + f64::from(-raw).exp()));
    let tokens = u32::try_from(text.len()).unwrap();
    Ok(ModelScore {
        readout,
        raw,
        score,
        tokens,
        truncated_tokens: 0,
        last_ids: vec![7, 8],
    })
}

impl RewardModels for FakeModels {
    fn list(&self) -> Vec<ModelStatus> {
        let models = self.models.lock().unwrap();
        let status = |(name, info): (&String, &Arc<ModelInfo>)| ModelStatus {
            name: name.clone(),
            state: ModelState::Ready,
            problem: None,
            info: Some(Arc::clone(info)),
            default: *name == self.default,
            scored: 0,
            tokens: 0,
            waiting_tokens: 0,
        };
        models.iter().map(status).collect()
    }

    fn find(&self, name: Option<&str>) -> Result<Arc<ModelInfo>, ModelError> {
        let name = name.unwrap_or(&self.default);
        let found = self.models.lock().unwrap().get(name).cloned();
        found.ok_or_else(|| ModelError::Unknown(format!("no reward model is named `{name}`")))
    }

    fn score(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let model = self.find(request.model.as_deref())?;
            if let Some(error) = self.error.lock().unwrap().clone() {
                return Err(error);
            }
            if let Some(expected) = request
                .expected_version
                .clone()
                .filter(|prefix| !model.version.starts_with(prefix))
            {
                let (name, version) = (model.name.clone(), model.version.clone());
                return Err(ModelError::VersionMismatch {
                    name,
                    version,
                    expected,
                });
            }
            let scores = request
                .inputs
                .iter()
                .map(|input| score(&model, input))
                .collect();
            self.requests.lock().unwrap().push(request);
            Ok(ModelReply { model, scores })
        })
    }

    fn load(
        &self,
        name: String,
        load: ModelLoad,
    ) -> BoxFuture<'_, Result<Arc<ModelInfo>, ModelError>> {
        Box::pin(async move {
            let source = match &load.source {
                Some(source) if source.starts_with('/') => {
                    return Err(ModelError::NotLoadable(format!(
                        "`{source}` is not under the folder of models"
                    )));
                }
                Some(source) => source.clone(),
                None => self.find(Some(&name))?.source.clone(),
            };
            let info = Arc::new(ModelInfo {
                source,
                version: "4567".to_owned(),
                ..model(&name, "scalar")
            });
            self.models
                .lock()
                .unwrap()
                .insert(name.clone(), Arc::clone(&info));
            self.loaded.lock().unwrap().push((name, load));
            Ok(info)
        })
    }

    fn unload(&self, name: &str) -> Result<(), ModelError> {
        let removed = self.models.lock().unwrap().remove(name);
        removed
            .map(drop)
            .ok_or_else(|| ModelError::Unknown(format!("no reward model is named `{name}`")))
    }
}

/// Rejects all programs.
struct NoPrograms;

impl Execute for NoPrograms {
    fn runtimes(&self) -> Vec<Runtime> {
        Vec::new()
    }

    fn runtime(&self, _: &str) -> Option<Runtime> {
        None
    }

    fn execute(&self, _: Execution) -> BoxFuture<'_, Result<ExecutionResult, ExecuteError>> {
        let fault = Fault::permanent(
            assay_core::ErrorCode::GraderUnavailable,
            "the fixture does not run programs",
        );
        Box::pin(std::future::ready(Err(ExecuteError::Failed(fault))))
    }
}

/// The router of the API with fake models.
pub(crate) struct Service {
    router: Router,
    pub(crate) models: Arc<FakeModels>,
}

/// A complete response.
pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.bytes))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes.to_vec()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Status, code and pointer of an error response.
    pub(crate) fn error(&self) -> (u16, String, Option<String>) {
        let body = self.json();
        let pointer = body["error"]["pointer"].as_str().map(str::to_owned);
        (
            self.status,
            body["error"]["code"].as_str().unwrap().to_owned(),
            pointer,
        )
    }
}

pub(crate) fn service(models: Vec<ModelInfo>) -> Service {
    service_with(models, ApiLimits::default())
}

pub(crate) fn service_with(models: Vec<ModelInfo>, limits: ApiLimits) -> Service {
    service_of(models, limits, None)
}

/// A service with a record in memory.
pub(crate) async fn recording(models: Vec<ModelInfo>) -> Service {
    let options = RecordOptions::new("sqlite::memory:");
    let record = Record::open(&options, Arc::new(SystemClock::new())).await;
    service_of(models, ApiLimits::default(), Some(record.unwrap()))
}

fn service_of(models: Vec<ModelInfo>, limits: ApiLimits, record: Option<Record>) -> Service {
    let models = Arc::new(FakeModels::new(models));
    let engine = Engine::start(EngineParts {
        graders: GraderTable::new(Vec::new()),
        record,
        clock: Arc::new(SystemClock::new()),
        ids: Ids::random(),
        limits: Limits {
            workers: 1,
            ..Limits::default()
        },
        policies: Policies::default(),
        keeping: assay_engine::Keeping::default(),
        channels: ChannelSettings::default(),
    });
    let engine = engine.unwrap();
    let alerts = Alerts::new(engine.clone(), Settings::default()).unwrap();
    let parts = ApiParts {
        alerts: Arc::new(alerts),
        review: assay_review::Review::new(engine.clone()),
        jobs: Jobs::without_limits(engine),
        templates: Arc::default(),
        programs: Arc::new(NoPrograms),
        models: models.clone(),
        sessions: Sessions::without_images(Arc::new(SystemClock::new())),
        metrics: Arc::new(String::new),
        warming: Arc::default(),
        gate: Arc::new(Gate::open(Arc::new(SystemClock::new()))),
        tls: None,
        limits,
    };
    Service {
        router: assay_api::router(Api::new(parts)),
        models,
    }
}

/// A service with one model, which has this head.
pub(crate) fn one(head: &'static str) -> Service {
    service(vec![model("rm", head)])
}

/// A service whose model has a full queue.
pub(crate) fn busy() -> Service {
    let service = one("scalar");
    let error = ModelError::Overloaded {
        waiting: 9,
        retry_after: Duration::from_secs(7),
    };
    *service.models.error.lock().unwrap() = Some(error);
    service
}

impl Service {
    pub(crate) async fn send(&self, method: Method, path: &str, body: String) -> Received {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json");
        self.send_request(request.body(Body::from(body)).unwrap())
            .await
    }

    pub(crate) async fn send_request(&self, request: Request<Body>) -> Received {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Received {
            status: parts.status.as_u16(),
            headers: parts.headers,
            bytes,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Received {
        self.send(Method::GET, path, String::new()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Received {
        self.send(Method::POST, path, body.to_string()).await
    }
}
