//! `/v1/reward-models/{name}/pairs`.

use assay_api::ApiLimits;
use http::Method;
use serde_json::{Value, json};

use crate::fixtures::{model, one, service, service_with};

const PAIRS: &str = "/v1/reward-models/rm/pairs";

fn pair(n: usize) -> Value {
    json!({ "prompt": format!("{n}+{n}?"), "accepted": format!("it is {}", 2 * n), "rejected": "it is -1" })
}

#[tokio::test]
async fn pairs_are_kept_once_and_handed_out_in_order() {
    let service = one("scalar");
    let collect = async |pairs: Value| service.post(PAIRS, &json!({ "pairs": pairs })).await.json();
    assert_eq!(
        collect(json!([pair(1), pair(2), pair(1)])).await,
        json!({ "added": 2, "known": 1, "total": 2 })
    );
    let mut sourced = pair(2);
    sourced["source"] = json!({ "run": "r", "step": 7 });
    assert_eq!(
        collect(json!([sourced])).await["known"],
        1,
        "where it comes from is no part of a pair"
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
        "a cursor stays good"
    );
}

#[tokio::test]
async fn models_do_not_share_pairs() {
    let service = service(vec![model("rm", "scalar"), model("other", "scalar")]);
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
async fn pairs_outlive_their_model_but_are_not_collected_for_none() {
    let service = one("scalar");
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
            .refusal()
            .1,
        "unknown_model"
    );
}

#[tokio::test]
async fn a_pair_that_teaches_nothing_is_refused_by_its_pointer() {
    let service = one("scalar");
    let refused = async |pairs: Value| {
        service
            .post(PAIRS, &json!({ "pairs": pairs }))
            .await
            .refusal()
    };
    let mut equal = pair(1);
    equal["rejected"] = equal["accepted"].clone();
    let at = |pointer: &str| (422, "invalid_field".to_owned(), Some(pointer.to_owned()));
    assert_eq!(
        refused(json!([pair(1), equal])).await,
        at("/pairs/1/rejected")
    );
    let mut silent = pair(1);
    silent["accepted"] = json!([{ "role": "user", "content": "?" }]);
    assert_eq!(refused(json!([silent])).await, at("/pairs/0/accepted"));
    let mut typo = pair(1);
    typo["referense"] = json!("2");
    assert_eq!(refused(json!([typo])).await, at("/pairs/0/referense"));
    assert_eq!(refused(json!([])).await.1, "empty_batch");
    assert_eq!(
        service.get(PAIRS).await.json()["pairs"],
        json!([]),
        "a request is kept whole or not at all"
    );
    assert_eq!(
        service.get(&format!("{PAIRS}?limit=0")).await.refusal().1,
        "invalid_parameter"
    );
    assert_eq!(
        service.get(&format!("{PAIRS}?before=1")).await.refusal().1,
        "invalid_parameter"
    );
}

#[tokio::test]
async fn more_pairs_than_a_batch_has_items_are_refused() {
    let limits = ApiLimits {
        batch_items: 1,
        ..ApiLimits::default()
    };
    let service = service_with(vec![model("rm", "scalar")], limits);
    assert_eq!(
        service
            .post(PAIRS, &json!({ "pairs": [pair(1), pair(2)] }))
            .await
            .refusal()
            .1,
        "too_many_items"
    );
}
