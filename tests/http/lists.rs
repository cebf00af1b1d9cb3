//! Lists on pages: what their rows show, and how their forms and links filter them.

use serde_json::{Value, json};

use crate::http::fixtures::{batch, item, service};
use crate::http::pages::{location, text, with_run};

#[tokio::test]
async fn lists_show_what_was_expected_and_what_operators_decided() {
    let (service, ids) = with_run("r").await;
    let decision = json!({ "pass": true });
    let path = format!("/v1/grades/{}/adjudicate", ids[6]);
    assert_eq!(service.post(&path, &decision).await.status, 200);
    let page = text(&service, "/ui/grades?run=r&step=3").await;
    let rows: Vec<&str> = page.split("<tr class=\"row\">").skip(1).collect();
    assert_eq!(rows.len(), 9);
    let row = |id: &str| *rows.iter().find(|row| row.contains(id)).unwrap();
    let wrong = row(&ids[6]);
    for part in [
        "data-label=\"Expected\"><code class=\"value\" dir=\"auto\">3/8</code>",
        "data-label=\"Got\"><code class=\"value\" dir=\"auto\">0.35</code>",
        "adjudicated right",
    ] {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
    assert!(!row(&ids[7]).contains("adjudicated"));
    let failed = row(&ids[8]);
    assert!(
        failed.contains("data-label=\"Cause\">`panicking@1` panicked on this item"),
        "{failed}"
    );
}

#[tokio::test]
async fn a_list_shows_the_expected_answer_of_a_completion_without_one() {
    let service = service().await;
    service.grade(&batch([item("5/7", "\\boxed{}")])).await;
    let page = text(&service, "/ui/grades").await;
    assert!(
        page.contains("data-label=\"Expected\"><code class=\"value\" dir=\"auto\">5/7</code>"),
        "{page}"
    );
}

#[tokio::test]
async fn facets_count_the_grades_of_a_run_and_its_steps() {
    let (service, _) = with_run("r").await;
    let facets = async |query: &str| {
        let page = text(&service, &format!("/ui/grades?{query}")).await;
        let (_, facets) = page.split_once("<section class=\"facets\"").unwrap();
        let facets = facets.split_once("</section>").unwrap().0;
        facets.replace("&#38;", "&")
    };
    let all = facets("run=r").await;
    for part in [
        "href=\"/ui/grades?run=r&verdict=correct\"><bdi>correct</bdi> <small>12</small>",
        "<bdi>wrong_answer</bdi> <small>12</small>",
        "href=\"/ui/grades?run=r&outcome=failed\"><bdi>failed</bdi> <small>3</small>",
        "href=\"/ui/grades?run=r&grader=math\"><bdi>math</bdi> <small>24</small>",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let some = facets("run=r&step_min=2&step_max=3&verdict=correct").await;
    for part in [
        "href=\"/ui/grades?run=r&step_min=2&step_max=3\" aria-current=\"true\"><bdi>correct</bdi> \
         <small>10</small>",
        "verdict=correct%2Cwrong_answer\"><bdi>wrong_answer</bdi> <small>6</small>",
    ] {
        assert!(some.contains(part), "{part}: {some}");
    }
    // Other filters count, too, with and without a run.
    for query in ["run=r&score_min=1", "score_min=1"] {
        let passed = facets(query).await;
        assert!(
            passed.contains("<bdi>correct</bdi> <small>12</small>"),
            "{passed}"
        );
        assert!(!passed.contains("wrong_answer"), "{passed}");
    }
    let failed = facets("run=r&cause=grader_panicked").await;
    assert!(
        failed.contains("<bdi>failed</bdi> <small>3</small>"),
        "{failed}"
    );
    assert!(
        failed.contains("aria-current=\"true\"><bdi>grader_panicked</bdi> <small>3</small>"),
        "{failed}"
    );
    let page = text(
        &service,
        "/ui/grades?run=r&step_max=1&verdict=correct,wrong_answer",
    )
    .await;
    assert_eq!(page.matches("class=\"row\"").count(), 8);
    // Without a run, only the grades that match are counted.
    let failed = facets("outcome=failed").await;
    assert!(
        failed.contains("<bdi>grader_panicked</bdi> <small>3</small>"),
        "{failed}"
    );
    assert!(!failed.contains("correct"), "{failed}");
    let page = text(&service, "/ui/grades").await;
    assert!(!page.contains("class=\"facets\""), "{page}");
}

#[tokio::test]
async fn pages_redirect_to_addresses_without_empty_parameters() {
    let (service, _) = with_run("r").await;
    for (address, expected) in [
        ("/ui/grades?run=r&step=&verdict=&id=", "/ui/grades?run=r"),
        ("/ui/grades?run=&before=", "/ui/grades"),
        ("/ui/run?name=r&from=2&to=", "/ui/run?name=r&from=2"),
    ] {
        let got = service.get(address).await;
        assert_eq!(location(&got), expected);
    }
    // A value that only looks empty is kept.
    assert_eq!(service.get("/ui/grades?run=+").await.status, 200);
}

#[tokio::test]
async fn columns_of_the_reward_chart_open_the_grades_of_their_steps() {
    let (service, _) = with_run("r").await;
    let run = text(&service, "/ui/run?name=r").await;
    let link = "<a href=\"/ui/grades?run=r&amp;step=2\" aria-label=\"step 2: 0.500 ± 0.177 of 8\">";
    assert!(run.contains(link), "{run}");
    let mut request = batch([item("1", "\\boxed{1}")]);
    (request["run"], request["step"]) = (json!("long"), json!(250));
    service.grade(&request).await;
    let run = text(&service, "/ui/run?name=long").await;
    let link = "<a href=\"/ui/grades?run=long&amp;step_min=248&amp;step_max=251\"";
    assert!(run.contains(link), "{run}");
    let listed = text(&service, "/ui/grades?run=long&step_min=248&step_max=251").await;
    assert_eq!(listed.matches("class=\"row\"").count(), 1);
}

#[tokio::test]
async fn lists_the_prompts_of_a_run_by_status() {
    let service = service().await;
    let answers = [
        ["1", "0", "1"],
        ["0", "0", "0"],
        ["1", "1", "1"],
        ["0", "1", "0"],
    ];
    for step in 0..3 {
        let mut request = batch(answers.iter().enumerate().map(|(prompt, answers)| {
            let mut item = item("1", &format!("\\boxed{{{}}}", answers[step]));
            item["prompt_key"] = json!(format!("p{prompt}"));
            item
        }));
        (request["run"], request["step"]) = (json!("r"), json!(step));
        service.grade(&request).await;
    }
    let listed = service
        .get("/v1/prompts?run=r&order=lowest_rate&limit=2")
        .await
        .json();
    assert_eq!(
        listed["counts"],
        json!({
            "prompts": 4, "never_solved": 1, "always_solved": 1, "lost": 1, "gained": 1, "noisy": 2,
            "gold_suspect": 0
        })
    );
    let keys: Vec<_> = listed["prompts"].as_array().unwrap().iter().collect();
    assert_eq!(keys[0]["prompt_key"], "p1");
    assert_eq!(
        (&keys[1]["passes"], &keys[1]["visits"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(listed["next"], 2);
    let rest = service
        .get("/v1/prompts?run=r&order=lowest_rate&limit=2&offset=2")
        .await
        .json();
    assert_eq!(
        (&rest["prompts"][1]["prompt_key"], &rest["next"]),
        (&json!("p2"), &Value::Null)
    );

    let page = text(&service, "/ui/prompts?run=r&status=lost").await;
    let row = "href=\"/ui/grades?run=r&#38;prompt_key=p3\"><bdi>p3</bdi>";
    assert!(
        page.contains(row) && page.matches("class=\"row\"").count() == 1,
        "{page}"
    );
    let chosen = "aria-current=\"true\">lost <small>1</small>";
    assert!(page.contains(chosen), "{page}");
    let grades = text(&service, "/ui/grades?run=r&prompt_key=p3").await;
    assert_eq!(grades.matches("class=\"row\"").count(), 3);
    let run = text(&service, "/ui/run?name=r").await;
    assert!(run.contains("href=\"/ui/prompts?run=r\""), "{run}");

    for (path, message) in [
        (
            "prompts?run=r&status=los",
            "unknown status `los`; did you mean `lost`?",
        ),
        (
            "prompts?run=r&order=x",
            "unknown order `x`; expected one of `visits`",
        ),
        ("prompts?run=s", "no run named `s`"),
    ] {
        let page = service.get(&format!("/ui/{path}")).await;
        let html = String::from_utf8_lossy(&page.bytes);
        assert!(
            page.status == 400 && html.contains(message),
            "{path}: {html}"
        );
        let reply = service.get(&format!("/v1/{path}")).await;
        assert!(
            String::from_utf8_lossy(&reply.bytes).contains(message),
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_api_filters_by_steps_several_values_and_prompt() {
    let (service, _) = with_run("r").await;
    let grades = async |query: &str| {
        let reply = service
            .get(&format!("/v1/grades?run=r&{query}"))
            .await
            .json();
        reply["grades"].as_array().unwrap().clone()
    };
    assert_eq!(grades("step_min=2").await.len(), 18);
    assert_eq!(grades("step_min=2&step_max=2").await.len(), 9);
    assert_eq!(grades("step_min=4").await.len(), 0);
    assert_eq!(
        grades("verdict=correct,wrong_answer&step_min=3")
            .await
            .len(),
        8
    );
    assert_eq!(grades("outcome=failed,ungradable").await.len(), 3);
    let key = grades("limit=1&verdict=correct").await[0]["prompt_key"].clone();
    let of_prompt = grades(&format!("prompt_key={}", key.as_str().unwrap())).await;
    assert!(of_prompt.len() == 24 && of_prompt.iter().all(|grade| grade["prompt_key"] == key));
    for (query, message) in [
        ("prompt_key=x", "`prompt_key` requires `run`"),
        (
            "verdict=correct,wrong_anser",
            "unknown verdict `wrong_anser`; did you mean",
        ),
        (
            "outcome=failed,grade",
            "unknown outcome `grade`; did you mean `graded`?",
        ),
        ("step_min=x", "step_min"),
    ] {
        let refused = service.get(&format!("/v1/grades?{query}")).await;
        let body = String::from_utf8_lossy(&refused.bytes);
        assert!(
            refused.status == 400 && body.contains(message),
            "{query}: {body}"
        );
    }
}

#[tokio::test]
async fn a_rejected_filter_keeps_its_form() {
    let (service, _) = with_run("r").await;
    for (query, field, message) in [
        (
            "run=r&step=two",
            Some("step"),
            "`step` must be a whole number, not `two`",
        ),
        (
            "run=r&score_min=x",
            Some("score_min"),
            "`score_min` must be a number",
        ),
        (
            "run=r&since=yesterday",
            Some("since"),
            "`since` must be a time in UTC",
        ),
        (
            "run=r&batch=1",
            Some("batch"),
            "`batch` must be the id of a batch",
        ),
        (
            "run=r&verdict=wrong_anser",
            Some("verdict"),
            "did you mean `wrong_answer`?",
        ),
        (
            "run=r&outcome=nope",
            Some("outcome"),
            "expected one of `graded`",
        ),
        (
            "run=r&verdikt=correct",
            None,
            "unknown parameter `verdikt`; did you mean `verdict`?",
        ),
    ] {
        let got = service.get(&format!("/ui/grades?{query}")).await;
        let html = String::from_utf8_lossy(&got.bytes);
        assert_eq!(got.status, 400, "{query}");
        assert!(html.contains(message), "{query}: {html}");
        // The form has what was entered, with the invalid field marked.
        assert!(html.contains("name=\"run\" value=\"r\""), "{query}: {html}");
        let marked: Vec<&str> = html
            .split('<')
            .filter(|tag| tag.contains("aria-invalid"))
            .collect();
        assert_eq!(
            marked.len(),
            usize::from(field.is_some()),
            "{query}: {marked:?}"
        );
        for (tag, field) in marked.iter().zip(field) {
            assert!(tag.contains(&format!("name=\"{field}\"")), "{query}: {tag}");
        }
    }
    for page in ["storage", "keys"] {
        let got = service.get(&format!("/ui/{page}?run=r")).await;
        let html = String::from_utf8_lossy(&got.bytes);
        assert_eq!(got.status, 400, "{page}");
        let message = "unknown parameter `run`; the page has none";
        assert!(html.contains(message), "{page}: {html}");
    }
    let got = service.get("/ui/runs?run=r").await;
    let html = String::from_utf8_lossy(&got.bytes);
    let message = "unknown parameter `run`; expected one of search, tag, archived";
    assert!(got.status == 400 && html.contains(message), "{html}");
    for page in ["run?name=s", "suspects?run=s", "disagreements?run=s"] {
        let got = service.get(&format!("/ui/{page}")).await;
        let html = String::from_utf8_lossy(&got.bytes);
        assert_eq!(got.status, 404, "{page}");
        assert!(html.contains("no run named `s`"), "{page}: {html}");
    }
}
