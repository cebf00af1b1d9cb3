//! Refits a served reward model on pairs of graded rollouts.
#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::fs;
use std::path::Path;

use assay_client::{Client, Retry};
use assay_wire::GradeRequest;
use assay_wire::reward_models::{LoadRequest, ModelInfo};
use assay_wire::scoring::ScoreRequest;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::command::trainer;

/// A service with an untrained reward model `judge`, and its client.
struct Served {
    url: String,
    client: Client,
    runtime: Runtime,
    _running: tokio::sync::oneshot::Sender<()>,
}

impl Served {
    fn new(folder: &Path, template: &str) -> Self {
        let (url, running) = crate::serving::service(Some(folder));
        let runtime = Runtime::new().unwrap();
        let client = Client::new(&url, Retry::default()).unwrap();
        trainer(folder, &["init", "--output", "policy"]).unwrap();
        let untrained = ["reward-model", "--untrained", "--model", "policy"];
        let untrained = [
            &untrained[..],
            &["--output", "start", "--template", template],
        ]
        .concat();
        trainer(folder, &untrained).unwrap();
        let load = LoadRequest {
            source: Some("start".to_owned()),
            ..LoadRequest::default()
        };
        runtime.block_on(client.load_model("judge", &load)).unwrap();
        Self {
            url,
            client,
            runtime,
            _running: running,
        }
    }

    /// Grades four completions of each prompt, of which two are right.
    fn grade(&self, run: &str, prompts: std::ops::Range<usize>) {
        let items = prompts.flat_map(|prompt| {
            (0..4).map(move |index| {
                let right = index < 2;
                let ending = if right { "good" } else { "worse" };
                json!({
                    "prompt": format!("{prompt}+1="),
                    "completion": format!("{} {ending} {index}", prompt + 1),
                    "task": { "type": "text", "answer": "good", "match": "contains" },
                })
            })
        });
        let items = items.map(|item| serde_json::from_value(item).unwrap());
        let request = GradeRequest {
            run: Some(run.to_owned()),
            step: Some(1),
            items: items.collect(),
            ..GradeRequest::default()
        };
        let reply = self
            .runtime
            .block_on(self.client.grade(&request, None))
            .unwrap();
        let passed = reply
            .results
            .iter()
            .filter(|result| result.pass == Some(true));
        assert_eq!(passed.count() * 2, reply.results.len());
    }

    fn model(&self) -> ModelInfo {
        let models = self.runtime.block_on(self.client.reward_models()).unwrap();
        models.reward_models[0].model.clone().unwrap()
    }

    fn refit(&self, folder: &Path, run: &str, words: &[&str]) -> Result<Vec<Value>, String> {
        let common = [
            "refit", "--server", &self.url, "--name", "judge", "--folder", ".",
        ];
        let common = [&common[..], &["--run", run, "--interval", "0"], words].concat();
        let out = trainer(folder, &common)?;
        Ok(out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect())
    }

    fn raw(&self, completion: &str) -> f32 {
        let input = json!({ "prompt": "777+1=", "completion": completion });
        let request = ScoreRequest {
            items: vec![serde_json::from_value(input).unwrap()],
            ..ScoreRequest::default()
        };
        let reply = self
            .runtime
            .block_on(self.client.score("judge", &request))
            .unwrap();
        let reply = serde_json::to_value(reply).unwrap();
        reply["results"][0]["raw"].to_string().parse().unwrap()
    }
}

#[test]
fn a_refit_model_replaces_the_served_one() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::new(folder.path(), "text");
    let start = served.model();
    assert_eq!(served.raw("778 good 0"), 0.0, "the head is zero");
    served.grade("run", 0..120);
    let words = [
        "--min-pairs",
        "100",
        "--per-prompt",
        "2",
        "--held-out",
        "0.2",
    ];
    let words = [
        &words[..],
        &["--rounds", "1", "--keep", "1", "--body", "adapters"],
    ]
    .concat();
    let rounds = served.refit(folder.path(), "run", &words).unwrap();
    let round = &rounds[0];
    assert_eq!(
        (
            rounds.len(),
            &round["pairs"],
            &round["new_pairs"],
            &round["replaced"]
        ),
        (1, &json!(240), &json!(240), &json!(true))
    );
    assert_eq!(round["accuracy_before"], 0.5);
    assert!(round["accuracy_after"].as_f64().unwrap() > 0.9, "{round}");
    assert!(round["held_out_pairs"].as_u64().unwrap() > 20, "{round}");
    let first = served.model();
    assert_eq!(
        (first.source.as_str(), Value::from(first.version.as_str())),
        ("judge-refits/000001", round["version"].clone())
    );
    assert_ne!(first.version, start.version);
    assert!(served.raw("778 good 0") > served.raw("778 worse 3"));

    // The next refit starts from the served model, and keeps it while requests may use it.
    served.grade("next", 200..320);
    let rounds = served.refit(folder.path(), "next", &words).unwrap();
    assert!(
        rounds[0]["accuracy_before"].as_f64().unwrap() > 0.9,
        "{rounds:?}"
    );
    assert_eq!(rounds[0]["pairs"], 480, "earlier pairs are used again");
    assert_eq!(served.model().source, "judge-refits/000002");
    let kept = |name: &str| folder.path().join("judge-refits").join(name).is_dir();
    assert!(kept("000001") && kept("000002"));
}

#[test]
fn a_reference_is_part_of_what_the_model_reads() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::new(folder.path(), "verify_rm");
    assert_eq!(served.model().template, "verify_rm");
    served.grade("run", 0..120);
    let words = ["--rounds", "1", "--min-pairs", "100", "--held-out", "0.2"];
    let words = [&words[..], &["--loss", "labels", "--reference", "/answer"]].concat();
    let rounds = served.refit(folder.path(), "run", &words).unwrap();
    assert_eq!(
        (&rounds[0]["unreadable"], &rounds[0]["replaced"]),
        (&json!(0), &json!(true))
    );
    let declared = fs::read_to_string(folder.path().join("judge-refits/000001/assay.json"));
    let declared: Value = serde_json::from_str(&declared.unwrap()).unwrap();
    assert_eq!(declared, json!({ "template": "verify_rm" }));
    let pairs = [("after", "0".to_owned()), ("limit", "1".to_owned())];
    let pairs = served.client.pairs("judge", &pairs);
    let pairs = served.runtime.block_on(pairs).unwrap();
    assert_eq!(pairs.pairs[0].reference.as_deref(), Some("good"));
}

#[test]
fn reports_what_prevents_a_refit() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::new(folder.path(), "text");
    served.grade("run", 0..120);
    let words = ["--rounds", "1", "--min-pairs", "10"];
    // Options that only the service knows would change how texts are read.
    let options = json!({ "max_tokens": 64 }).as_object().cloned();
    let load = LoadRequest {
        options,
        ..LoadRequest::default()
    };
    served
        .runtime
        .block_on(served.client.load_model("judge", &load))
        .unwrap();
    let error = served.refit(folder.path(), "run", &words).unwrap_err();
    assert!(
        error.contains("differs from the model that the service has loaded"),
        "{error}"
    );
    let error = served
        .refit(folder.path(), "run", &["--output", "../out"])
        .unwrap_err();
    assert!(
        error.contains("`--output` must be a path below `--folder`"),
        "{error}"
    );
    let error = served
        .refit(folder.path(), "run", &["--held-out", "1"])
        .unwrap_err();
    assert!(error.contains("`--held-out` must be"), "{error}");
}
