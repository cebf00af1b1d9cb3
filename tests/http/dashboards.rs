//! The dashboard of Grafana and the rules of Prometheus use metrics and labels that a node has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::{Value, json};

use crate::http::fixtures::{batch, item, service};

/// Labels that Prometheus adds.
const OF_PROMETHEUS: [&str; 2] = ["instance", "job"];

/// Labels and their values, by the name of the metric.
type Series = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

fn series(metrics: &str) -> Series {
    let label = Regex::new(r#"([a-z_]+)="([^"]*)""#).unwrap();
    let mut series = Series::new();
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let Some(name) = line.split(['{', ' ']).next() else {
            continue;
        };
        let labels = series.entry(name.to_owned()).or_default();
        for pair in label.captures_iter(line) {
            let values = labels.entry(pair[1].to_owned()).or_default();
            values.insert(pair[2].to_owned());
        }
    }
    series
}

/// What is wrong with an expression, if anything. Returns the number of metrics in it.
fn check(expression: &str, series: &Series) -> Result<usize, String> {
    let metric = Regex::new(r"\b(assay_[a-z_]+)(?:\{([^}]*)\})?").unwrap();
    let matcher = Regex::new(r#"([a-z_]+)\s*(=~|!=|!~|=)\s*"([^"]*)""#).unwrap();
    let grouping = Regex::new(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)").unwrap();
    let groups: Vec<String> = grouping
        .captures_iter(expression)
        .flat_map(|group| group[1].split(',').map(str::to_owned).collect::<Vec<_>>())
        .map(|label| label.trim().to_owned())
        .filter(|label| !OF_PROMETHEUS.contains(&label.as_str()))
        .collect();
    let mut metrics = 0;
    for used in metric.captures_iter(expression) {
        metrics += 1;
        let labels = series
            .get(&used[1])
            .ok_or_else(|| format!("no metric `{}`", &used[1]))?;
        for group in &groups {
            if !labels.contains_key(group) {
                return Err(format!("`{}` has no label `{group}`", &used[1]));
            }
        }
        let matchers = used.get(2).map_or("", |matchers| matchers.as_str());
        for matched in matcher.captures_iter(matchers) {
            let values = labels
                .get(&matched[1])
                .ok_or_else(|| format!("`{}` has no label `{}`", &used[1], &matched[1]))?;
            if ["=", "!="].contains(&&matched[2]) && !values.contains(&matched[3]) {
                let (metric, label, value) = (&used[1], &matched[1], &matched[3]);
                return Err(format!("no `{metric}` has `{label}=\"{value}\"`"));
            }
        }
    }
    Ok(metrics)
}

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).unwrap()
}

#[tokio::test]
async fn metrics_and_labels_of_dashboards_and_rules_exist() {
    let service = service().await;
    // Histograms have series from the first value.
    service.grade(&batch([item("1", "1")])).await;
    let series = series(&service.get("/metrics").await.text());

    let dashboard: Value = serde_json::from_str(&read("deploy/grafana/assay.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap());
    let of_panels: Vec<String> = targets
        .map(|target| target["expr"].as_str().unwrap().to_owned())
        .collect();
    assert!(of_panels.len() >= panels.len() && panels.len() > 10);
    for expression in &of_panels {
        assert!(check(expression, &series).unwrap() > 0, "{expression}");
    }

    let rules = read("deploy/prometheus/assay.rules.yml");
    let of_rules: Vec<&str> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "))
        .collect();
    assert_eq!(of_rules.len(), rules.matches("- alert: ").count());
    assert!(of_rules.len() > 8);
    for expression in of_rules {
        let metrics = check(expression, &series).unwrap();
        assert!(
            metrics > 0 || expression.contains("up{job="),
            "{expression}"
        );
    }
}

#[test]
fn unknown_metrics_labels_and_values_are_found() {
    let series = series("assay_a{x=\"1\"} 0\nassay_b 7\n");
    for (expression, expected) in [
        ("sum by (x) (rate(assay_a[5m]))", Ok(1)),
        ("assay_a{x=\"1\"} / on (instance) assay_b", Ok(2)),
        ("assay_c", Err("no metric `assay_c`")),
        ("assay_a{y=\"1\"}", Err("`assay_a` has no label `y`")),
        ("assay_a{x=\"2\"}", Err("no `assay_a` has `x=\"2\"`")),
        ("sum by (x) (assay_b)", Err("`assay_b` has no label `x`")),
    ] {
        let found = check(expression, &series);
        assert_eq!(json!(found), json!(expected), "{expression}");
    }
}
