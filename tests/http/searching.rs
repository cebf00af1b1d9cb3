//! Searches for texts over HTTP and on the page of grades.

use assay_record::access::{Quotas, Role};
use serde_json::{Value, json};

use crate::http::access::Keyed;
use crate::http::fixtures::{Service, batch, item, service, service_with};
use crate::http::pages::text;

async fn searching() -> Service {
    service_with(|config| config.store.text_search = true).await
}

/// Grades completions, each with a prompt that names its position.
async fn grade(service: &Service, run: &str, completions: &[&str]) {
    let items = completions
        .iter()
        .enumerate()
        .map(|(position, completion)| {
            let mut item = item("42", completion);
            item["prompt"] =
                json!([{ "role": "user", "content": format!("Question {position}?") }]);
            item
        });
    let mut request = batch(items);
    request["run"] = json!(run);
    request["step"] = json!(1);
    assert_eq!(service.grade(&request).await.status, 200);
}

/// The positions of the grades on the pages of a search.
async fn found(service: &Service, query: &str) -> Vec<u64> {
    let (mut positions, mut before) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/grades?limit=2&{query}{before}");
        let got = service.get(&path).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let page = got.json();
        let grades = page["grades"].as_array().unwrap();
        positions.extend(
            grades
                .iter()
                .map(|grade| grade["position"].as_u64().unwrap()),
        );
        match &page["next"] {
            Value::String(next) => before = format!("&before={next}"),
            _ => return positions,
        }
    }
}

#[tokio::test]
async fn a_search_without_the_setting_names_it() {
    let service = service().await;
    grade(&service, "r", &["so \\boxed{42}"]).await;
    let got = service.get("/v1/grades?text=boxed").await;
    assert_eq!(got.status, 400);
    assert!(
        got.text().contains("store.text_search = true"),
        "{}",
        got.text()
    );
    let got = service.get("/ui/grades?text=boxed").await;
    assert_eq!(got.status, 400);
    assert!(
        got.text().contains("store.text_search = true"),
        "{}",
        got.text()
    );
    assert!(!text(&service, "/ui/grades").await.contains("name=\"text\""));
    let storage = service.get("/v1/storage").await.json();
    assert_eq!(storage["text_bytes"], Value::Null);
    assert!(
        !text(&service, "/ui/storage")
            .await
            .contains("index of texts")
    );
}

#[tokio::test]
async fn finds_words_with_other_filters_page_by_page() {
    let service = searching().await;
    let completions = [
        "Six times seven: \\boxed{42}",
        "perhaps \\boxed{41}",
        "Six and seven make \\boxed{42}",
        "six times eight is \\boxed{48}",
        "\\boxed{42} is six",
    ];
    grade(&service, "r", &completions).await;
    grade(&service, "other", &completions[1..2]).await;
    for (query, positions) in [
        ("text=six", vec![4, 3, 2, 0]),
        ("text=six&run=r&verdict=correct", vec![4, 2, 0]),
        ("text=%22six+times%22", vec![3, 0]),
        ("text=six+-%22six+times%22", vec![4, 2]),
        ("text=ques*+perhaps", vec![0, 1]),
        ("text=perhaps&run=other", vec![0]),
        ("text=perhaps&run=never", vec![]),
        ("text=boxed+48&step=1", vec![3]),
        ("text=boxed+48&step=2", vec![]),
        ("text=completion%3Asix+OR+1", vec![]),
    ] {
        assert_eq!(found(&service, query).await, positions, "{query}");
    }
    for (query, reason) in [
        ("text=", "empty"),
        ("text=%22open", "quote"),
        ("text=-six", "excluded"),
        ("text=si*", "too short"),
        (&format!("text={}", "a".repeat(257)), "at most 256"),
    ] {
        let got = service.get(&format!("/v1/grades?{query}")).await;
        assert_eq!(got.refusal().0, 400, "{query}");
        assert!(got.text().contains(reason), "{query}: {}", got.text());
    }
    let storage = service.get("/v1/storage").await.json();
    assert!(storage["text_bytes"].as_u64() > Some(0));
    assert!(
        text(&service, "/ui/storage")
            .await
            .contains("index of texts")
    );
}

#[tokio::test]
async fn the_page_keeps_a_search_in_its_form_and_links() {
    let service = searching().await;
    grade(&service, "r", &["<b>six</b> \\boxed{42}"; 60]).await;
    let page = text(&service, "/ui/grades?text=%22b+six%22+box*&verdict=correct").await;
    for part in [
        "name=\"text\" value=\"&#34;b six&#34; box*\"",
        "text=%22b+six%22+box*&#38;before=",
        "<bdi>correct</bdi> <small>60</small>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(page.matches("<tr class=\"row\">").count(), 50);
    let got = service.get("/ui/grades?text=%22open").await;
    assert_eq!(got.status, 400);
    let invalid = "name=\"text\" value=\"&#34;open\" aria-invalid=\"true\"";
    assert!(got.text().contains(invalid), "{}", got.text());
}

#[tokio::test]
async fn a_caller_does_not_find_the_grades_of_others() {
    let keyed = Keyed::start_with(|config| config.store.text_search = true).await;
    let alice = keyed
        .create("alice", Role::Trainer, Quotas::default())
        .await;
    let bob = keyed.create("bob", Role::Trainer, Quotas::default()).await;
    for (key, word) in [(&alice, "apple"), (&bob, "banana")] {
        let request = batch([item("42", &format!("{word} shared \\boxed{{42}}"))]);
        assert_eq!(keyed.grade(key, &request).await.status, 200);
    }
    let count = async |key, search: &str| {
        let path = format!("/v1/grades?text={search}");
        let page = keyed.get(key, &path).await.json();
        page["grades"].as_array().unwrap().len()
    };
    assert_eq!(count(&alice, "shared").await, 1);
    assert_eq!(count(&alice, "banana").await, 0);
    assert_eq!(count(&bob, "banana").await, 1);
    assert_eq!(count(keyed.key(Role::Operator), "shared").await, 2);
}
