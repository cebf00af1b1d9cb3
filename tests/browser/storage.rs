//! The storage page.

use assay_access::Key;
use assay_record::access::Role;
use serde_json::{Value, json};

use crate::browser::chromium::{Browser, client};
use crate::browser::service::Service;

/// A batch whose completions have this many bytes together, before compression.
fn batch(run: &str, items: usize, bytes: usize) -> Value {
    let items = (0..items).map(|n| {
        let words =
            (0..bytes / items / 8).map(|word| format!("{:07x} ", (word * 40_503 + n) * 9_973));
        json!({
            "completion": words.collect::<String>() + "\\boxed{1}",
            "task": { "type": "math", "answer": "1" },
        })
    });
    json!({ "run": run, "items": items.collect::<Vec<_>>() })
}

async fn sign_in(browser: &Browser, key: &Key) {
    browser.write("input[name='key']", key.reveal()).await;
    browser.follow("main form button").await;
}

/// What `GET /v1/storage` returns, once it includes this many batches.
async fn storage(service: &Service, key: &Key, batches: u64) -> Value {
    loop {
        let request = client().get(format!("{}/v1/storage", service.address));
        let reply = request.bearer_auth(key.reveal()).send().await.unwrap();
        let storage: Value = reply.json().await.unwrap();
        if storage["batches"] == batches {
            return storage;
        }
        tokio::task::yield_now().await;
    }
}

/// A size as the pages show it.
fn size(bytes: &Value) -> String {
    let bytes = bytes.as_f64().unwrap();
    match bytes {
        _ if bytes < 1e3 => format!("{bytes:.0} B"),
        _ if bytes < 1e6 => format!("{:.1} kB", bytes / 1e3),
        _ => format!("{:.1} MB", bytes / 1e6),
    }
}

/// The cells of the rows of a table.
async fn rows(browser: &Browser, section: &str) -> Vec<Vec<String>> {
    let script = format!(
        "return [...document.querySelectorAll('#{section} tbody tr')].map(row =>
            [...row.cells].map(cell => cell.innerText.trim()))"
    );
    serde_json::from_value(browser.script(&script).await).unwrap()
}

#[tokio::test]
async fn shows_runs_and_callers_with_the_sizes_of_the_api_and_fits_the_window() {
    let (service, keys) = Service::with_keys(&[Role::Trainer, Role::Operator, Role::Admin]).await;
    let [trainer, operator, admin] = keys.as_slice() else {
        panic!("{keys:?}")
    };
    let long = "a-run-with-a-long-name/".repeat(9);
    service.grade_as(trainer, &batch("small", 4, 4_000)).await;
    service.grade_as(trainer, &batch(&long, 64, 400_000)).await;
    service
        .grade_as(admin, &batch("<b>bold", 1_000, 4_500_000))
        .await;
    let mut without_run = batch("", 1, 100);
    without_run.as_object_mut().unwrap().remove("run");
    service.grade_as(operator, &without_run).await;
    let reported = storage(&service, operator, 4).await;

    let browser = Browser::start(&service.address).await;
    browser.open("/ui/storage").await;
    sign_in(&browser, trainer).await;
    assert!(browser.text("h1").await.contains("Forbidden"));
    assert!(browser.text(".error").await.contains("`operator`"));
    assert_eq!(browser.count("#holdings").await, 0);
    browser.open("/ui").await;
    browser.follow("form[action='/ui/sign-out'] button").await;

    browser.open("/ui/storage").await;
    sign_in(&browser, operator).await;
    assert_eq!(browser.address().await, "/ui/storage");
    let shown = rows(&browser, "holdings").await;
    let holdings = reported["holdings"].as_array().unwrap();
    let expected: Vec<Vec<String>> = holdings
        .iter()
        .map(|held| {
            // Long names are shown without their middle.
            let run = held["run"].as_str().map_or("–".to_owned(), |run| {
                if run.len() <= 64 {
                    return run.to_owned();
                }
                format!("{}…{}", &run[..24], &run[run.len() - 39..])
            });
            let grades = held["grades"].as_u64().unwrap();
            vec![
                run,
                held["caller"].as_str().unwrap().to_owned(),
                held["batches"].to_string(),
                if grades == 1_000 {
                    "1,000".to_owned()
                } else {
                    grades.to_string()
                },
                size(&held["grade_bytes"]),
                size(&held["body_bytes"]),
            ]
        })
        .collect();
    assert_eq!(shown.len(), 4);
    for (shown, expected) in shown.iter().zip(&expected) {
        assert_eq!(shown, expected);
    }
    let runs: Vec<&str> = shown.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(runs[0], "<b>bold", "the largest is first");
    assert!(
        runs.contains(&"trainer:small") && runs.contains(&"–"),
        "{runs:?}"
    );
    assert!(shown[0][5].ends_with(" MB"), "{shown:?}");
    let sizes = rows(&browser, "sizes").await;
    for (name, value) in [
        ("grades", "1,069".to_owned()),
        ("batches", "4".to_owned()),
        ("values of grades", size(&reported["grade_bytes"])),
        ("bodies, compressed", size(&reported["body_bytes"])),
    ] {
        assert!(
            sizes.contains(&vec![name.to_owned(), value]),
            "{name}: {sizes:?}"
        );
    }

    for width in [1_000, 400] {
        browser.widen(width).await;
        let wide = browser
            .script("return document.documentElement.scrollWidth")
            .await;
        assert!(
            wide.as_u64().unwrap() <= u64::from(width),
            "{wide} at {width}"
        );
        browser.picture(&format!("storage-{width}")).await;
    }
    // The columns of the table are below each other in a narrow window.
    let fits = "const box = document.querySelector('#holdings .scroll');
        return box.scrollWidth <= box.clientWidth";
    assert_eq!(browser.script(fits).await, json!(true));
    browser.widen(1_000).await;
    browser.follow("#holdings tbody tr a.open").await;
    assert_eq!(browser.address().await, "/ui/run?name=%3Cb%3Ebold");
    browser.close_after(&[401, 403]).await;
    service.stop().await;
}
