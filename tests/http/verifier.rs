//! The pages about the verifier: a channel by time, run and policy, what to do next, and drawn
//! grades that are assigned to operators.

use assay_access::Key;
use assay_record::access::{Quotas, Role};
use http::StatusCode;
use serde_json::{Value, json};

use crate::http::access::Keyed;
use crate::http::fixtures::{Got, batch, item};
use crate::http::noise::{answers, appealed, attentive};
use crate::http::pages::{location, send, text};

/// The part of a page from a text up to another one.
fn between<'h>(html: &'h str, from: &str, to: &str) -> &'h str {
    let (_, rest) = html.split_once(from).unwrap_or_else(|| panic!("{html}"));
    rest.split_once(to).unwrap_or_else(|| panic!("{html}")).0
}

/// The texts of the cells of the row of a table that starts with a name.
fn cells(table: &str, name: &str) -> Vec<String> {
    let rows = table.split("<tr").skip(1);
    let mut rows = rows.filter(|row| row.contains(&format!(">{name}</bdi>")));
    let row = rows.next().unwrap_or_else(|| panic!("{name}: {table}"));
    let cells = row.split("<td").skip(2);
    cells
        .map(|cell| {
            let text = cell.split_once('>').unwrap().1;
            text.split("</td>").next().unwrap().to_owned()
        })
        .collect()
}

#[tokio::test]
async fn the_page_of_a_channel_splits_its_rates_by_run_and_policy() {
    let service = attentive().await;
    let of_run = |mut batch: Value, run: &str| {
        batch["run"] = json!(run);
        batch["step"] = json!(1);
        batch
    };
    // Rates are known from the first batch, so judges overturn verdicts in the second.
    for _ in 0..2 {
        let judged = of_run(appealed(answers(40, 80, 60), 0.5), "judged");
        service.grade(&judged).await;
    }
    service.grade(&of_run(answers(0, 30, 30), "unjudged")).await;
    let page = text(&service, "/ui/channel?name=math%2Fdefault").await;
    for chart in [
        "False positives",
        "False negatives",
        "J",
        "Passed",
        "Coverage",
    ] {
        assert!(
            page.contains(&format!("aria-label=\"{chart}\"")),
            "{chart}: {page}"
        );
    }
    let facts = between(&page, "id=\"facts\"", "</dl>");
    // 80 of 180, twice, and 30 of 60 pass; 40 of 180 more are right.
    assert!(facts.contains("<dd>360 (85.7 %)</dd>"), "{facts}");
    assert!(
        facts.contains("<dt>passed before appeals</dt><dd>45.2 %</dd>"),
        "{facts}"
    );
    let runs = between(&page, "<h2>By run</h2>", "</table>");
    let judged = cells(runs, "judged");
    assert_eq!(judged[..2], ["360", "100.0 %"]);
    assert_eq!(judged[3], "44.4 %");
    let after: f64 = judged[4].trim_end_matches(" %").parse().unwrap();
    assert!((47.0..60.0).contains(&after), "{after}");
    assert!(judged[6].contains("measured"), "{}", judged[6]);
    let unjudged = cells(runs, "unjudged");
    assert_eq!(unjudged[..3], ["60", "0.0 %", "0 / 0"]);
    assert_eq!(unjudged[3..5], ["50.0 %", "50.0 %"]);
    assert!(unjudged[6].contains("not known"), "{}", unjudged[6]);
    let policies = between(&page, "<h2>By policy</h2>", "</table>");
    assert_eq!(cells(policies, "inline")[0], "360");
    assert_eq!(cells(policies, "default")[0], "60");

    // The first thing to do opens the verdicts that the judge contradicted.
    let steps = between(&page, "id=\"next-steps\"", "</section>");
    let first = between(steps, "<li>", "</li>");
    assert!(first.contains("contradicted"), "{steps}");
    let address = between(first, "href=\"", "\"").replace("&#38;", "&");
    let contradicted = text(&service, &address).await;
    assert!(contradicted.contains("class=\"row\""), "{address}");
    let channels = text(&service, "/ui/channels").await;
    assert!(channels.contains("Next: <a href="), "{channels}");

    let unknown = service.get("/ui/channel?name=math%2Fdefalt").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let html = String::from_utf8_lossy(&unknown.bytes);
    assert!(html.contains("did you mean `math/default`"), "{html}");
    let missing = service.get("/ui/channel").await;
    assert_eq!(missing.status, StatusCode::BAD_REQUEST);
}

