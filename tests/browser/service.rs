//! A node on a free port, with a run to display.

use std::path::Path;

use assay_access::{Key, NewKey};
use assay_core::SystemClock;
use assay_node::{Config, Node};
use assay_record::access::{Quotas, Role};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::browser::chromium::client;

/// A serving node; it stops when dropped.
pub(crate) struct Service {
    pub(crate) address: String,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Service {
    /// A node that reloads rates for every batch.
    pub(crate) async fn start() -> Self {
        Self::with_keys(&[]).await.0
    }

    /// The same, which searches texts.
    pub(crate) async fn searching() -> Self {
        Self::configured(&[], |config| config.store.text_search = true)
            .await
            .0
    }

    /// The same with a key for each of these roles, which is named like its role.
    pub(crate) async fn with_keys(roles: &[Role]) -> (Self, Vec<Key>) {
        Self::configured(roles, |_| {}).await
    }

    async fn configured(roles: &[Role], change: impl FnOnce(&mut Config)) -> (Self, Vec<Key>) {
        let folder = tempfile::tempdir().unwrap();
        let mut config: Config =
            assay_tests::config(Path::new(env!("CARGO_BIN_EXE_assay-measure"))).unwrap();
        config.store.database =
            format!("sqlite://{}", folder.path().join("assay.db").display()).into();
        config.server.listen = "127.0.0.1:0".parse().unwrap();
        config.channels.refresh_seconds = 0.0;
        change(&mut config);
        let node = Node::with_graders(config, Vec::new()).await.unwrap();
        let store = node.gate().store().unwrap();
        let (clock, mut keys) = (SystemClock::new(), Vec::new());
        for role in roles {
            let new = NewKey {
                name: role.to_string(),
                role: *role,
                quotas: Quotas::default(),
                expires_us: None,
            };
            let key = assay_access::create(store.as_ref(), &clock, "test", new).await;
            keys.push(key.unwrap());
        }
        node.gate().refresh().await.unwrap();
        let listener = node.listen().await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            node.serve(listener, stopped).await.unwrap();
        });
        let service = Self {
            address,
            stop: Some(stop),
            serving: Some(serving),
            _folder: folder,
        };
        (service, keys)
    }

    /// The same with a run of some steps, in which the share of correct answers grows.
    pub(crate) async fn with_run(steps: u32) -> Self {
        let service = Self::start().await;
        for step in 0..steps {
            service.grade(&of_step(step)).await;
        }
        service
    }

    pub(crate) async fn grade(&self, batch: &Value) -> Value {
        self.post("/v1/grade", batch).await
    }

    /// Grades a batch with a key, which clients without headers send in the path.
    pub(crate) async fn grade_as(&self, key: &Key, batch: &Value) -> Value {
        self.post(&format!("/k/{}/v1/grade", key.reveal()), batch)
            .await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        let request = client().post(format!("{}{path}", self.address));
        let reply = request.json(body).send().await.unwrap();
        assert_eq!(reply.status(), 200);
        reply.json().await.unwrap()
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Value {
        let request = client().patch(format!("{}{path}", self.address));
        let reply = request.json(body).send().await.unwrap();
        assert_eq!(reply.status(), 200);
        reply.json().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        client()
            .get(format!("{}{path}", self.address))
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    }

    /// Stops serving, and waits until the record is closed.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        if let Some(serving) = self.serving.take() {
            serving.await.unwrap();
        }
    }
}

/// The report of a check with an error and a warning.
pub(crate) fn check() -> Value {
    json!({
        "version": "0.1.0", "errors": 1, "warnings": 1,
        "datasets": [{
            "dataset": "hf://org/sums@0123456789abcdef0123456789abcdef01234567/train.parquet",
            "revision": "0123456789abcdef0123456789abcdef01234567", "rows": 7_473, "checked": 1_000,
            "tasks": { "math": 990, "code": 10 },
            "mutants": { "math": { "tried": 4_950, "killed": 4_950 }, "code": { "tried": 61, "killed": 58 } },
        }],
        "counts": { "gold-missing": 1, "refusal-accepted": 1 },
        "findings": [
            { "code": "gold-missing", "severity": "error", "dataset": "train.parquet", "row": 17, "key": "#5d41402abc4b",
              "message": "the gold answer `N/A` says that there is none; give the answer, or take \
                          the row out" },
            { "code": "refusal-accepted", "severity": "warning", "dataset": "train.parquet", "row": 812, "key": "sum/812",
              "message": "a completion that says `I cannot help with that.` passes; its tests are \
                          too weak" },
        ],
    })
}

/// Eight groups of four answers: mathematics with a check, programs, documents.
pub(crate) fn of_step(step: u32) -> Value {
    let items = (0..32u32).map(|n| {
        let lot = (n * 7 + step * 3) % 10;
        let mut item = match (n / 4) % 4 {
            2 => json!({
                "task": { "type": "code", "language": "python", "tests": [
                    { "stdin": "2 3\n", "stdout": "5\n" },
                    { "stdin": "-1 1\n", "stdout": "0\n" },
                    { "stdin": "40 2\n", "stdout": "42\n" },
                ] },
                "prompt": "Read two numbers and print their sum.",
                "completion": if lot < 4 + step.min(5) {
                    "```python\na, b = map(int, input().split())\nprint(a + b)\n```"
                } else {
                    "```python\na, b = map(int, input().split())\nprint(abs(a) + abs(b))\n```"
                },
            }),
            3 => json!({
                "task": { "type": "structured", "format": "json", "expected": { "name": "Ada", "born": 1815 } },
                "completion": if lot < step.min(8) { r#"{"name": "Ada", "born": 1815}"# } else { r#"{"name": "Ada", "born": 1851}"# },
            }),
            _ => json!({
                "task": { "type": "math", "answer": "\\frac{3}{8}" },
                "prompt": "A pizza has eight slices. Three are left. Which part is left?",
                "completion": format!(
                    "<think>\nThere are 8 slices{}.\n</think>\nThe part that is left is \
                     \\boxed{{{}}}.",
                    ", and 3 are left".repeat(usize::try_from(step).unwrap_or(0) + 1),
                    if lot < 2 + step.min(7) { "0.375" } else { "\\frac{5}{8}" },
                ),
                "checks": { "brief": { "type": "math", "answer": "0.375" } },
            }),
        };
        item["id"] = json!(format!("s{step}-{n}"));
        item["group"] = json!(format!("g{}", n / 4));
        if n == 31 {
            item["completion"] = json!("");
        }
        item
    });
    json!({ "run": "pizza/small", "step": step, "items": items.collect::<Vec<_>>() })
}
