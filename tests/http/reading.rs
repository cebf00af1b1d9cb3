//! GET requests write nothing, because a page of another site can make a browser navigate to any of
//! them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assay_access::Gate;
use assay_alerts::{Alerts, Settings};
use assay_api::{Api, ApiLimits, ApiParts};
use assay_core::execution::{Execute, ExecuteError, Execution, ExecutionResult, Runtime};
use assay_core::reward_model::{
    ModelError, ModelInfo, ModelLoad, ModelReply, ModelRequest, ModelStatus, RewardModels,
};
use assay_core::{BoxFuture, Ids, SystemClock};
use assay_engine::{ChannelSettings, Engine, EngineParts, Limits, Policies};
use assay_jobs::Jobs;
use assay_record::hook::Hook;
use assay_record::{Entry, RecordError};
use assay_sessions::Sessions;
use axum::Router;
use axum::body::Body;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::http::fixtures::{Service, batch, item, service};

/// Counts writes.
#[derive(Default)]
struct Writes(AtomicUsize);

impl Hook for Writes {
    fn append(&self, entry: Arc<Entry>) -> BoxFuture<'_, Result<Arc<Entry>, RecordError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(entry)))
    }
}

/// Neither programs nor models: GET requests need none.
struct Nothing;

impl Execute for Nothing {
    fn runtimes(&self) -> Vec<Runtime> {
        Vec::new()
    }

    fn runtime(&self, _: &str) -> Option<Runtime> {
        None
    }

    fn execute(&self, _: Execution) -> BoxFuture<'_, Result<ExecutionResult, ExecuteError>> {
        panic!("a GET request ran a program")
    }
}

impl RewardModels for Nothing {
    fn list(&self) -> Vec<ModelStatus> {
        Vec::new()
    }

    fn find(&self, name: Option<&str>) -> Result<Arc<ModelInfo>, ModelError> {
        Err(ModelError::Unknown(name.unwrap_or_default().to_owned()))
    }

    fn score(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        panic!("a GET request used a model")
    }

    fn load(&self, _: String, _: ModelLoad) -> BoxFuture<'_, Result<Arc<ModelInfo>, ModelError>> {
        panic!("a GET request loaded a model")
    }

    fn unload(&self, _: &str) -> Result<(), ModelError> {
        panic!("a GET request unloaded a model")
    }
}

/// The routes of a service with this record.
fn counted(service: &Service) -> (Router, Arc<Writes>) {
    let writes = Arc::<Writes>::default();
    let of_node = service.node.engine();
    let record = of_node.record().unwrap().clone();
    let engine = Engine::start(EngineParts {
        graders: of_node.graders().clone(),
        record: Some(record.with_hook(Arc::clone(&writes) as Arc<dyn Hook>)),
        clock: Arc::new(SystemClock::new()),
        ids: Ids::random(),
        limits: Limits::default(),
        policies: Policies::default(),
        keeping: assay_engine::Keeping::default(),
        channels: ChannelSettings::default(),
    })
    .unwrap();
    let alerts = Alerts::new(engine.clone(), Settings::default()).unwrap();
    let api = Api::new(ApiParts {
        alerts: Arc::new(alerts),
        review: assay_review::Review::new(engine.clone()),
        jobs: Jobs::without_limits(engine),
        templates: Arc::default(),
        programs: Arc::new(Nothing),
        models: Arc::new(Nothing),
        sessions: Sessions::without_images(Arc::new(SystemClock::new())),
        metrics: Arc::new(String::new),
        warming: Arc::default(),
        gate: Arc::new(Gate::open(Arc::new(SystemClock::new()))),
        tls: None,
        limits: ApiLimits::default(),
    });
    (assay_api::router(api), writes)
}

