//! The list of runs, what operators note about a run, and the refresh of pages.

use serde_json::json;

use crate::browser::chromium::Browser;
use crate::browser::service::{Service, of_step};

/// A run of two steps with this name.
async fn grade(service: &Service, run: &str) {
    for step in 0..2 {
        let mut batch = of_step(step);
        batch["run"] = json!(run);
        service.grade(&batch).await;
    }
}

#[tokio::test]
async fn an_operator_searches_tags_sorts_and_archives_runs() {
    let service = Service::start().await;
    let long = format!("team/{}/seed-17", "x".repeat(100));
    for run in ["pizza/small", "pizza/large", &long] {
        grade(&service, run).await;
    }
    let browser = Browser::start(&service.address).await;
    for width in [1_280, 390] {
        browser.widen(width).await;
        browser.open("/ui/runs").await;
        assert_eq!(browser.count("tr.row").await, 3);
        assert_eq!(browser.count("svg.spark").await, 3);
        assert!(
            browser.text("tr.row").await.contains("/seed-17"),
            "the end of the name"
        );
        browser.press("/").await;
        browser.go("LARGE\n").await;
        assert_eq!(browser.address().await, "/ui/runs?search=LARGE");
        assert_eq!(browser.count("tr.row").await, 1);
    }
    browser.widen(1_280).await;

    browser.go("j\n").await;
    browser.click("#run-notes summary").await;
    browser
        .write("#run-notes input[name=tags]", "base v2")
        .await;
    browser
        .write("#run-notes textarea", "diverged at step 1")
        .await;
    browser.picture("run-notes").await;
    browser.follow("#run-notes button").await;
    assert!(browser.text("#run-notes .note").await.contains("diverged"));
    browser.follow("#run-notes a.tag[href$='tag=base']").await;
    assert_eq!(browser.address().await, "/ui/runs?tag=base");
    assert_eq!(browser.count("tr.row").await, 1);
    assert!(
        browser
            .text("td.noted")
            .await
            .contains("diverged at step 1")
    );
    browser.follow("p a.tag").await;
    assert_eq!(browser.address().await, "/ui/runs");

    browser.follow("thead a[href$='sort=name']").await;
    assert!(browser.text("tr.row").await.contains("pizza/large"));
    assert_eq!(browser.text("th[aria-sort=ascending]").await, "Run");
    browser.picture("runs-sorted").await;
    browser.follow("th[aria-sort=ascending] a").await;
    assert!(browser.text("tr.row").await.contains("/seed-17"));

    browser.open("/ui/run?name=pizza%2Fsmall").await;
    browser.click("#run-notes summary").await;
    browser.click("#run-notes input[name=archived]").await;
    browser.follow("#run-notes button").await;
    assert!(browser.text("#run-notes").await.contains("archived"));
    browser.open("/ui/runs").await;
    assert_eq!(browser.count("tr.row").await, 2);
    browser.follow("a[href='/ui/runs?archived=true']").await;
    assert_eq!(browser.text("tr.row a.open").await, "pizza/small");
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn a_page_shows_new_grades_without_a_reload_unless_it_is_paused() {
    let service = Service::with_run(2).await;
    let browser = Browser::start(&service.address).await;
    // A refresh, as when the user comes back to the page, and what it shows.
    let refreshed = async |shown: &str| {
        let script = format!(
            "document.dispatchEvent(new Event('visibilitychange')); \
             return document.querySelector('#runs').innerText.includes({})",
            json!(shown)
        );
        for _ in 0..30 {
            if browser.script(&script).await == true {
                return true;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        false
    };
    browser.open("/ui/runs").await;
    browser.script("window.same = true").await;
    assert_eq!(browser.text("#live").await, "Refresh: on");
    grade(&service, "second").await;
    assert!(refreshed("second").await);
    assert_eq!(
        browser.script("return window.same").await,
        true,
        "it was not loaded again"
    );
    // Rows that a refresh brought open by key and by click.
    browser.press("j").await;
    assert_eq!(browser.text(":focus").await, "second");
    grade(&service, "third").await;
    assert!(!refreshed("third").await, "the list has the focus");
    browser.script("document.activeElement.blur()").await;
    assert!(refreshed("third").await);

    browser.click("tr.row input").await;
    browser.script("document.activeElement.blur()").await;
    grade(&service, "fourth").await;
    assert!(!refreshed("fourth").await, "a run is ticked");
    browser.click("tr.row input").await;
    browser.script("document.activeElement.blur()").await;
    browser.click("#live").await;
    assert_eq!(browser.text("#live").await, "Refresh: paused");
    assert!(!refreshed("fourth").await);
    browser.open("/ui").await;
    assert_eq!(
        browser.text("#live").await,
        "Refresh: paused",
        "on all pages"
    );
    assert!(browser.text("#live-runs").await.contains("fourth"));
    assert!(browser.count("#live-runs svg.spark").await >= 4);
    browser.picture("overview-live").await;
    browser.click("#live").await;
    browser.open("/ui/runs").await;
    browser.script("window.same = true").await;
    grade(&service, "fifth").await;
    assert!(refreshed("fifth").await);
    browser.open("/ui/cost").await;
    assert_eq!(
        browser.count("#live:not([hidden])").await,
        0,
        "nothing to refresh"
    );
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn the_run_and_steps_are_kept_from_page_to_page() {
    let service = Service::with_run(4).await;
    let browser = Browser::start(&service.address).await;
    browser.open("/ui/run?name=pizza%2Fsmall").await;
    browser.write("form.filter input[name=from]", "1").await;
    browser.follow("form.filter button").await;
    let address = browser.address().await;
    assert_eq!(
        address, "/ui/run?name=pizza%2Fsmall&from=1",
        "no parameter is empty"
    );
    for (key, section) in [("g", "grades"), ("s", "suspects"), ("t", "cost")] {
        browser.go(&format!("g{key}")).await;
        assert_eq!(
            browser.address().await,
            format!("/ui/{section}?run=pizza%2Fsmall&step_min=1")
        );
        let field = |name: &str| {
            format!("return document.querySelector('form.filter input[name={name}]').value")
        };
        assert_eq!(browser.script(&field("run")).await, "pizza/small");
        assert_eq!(browser.script(&field("step_min")).await, "1");
        browser.picture(&format!("bar-{section}")).await;
    }
    browser.follow(".tabs a[href^='/ui/disagreements']").await;
    let disagreements = "/ui/disagreements?run=pizza%2Fsmall&step_min=1";
    assert_eq!(browser.address().await, disagreements);
    browser.picture("bar-disagreements").await;
    browser.follow(".tabs a[href^='/ui/prompts']").await;
    browser.follow(".tabs a[href^='/ui/compare']").await;
    assert_eq!(
        browser.address().await,
        "/ui/compare?b=pizza%2Fsmall&b_from=1"
    );
    browser.follow(".tabs a[href^='/ui/run']").await;
    assert_eq!(browser.address().await, "/ui/run?name=pizza%2Fsmall&from=1");
    browser.close().await;
    service.stop().await;
}
