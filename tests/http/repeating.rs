//! One reply for each idempotency key.

use crate::http::fixtures::{batch, item, service, service_with};

#[tokio::test]
async fn an_idempotent_request_gets_the_same_bytes() {
    let service = service().await;
    let request = batch([item("1", "1"), item("1", "2")]);
    let mut short = request.clone();
    short["fields"] = "reward verdict".split(' ').collect();
    for (request, accept) in [
        (&request, "application/json"),
        (&request, "application/x-ndjson"),
        (&short, "application/json"),
        (&short, "application/x-ndjson"),
    ] {
        let request = request.to_string();
        let key = format!("key-{}-{accept}", request.len());
        let headers = [("idempotency-key", key.as_str()), ("accept", accept)];
        let first = service.grade_with(request.clone(), &headers).await;
        let second = service.grade_with(request.clone(), &headers).await;
        assert_eq!(
            (first.status.as_u16(), first.bytes),
            (200, second.bytes),
            "{accept}"
        );
        assert_eq!(second.headers["content-type"], accept);
    }
    assert_eq!(
        service.get("/v1/grades").await.json()["grades"]
            .as_array()
            .unwrap()
            .len(),
        8
    );
}

#[tokio::test]
async fn idempotent_replies_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", folder.path().join("kept.db").display());
    let request = batch([item("1", "1")]).to_string();
    let mut bytes = Vec::new();
    for _ in 0..2 {
        let service = service_with(|config| config.store.database = database.as_str().into()).await;
        bytes.push(
            service
                .grade_with(request.clone(), &[("idempotency-key", "k")])
                .await
                .bytes,
        );
        service.node.stop().await;
    }
    assert_eq!(bytes[0], bytes[1]);
}

#[tokio::test]
async fn rejects_an_idempotency_key_with_another_body() {
    let service = service().await;
    let send = async |answer: &str| {
        service
            .grade_with(
                batch([item(answer, "1")]).to_string(),
                &[("idempotency-key", "k")],
            )
            .await
    };
    assert_eq!(send("1").await.status, 200);
    assert_eq!(
        send("2").await.refusal(),
        (422, "idempotency_mismatch".into(), None)
    );
    let headers = [("idempotency-key", "k"), ("accept", "application/x-ndjson")];
    let streamed = service
        .grade_with(batch([item("1", "1")]).to_string(), &headers)
        .await;
    assert_eq!(
        streamed.refusal(),
        (422, "idempotency_mismatch".into(), None)
    );
    let problem = streamed.json();
    assert!(
        problem["error"]["message"]
            .as_str()
            .unwrap()
            .contains("another `Accept`"),
        "{problem}"
    );
}
