//! Layout of pages: narrow screens, dark mode, hostile texts.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::chromium::Browser;
use crate::browser::service::Service;

/// Every page, with a grade of the newest step and a check. The run has tags and a note, the grade
/// a comment, and an answer in LaTeX; another grade has a conversation, and one is drawn.
async fn pages(service: &Service) -> Vec<(&'static str, String)> {
    let newest = service
        .get("/v1/grades?limit=1&verdict=wrong_answer&run=pizza%2Fsmall")
        .await;
    let check = service
        .post("/v1/checks", &crate::browser::service::check())
        .await;
    let grade = newest["grades"][0]["grade"].as_str().unwrap().to_owned();
    let comment = json!({ "text": "five eighths are eaten", "labels": ["gold-right"] });
    service
        .post(&format!("/v1/grades/{grade}/comments"), &comment)
        .await;
    let notes = json!({ "tags": ["base", "v1.2"], "note": "diverged at step 4\nsee the log" });
    service.patch("/v1/runs/pizza%2Fsmall", &notes).await;
    let conversation = service.grade(&conversation()).await;
    let conversation = conversation["results"][0]["grade"].as_str().unwrap();
    let drawn = service.post("/v1/adjudications/next", &json!({})).await;
    let drawn = drawn["grade"]["grade"].as_str().unwrap();
    let replay = replayed(service).await;
    let session = called(service).await;
    shadowed(service).await;
    vec![
        ("home", "/ui".to_owned()),
        ("runs", "/ui/runs".to_owned()),
        ("run", "/ui/run?name=pizza%2Fsmall".to_owned()),
        ("prompts", "/ui/prompts?run=pizza%2Fsmall".to_owned()),
        ("grades", "/ui/grades?run=pizza%2Fsmall".to_owned()),
        ("grade", format!("/ui/grades/{grade}")),
        ("conversation", format!("/ui/grades/{conversation}")),
        (
            "compare",
            "/ui/compare?a=pizza%2Fsmall&a_to=1&b=pizza%2Fsmall&b_from=2".to_owned(),
        ),
        ("queue", "/ui/queue".to_owned()),
        ("drawn", format!("/ui/queue/{drawn}")),
        ("channels", "/ui/channels".to_owned()),
        (
            "channel",
            "/ui/channel?name=math%2Fpizza-slices-of-several-kinds".to_owned(),
        ),
        ("disagreements", "/ui/disagreements".to_owned()),
        ("suspects", "/ui/suspects".to_owned()),
        ("cost", "/ui/cost".to_owned()),
        ("checks", "/ui/checks".to_owned()),
        (
            "check",
            format!("/ui/checks/{}", check["check"].as_str().unwrap()),
        ),
        ("jobs", "/ui/jobs".to_owned()),
        ("job", format!("/ui/jobs/{replay}")),
        ("shadow", "/ui/shadow?name=pizza%2Fsmall".to_owned()),
        ("sessions", "/ui/sessions".to_owned()),
        ("session", format!("/ui/sessions/{session}")),
        ("audit", "/ui/audit".to_owned()),
        ("keys", "/ui/keys".to_owned()),
        ("storage", "/ui/storage".to_owned()),
        ("sign-in", "/ui/sign-in".to_owned()),
        ("missing", "/ui/nothing".to_owned()),
    ]
}