async fn post(keyed: &Keyed, key: &Key, path: &str, form: &str) -> Got {
    let bearer = format!("Bearer {}", key.reveal());
    send(&keyed.service, path, form, &[("authorization", &bearer)]).await
}

async fn assigned(keyed: &Keyed, key: &Key, query: &str) -> String {
    let got = keyed.get(key, &format!("/ui/queue{query}")).await;
    assert_eq!(got.status, StatusCode::OK);
    let html = String::from_utf8_lossy(&got.bytes);
    between(&html, "id=\"assigned\"", "</section>").to_owned()
}

#[tokio::test]
async fn drawn_grades_are_assigned_until_they_are_adjudicated() {
    let keyed = Keyed::start().await;
    let (operator, trainer) = (keyed.key(Role::Operator), keyed.key(Role::Trainer));
    let other = keyed
        .create("other", Role::Operator, Quotas::default())
        .await;
    let items = (0..4).map(|n| item("2", &format!("\\boxed{{{n}}}")));
    keyed.grade(trainer, &batch(items)).await;
    let drawn = location(&post(&keyed, operator, "/ui/queue", "passes=false").await);
    let id = between(&drawn, "/ui/queue/", "?").to_owned();
    // Drawing over the API assigns as well.
    let next = "/v1/adjudications/next";
    let by_other = keyed
        .send(&other, http::Method::POST, next, &json!({}))
        .await;
    let by_other = by_other.json()["grade"]["grade"]
        .as_str()
        .unwrap()
        .to_owned();

    let mine = assigned(&keyed, operator, "").await;
    assert!(mine.contains(&id) && !mine.contains(&by_other), "{mine}");
    let all = assigned(&keyed, operator, "?assigned=all").await;
    assert!(all.contains(&id) && all.contains(&by_other), "{all}");
    let page = keyed.get(operator, &drawn).await;
    let html = String::from_utf8_lossy(&page.bytes);
    let choice = between(&html, "name=\"operator\"", "</select>");
    assert!(
        choice.contains("value=\"operator\" selected") && choice.contains("value=\"other\""),
        "{choice}"
    );
    assert!(
        !choice.contains("trainer"),
        "trainers cannot adjudicate: {choice}"
    );

    let assign = format!("/ui/queue/{id}/assign");
    for (key, form, status) in [
        (operator, "operator=trainer", StatusCode::BAD_REQUEST),
        (trainer, "operator=other", StatusCode::FORBIDDEN),
        (
            operator,
            "operator=other&passes=false",
            StatusCode::SEE_OTHER,
        ),
    ] {
        let got = post(&keyed, key, &assign, form).await;
        assert_eq!(got.status, status, "{form}");
    }
    assert!(!assigned(&keyed, operator, "").await.contains(&id));
    assert!(assigned(&keyed, &other, "").await.contains(&id));
    let adjudicated = format!("/ui/grades/{id}/adjudicate");
    post(&keyed, operator, &adjudicated, "decision=wrong").await;
    assert!(!assigned(&keyed, &other, "").await.contains(&id));
    assert!(assigned(&keyed, &other, "").await.contains(&by_other));
    let any = post(
        &keyed,
        operator,
        &format!("/ui/queue/{by_other}/assign"),
        "operator=",
    )
    .await;
    assert_eq!(location(&any), "/ui/queue");
    assert!(!assigned(&keyed, &other, "").await.contains(&by_other));

    // A grade that an operator opened without drawing it has no form.
    let grades = keyed.get(operator, "/v1/grades").await.json();
    let mut grades = grades["grades"].as_array().unwrap().iter();
    let undrawn = grades
        .find(|grade| grade["grade"] != id.as_str() && grade["grade"] != by_other.as_str())
        .unwrap();
    let undrawn = undrawn["grade"].as_str().unwrap();
    let page = keyed.get(operator, &format!("/ui/queue/{undrawn}")).await;
    assert!(!String::from_utf8_lossy(&page.bytes).contains("id=\"assign\""));
    let refused = post(
        &keyed,
        operator,
        &format!("/ui/queue/{undrawn}/assign"),
        "operator=other",
    )
    .await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(String::from_utf8_lossy(&refused.bytes).contains("was not drawn"));
}
