//! `assay models` with a server that has a rule-based reward model.

use std::process::Output;
use std::sync::{Arc, Mutex};

use assay_core::BoxFuture;
use assay_core::reward_model::{
    ModelError, ModelInfo, ModelInput, ModelLoad, ModelOutput, ModelReply, ModelRequest,
    ModelScore, ModelState, ModelStatus, Refusal, RewardModels, Scale,
};
use assay_node::{Config, Node};
use serde_json::{Value, json};

use crate::fixtures::{assay, text};

/// A reward model that scores a text by its length, in tenths of a byte.
#[derive(Default)]
struct LengthModel {
    source: Mutex<Option<String>>,
}

impl LengthModel {
    fn info(&self) -> Option<Arc<ModelInfo>> {
        let source = self.source.lock().unwrap().clone()?;
        Some(Arc::new(ModelInfo {
            name: "rm".to_owned(),
            version: "0123456789abcdef".to_owned(),
            source,
            architecture: "LengthForSequenceClassification".to_owned(),
            head: "scalar".into(),
            pooling: "last".to_owned(),
            scale: Scale::Logit,
            normalise: "none".into(),
            labels: Vec::new(),
            template: "text".into(),
            parameters: 0,
            hidden: 1,
            layers: 0,
            max_tokens: 100,
            dtype: "f32".into(),
            device: "cpu".to_owned(),
            loaded_us: 0,
        }))
    }
}

fn read(input: &ModelInput) -> Result<ModelScore, Refusal> {
    let length = match input {
        ModelInput::Rollout { completion, .. } => completion.text().len(),
        ModelInput::Text(text) => text.len(),
        _ => return Err(Refusal::Unreadable("only texts have a length".to_owned())),
    };
    let raw = u16::try_from(length).map_or(f32::MAX, f32::from) / 10.0;
    Ok(ModelScore {
        readout: ModelOutput::Scalar(raw),
        raw: Some(raw),
        score: None,
        tokens: 1,
        truncated_tokens: 0,
        last_ids: vec![1],
    })
}

impl RewardModels for LengthModel {
    fn list(&self) -> Vec<ModelStatus> {
        let status = |info| ModelStatus {
            name: "rm".to_owned(),
            state: ModelState::Ready,
            problem: None,
            info: Some(info),
            default: true,
            scored: 0,
            tokens: 0,
            waiting_tokens: 0,
        };
        self.info().map(status).into_iter().collect()
    }

    fn find(&self, _: Option<&str>) -> Result<Arc<ModelInfo>, ModelError> {
        self.info()
            .ok_or_else(|| ModelError::Unknown("no reward model is named `rm`".to_owned()))
    }

    fn score(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            Ok(ModelReply {
                model: self.find(None)?,
                scores: request.inputs.iter().map(read).collect(),
            })
        })
    }

    fn load(
        &self,
        _: String,
        load: ModelLoad,
    ) -> BoxFuture<'_, Result<Arc<ModelInfo>, ModelError>> {
        *self.source.lock().unwrap() = load.source;
        Box::pin(std::future::ready(self.find(None)))
    }

    fn unload(&self, _: &str) -> Result<(), ModelError> {
        let unloaded = self.source.lock().unwrap().take();
        unloaded
            .map(drop)
            .ok_or_else(|| ModelError::Unknown("no reward model is named `rm`".to_owned()))
    }
}

/// Starts a server and calls `commands`, which runs `assay models` commands against it.
fn with_server(commands: impl FnOnce(&dyn Fn(&[&str]) -> Output) + Send + 'static) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut config = Config::default();
        config.store.database = "".into();
        config.server.listen = ([127, 0, 0, 1], 0).into();
        config.sandbox_workers.program = env!("CARGO_BIN_EXE_assay").into();
        let node = Node::start(config)
            .await
            .unwrap()
            .with_models(Arc::new(LengthModel::default()));
        let listener = node.listen().await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let (done, stop) = tokio::sync::oneshot::channel::<()>();
        let running = tokio::task::spawn_blocking(move || {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("inputs.jsonl"), INPUTS).unwrap();
            commands(&|arguments| {
                assay(
                    folder.path(),
                    &[&["models"], arguments, &["--server", &server]].concat(),
                )
            });
            drop(done);
        });
        let stopped = async {
            let _ = stop.await;
        };
        node.serve(listener, stopped).await.unwrap();
        running.await.unwrap();
    });
}

const INPUTS: &str = concat!(
    r#"{"id":"a","prompt":"?","completion":"1234567"}"#,
    "\n\nnot json\n",
    r#"{"id":"a","text":"123"}"#,
    "\n",
    r#"{"ids":[1]}"#,
    "\n",
    r#"{"prompt":"?"}"#,
    "\n",
);

#[test]
fn loads_lists_and_unloads_a_model() {
    with_server(|assay| {
        let loaded = assay(&["load", "rm", "org/rm"]);
        assert!(loaded.status.success(), "{}", text(&loaded.stderr));
        assert_eq!(
            text(&loaded.stdout),
            "loaded rm: version 0123456789abcdef of org/rm\n"
        );
        let listed = text(&assay(&["list"]).stdout);
        let row: Vec<_> = listed.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(
            row,
            [
                "rm",
                "(default)",
                "ready",
                "0123456789ab",
                "scalar",
                "logit",
                "cpu",
                "0",
                "org/rm"
            ]
        );
        let json: Value = serde_json::from_slice(&assay(&["--json"]).stdout).unwrap();
        assert_eq!(json["model"]["source"], "org/rm");
        assert_eq!(text(&assay(&["unload", "rm"]).stdout), "unloaded rm\n");
        let again = assay(&["unload", "rm"]);
        assert_eq!(again.status.code(), Some(2));
        assert!(
            text(&again.stderr).contains("unknown_model"),
            "{}",
            text(&again.stderr)
        );
    });
}

#[test]
fn writes_one_score_per_line_in_order() {
    with_server(|assay| {
        assay(&["load", "rm", "org/rm"]);
        let scored = assay(&["score", "inputs.jsonl"]);
        assert!(scored.status.success(), "{}", text(&scored.stderr));
        let lines: Vec<Value> = text(&scored.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let scores_or_errors: Vec<_> = lines
            .iter()
            .map(|line| {
                line.get("raw")
                    .or(line["error"].get("code"))
                    .unwrap()
                    .clone()
            })
            .collect();
        let expected = [
            json!(0.7),
            json!("malformed_json"),
            json!(0.3),
            json!("unreadable"),
            json!("invalid_field"),
        ];
        assert_eq!(scores_or_errors, expected);
        assert!(
            text(&scored.stdout).starts_with(r#"{"id":"a","raw":0.7,"score":null,"#),
            "{}",
            text(&scored.stdout)
        );
        let scaled = assay(&["score", "inputs.jsonl", "--scale"]);
        assert!(scaled.status.success(), "{}", text(&scaled.stderr));
        assert_eq!(
            text(&scaled.stdout),
            "# 2 inputs\nnormalise = \"affine\"\nmean = 0.5000\nstd = 0.1483\n"
        );
        assert!(
            lines[1]["error"]["message"]
                .as_str()
                .unwrap()
                .starts_with("line 3: ")
        );
        assert_eq!(lines[2]["id"], "a", "ids need not be unique");
        assay(&["unload", "rm"]);
        let none = assay(&["score", "inputs.jsonl"]);
        assert!(
            text(&none.stderr).contains("no default model"),
            "{}",
            text(&none.stderr)
        );
    });
}