/// A replay that changes verdicts, after its end.
async fn replayed(service: &Service) -> String {
    let options = json!({ "options": { "answer": "1000" } });
    let job = service
        .post("/v1/jobs/replay?run=pizza%2Fsmall", &options)
        .await;
    let id = job["job"].as_str().unwrap().to_owned();
    loop {
        let job = service.get(&format!("/v1/jobs/{id}")).await;
        if job["state"] == "done" {
            assert!(job["replay"]["flipped"].as_u64().unwrap() > 0, "{job}");
            return id;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Starts a shadow that changes verdicts, and waits until it has found some.
async fn shadowed(service: &Service) {
    let shadow = json!({ "options": { "answer": "1000" }, "share": 1.0, "from_start": true });
    let path = "/v1/runs/pizza%2Fsmall/shadow";
    service.post(path, &shadow).await;
    while service.get(path).await["findings"]["replay"]["flipped"] == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// An interpreter session with a call that succeeds and one that fails.
async fn called(service: &Service) -> String {
    let name = "rollout 17 of a run with a long name, seed 0001";
    let open = json!({ "language": "python", "name": name });
    let session = service.post("/v1/sessions", &open).await;
    let id = session["id"].as_str().unwrap().to_owned();
    for code in ["slices = 8\nslices - 5", "slices / 0"] {
        let run = format!("/v1/sessions/{id}/run");
        service.post(&run, &json!({ "code": code })).await;
    }
    id
}

/// A batch whose prompt and completion are messages, of a channel with judged verdicts.
pub(crate) fn conversation() -> Value {
    let message = |role: &str, content: &str| json!({ "role": role, "content": content });
    let items = (0..40u32).map(|n| {
        let answer = ["\\frac{3}{8}", "0.375", "\\frac{1}{2}"][n as usize % 3];
        json!({
            "id": format!("i{n}"),
            "channel": "pizza-slices-of-several-kinds",
            "prompt": [message("system", "Answer in a box."), message("user", "How much is left?")],
            "completion": [
                message("assistant", &format!("So it is \\boxed{{{answer}}}")),
            ],
            "task": { "type": "math", "answer": "3/8", "form": "decimal" },
        })
    });
    let judge = json!({ "type": "math", "answer": "{{ task.answer }}" });
    let appeals = [json!({ "judge": judge, "negatives": 1.0, "positives": 1.0 })];
    json!({
        "run": "pizza/with-a-long-name/seed-0001/learning-rate-3e-5",
        "step": 1,
        "policy": { "appeals": appeals },
        "items": items.collect::<Vec<_>>(),
    })
}

/// The script that checks accessibility, which `make browser` fetches.
#[expect(
    clippy::disallowed_methods,
    reason = "`make browser` finds the cache in the same way"
)]
fn axe() -> String {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    let file = cache
        .unwrap_or_else(home)
        .join("assay/axe/axe-4.14.1.min.js");
    std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{} ({error}): run `make browser`", file.display()))
}

/// Runs axe with the rules of WCAG 2.2 AA, and returns what breaks them.
const RUN_AXE: &str = r"
    const done = arguments[arguments.length - 1];
    const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    axe.run(document, { runOnly: rules, preload: false, resultTypes: ['violations'] }).then(
        ({ violations, passes }) => done({
            passes: passes.length,
            violations: violations.map(({ id, nodes }) =>
                `${id}: ${nodes.map((node) => node.html + ' ' + node.failureSummary).join(' | ')}`),
        }),
        (error) => done({ passes: 0, violations: [String(error)] }),
    );
";

#[tokio::test]
async fn every_page_is_accessible_and_as_wide_as_the_window() {
    let service = Service::with_run(5).await;
    let browser = Browser::start(&service.address).await;
    let (axe, pages) = (axe(), pages(&service).await);
    let mut broken = Vec::new();
    // The contrast of texts is one of the rules.
    for (colours, width, checked) in [
        ("light", 1_280, true),
        ("dark", 1_000, false),
        ("dark", 390, true),
    ] {
        browser.prefer(colours).await;
        browser.widen(width).await;
        for (name, page) in &pages {
            browser.open(page).await;
            let wide = browser
                .script("return document.documentElement.scrollWidth")
                .await;
            if wide.as_u64().unwrap() > u64::from(width) {
                broken.push(format!("{name} is {wide} wide at {width}"));
            }
            browser.picture(&format!("{name}-{colours}-{width}")).await;
            if !checked {
                continue;
            }
            browser.script(&axe).await;
            let found = browser.script_later(RUN_AXE).await;
            assert!(found["passes"].as_u64().unwrap() > 10, "{name}: {found}");
            for violation in found["violations"].as_array().unwrap() {
                broken.push(format!("{name}, {colours}, {width}: {violation}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    // The console has the status of the page that does not exist.
    browser.close_after(&[404]).await;
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
