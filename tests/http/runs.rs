//! Runs: one in detail, what operators note about them, and their pages.

use assay_record::access::Role;
use axum::body::Body;
use http::{Method, Request, header};
use serde_json::{Value, json};

use crate::http::access::Keyed;
use crate::http::fixtures::{Got, Service, batch, item, service};
use crate::http::pages::{location, text};

#[tokio::test]
async fn summarises_a_run_by_grader_and_step() {
    let service = service().await;
    for step in 1..=3 {
        let mut request = batch((0..4).map(|n| item(&(n % 2).to_string(), "\\boxed{1}")));
        request["run"] = json!("math/of one");
        request["step"] = json!(step);
        assert_eq!(service.grade(&request).await.status, 200);
    }
    let detail = service.get("/v1/runs/math%2Fof%20one?steps=2").await.json();
    assert_eq!(
        (&detail["run"], &detail["grades"], &detail["passed"]),
        (&json!("math/of one"), &json!(12), &json!(6))
    );
    let grader = &detail["graders"][0];
    assert_eq!(
        (&grader["grader"], &grader["score_deviation"]),
        (&json!("math@2"), &json!(0.5))
    );
    assert_eq!(
        grader["verdicts"],
        json!({ "correct": 6, "wrong_answer": 6 })
    );
    let steps: Vec<_> = detail["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["step"])
        .collect();
    assert_eq!(steps, [3, 2]);
    assert_eq!(detail["causes"], json!([]));
}

#[tokio::test]
async fn rejects_unknown_runs_and_invalid_parameters() {
    let service = service().await;
    assert_eq!(
        service.get("/v1/runs/absent").await.refusal(),
        (404, "not_found".into(), None)
    );
    for path in [
        "/v1/runs/r?steps=10001",
        "/v1/runs/r?steps=x",
        "/v1/runs/r?step=1",
        "/v1/runs/%ff",
    ] {
        assert_eq!(
            service.get(path).await.refusal().1,
            "invalid_parameter",
            "{path}"
        );
    }
}

/// Sends a change of what is noted about a run.
async fn annotate(service: &Service, path: &str, changes: &Value) -> Got {
    let request = Request::patch(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(changes.to_string()));
    service.send(request.unwrap()).await
}

async fn with_runs(runs: &[&str]) -> Service {
    let service = service().await;
    for (step, run) in runs.iter().enumerate() {
        let mut request = batch((0..=step).map(|_| item("1", "\\boxed{1}")));
        request["run"] = json!(run);
        request["step"] = json!(step);
        assert_eq!(service.grade(&request).await.status, 200);
    }
    service
}

fn names(listed: &Value) -> Vec<&str> {
    let runs = listed["runs"].as_array().unwrap().iter();
    runs.map(|run| run["run"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn operators_annotate_and_archive_runs() {
    let service = with_runs(&["team/one", "two", "compare"]).await;
    let path = "/v1/runs/team%2Fone";
    let tagged = annotate(&service, path, &json!({ "tags": ["base", "v1.2"] })).await;
    assert_eq!(tagged.status, 200, "{:?}", tagged.bytes);
    assert_eq!(tagged.json()["tags"], json!(["base", "v1.2"]));
    annotate(&service, path, &json!({ "note": "Diverged at 400" })).await;
    let run = service.get(path).await.json();
    assert_eq!(
        (&run["tags"], &run["note"], &run["archived"]),
        (
            &json!(["base", "v1.2"]),
            &json!("Diverged at 400"),
            &json!(false)
        )
    );
    // The name of another route needs an escape.
    let named = annotate(&service, "/v1/runs/%63ompare", &json!({ "archived": true })).await;
    assert_eq!(named.json()["run"], "compare");

    let listed = async |query: &str| service.get(&format!("/v1/runs{query}")).await.json();
    assert_eq!(names(&listed("").await), ["two", "team/one"]);
    assert_eq!(names(&listed("?archived=true").await), ["compare"]);
    assert_eq!(names(&listed("?search=DIVERGED").await), ["team/one"]);
    assert_eq!(names(&listed("?search=tw").await), ["two"]);
    assert_eq!(names(&listed("?tag=base").await), ["team/one"]);
    assert_eq!(names(&listed("?sort=name").await), ["team/one", "two"]);
    assert_eq!(
        names(&listed("?sort=grades&order=asc").await),
        ["team/one", "two"]
    );
    let page = listed("?limit=1").await;
    assert_eq!((names(&page), &page["next"]), (vec!["two"], &json!(1)));
    let page = listed("?limit=1&offset=1").await;
    assert_eq!(
        (names(&page), &page["next"]),
        (vec!["team/one"], &json!(null))
    );
    assert_eq!(page["runs"][0]["mean_reward"], 1.0);

    let audit = service.get("/v1/audit?limit=1").await.json();
    let entry = &audit["entries"][0];
    assert_eq!(
        (&entry["action"], &entry["target"], &entry["details"]),
        (
            &json!("run.annotate"),
            &json!("compare"),
            &json!({ "archived": true })
        )
    );
}

#[tokio::test]
async fn rejects_invalid_changes_of_runs() {
    let service = with_runs(&["r"]).await;
    for (changes, pointer) in [
        (json!({}), ""),
        (json!({ "tags": ["Base"] }), "/tags/0"),
        (json!({ "tags": vec!["a"; 17] }), "/tags"),
        (json!({ "note": "x".repeat(4_097) }), "/note"),
        (json!({ "archived": "yes" }), "/archived"),
        (json!({ "color": "red" }), "/color"),
    ] {
        let refused = annotate(&service, "/v1/runs/r", &changes).await.refusal();
        assert_eq!(
            (refused.0, refused.1.as_str()),
            (422, "invalid_field"),
            "{changes}"
        );
        assert_eq!(refused.2.unwrap_or_default(), pointer, "{changes}");
    }
    let run = service.get("/v1/runs/r").await.json();
    assert_eq!((&run["tags"], &run["note"]), (&json!([]), &json!("")));
    let absent = annotate(&service, "/v1/runs/absent", &json!({ "note": "x" })).await;
    assert_eq!(absent.refusal().0, 404);
    for query in [
        "tag=A",
        "sort=x",
        "order=up",
        "archived=1",
        "limit=0",
        "color=red",
    ] {
        let refused = service.get(&format!("/v1/runs?{query}")).await.refusal();
        assert_eq!(refused.1, "invalid_parameter", "{query}");
    }
}

#[tokio::test]
async fn only_operators_annotate_and_callers_see_the_notes_of_their_runs() {
    let keyed = Keyed::start().await;
    let trainer = keyed.key(Role::Trainer);
    let mut request = batch([item("1", "\\boxed{1}")]);
    request["run"] = json!("own");
    assert_eq!(keyed.grade(trainer, &request).await.status, 200);
    let changes = json!({ "note": "look at step 3" });
    let refused = keyed
        .send(trainer, Method::PATCH, "/v1/runs/own", &changes)
        .await;
    assert_eq!(refused.status, 403);
    let recorded = format!("/v1/runs/{}%3Aown", Role::Trainer);
    let noted = keyed
        .send(
            keyed.key(Role::Operator),
            Method::PATCH,
            &recorded,
            &changes,
        )
        .await;
    assert_eq!(noted.status, 200, "{:?}", noted.bytes);
    let listed = keyed.get(trainer, "/v1/runs?search=STEP").await.json();
    assert_eq!(listed["runs"][0]["note"], "look at step 3");
    assert_eq!(names(&listed), ["own"]);
}

async fn send_form(service: &Service, form: &str) -> Got {
    let request = Request::post("/ui/run")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(form.to_owned()));
    service.send(request.unwrap()).await
}

#[tokio::test]
async fn the_form_of_a_run_changes_only_what_its_user_changed() {
    let service = with_runs(&["a/b"]).await;
    annotate(
        &service,
        "/v1/runs/a%2Fb",
        &json!({ "tags": ["x"], "note": "<b>" }),
    )
    .await;
    let page = text(&service, "/ui/run?name=a%2Fb").await;
    assert!(page.contains("<bdi>&#60;b&#62;</bdi>"), "{page}");
    assert!(page.contains("href=\"/ui/runs?tag=x\">x</a>"), "{page}");
    // Another operator changes the note meanwhile.
    annotate(&service, "/v1/runs/a%2Fb", &json!({ "note": "newer" })).await;
    let shown = "name=a%2Fb&shown_tags=x&shown_note=%3Cb%3E";
    let sent = send_form(
        &service,
        &format!("{shown}&tags=x,+y&note=%3Cb%3E&archived=true"),
    )
    .await;
    assert_eq!(location(&sent), "/ui/run?name=a%2Fb#run-notes");
    let run = service.get("/v1/runs/a%2Fb").await.json();
    assert_eq!(
        (&run["tags"], &run["note"], &run["archived"]),
        (&json!(["x", "y"]), &json!("newer"), &json!(true))
    );
    // What was entered is kept, with the reason beside the field.
    let refused = send_form(&service, &format!("{shown}&tags=A+b&note=%3Ci%3E")).await;
    assert_eq!(refused.status, 400);
    let html = String::from_utf8_lossy(&refused.bytes);
    for part in [
        "<details open>",
        "name=\"tags\" value=\"A b\" aria-invalid=\"true\"",
        "\n&#60;i&#62;</textarea>",
        "id=\"notes-invalid\">a tag must have",
        "name=\"shown_note\" value=\"newer\"",
        "aria-label=\"reward by step\"",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    let refused = send_form(&service, &format!("{shown}&tags=x&note=%07")).await;
    let html = String::from_utf8_lossy(&refused.bytes);
    assert!(
        html.contains("aria-describedby=\"notes-invalid\">\n"),
        "{html}"
    );
    let run = service.get("/v1/runs/a%2Fb").await.json();
    assert_eq!(
        (&run["tags"], &run["note"]),
        (&json!(["x", "y"]), &json!("newer"))
    );
    let absent = send_form(&service, "name=absent&tags=a").await;
    assert_eq!(absent.status, 404);
    assert!(!text(&service, "/ui/runs").await.contains("name=a%2Fb"));
    assert!(
        text(&service, "/ui/runs?archived=true")
            .await
            .contains("name=a%2Fb")
    );
}

#[tokio::test]
async fn the_list_of_runs_has_pages_and_sorts_by_its_heads() {
    let names: Vec<String> = (0..51).map(|n| format!("run-{n:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let service = with_runs(&names[..]).await;
    let page = text(&service, "/ui/runs?sort=name").await;
    assert!(
        page.contains("run-49") && !page.contains("run-50"),
        "{page}"
    );
    let head = "aria-sort=\"ascending\"><a href=\"/ui/runs?sort=name&#38;order=desc\">Run</a>";
    assert!(page.contains(head), "{page}");
    assert!(
        page.contains("href=\"/ui/runs?sort=name&#38;offset=50\""),
        "{page}"
    );
    let last = text(&service, "/ui/runs?sort=name&offset=50").await;
    assert!(
        last.contains("run-50") && !last.contains("run-49"),
        "{last}"
    );
    assert!(last.contains("class=\"spark chart\""), "{last}");
    assert_eq!(service.get("/ui/runs?sort=x").await.status, 400);
    let none = text(&service, "/ui/runs?search=nothing").await;
    assert!(none.contains("No run matches."), "{none}");
}

#[tokio::test]
async fn links_keep_the_run_and_the_steps() {
    let service = with_runs(&["a/b"]).await;
    let query = "run=a%2Fb&#38;step_min=0&#38;step_max=3";
    for page in [
        "/ui/run?name=a%2Fb&from=0&to=3",
        "/ui/grades?run=a%2Fb&step_min=0&step_max=3",
        "/ui/prompts?run=a%2Fb&step_min=0&step_max=3",
        "/ui/compare?a=a%2Fb&b=a%2Fb&b_from=0&b_to=3",
        "/ui/suspects?run=a%2Fb&step_min=0&step_max=3",
        "/ui/cost?run=a%2Fb&step_min=0&step_max=3",
        "/ui/disagreements?run=a%2Fb&step_min=0&step_max=3",
    ] {
        let html = text(&service, page).await;
        // In the menu and in the tabs; disagreements are not in the menu.
        for (section, links) in [
            ("grades", 2),
            ("suspects", 2),
            ("cost", 2),
            ("disagreements", 1),
        ] {
            let link = format!("href=\"/ui/{section}?{query}\"");
            assert!(
                html.matches(&link).count() >= links,
                "{page}: {link}: {html}"
            );
        }
        for link in [
            format!("href=\"/ui/prompts?{query}\""),
            "href=\"/ui/run?name=a%2Fb&#38;from=0&#38;to=3\"".to_owned(),
            "href=\"/ui/compare?b=a%2Fb&#38;b_from=0&#38;b_to=3\"".to_owned(),
        ] {
            assert!(html.contains(&link), "{page}: {link}: {html}");
        }
        assert!(html.contains("aria-current=\"page\""), "{page}");
    }
    let half = text(&service, "/ui/compare?b=a%2Fb").await;
    assert!(
        half.contains("Enter run A") && !half.contains("role=\"alert\""),
        "{half}"
    );
    for page in ["suspects", "cost", "disagreements"] {
        let refused = service.get(&format!("/ui/{page}?step_min=x")).await;
        assert_eq!(refused.status, 400, "{page}");
    }
}

#[tokio::test]
async fn the_header_names_the_user_and_the_overview_the_live_runs() {
    let keyed = Keyed::start().await;
    let operator = keyed.key(Role::Operator);
    let mut request = batch([item("1", "\\boxed{1}")]);
    request["run"] = json!("now");
    request["step"] = json!(7);
    keyed.grade(operator, &request).await;
    let page = keyed.get(operator, "/ui").await;
    let page = String::from_utf8_lossy(&page.bytes).into_owned();
    let user = "<span class=\"user\"><bdi>operator</bdi> <small>operator</small></span>";
    assert!(page.contains(user), "{page}");
    let live = page.split("id=\"live-runs\"").nth(1).unwrap();
    let live = live.split("</section>").next().unwrap();
    for part in [
        "href=\"/ui/run?name=now\"",
        "data-label=\"Step\" class=\"number\">7<",
        "data-label=\"Grades a minute\" class=\"number\">1<",
    ] {
        assert!(live.contains(part), "{part}: {live}");
    }
    let local = text(&service().await, "/ui").await;
    assert!(!local.contains("class=\"user\""), "{local}");
    assert!(local.contains("No run has grades in the last 10 minutes"));
}