/// A navigation from a page of another site.
async fn navigate(router: &Router, method: Method, path: &str) -> (StatusCode, String) {
    let request = Request::builder().method(method).uri(path);
    let request = request
        .header("sec-fetch-site", "cross-site")
        .header("sec-fetch-mode", "navigate");
    let reply = router
        .clone()
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    let status = reply.status();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

/// URLs of the documented GET routes, with placeholders filled from the record.
async fn documented(router: &Router, grade: &str) -> Vec<String> {
    let (_, document) = navigate(router, Method::GET, "/openapi.json").await;
    let document: Value = serde_json::from_str(&document).unwrap();
    let paths = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, path)| path.get("get").is_some());
    let filled = paths.map(|(path, _)| {
        let path = path
            .replace("{id}", grade)
            .replace("{run}", "run")
            .replace("{name}", "default")
            .replace("{path}", "path");
        assert!(!path.contains('{'), "`{path}`: fill the placeholder");
        if path.ends_with("/compare") {
            format!("{path}?first=math/default@1&second=math/default@1")
        } else {
            path
        }
    });
    filled.collect()
}

/// URLs under `/ui` that a page links to.
fn links(page: &str) -> Vec<String> {
    let links = page
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    links
        .filter(|link| link.starts_with("/ui"))
        .map(|link| link.replace("&amp;", "&").replace("&#38;", "&"))
        .collect()
}

#[tokio::test]
async fn no_get_writes_to_the_record() {
    let service = service().await;
    let mut request = batch((0..4).map(|n| {
        item(
            "1",
            if n % 2 == 0 {
                "\\boxed{1}"
            } else {
                "\\boxed{2}"
            },
        )
    }));
    request["run"] = json!("run");
    request["step"] = json!(1);
    let reply = service.grade(&request).await.json();
    let grade = reply["results"][0]["grade"].as_str().unwrap().to_owned();
    let (router, writes) = counted(&service);

    let drawing = "/v1/adjudications/next?channel=math/default";
    let draw = Request::post(drawing).body(Body::empty()).unwrap();
    assert_eq!(router.clone().oneshot(draw).await.unwrap().status(), 200);
    assert_eq!(
        writes.0.swap(0, Ordering::Relaxed),
        1,
        "a draw is a write, so the counter works"
    );

    let mut waiting = documented(&router, &grade).await;
    assert!(waiting.len() > 15, "{waiting:?}");
    waiting.extend([
        "/ui".to_owned(),
        format!("/ui/queue/{grade}"),
        "/docs".to_owned(),
    ]);
    let (mut seen, mut answered) = (BTreeSet::new(), 0);
    while let Some(path) = waiting.pop() {
        if seen.len() >= 300 || !seen.insert(path.clone()) {
            continue;
        }
        for method in [Method::HEAD, Method::GET] {
            let (status, body) = navigate(&router, method.clone(), &path).await;
            assert_eq!(
                writes.0.load(Ordering::Relaxed),
                0,
                "`{method} {path}` writes"
            );
            answered += usize::from(status == 200);
            waiting.extend(links(&body));
        }
    }
    assert!(answered > 60, "{answered} of {} URLs answered", seen.len());
}

#[tokio::test]
async fn navigation_assigns_no_grade_to_an_operator() {
    let service = service().await;
    service
        .grade(&batch((0..4).map(|_| item("1", "\\boxed{1}"))))
        .await;
    let (router, writes) = counted(&service);
    let path = "/v1/adjudications/next?channel=math/default";
    let (status, body) = navigate(&router, Method::GET, path).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status.as_u16(), &body["error"]["code"]),
        (405, &json!("method_not_allowed"))
    );
    assert_eq!(
        navigate(&router, Method::POST, path).await.0,
        403,
        "a form on another site"
    );
    assert_eq!(writes.0.load(Ordering::Relaxed), 0);
    let drawn = service.post(path, &Value::Null).await.json();
    assert_eq!(drawn["grade"]["pass"], true, "all four can still be drawn");
    assert_eq!(drawn["probability"], 0.25);
}
