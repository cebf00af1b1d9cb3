//! The service reads, counts and replays a record that `assay-measure fill` generated.

use std::path::Path;
use std::sync::Arc;

use assay_core::{Clock, SystemClock};
use assay_record::{Record, RecordOptions};
use assay_tests::filling::{Amount, fill};
use serde_json::Value;

use crate::http::fixtures::{Service, service_with};

async fn listed(service: &Service, query: &str) -> Vec<Value> {
    let (mut rows, mut next) = (Vec::new(), Some(String::new()));
    while let Some(before) = next {
        let page = service
            .get(&format!("/v1/grades?limit=1000&{query}{before}"))
            .await
            .json();
        rows.extend(page["grades"].as_array().unwrap().clone());
        next = page["next"].as_str().map(|id| format!("&before={id}"));
    }
    rows
}

#[tokio::test]
async fn a_generated_record_reads_like_a_graded_one() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", folder.path().join("filled.db").display());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let amount = Amount {
        grades: 2_000,
        seed: 1,
        until_us: clock.unix_us(),
    };
    let store = Arc::new(
        Record::open(&RecordOptions::new(&database), clock)
            .await
            .unwrap(),
    );
    let config = assay_tests::config(Path::new(env!("CARGO_BIN_EXE_assay-measure"))).unwrap();
    let written = fill(config, &store, amount, |_| {}).await.unwrap();
    store.close().await.unwrap();
    let service = service_with(|config| config.store.database = database.into()).await;

    let all = listed(&service, "").await;
    assert_eq!(all.len() as u64, written);
    let runs = service.get("/v1/runs").await.json();
    for run in runs["runs"].as_array().unwrap().iter().take(12) {
        let name = run["run"].as_str().unwrap();
        let of_run: Vec<&Value> = all.iter().filter(|grade| grade["run"] == *name).collect();
        assert_eq!(of_run.len() as u64, run["grades"].as_u64().unwrap());
        let detail = service
            .get(&format!("/v1/runs/{name}?steps=10000"))
            .await
            .json();
        let by_step: u64 = detail["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| step["grades"].as_u64().unwrap())
            .sum();
        assert_eq!(by_step, run["grades"].as_u64().unwrap());
    }

    let group = all[all.len() / 2]["group"].as_str().unwrap();
    let item = all[all.len() / 3]["id"].as_str().unwrap();
    let score = |grade: &Value, range: std::ops::RangeInclusive<f64>| {
        grade["score"]
            .as_f64()
            .is_some_and(|score| range.contains(&score))
    };
    type Holds<'a> = Box<dyn Fn(&Value) -> bool + 'a>;
    let filters: [(String, Holds<'_>); 5] = [
        (
            format!("group={group}"),
            Box::new(|grade| grade["group"] == group),
        ),
        (format!("id={item}"), Box::new(|grade| grade["id"] == item)),
        (
            "score_min=0.3&score_max=0.8".to_owned(),
            Box::new(|grade| score(grade, 0.3..=0.8)),
        ),
        (
            "score_min=0.2".to_owned(),
            Box::new(|grade| score(grade, 0.2..=1.0)),
        ),
        (
            "grader=structured&verdict=correct".to_owned(),
            Box::new(|grade| {
                grade["channel"] == "structured/default" && grade["verdict"] == "correct"
            }),
        ),
    ];
    for (query, keeps) in filters {
        let kept: Vec<&Value> = all.iter().filter(|grade| keeps(grade)).collect();
        assert_eq!(
            listed(&service, &query).await.iter().collect::<Vec<_>>(),
            kept,
            "{query}"
        );
    }

    let graded = all
        .iter()
        .filter(|grade| grade["grader"] == "math@2" && grade["outcome"] == "graded");
    for grade in graded.take(20) {
        let path = format!("/v1/grades/{}/replay", grade["grade"].as_str().unwrap());
        let request = http::Request::post(path)
            .body(axum::body::Body::empty())
            .unwrap();
        let replay = service.send(request).await.json();
        assert_eq!(replay["flipped"], false, "{replay}");
    }
}
