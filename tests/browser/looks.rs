//! Layout of pages: narrow screens, dark mode, hostile texts.

use serde_json::{Value, json};

use crate::browser::chromium::Browser;
use crate::browser::service::Service;

/// Every page, with a grade of the newest step and a check.
async fn pages(service: &Service) -> Vec<(&'static str, String)> {
    let newest = service.get("/v1/grades?limit=1&verdict=wrong_answer").await;
    let check = service
        .post("/v1/checks", &crate::browser::service::check())
        .await;
    let grade = newest["grades"][0]["grade"].as_str().unwrap().to_owned();
    vec![
        ("home", "/ui".to_owned()),
        ("runs", "/ui/runs".to_owned()),
        ("run", "/ui/run?name=pizza%2Fsmall".to_owned()),
        ("prompts", "/ui/prompts?run=pizza%2Fsmall".to_owned()),
        ("grades", "/ui/grades?run=pizza%2Fsmall".to_owned()),
        ("grade", format!("/ui/grades/{grade}")),
        ("queue", "/ui/queue".to_owned()),
        ("drawn", format!("/ui/queue/{grade}")),
        ("channels", "/ui/channels".to_owned()),
        ("disagreements", "/ui/disagreements".to_owned()),
        ("suspects", "/ui/suspects".to_owned()),
        ("cost", "/ui/cost".to_owned()),
        ("checks", "/ui/checks".to_owned()),
        (
            "check",
            format!("/ui/checks/{}", check["check"].as_str().unwrap()),
        ),
        ("audit", "/ui/audit".to_owned()),
        ("keys", "/ui/keys".to_owned()),
        ("storage", "/ui/storage".to_owned()),
        ("sign-in", "/ui/sign-in".to_owned()),
        ("missing", "/ui/nothing".to_owned()),
    ]
}

#[tokio::test]
async fn no_page_is_wider_than_the_window() {
    let service = Service::with_run(5).await;
    let browser = Browser::start(&service.address).await;
    for width in [1_280, 1_000, 390] {
        browser.widen(width).await;
        for (name, page) in pages(&service)
            .await
            .iter()
            .filter(|(name, _)| *name != "missing")
        {
            browser.open(page).await;
            let wide = browser
                .script("return document.documentElement.scrollWidth")
                .await;
            assert!(
                wide.as_u64().unwrap() <= u64::from(width),
                "{name} is {wide} wide at {width}"
            );
            browser.picture(&format!("{name}-{width}")).await;
        }
    }
    browser.close().await;
    service.stop().await;
}

/// The least contrast of a text with its background, by the formula of WCAG 2, and that text.
const CONTRAST: &str = r"
    const channel = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
    const parse = (text) => text.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const behind = (node) => {
        for (; node; node = node.parentElement) {
            const colour = parse(getComputedStyle(node).backgroundColor);
            if (colour.length < 4 || colour[3] > 0.5) return colour;
        }
        return [255, 255, 255];
    };
    let least = [99, ''];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || node.closest('svg, dialog, script, option, .skip')) continue;
        const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < least[0]) least = [ratio, `${node.className} ${walker.currentNode.data.trim()}`];
    }
    return least;
";

#[tokio::test]
async fn every_text_has_enough_contrast_in_both_colour_schemes() {
    let service = Service::with_run(5).await;
    let browser = Browser::start(&service.address).await;
    for colours in ["light", "dark"] {
        browser.prefer(colours).await;
        for (name, page) in pages(&service)
            .await
            .iter()
            .filter(|(name, _)| *name != "missing")
        {
            browser.open(page).await;
            let least = browser.script(CONTRAST).await;
            assert!(
                least[0].as_f64().unwrap() >= 4.5,
                "{name} in the {colours}: {least}"
            );
            browser.picture(&format!("{name}-{colours}")).await;
        }
    }
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn keeps_the_selected_colour_scheme() {
    let service = Service::with_run(1).await;
    let browser = Browser::start(&service.address).await;
    let paper = async || {
        browser
            .script("return getComputedStyle(document.documentElement).backgroundColor")
            .await
    };
    browser.prefer("light").await;
    browser.open("/ui").await;
    let light = paper().await;
    browser.click("#theme").await;
    browser.click("#theme").await;
    assert_eq!(browser.text("#theme").await, "Colours: dark");
    assert_ne!(paper().await, light);
    browser.open("/ui/runs").await;
    assert_ne!(paper().await, light, "on the next page too");
    browser.click("#theme").await;
    assert_eq!(paper().await, light);
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn a_hostile_completion_runs_no_script_and_keeps_the_layout() {
    let service = Service::start().await;
    let text = "<script>window.hit = 1</script><img src=x onerror='window.hit = \
        2'>\u{202e}mirror\u{1b}[2J <a href='javascript:window.hit=3' class=open>x</a>"
        .to_owned();
    let long = format!("{text}{} \\boxed{{{text}}}", "W".repeat(300_000));
    let item = json!({ "id": text, "group": text, "prompt": text, "completion": long, "meta": { "a": text },
        "task": { "type": "math", "answer": text } });
    // Names of runs have no control characters.
    let run = text.replace('\u{1b}', "");
    let graded = service
        .grade(&json!({ "run": run, "step": 1, "items": [item] }))
        .await;
    let grade = graded["results"][0]["grade"].as_str().unwrap();
    let browser = Browser::start(&service.address).await;
    for page in [
        "/ui",
        "/ui/runs",
        "/ui/grades",
        "/ui/suspects",
        &format!("/ui/grades/{grade}"),
    ] {
        browser.open(page).await;
        assert_eq!(
            browser.script("return window.hit").await,
            Value::Null,
            "{page}"
        );
        let wide = browser
            .script("return document.documentElement.scrollWidth <= innerWidth")
            .await;
        assert_eq!(wide, true, "{page}");
        assert_eq!(browser.count("a[href^='javascript']").await, 0, "{page}");
    }
    browser.picture("hostile").await;
    browser.close().await;
    service.stop().await;
}
