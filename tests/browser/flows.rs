//! Workflows of operators: explain a score, inspect a grade, adjudicate.

use serde_json::json;

use crate::browser::chromium::Browser;
use crate::browser::service::Service;

#[tokio::test]
async fn explains_a_score_of_zero_and_replays_the_grade() {
    let service = Service::with_run(6).await;
    let browser = Browser::start(&service.address).await;
    browser.open("/ui").await;
    browser.picture("home").await;
    browser
        .follow("a.open[href='/ui/run?name=pizza%2Fsmall']")
        .await;
    assert!(browser.text("h1").await.contains("pizza/small"));
    assert!(browser.count("svg.chart").await >= 8, "charts");
    browser.picture("run").await;
    browser.follow(".tabs a[href^='/ui/grades']").await;
    browser.choose("verdict", "wrong_answer").await;
    browser.choose("grader", "math").await;
    browser.follow("form.filter button").await;
    let address = browser.address().await;
    assert!(
        address.contains("verdict=wrong_answer") && address.contains("run=pizza%2Fsmall"),
        "{address}"
    );
    assert!(!address.contains("=&"), "no parameter is empty: {address}");
    browser.picture("grades").await;
    browser.go("jj\n").await;
    assert!(
        browser.address().await.starts_with("/ui/grades/0"),
        "the second row opened"
    );
    assert_eq!(browser.text(".compared .side + pre").await, "\\frac{3}{8}");
    assert_eq!(browser.text(".compared div:nth-of-type(2) del").await, "5");
    assert_eq!(browser.text("#completion mark").await, "\\frac{5}{8}");
    browser.picture("grade").await;
    browser.go("p").await;
    assert!(
        browser
            .text("#replayed")
            .await
            .contains("Replay: same result")
    );
    assert!(
        browser
            .text("#replayed tbody")
            .await
            .contains("wrong_answer")
    );
    browser.picture("replayed").await;
    // The list and the group are walked by keyboard, in the filter of the list.
    let replayed = browser.address().await;
    browser.go("]").await;
    let older = browser.address().await;
    assert!(
        older.contains("verdict=wrong_answer") && older != replayed,
        "{older}"
    );
    browser.go("[").await;
    assert_eq!(browser.address().await, replayed.replace("/replay", ""));
    let first = browser.text("#group li[aria-current]").await;
    assert!(first.contains("this grade"), "{first}");
    let key = if browser.count("#group-next").await > 0 {
        "}"
    } else {
        "{"
    };
    browser.go(key).await;
    assert_ne!(browser.address().await, replayed.replace("/replay", ""));
    assert_eq!(browser.count("#group li[aria-current]").await, 1);
    browser
        .write("textarea[name=text]", "the answer is five eighths")
        .await;
    browser
        .write("input[name=labels]", "gold-right, slices")
        .await;
    browser.follow("#comment").await;
    assert!(browser.text("#comments").await.contains("five eighths"));
    browser.picture("commented").await;
    browser.follow("#comments a.badge[href$='slices']").await;
    assert_eq!(browser.count(".list .row").await, 1);
    assert!(browser.text(".list .row").await.contains("1 comment"));
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn adjudications_update_the_interval_of_the_channel() {
    let service = Service::with_run(3).await;
    let browser = Browser::start(&service.address).await;
    let interval = async || {
        browser.open("/ui/channels").await;
        browser
            .text("tr[data-channel='math/default@2'] .rate:nth-of-type(7)")
            .await
    };
    assert_eq!(interval().await, "not known");
    browser.open("/ui").await;
    browser.go("gv").await;
    browser.go("gq").await;
    assert_eq!(browser.address().await, "/ui/queue");
    browser.picture("queue").await;
    browser.choose("channel", "math/default").await;
    browser.choose("passes", "false").await;
    browser.follow("#draw").await;
    browser.picture("drawn").await;
    for key in ["w", "w", "s", "r", "w"] {
        let before = browser.address().await;
        browser.go(key).await;
        let after = browser.address().await;
        assert!(
            after.starts_with("/ui/queue/") && after != before,
            "{key}: from {before} to {after}"
        );
    }
    let first = interval().await;
    assert!(
        first.contains("measured") && first.contains(" to "),
        "{first}"
    );
    browser.picture("channels").await;
    browser.go("gq").await;
    assert_eq!(
        browser.count("#recent .row").await,
        4,
        "what was said, without what was skipped"
    );
    assert_eq!(
        browser.count("#assigned .row").await,
        2,
        "the skipped one and the next one are still open"
    );
    browser.choose("channel", "math/default").await;
    browser.choose("passes", "false").await;
    browser.follow("#draw").await;
    browser
        .write("textarea[name=note]", "five eighths are eaten")
        .await;
    browser.follow("#right").await;
    let second = interval().await;
    assert_ne!(first, second);
    browser.open("/ui/queue").await;
    assert!(
        browser
            .text("#recent .row")
            .await
            .contains("five eighths are eaten")
    );
    let channels = service.get("/v1/channels").await;
    let mut channels = channels["channels"].as_array().unwrap().iter();
    assert_eq!(
        channels
            .find(|channel| channel["channel"] == "math/default")
            .unwrap()["checked_negatives"],
        5
    );
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn a_link_reproduces_the_filtered_list() {
    let service = Service::with_run(4).await;
    let browser = Browser::start(&service.address).await;
    browser.open("/ui/grades").await;
    browser.press("/").await;
    browser.go("pizza/small\n").await;
    let address = browser.address().await;
    assert!(address.contains("run=pizza%2Fsmall"), "{address}");
    assert_eq!(browser.count(".row").await, 50);
    let top = browser.text(".row").await;
    browser.go("n").await;
    assert!(browser.address().await.contains("before="));
    let below = (browser.address().await, browser.text(".row").await);
    assert_ne!(top, below.1);
    browser.open("/ui").await;
    browser.open(&below.0).await;
    assert_eq!(browser.text(".row").await, below.1);
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn a_column_of_the_reward_chart_opens_its_grades_by_keyboard() {
    let service = Service::with_run(4).await;
    let browser = Browser::start(&service.address).await;
    for width in [1_280, 390] {
        browser.widen(width).await;
        browser.open("/ui/run?name=pizza%2Fsmall").await;
        let name = browser
            .script(
                "const link = document.querySelectorAll('figure svg a')[2]; link.focus(); \
                 return document.activeElement.getAttribute('aria-label')",
            )
            .await;
        let name = name.as_str().unwrap();
        assert!(
            name.starts_with("step 2: 0.") && name.ends_with(" of 32"),
            "{name}"
        );
        browser.picture(&format!("chart-{width}")).await;
        browser.go("\n").await;
        assert_eq!(
            browser.address().await,
            "/ui/grades?run=pizza%2Fsmall&step=2"
        );
        assert_eq!(browser.count(".row").await, 32);
        browser
            .follow(".facets a[href*='verdict=wrong_answer']")
            .await;
        let counted = browser.text(".facets a[aria-current] small").await;
        assert_eq!(counted, browser.count(".row").await.to_string());
        browser.picture(&format!("facets-{width}")).await;
    }
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn from_a_run_to_the_grades_of_a_lost_prompt() {
    let service = Service::start().await;
    for (step, completion) in ["\\boxed{4}", "\\boxed{4}", "\\boxed{5}"]
        .into_iter()
        .enumerate()
    {
        let items = ["easy", "sum"].map(|key| {
            let completion = if key == "easy" {
                "\\boxed{4}"
            } else {
                completion
            };
            json!({
                "prompt_key": key, "completion": completion,
                "task": { "type": "math", "answer": "4" },
            })
        });
        service
            .grade(&json!({ "run": "r", "step": step, "items": items }))
            .await;
    }
    let browser = Browser::start(&service.address).await;
    for width in [1_280, 390] {
        browser.widen(width).await;
        browser.open("/ui/run?name=r").await;
        browser.follow(".tabs a[href^='/ui/prompts']").await;
        assert_eq!(browser.count(".row").await, 2);
        browser.follow(".facets a[href*='status=lost']").await;
        assert_eq!(browser.count(".row").await, 1);
        browser.picture(&format!("prompts-{width}")).await;
        browser.go("j\n").await;
        assert_eq!(browser.address().await, "/ui/grades?run=r&prompt_key=sum");
        assert_eq!(browser.count(".row").await, 3);
        assert_eq!(browser.text("td[data-label=Got]").await, "5");
    }
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn shows_findings_of_a_dataset_and_what_changed() {
    let service = Service::start().await;
    let mut report = crate::browser::service::check();
    service.post("/v1/checks", &report).await;
    report["counts"]["refusal-accepted"] = json!(2);
    report["counts"]["gold-missing"] = json!(0);
    let newest = service.post("/v1/checks", &report).await;
    let browser = Browser::start(&service.address).await;
    browser.open("/ui").await;
    browser.go("gk").await;
    browser.picture("checks").await;
    browser.go("j\n").await;
    assert_eq!(
        browser.address().await,
        format!("/ui/checks/{}", newest["check"].as_str().unwrap())
    );
    assert_eq!(browser.count("tbody .row").await, 2, "codes");
    let codes = browser.text("tbody:has(.row)").await;
    assert!(
        codes.contains("gold-missing") && codes.contains("refusal-accepted"),
        "{codes}"
    );
    browser.picture("check").await;
    let findings = async || browser.count("td.wide").await;
    assert_eq!(findings().await, 2);
    browser.follow("a.open[href*='refusal-accepted']").await;
    assert_eq!(findings().await, 1);
    assert!(browser.text("td.wide").await.contains("I cannot help"));
    browser.follow("thead a").await;
    assert_eq!(
        browser.count("thead a").await,
        0,
        "the first check has none before it"
    );
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn every_control_is_reachable_by_keyboard() {
    let service = Service::with_run(2).await;
    let browser = Browser::start(&service.address).await;
    browser.open("/ui").await;
    let pages = [
        "runs",
        "grades",
        "channels",
        "queue",
        "disagreements",
        "channels",
        "suspects",
        "checks",
        "cost",
    ];
    for (key, page) in ["r", "g", "v", "q", "d", "c", "s", "k", "t"]
        .into_iter()
        .zip(pages)
    {
        browser.go(&format!("g{key}")).await;
        assert_eq!(browser.address().await, format!("/ui/{page}"));
    }
    browser.open("/ui/grades").await;
    browser.press("jjk").await;
    let focus = "const row = document.activeElement.closest('.row'); return \
                 [...row.parentNode.children].indexOf(row)";
    assert_eq!(browser.script(focus).await, 0);
    let outline = "return getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(browser.script(outline).await, "solid", "the focus is seen");
    browser.press("?").await;
    assert!(
        browser
            .text("dialog[open]")
            .await
            .contains("next and previous row")
    );
    browser.press("\u{e00c}").await;
    assert_eq!(browser.count("dialog[open]").await, 0);
    browser.close().await;
    service.stop().await;
}
