//! `/metrics` of a node that has counted nothing yet.

use std::collections::BTreeMap;

use crate::fixtures::{assay, serve, text};

/// Documented counters that a node without reward models does not have.
const OF_MODELS: [&str; 4] = [
    "assay_model_tokens_total",
    "assay_model_cache_total",
    "assay_model_saturated_groups_total",
    "assay_model_batch_failures_total",
];

const POLICY: &str = r#"
[policies.judged]
[[policies.judged.appeals]]
judge = { type = "math", answer = "{{ task.answer }}" }
negatives = 1.0

[judges.helpful]
url = "http://127.0.0.1:1/"
model = "m"
"#;

#[tokio::test]
async fn counters_start_at_zero_for_all_known_labels() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("assay.toml"), POLICY).unwrap();
    let create = [
        "keys",
        "create",
        "op",
        "--role",
        "operator",
        "--database",
        "sqlite://assay.db",
    ];
    let created = assay(folder, &create);
    assert!(created.status.success(), "{}", text(&created.stderr));
    let key = text(&created.stdout).trim().to_owned();
    let (_server, base) = serve(folder);
    let request = reqwest::Client::new().get(format!("{base}/metrics"));
    let reply = request.bearer_auth(key).send().await.unwrap();
    let metrics = reply.text().await.unwrap();

    let mut series: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        series.entry(name).or_default().push(line);
    }
    // Every counter of the documents has series before anything is counted.
    let documented = include_str!("../../../../docs/OPERATIONS.md")
        .split('`')
        .filter(|name| name.starts_with("assay_") && name.ends_with("_total"));
    let mut counters: Vec<&str> = documented
        .filter(|name| !OF_MODELS.contains(name))
        .collect();
    counters.sort_unstable();
    counters.dedup();
    assert!(counters.len() > 15, "{counters:?}");
    for counter in counters {
        assert!(series.contains_key(counter), "{counter}: {metrics}");
    }
    let has = |name: &str, labels: &[&str]| {
        let found = series[name]
            .iter()
            .any(|line| line.ends_with(" 0") && labels.iter().all(|label| line.contains(label)));
        assert!(found, "{name} {labels:?}: {:#?}", series[name]);
    };
    has(
        "assay_grades_total",
        &[
            "grader=\"math\"",
            "outcome=\"failed\"",
            "code=\"grader_panicked\"",
            "cached=\"false\"",
        ],
    );
    has(
        "assay_grades_total",
        &["grader=\"code\"", "verdict=\"too_long\""],
    );
    has(
        "assay_grades_total",
        &[
            "grader=\"sql\"",
            "verdict=\"step_limit\"",
            "cached=\"true\"",
        ],
    );
    has(
        "assay_appeals_total",
        &["grader=\"text\"", "judge=\"math@", "result=\"overturned\""],
    );
    has(
        "assay_batches_rejected_total",
        &["setting=\"engine.items_in_flight\"", "used_by=\"all\""],
    );
    has("assay_callers_refused_total", &["reason=\"expired\""]);
    has(
        "assay_key_quota_exceeded_total",
        &["key=\"op\"", "quota=\"bytes_stored\""],
    );
    has("assay_connections_closed_total", &["reason=\"stalled\""]);
    has("assay_sandbox_workers_ended_total", &["reason=\"crashed\""]);
    has(
        "assay_sandbox_limits_total",
        &[
            "outcome=\"ungradable\"",
            "cause=\"module\"",
            "name=\"numpy\"",
        ],
    );
    has("assay_store_append_failures_total", &[]);
    has("assay_alert_firing", &["rule=\"reward_drop\""]);
    has("assay_alert_notifications_total", &["result=\"failed\""]);
    has("assay_model_rejected_total", &["code=\"overloaded\""]);
}
