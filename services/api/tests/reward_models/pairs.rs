//! `/v1/reward-models/{name}/pairs`.

use assay_api::ApiLimits;
use http::Method;
use serde_json::{Value, json};

use crate::fixtures::{model, recording, service_with};

const PAIRS: &str = "/v1/reward-models/rm/pairs";

fn pair(n: usize) -> Value {
    json!({
        "prompt": format!("{n}+{n}?"),
        "accepted": format!("it is {}", 2 * n),
        "rejected": "it is -1",
    })
}

#[tokio::test]
async fn stores_pairs_once_and_lists_them_in_order() {
    let service = recording(vec![model("rm", "scalar")]).await;
    let collect = async |pairs: Value| service.post(PAIRS, &json!({ "pairs": pairs })).await.json();
    assert_eq!(
        collect(json!([pair(1), pair(2), pair(1)])).await,
        json!({ "added": 2, "known": 1, "total": 2 })
    );
    let mut with_source = pair(2);
    with_source["source"] = json!({ "run": "r", "step": 7 });
    assert_eq!(
        collect(json!([with_source])).await["known"],
        1,
        "the source is ignored when pairs are compared"
    );
    let mut third = pair(3);
    third["source"] = json!({ "run": "r", "step": 7, "worker": 1 });
    third["reference"] = json!("6");
    assert_eq!(
        collect(json!([third])).await,
        json!({ "added": 1, "known": 0, "total": 3 })
    );

    let first = service.get(&format!("{PAIRS}?limit=2")).await.json();
    assert_eq!(
        (first["pairs"].as_array().unwrap().len(), &first["more"]),
        (2, &json!(true))
    );
    assert_eq!(first["pairs"][0]["accepted"], "it is 2");
    let rest = service
        .get(&format!("{PAIRS}?after={}", first["next"]))
        .await
        .json();
    assert_eq!(rest["more"], false);
    let third = &rest["pairs"][0];
    assert_eq!(
        (&third["reference"], &third["source"]["worker"]),
        (&json!("6"), &json!(1))
    );
    assert_eq!(third["pair"].as_str().unwrap().len(), 64);
    let later = service
        .get(&format!("{PAIRS}?after={}", rest["next"]))
        .await
        .json();
    assert_eq!(
        later,
        json!({ "pairs": [], "next": rest["next"], "more": false }),
        "a cursor stays valid"
    );
}

#[tokio::test]
async fn models_do_not_share_pairs() {
    let service = recording(vec![model("rm", "scalar"), model("other", "scalar")]).await;
    service.post(PAIRS, &json!({ "pairs": [pair(1)] })).await;
    assert_eq!(
        service.get("/v1/reward-models/other/pairs").await.json()["pairs"],
        json!([])
    );
    let got = service
        .post(
            "/v1/reward-models/other/pairs",
            &json!({ "pairs": [pair(1)] }),
        )
        .await;
    assert_eq!(got.json(), json!({ "added": 1, "known": 0, "total": 1 }));
}

#[tokio::test]
async fn pairs_outlive_their_model_but_cannot_be_added_without_it() {
    let service = recording(vec![model("rm", "scalar")]).await;
    service.post(PAIRS, &json!({ "pairs": [pair(1)] })).await;
    service
        .send(Method::DELETE, "/v1/reward-models/rm", String::new())
        .await;
    assert_eq!(
        service.get(PAIRS).await.json()["pairs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        service
            .post(PAIRS, &json!({ "pairs": [pair(2)] }))
            .await
            .error()
            .1,
        "unknown_model"
    );
}

#[tokio::test]
async fn rejects_invalid_pairs_with_pointers() {
    let service = recording(vec![model("rm", "scalar")]).await;
    let rejected = async |pairs: Value| {
        service
            .post(PAIRS, &json!({ "pairs": pairs }))
            .await
            .error()
    };
    let mut equal = pair(1);
    equal["rejected"] = equal["accepted"].clone();
    let at = |pointer: &str| (422, "invalid_field".to_owned(), Some(pointer.to_owned()));
    assert_eq!(
        rejected(json!([pair(1), equal])).await,
        at("/pairs/1/rejected")
    );
    let mut no_answer = pair(1);
    no_answer["accepted"] = json!([{ "role": "user", "content": "?" }]);
    assert_eq!(rejected(json!([no_answer])).await, at("/pairs/0/accepted"));
    let mut typo = pair(1);
    typo["referense"] = json!("2");
    assert_eq!(rejected(json!([typo])).await, at("/pairs/0/referense"));
    assert_eq!(rejected(json!([])).await.1, "empty_batch");
    assert_eq!(
        service.get(PAIRS).await.json()["pairs"],
        json!([]),
        "a request is stored completely or not at all"
    );
    assert_eq!(
        service.get(&format!("{PAIRS}?limit=0")).await.error().1,
        "invalid_parameter"
    );
    assert_eq!(
        service.get(&format!("{PAIRS}?before=1")).await.error().1,
        "invalid_parameter"
    );
}

#[tokio::test]
async fn rejects_too_many_pairs() {
    let limits = ApiLimits {
        batch_items: 1,
        ..ApiLimits::default()
    };
    let service = service_with(vec![model("rm", "scalar")], limits);
    assert_eq!(
        service
            .post(PAIRS, &json!({ "pairs": [pair(1), pair(2)] }))
            .await
            .error()
            .1,
        "too_many_items"
    );
}
