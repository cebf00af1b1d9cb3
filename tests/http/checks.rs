//! Dataset checks are stored as sent.

use serde_json::{Value, json};

use crate::http::fixtures::{Service, service, service_with};

/// A report over so many rows of two datasets.
pub(crate) fn report(rows: u64) -> Value {
    json!({
        "version": "0.1.0", "errors": 1, "warnings": 0,
        "datasets": [
            { "dataset": "a.jsonl", "revision": null, "rows": rows, "checked": rows, "tasks": { "math": rows },
              "right": {}, "mutants": { "math": { "tried": 10, "killed": 9 } },
              "unchecked": { "text": 1 }, "work": {} },
            { "dataset": "hf://org/b@r1/b.parquet", "revision": "r1", "rows": 5, "checked": 1, "tasks": {}, "right": {},
              "mutants": {}, "unchecked": {}, "work": {} },
        ],
        "counts": { "gold-missing": 1 }, "known": 0, "ignored": 2, "unlisted": 0, "failed": 0, "first_failure": null,
        "findings": [{ "code": "gold-missing", "severity": "error", "dataset": "a.jsonl", "line": 1, "key": "p1",
            "message": "the gold answer `N/A` says that there is none" }],
    })
}

async fn stored(service: &Service, report: &Value) -> Value {
    let got = service.post("/v1/checks", report).await;
    assert_eq!(got.status, 200, "{:?}", got.bytes);
    got.json()
}

#[tokio::test]
async fn lists_dataset_checks_newest_first_and_returns_them_whole() {
    let service = service().await;
    let mut sent = Vec::new();
    for rows in 1..=5 {
        sent.push(stored(&service, &report(rows)).await);
    }
    assert_eq!(
        sent[2]["datasets"],
        json!(["a.jsonl", "hf://org/b/b.parquet"])
    );
    assert_eq!(
        (
            &sent[2]["checked"],
            &sent[2]["errors"],
            &sent[2]["warnings"]
        ),
        (&json!(4), &json!(1), &json!(0))
    );
    let (mut listed, mut next) = (Vec::new(), Some(String::new()));
    while let Some(before) = next {
        let page = service
            .get(&format!("/v1/checks?limit=2{before}"))
            .await
            .json();
        listed.extend(page["checks"].as_array().unwrap().clone());
        next = page["next"].as_str().map(|id| format!("&before={id}"));
    }
    // Ids of one millisecond are in no order.
    sent.sort_by_key(|check| std::cmp::Reverse(check["check"].to_string()));
    let newest = sent[0]["checked"].as_u64().unwrap() - 1;
    assert_eq!(listed, sent);
    let mut detail = service
        .get(&format!(
            "/v1/checks/{}",
            sent[0]["check"].as_str().unwrap()
        ))
        .await
        .json();
    assert_eq!(
        detail.as_object_mut().unwrap().remove("report"),
        Some(report(newest))
    );
    assert_eq!(detail, sent[0]);
}

#[tokio::test]
async fn rejects_malformed_reports_with_a_pointer() {
    let service = service().await;
    let mut without = report(1);
    without["datasets"] = json!([]);
    let refusal = service.post("/v1/checks", &without).await.refusal();
    assert_eq!(
        refusal,
        (422, "invalid_field".into(), Some("/datasets".into()))
    );
    let mut many = report(1);
    many["datasets"] = json!(vec![many["datasets"][0].clone(); 1_001]);
    assert_eq!(
        service
            .post("/v1/checks", &many)
            .await
            .refusal()
            .2
            .as_deref(),
        Some("/datasets")
    );
    let mut uncounted = report(1);
    uncounted["errors"] = json!(2);
    assert_eq!(
        service
            .post("/v1/checks", &uncounted)
            .await
            .refusal()
            .2
            .as_deref(),
        Some("/counts")
    );
    let mut long = report(1);
    long["findings"][0]["code"] = json!("x".repeat(1_025));
    assert_eq!(
        service
            .post("/v1/checks", &long)
            .await
            .refusal()
            .2
            .as_deref(),
        Some("/findings/0/code")
    );
    let mut huge = report(1);
    huge["known"] = json!(u64::MAX);
    assert_eq!(
        service
            .post("/v1/checks", &huge)
            .await
            .refusal()
            .2
            .as_deref(),
        Some("/known")
    );
    let mut odd = report(1);
    odd["findings"][0]["severity"] = json!("fatal");
    let refusal = service.post("/v1/checks", &odd).await.refusal();
    assert_eq!(
        refusal,
        (
            422,
            "invalid_field".into(),
            Some("/findings/0/severity".into())
        )
    );
    for path in [
        "/v1/checks/x",
        "/v1/checks?before=x",
        "/v1/checks?limit=0",
        "/v1/checks?after=x",
    ] {
        assert_eq!(
            service.get(path).await.refusal().1,
            "invalid_parameter",
            "{path}"
        );
    }
    assert_eq!(
        service
            .get("/v1/checks/01JD5XW7P9V6F8K4M3N2Q1R0ST")
            .await
            .refusal()
            .1,
        "not_found"
    );
}

#[tokio::test]
async fn rejects_dataset_checks_without_a_record() {
    let service = service_with(|config| config.store.database = "".into()).await;
    assert_eq!(
        service.post("/v1/checks", &report(1)).await.refusal().1,
        "store_unavailable"
    );
    assert_eq!(
        service.get("/v1/checks").await.refusal().1,
        "store_unavailable"
    );
}
