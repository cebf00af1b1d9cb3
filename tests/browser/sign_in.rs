//! Sign-in to the pages, and what each role sees.

use assay_record::access::Role;
use serde_json::json;

use crate::browser::chromium::Browser;
use crate::browser::service::{Service, of_step};

async fn sign_in(browser: &Browser, key: &str) {
    browser.write("input[name='key']", key).await;
    browser.follow("main form button").await;
}

#[tokio::test]
async fn a_trainer_signs_in_and_sees_only_its_own_runs() {
    let (service, keys) = Service::with_keys(&[Role::Trainer, Role::Admin]).await;
    let [trainer, admin] = keys.as_slice() else {
        panic!("{keys:?}")
    };
    service.grade_as(trainer, &of_step(0)).await;
    let mut other = of_step(0);
    other["run"] = json!("secret");
    let other = service.grade_as(admin, &other).await;
    let grade = other["results"][0]["grade"].as_str().unwrap();

    let browser = Browser::start(&service.address).await;
    browser.open("/ui/runs").await;
    browser.picture("sign-in").await;
    sign_in(&browser, "assay_wrong").await;
    assert!(browser.text(".error").await.contains("malformed key"));
    sign_in(&browser, trainer.reveal()).await;
    assert_eq!(browser.address().await, "/ui/runs");
    assert_eq!(browser.count("tr.row").await, 1);
    assert!(browser.text("tr.row").await.contains("pizza/small"));
    // Scripts cannot read the cookie.
    assert_eq!(browser.script("return document.cookie").await, json!(""));

    browser.open("/ui/run?name=secret").await;
    assert!(browser.text("h1").await.contains("Not Found"));
    browser.open(&format!("/ui/grades/{grade}")).await;
    assert!(browser.text("h1").await.contains("Not Found"));
    browser.open("/ui/queue").await;
    assert!(browser.text("h1").await.contains("Forbidden"));
    assert!(browser.text(".error").await.contains("`operator`"));

    browser.open("/ui").await;
    browser.follow("form[action='/ui/sign-out'] button").await;
    browser.open("/ui/runs").await;
    sign_in(&browser, admin.reveal()).await;
    assert_eq!(browser.count("tr.row").await, 2);
    browser.open("/ui/keys").await;
    browser.picture("keys").await;
    assert_eq!(browser.count("tbody tr").await, 2);
    assert!(!browser.text("main").await.contains(admin.reveal()));
    browser.open("/ui/audit").await;
    browser.picture("audit").await;
    assert!(browser.text("tbody").await.contains("key.create"));
    browser.close_after(&[401, 403, 404]).await;
    service.stop().await;
}
