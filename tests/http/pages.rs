//! The pages under `/ui`: every page loads, escapes hostile texts and rejects invalid
//! parameters.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::http::fixtures::{Got, Service, batch, item, service, service_with};

/// Hostile texts for completions, names and answers.
const HOSTILE: &str =
    "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u{202e}\u{0}\u{1b}[2J&lt;";

pub(crate) async fn text(service: &Service, path: &str) -> String {
    let got = service.get(path).await;
    assert_eq!(got.status, 200, "{path}: {:?}", got.bytes);
    String::from_utf8(got.bytes.to_vec()).unwrap()
}

pub(crate) async fn send(
    service: &Service,
    path: &str,
    form: &str,
    headers: &[(&str, &str)],
) -> Got {
    let mut request =
        Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    service
        .send(request.body(Body::from(form.to_owned())).unwrap())
        .await
}

/// Where a reply sends the browser.
pub(crate) fn location(got: &Got) -> String {
    assert_eq!(got.status, 303, "{:?}", got.bytes);
    got.headers["location"].to_str().unwrap().to_owned()
}

/// A service with a run of three steps, a failure among them, and the ids of the last step's
/// grades.
pub(crate) async fn with_run(run: &str) -> (Service, Vec<String>) {
    let service = service_with(|config| config.channels.refresh_seconds = 0.0).await;
    let mut ids = Vec::new();
    for step in 1..4 {
        let mut request = batch((0..8).map(|n| {
            let mut item = item(
                "3/8",
                if n < 2 * step {
                    "\\boxed{\\frac{3}{8}}"
                } else {
                    "it is \\boxed{0.35}"
                },
            );
            item["id"] = json!(format!("i{step}-{n}"));
            item["group"] = json!(format!("g{}", n / 4));
            item["prompt"] = json!("What is three eighths?");
            item
        }));
        let failing = json!({ "completion": "x", "task": { "type": "panicking" } });
        request["items"].as_array_mut().unwrap().push(failing);
        request["run"] = json!(run);
        request["step"] = json!(step);
        let reply = service.grade(&request).await.json();
        ids = reply["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(id)
            .collect();
    }
    (service, ids)
}

fn id(result: &Value) -> String {
    result["grade"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_root_redirects_to_the_pages() {
    let got = service().await.get("/").await;
    assert_eq!(
        (got.status.as_u16(), &got.headers["location"]),
        (307, &"/ui".parse().unwrap())
    );
}

#[tokio::test]
async fn every_page_renders_without_grades_and_with_a_run() {
    let pages = [
        "/ui",
        "/ui/runs",
        "/ui/grades",
        "/ui/queue",
        "/ui/channels",
        "/ui/disagreements",
        "/ui/suspects",
        "/ui/cost",
        "/ui/checks",
    ];
    let empty = service().await;
    for page in pages {
        assert!(
            text(&empty, page).await.contains("class=\"none\""),
            "{page} says that there is nothing"
        );
    }
    let (service, ids) = with_run("r/1 a").await;
    for page in pages {
        assert!(text(&service, page).await.contains("</html>"), "{page}");
    }
    let run = text(&service, "/ui/run?name=r%2F1+a").await;
    assert!(
        run.contains("aria-label=\"reward by step\"") && run.contains("step 3: 0.750 ± 0.153 of 8"),
        "{run}"
    );
    assert!(
        run.contains("grader_panicked") && run.contains("graded 8 (88.9 %), failed 1 (11.1 %)"),
        "{run}"
    );
    let grade = text(&service, &format!("/ui/grades/{}", ids[7])).await;
    assert!(
        grade.contains("<mark title=\"graded part\">0.35</mark>"),
        "{grade}"
    );
    assert!(
        grade.contains("<ins>") && grade.contains("What is three eighths?"),
        "{grade}"
    );
}

#[tokio::test]
async fn compares_steps_and_runs() {
    let (service, _) = with_run("r/1 a").await;
    let run = text(&service, "/ui/run?name=r%2F1+a&from=3&to=3").await;
    for part in [
        "A: steps 2 to 2. B: steps 3 to 3.",
        "The mean rewards do not differ clearly: +0.250 (",
        "href=\"/ui/grades?run=r%2F1+a&#38;step_min=3&#38;step_max=3&#38;verdict=wrong_answer\"",
    ] {
        assert!(run.contains(part), "{part}: {run}");
    }
    let compared = "/ui/compare?run=r%2F1+a&run=r%2F1+a";
    let page = text(&service, compared).await;
    assert!(page.contains("do not differ clearly: +0.000"), "{page}");
    let mistyped = service.get(&format!("{compared}&a_from=x")).await;
    let html = String::from_utf8_lossy(&mistyped.bytes);
    let field = "name=\"a_from\" value=\"x\" aria-invalid=\"true\"";
    assert!(mistyped.status == 400 && html.contains(field), "{html}");
    let listed = text(&service, "/ui/runs").await;
    assert!(listed.contains("name=\"run\" value=\"r/1 a\""), "{listed}");
    let json: Value = service
        .get("/v1/runs/compare?a=r%2F1+a&a_from=1&a_to=1&b_from=3")
        .await
        .json();
    assert_eq!(json["reward"]["value"], 0.5, "{json}");
    let unknown = service.get("/v1/runs/compare?a=r%2F1+b").await;
    assert_eq!(unknown.status, 404, "{:?}", unknown.bytes);
}

#[tokio::test]
async fn suspects_name_the_step_at_which_completions_are_truncated() {
    let service = service_with(|_| {}).await;
    for step in 0..40 {
        let mut request = batch((0..16).map(|n| {
            let mut item = item("3/8", "\\boxed{3/8}");
            item["meta"] = json!({ "truncated": step >= 24 && n < 8 });
            item
        }));
        request["run"] = json!("cut");
        request["step"] = json!(step);
        assert_eq!(service.grade(&request).await.status, 200);
    }
    let page = text(&service, "/ui/suspects?run=cut").await;
    for part in [
        ">truncation</a>",
        "href=\"/ui/run?name=cut&#38;from=24\"",
        "truncated 0.000 → 0.500",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // The list of truncated completions, and what it counts.
    let cut = text(&service, "/ui/grades?run=cut&truncated=true").await;
    assert!(
        cut.contains("aria-current=\"true\"><bdi>yes</bdi> <small>128</small>"),
        "{cut}"
    );
    let listed = service
        .get("/v1/grades?run=cut&truncated=true&limit=1000")
        .await;
    assert_eq!(listed.json()["grades"].as_array().unwrap().len(), 128);
}

#[tokio::test]
async fn costs_are_shown_by_grader_run_and_caller() {
    let (service, ids) = with_run("r/1 a").await;
    let page = text(&service, "/ui/cost").await;
    for part in [
        "href=\"/ui/cost?grader=math\"",
        "href=\"/ui/cost?run=r%2F1+a\"",
        "href=\"/ui/cost?caller=local\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(
        ids.iter()
            .any(|id| page.contains(&format!("/ui/grades/{id}")))
    );
    let costs: Value = service.get("/v1/costs?run=r%2F1+a").await.json();
    let graded = service.get("/v1/runs/r%2F1%20a").await;
    assert_eq!(costs["runs"][0]["grades"], graded.json()["grades"]);
    assert_eq!(costs["runs"][0]["name"], "r/1 a");
    let slowest = costs["slowest"].as_array().unwrap();
    assert!(slowest.is_sorted_by_key(|grade| std::cmp::Reverse(grade["grade_us"].as_u64())));
    let none: Value = service.get("/v1/costs?run=nobody").await.json();
    assert_eq!(none["graders"], json!([]));
}

#[tokio::test]
async fn escapes_hostile_texts_in_pages() {
    let service = service().await;
    let mut item = item(HOSTILE, HOSTILE);
    for field in ["id", "group", "prompt", "prompt_key"] {
        item[field] = json!(HOSTILE.replace('\0', ""));
    }
    item["meta"] = json!({ "note": HOSTILE });
    let mut chat = item.clone();
    chat["id"] = json!("chat");
    chat["completion"] =
        json!([{ "role": "assistant", "content": HOSTILE, "tool_calls": [{ "name": HOSTILE }] }]);
    let mut request = batch([item, chat]);
    let run = HOSTILE.replace(char::is_control, "");
    request["run"] = json!(run);
    request["step"] = json!(1);
    let reply = service.grade(&request).await;
    assert_eq!(reply.status, 200, "{:?}", reply.bytes);
    let reply = reply.json();
    let mut pages: Vec<String> = [
        "/ui",
        "/ui/runs",
        "/ui/grades",
        "/ui/queue",
        "/ui/channels",
        "/ui/channel?name=math%2Fdefault",
        "/ui/disagreements",
        "/ui/suspects",
        "/ui/cost",
        "/ui/checks",
    ]
    .map(str::to_owned)
    .into();
    pages.extend(
        reply["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| format!("/ui/grades/{}", id(result))),
    );
    let finding = json!({ "code": HOSTILE, "severity": "error", "dataset": HOSTILE, "key": HOSTILE, "message": HOSTILE });
    let dataset = json!({ "dataset": HOSTILE, "revision": HOSTILE, "rows": 1, "checked": 1, "tasks": { HOSTILE: 1 },
        "mutants": { HOSTILE: { "tried": 1, "killed": 1 } } });
    let check = json!({ "version": HOSTILE, "errors": 1, "warnings": 0, "failed": 1, "first_failure": HOSTILE,
        "datasets": [dataset], "counts": { HOSTILE: 1 }, "findings": [finding] });
    let check = service.post("/v1/checks", &check).await.json();
    pages.push(format!("/ui/checks/{}", check["check"].as_str().unwrap()));
    let query: String = form(&[("name", run.as_str())]);
    pages.push(format!("/ui/run?{query}"));
    for page in pages {
        let html = text(&service, &page).await;
        assert!(
            !html.contains("<script>alert") && !html.contains("<img src=x"),
            "{page}"
        );
        // A list field keeps the given value in its form; the displayed text is next to it.
        let html: String = html
            .split(" value=\"")
            .map(|part| part.split_once('"').map_or(part, |(_, rest)| rest))
            .collect();
        assert!(
            !html.contains('\u{202e}') && !html.contains('\u{1b}') && !html.contains('\0'),
            "{page}"
        );
    }
    let errors = service
        .get("/ui/grades?step=%3Cscript%3Ealert(1)%3C/script%3E")
        .await;
    assert!(!String::from_utf8_lossy(&errors.bytes).contains("<script>alert"));
}

fn form(pairs: &[(&str, &str)]) -> String {
    let encode = |text: &str| {
        text.bytes()
            .map(|byte| format!("%{byte:02X}"))
            .collect::<String>()
    };
    pairs
        .iter()
        .map(|(name, value)| format!("{name}={}", encode(value)))
        .collect::<Vec<_>>()
        .join("&")
}

#[tokio::test]
async fn truncates_a_huge_completion_on_its_page() {
    let service = service().await;
    let huge = format!(
        "{} \\boxed{{7}} {}",
        "a ".repeat(400_000),
        "b ".repeat(40_000)
    );
    let reply = service.grade(&batch([item("8", &huge)])).await.json();
    let html = text(
        &service,
        &format!("/ui/grades/{}", id(&reply["results"][0])),
    )
    .await;
    assert!(
        html.len() < 120_000 && html.contains("bytes before"),
        "{}",
        html.len()
    );
}

#[tokio::test]
async fn shows_the_first_tests_of_a_program_and_counts_the_others() {
    let service = service().await;
    let tests: Vec<Value> = (0..300)
        .map(|n| json!({ "stdin": n.to_string(), "stdout": n.to_string() }))
        .collect();
    let graded = async |score: &str, text: &str| {
        let task = json!({ "type": "code", "language": "python", "tests": tests, "score": score });
        let item = json!({ "completion": format!("```python\n{text}\n```"), "task": task });
        let reply = service.grade(&batch([item])).await.json();
        text_of(&service, &reply["results"][0]).await
    };
    let all_run = graded(
        "fraction",
        "n = int(input())\nprint(0 if n in (3, 250) else n)",
    )
    .await;
    assert!(all_run.contains("298 of 300 passed"), "{all_run}");
    assert!(
        all_run.contains("100 more are not shown, 1 failed."),
        "{all_run}"
    );
    assert_eq!(all_run.matches(">accepted</span>").count(), 199);
    let stopped = graded("all", "n = int(input())\nprint(0 if n == 3 else n)").await;
    assert!(stopped.contains("3 of 300 passed"), "{stopped}");
    assert!(
        stopped.contains("100 more are not shown, 100 not run."),
        "{stopped}"
    );
    assert_eq!(stopped.matches(">not run</span>").count(), 196);
}

/// The page of a grade.
async fn text_of(service: &Service, result: &Value) -> String {
    text(service, &format!("/ui/grades/{}", id(result))).await
}

#[tokio::test]
async fn filters_lists_by_url_across_pages() {
    let (service, _) = with_run("r").await;
    let wrong = text(
        &service,
        "/ui/grades?run=r&verdict=wrong_answer&score_max=0.5",
    )
    .await;
    assert_eq!(
        wrong.matches("class=\"row\"").count(),
        12,
        "6, 4 and 2 of 8"
    );
    let mut many = batch((0..120).map(|n| item("1", &n.to_string())));
    many["run"] = json!("many");
    service.grade(&many).await;
    let (mut address, mut rows) = ("/ui/grades?run=many".to_owned(), 0);
    loop {
        let page = text(&service, &address).await;
        rows += page.matches("class=\"row\"").count();
        let Some((_, next)) = page.split_once("rel=\"next\" href=\"") else {
            break;
        };
        address = next
            .split('"')
            .next()
            .unwrap()
            .replace("&#38;", "&")
            .replace("&amp;", "&");
    }
    assert_eq!(rows, 120);
}

#[tokio::test]
async fn rejects_unknown_ids_and_invalid_parameters() {
    let service = service().await;
    let cases = [
        (404, "/ui/nothing"),
        (404, "/ui/assets/nothing.js"),
        (404, "/ui/run?name=nobody"),
        (400, "/ui/run"),
        (400, "/ui/compare"),
        (400, "/ui/compare?a=nobody&b=nobody"),
        (400, "/ui/grades?verdikt=x"),
        (400, "/ui/grades/x"),
        (404, "/ui/grades/01JD5XW7P9V6F8K4M3N2Q1R0ST"),
        (400, "/ui/queue?passes=maybe"),
        (400, "/ui/suspects?name=r"),
        (400, "/ui/checks?code=x"),
        (400, "/ui/checks/x"),
        (404, "/ui/checks/01JD5XW7P9V6F8K4M3N2Q1R0ST"),
    ];
    for (status, path) in cases {
        let got = service.get(path).await;
        let html = String::from_utf8_lossy(&got.bytes);
        assert!(
            got.status == status && html.contains("class=\"error\""),
            "{path}: {} {html}",
            got.status
        );
    }
}

#[tokio::test]
async fn pages_load_nothing_from_elsewhere_and_assets_are_cached() {
    let service = service().await;
    let page = service.get("/ui").await;
    assert!(
        page.headers["content-security-policy"]
            .to_str()
            .unwrap()
            .starts_with("default-src 'self'")
    );
    assert_eq!(page.headers["cache-control"], "no-store");
    for asset in ["pages.css", "pages.js", "icon.svg"] {
        let path = format!("/ui/assets/{asset}");
        let got = service.get(&path).await;
        let tag = got.headers["etag"].clone();
        let again = service
            .send(
                Request::get(&path)
                    .header("if-none-match", tag)
                    .body(Body::empty())
                    .unwrap(),
            )
            .await;
        assert_eq!(
            (
                got.status.as_u16(),
                again.status.as_u16(),
                again.bytes.len()
            ),
            (200, 304, 0),
            "{asset}"
        );
        assert!(
            !String::from_utf8_lossy(&got.bytes)
                .replace("http://www.w3.org", "")
                .contains("http"),
            "{asset}"
        );
    }
}

#[tokio::test]
async fn differences_are_marked_only_if_they_matter() {
    let service = service().await;
    let items = ["0.375", "0.35"].map(|answer| item("3/8", &format!("\\boxed{{{answer}}}")));
    let reply = service.grade(&batch(items)).await.json();
    for (at, passes) in [(0, true), (1, false)] {
        let result = &reply["results"][at];
        assert_eq!(result["pass"], passes);
        let html = text(&service, &format!("/ui/grades/{}", id(result))).await;
        assert!(html.contains("Expected and actual"), "{html}");
        let is_marked = html.contains("<ins>") || html.contains("<del>");
        assert_eq!(is_marked, !passes, "{html}");
    }
}

#[tokio::test]
async fn a_grade_links_to_its_neighbours_in_the_list_and_in_its_group() {
    let (service, _) = with_run("r").await;
    let list = "/ui/grades?run=r&verdict=wrong_answer&before=7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
    let list = text(&service, list).await;
    let rows = list.split("class=\"open\" href=\"").skip(1);
    let rows: Vec<&str> = rows.map(|row| row.split('"').next().unwrap()).collect();
    assert_eq!(rows.len(), 12);
    let link = |page: &str, id: &str| {
        let (before, _) = page.split_once(&format!("id=\"{id}\""))?;
        let (_, after) = page[before.len()..].split_once("href=\"").unwrap();
        Some(after.split('"').next().unwrap().to_owned())
    };
    for (at, row) in rows.iter().enumerate() {
        assert!(row.ends_with("?run=r&#38;verdict=wrong_answer"), "{row}");
        let page = text(&service, &row.replace("&#38;", "&")).await;
        let beside = |at: usize| rows.get(at).map(|row| (*row).to_owned());
        assert_eq!(link(&page, "newer"), at.checked_sub(1).and_then(beside));
        assert_eq!(link(&page, "older"), beside(at + 1));
        assert!(page.contains("<a href=\"/ui/grades?run=r&#38;verdict=wrong_answer\">Grades</a>"));
        let (_, group) = page.split_once("<section id=\"group\">").unwrap();
        let group = group.split_once("</section>").unwrap().0;
        let rewards: Vec<&str> = group
            .split("reward <b>")
            .skip(1)
            .map(|rest| rest.split('<').next().unwrap())
            .collect();
        assert_eq!(rewards.len(), 4, "{group}");
        assert!(rewards.is_sorted_by(|a, b| a >= b), "{rewards:?}");
        assert_eq!(group.matches("aria-current").count(), 1);
    }
    // A filter that cannot be used does not hide the grade.
    let path = rows[0].split('?').next().unwrap();
    for filter in ["step=x", "text=x%22y", "nothing=1", "prompt_key=p"] {
        let page = text(&service, &format!("{path}?{filter}")).await;
        assert!(page.contains("id=\"group\""), "{filter}: {page}");
    }
    let page = text(&service, &format!("{path}?step=x")).await;
    assert!(
        page.contains("Without previous and next: `step` must be"),
        "{page}"
    );
}

#[tokio::test]
async fn a_conversation_shows_roles_calls_and_results() {
    let service = service().await;
    let prompt = json!([
        { "role": "system", "content": "rules ".repeat(600) },
        { "role": "user", "content": [{ "type": "text", "text": "Look:" }, { "type": "image_url" }] },
    ]);
    let completion = json!([
        { "role": "assistant", "reasoning_content": "hm", "content": null,
          "tool_calls": [{ "function": { "name": "weather", "arguments": "{\"city\":\"Rome\"}" } }] },
        { "role": "tool", "name": "weather", "content": "sunny" },
        { "role": "assistant", "content": "so \\boxed{0.35}" },
    ]);
    let mut item = item("3/8", "");
    item["prompt"] = prompt;
    item["completion"] = completion;
    let reply = service.grade(&batch([item])).await.json();
    let page = text_of(&service, &reply["results"][0]).await;
    for part in [
        "<h3 class=\"role\"><bdi>system</bdi></h3>\n<details><summary><bdi>rules rules",
        "<span class=\"badge\">image</span> not shown",
        "<summary>reasoning</summary>",
        "calls <code>weather</code>",
        "<h3 class=\"role\"><bdi>tool, weather</bdi></h3>",
        "<mark title=\"graded part\">0.35</mark>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn a_program_shows_the_first_failed_test_and_the_line_that_fails() {
    let service = service().await;
    let tests = json!([{ "stdin": "2", "stdout": "5" }, { "stdin": "0", "stdout": "7" }]);
    let task = json!({ "type": "code", "language": "python", "tests": tests });
    let program = "n = int(input())\nprint(10 // n)\n";
    let item = json!({ "completion": format!("```python\n{program}```"), "task": task });
    let reply = service.grade(&batch([item])).await.json();
    let page = text_of(&service, &reply["results"][0]).await;
    let failing = "<tr class=\"fails\"><th scope=\"row\">2</th><td>\
                   <span class=\"hidden\">fails: </span><code>print(10 // n)</code>";
    for part in [
        "First failed test <small>test 2</small>",
        "<h3>input</h3><pre class=\"text\" dir=\"auto\">0</pre>",
        "ZeroDivisionError",
        failing,
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn replays_and_adjudicates_a_grade() {
    let (service, ids) = with_run("r").await;
    let path = format!("/ui/grades/{}", ids[7]);
    let again = send(&service, &format!("{path}/replay"), "", &[]).await;
    let html = String::from_utf8_lossy(&again.bytes);
    assert!(html.contains("Replay: same result"), "{html}");
    let reply = send(
        &service,
        &format!("{path}/adjudicate"),
        "decision=right&note=it+is",
        &[],
    )
    .await;
    assert_eq!(location(&reply), format!("{path}#adjudications"));
    let html = text(&service, &path).await;
    assert!(
        html.contains("it is</bdi>") && html.contains("not drawn"),
        "{html}"
    );
    assert_eq!(
        send(
            &service,
            &format!("{path}/adjudicate"),
            "decision=perhaps",
            &[]
        )
        .await
        .status,
        400
    );
    let long = format!("decision=right&note={}", "x".repeat(5_000));
    assert_eq!(
        send(&service, &format!("{path}/adjudicate"), &long, &[])
            .await
            .status,
        400
    );
    let elsewhere = [("sec-fetch-site", "cross-site")];
    for action in ["replay", "adjudicate"] {
        let refused = send(
            &service,
            &format!("{path}/{action}"),
            "decision=wrong",
            &elsewhere,
        )
        .await;
        assert_eq!(refused.status, 403, "{action}");
        let of_the_api = path.replace("/ui/", "/v1/");
        let refused = send(
            &service,
            &format!("{of_the_api}/{action}"),
            "{\"pass\":false}",
            &elsewhere,
        )
        .await;
        assert_eq!(refused.status, 403, "{action} of the API");
    }
}

#[tokio::test]
async fn the_adjudication_queue_can_be_emptied() {
    let (service, _) = with_run("r").await;
    let form = "channel=math%2Fdefault&passes=false";
    let mut address = location(&send(&service, "/ui/queue", form, &[]).await);
    let before = text(&service, "/ui/channels").await;
    assert!(before.contains("not known"), "{before}");
    for _ in 0..12 {
        let (path, query) = address.split_once('?').unwrap();
        let id = path.rsplit('/').next().unwrap();
        assert!(text(&service, &address).await.contains("id=\"skip\""));
        let reply = format!(
            "decision=wrong&then={}",
            query
                .replace('%', "%25")
                .replace('&', "%26")
                .replace('=', "%3D")
        );
        address = location(
            &send(
                &service,
                &format!("/ui/grades/{id}/adjudicate"),
                &reply,
                &[],
            )
            .await,
        );
    }
    assert!(address.ends_with("empty=1"), "{address}");
    assert!(text(&service, &address).await.contains("id=\"empty\""));
    let after = text(&service, "/ui/channels").await;
    assert!(after.contains("12 / 0"), "{after}");
    assert_eq!(service.get("/ui/disagreements").await.status, 200);
}
