//! Alerts of a running service: evaluated on its timer, in its metrics.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fixtures::serve_with;

/// Maximum number of reads until a change, ten a second.
const MAX_READS: u32 = 300;

struct Service {
    client: reqwest::Client,
    base: String,
}

impl Service {
    /// Grades a step of twenty items.
    async fn step(&self, step: u32, task: &Value) {
        let items = vec![json!({ "completion": "1", "task": task }); 20];
        let body = json!({ "run": "r", "step": step, "items": items });
        let request = self.client.post(format!("{}/v1/grade", self.base));
        let reply = request.json(&body).send().await.unwrap();
        assert!(
            reply.status().is_success(),
            "{}",
            reply.text().await.unwrap()
        );
    }

    async fn waits_for(&self, line: &str) {
        let mut metrics = String::new();
        for _ in 0..MAX_READS {
            let request = self.client.get(format!("{}/metrics", self.base));
            metrics = request.send().await.unwrap().text().await.unwrap();
            if metrics.lines().any(|known| known == line) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("no `{line}` in {metrics}");
    }
}

#[tokio::test]
async fn planted_failures_fire_and_clear_in_the_metrics() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let settings = [
        ("ASSAY_ALERTS_SECONDS", "1"),
        ("ASSAY_ALERTS_MINIMUM_ITEMS", "20"),
        ("ASSAY_ALERTS_STEPS", "2"),
    ];
    let (_server, base) = serve_with(folder.path(), &settings);
    let service = Service {
        client: reqwest::Client::new(),
        base,
    };
    service
        .waits_for(r#"assay_alert_firing{rule="failures"} 0"#)
        .await;
    // No reward model is loaded.
    service.step(1, &json!({ "type": "reward_model" })).await;
    service
        .waits_for(r#"assay_alert_firing{rule="failures"} 1"#)
        .await;
    let failed = r#"assay_grades_total{grader="reward_model",outcome="failed",verdict="","#;
    let failed = format!(r#"{failed}code="grader_unavailable",cached="false"}} 20"#);
    service.waits_for(&failed).await;
    for step in 2..4 {
        service
            .step(step, &json!({ "type": "text", "answer": "1" }))
            .await;
    }
    service
        .waits_for(r#"assay_alert_firing{rule="failures"} 0"#)
        .await;
}
