//! An in-memory node with an additional grader that panics, and requests to it.

use std::path::Path;
use std::sync::Arc;

use assay_core::grader::PrepareError;
use assay_core::reward_model::RewardModels;
use assay_core::{
    Checked, Grader, Item, Lane, Outcome, PrepareContext, Prepared, PureGrader, Spec, Task,
    Verdict, VerdictSpec,
};
use assay_node::{Config, Node};
use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

/// Panics on every item.
struct Panicking;

static PANICKING: Spec = Spec {
    name: "panicking",
    version: 1,
    summary: "panics on every item",
    lane: Lane::Cpu,
    task_schema: r#"{"type":"object"}"#,
    example_task: r#"{"type":"panicking"}"#,
    example_completion: "",
    verdicts: &[VerdictSpec {
        verdict: Verdict::CORRECT,
        pass: Some(true),
        meaning: "never",
    }],
    measures: &[],
    deterministic: true,
    reads_context: false,
    max_batch: 1,
    work_unit: "panics",
};

impl Grader for Panicking {
    fn spec(&self) -> &'static Spec {
        &PANICKING
    }

    fn check(&self, _: &Task, _: &PrepareContext<'_>) -> Checked {
        Ok(())
    }

    fn prepare(&self, _: &Task, _: &PrepareContext<'_>) -> Result<Arc<dyn Prepared>, PrepareError> {
        Ok(Arc::new(PanickingTask))
    }
}

struct PanickingTask;

impl PureGrader for PanickingTask {
    fn grade_one(&self, _: &Item) -> Outcome {
        panic!("on purpose")
    }

    fn bytes(&self) -> usize {
        0
    }
}

/// A node behind its router.
pub(crate) struct Service {
    router: Router,
    pub(crate) node: Node,
    _folder: tempfile::TempDir,
}

/// A reply read whole.
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.bytes))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Code and pointer of an error.
    pub(crate) fn refusal(&self) -> (u16, String, Option<String>) {
        let body = self.json();
        let pointer = body["error"]["pointer"].as_str().map(str::to_owned);
        (
            self.status.as_u16(),
            body["error"]["code"].as_str().unwrap().to_owned(),
            pointer,
        )
    }
}

pub(crate) async fn service() -> Service {
    service_with(|_| {}).await
}

pub(crate) async fn service_with(change: impl FnOnce(&mut Config)) -> Service {
    let folder = tempfile::tempdir().unwrap();
    let mut config = assay_tests::config(Path::new(env!("CARGO_BIN_EXE_assay-measure"))).unwrap();
    config.store.database = format!("sqlite://{}", folder.path().join("assay.db").display()).into();
    change(&mut config);
    let node = Node::with_graders(config, vec![Arc::new(Panicking)])
        .await
        .unwrap();
    Service {
        router: assay_api::router(node.api().unwrap()),
        node,
        _folder: folder,
    }
}

impl Service {
    /// The same node with these reward models.
    pub(crate) fn with_models(self, models: Arc<dyn RewardModels>) -> Self {
        let node = self.node.with_models(models);
        Self {
            router: assay_api::router(node.api().unwrap()),
            node,
            ..self
        }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Got {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        Got {
            status: parts.status,
            headers: parts.headers,
            bytes: body.collect().await.unwrap().to_bytes(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        self.send(Request::get(path).body(Body::empty()).unwrap())
            .await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Got {
        self.send(
            Request::post(path)
                .body(Body::from(body.to_string()))
                .unwrap(),
        )
        .await
    }

    pub(crate) async fn grade(&self, batch: &Value) -> Got {
        self.grade_with(batch.to_string(), &[]).await
    }

    pub(crate) async fn grade_with(&self, body: impl Into<Body>, headers: &[(&str, &str)]) -> Got {
        let mut request = Request::post("/v1/grade").header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(body.into()).unwrap()).await
    }
}

pub(crate) fn item(answer: &str, completion: &str) -> Value {
    json!({ "completion": completion, "task": { "type": "math", "answer": answer } })
}

pub(crate) fn batch(items: impl IntoIterator<Item = Value>) -> Value {
    json!({ "items": items.into_iter().collect::<Vec<_>>() })
}
