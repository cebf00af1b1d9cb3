//! Sign-in to the pages.

use std::collections::{BTreeMap, BTreeSet};

use assay_access::KeyChanges;
use assay_core::SystemClock;
use assay_record::access::Role;
use axum::body::Body;
use http::{Method, Request, StatusCode, header};
use serde_json::json;

use crate::http::access::Keyed;
use crate::http::fixtures::{Got, batch, item};

async fn sign_in(keyed: &Keyed, form: &str, headers: &[(&str, &str)]) -> Got {
    let mut request = Request::post("/ui/sign-in")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::HOST, "assay.example");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    keyed
        .service
        .send(request.body(Body::from(form.to_owned())).unwrap())
        .await
}

async fn page(keyed: &Keyed, path: &str, cookie: &str) -> StatusCode {
    let request = Request::get(path).header(header::COOKIE, cookie);
    keyed
        .service
        .send(request.body(Body::empty()).unwrap())
        .await
        .status
}

/// The cookie that a reply sets, as a browser sends it.
fn cookie(got: &Got) -> String {
    let set = got.headers[header::SET_COOKIE].to_str().unwrap();
    for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(set.contains(attribute), "{set}");
    }
    set.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_opens_pages_and_what_they_link_to() {
    let keyed = Keyed::start().await;
    let key = keyed.key(Role::Operator).reveal();
    let got = sign_in(&keyed, &format!("key={key}&then=/ui/runs"), &[]).await;
    assert_eq!(got.status, StatusCode::SEE_OTHER);
    assert_eq!(got.headers[header::LOCATION], "/ui/runs");
    let cookie = cookie(&got);
    assert!(!cookie.contains(key));
    assert_eq!(page(&keyed, "/ui/channels", &cookie).await, StatusCode::OK);
    assert_eq!(page(&keyed, "/v1/runs", &cookie).await, StatusCode::OK);
    // Endpoints that change something need a key, so a forged request could do nothing.
    for path in ["/v1/grade", "/v1/storage/prune", "/v1/adjudications/next"] {
        let request = Request::post(path).header(header::COOKIE, &cookie);
        let got = keyed.service.send(request.body(Body::from("{}")).unwrap());
        assert_eq!(got.await.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    assert_eq!(
        page(&keyed, "/ui", "assay_session=other").await,
        StatusCode::UNAUTHORIZED
    );

    let sign_out = Request::post("/ui/sign-out").header(header::COOKIE, &cookie);
    keyed
        .service
        .send(sign_out.body(Body::empty()).unwrap())
        .await;
    assert_eq!(page(&keyed, "/ui", &cookie).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_session_has_the_role_of_its_key_and_ends_with_it() {
    let keyed = Keyed::start().await;
    let key = keyed.key(Role::Trainer).reveal();
    let cookie = cookie(&sign_in(&keyed, &format!("key={key}"), &[]).await);
    assert_eq!(page(&keyed, "/ui/runs", &cookie).await, StatusCode::OK);
    assert_eq!(
        page(&keyed, "/ui/queue", &cookie).await,
        StatusCode::FORBIDDEN
    );
    let gate = keyed.service.node.gate();
    let store = gate.store().unwrap().as_ref();
    let clock = SystemClock::new();
    for (role, status) in [
        (Role::Operator, StatusCode::OK),
        (Role::Trainer, StatusCode::FORBIDDEN),
    ] {
        let changes = KeyChanges {
            role: Some(role),
            ..KeyChanges::default()
        };
        assay_access::change(store, &clock, "test", "trainer", changes)
            .await
            .unwrap();
        gate.refresh().await.unwrap();
        assert_eq!(page(&keyed, "/ui/queue", &cookie).await, status, "{role}");
    }
    assay_access::rotate(store, &clock, "test", "trainer", i64::MAX)
        .await
        .unwrap();
    gate.refresh().await.unwrap();
    assert_eq!(
        page(&keyed, "/ui/runs", &cookie).await,
        StatusCode::UNAUTHORIZED
    );
}

/// Addresses of this site that a page links to.
fn links(html: &str) -> Vec<String> {
    let links = html.split("href=\"").skip(1);
    let links = links.map(|rest| rest.split('"').next().unwrap());
    links
        .filter(|link| link.starts_with('/'))
        .map(|link| link.replace("&#38;", "&").replace("&amp;", "&"))
        .map(|link| link.split('#').next().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn no_link_of_a_page_is_refused() {
    const MAX_LINKS: usize = 8;
    let keyed = Keyed::start().await;
    for role in Role::ALL {
        let wrong = item("3/8", "\\boxed{1}");
        let mut request = batch([item("3/8", "\\boxed{\\frac{3}{8}}"), wrong]);
        (request["run"], request["step"]) = (json!("r"), json!(1));
        let got = keyed.grade(keyed.key(*role), &request).await;
        assert_eq!(got.status, StatusCode::OK, "{:?}", got.bytes);
    }
    let check = crate::http::checks::report(1);
    let checker = keyed.key(Role::Checker);
    let got = keyed
        .send(checker, Method::POST, "/v1/checks", &check)
        .await;
    assert_eq!(got.status, StatusCode::OK, "{:?}", got.bytes);

    for role in Role::ALL {
        let key = keyed.key(*role).reveal();
        let cookie = cookie(&sign_in(&keyed, &format!("key={key}"), &[]).await);
        let (mut seen, mut waiting) = (BTreeSet::new(), vec!["/ui".to_owned()]);
        let mut forms: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        while let Some(path) = waiting.pop() {
            // Filters combine without end, so a few links with the same parameters are followed.
            let parameters = path.split(['?', '&']).map(|part| part.split('=').next());
            let followed = forms.entry(parameters.flatten().map(str::to_owned).collect());
            let followed = followed.or_insert(0);
            if *followed == MAX_LINKS || !seen.insert(path.clone()) {
                continue;
            }
            *followed += 1;
            let request = Request::get(&path).header(header::COOKIE, &cookie);
            let got = keyed
                .service
                .send(request.body(Body::empty()).unwrap())
                .await;
            assert_eq!(got.status, StatusCode::OK, "{path} as {role}");
            if path.starts_with("/ui") && !path.starts_with("/ui/assets/") {
                waiting.extend(links(&String::from_utf8_lossy(&got.bytes)));
            }
        }
        assert!(
            seen.iter().any(|path| path.starts_with("/v1/grades/")),
            "{seen:?}"
        );
        // The navigation has everything that the role may see.
        for section in [
            "/ui/runs",
            "/ui/grades",
            "/ui/queue",
            "/ui/channels",
            "/ui/disagreements",
            "/ui/suspects",
            "/ui/checks",
            "/ui/cost",
            "/ui/storage",
            "/ui/audit",
            "/ui/keys",
        ] {
            let is_open = page(&keyed, section, &cookie).await == StatusCode::OK;
            assert_eq!(seen.contains(section), is_open, "{section} as {role}");
        }
    }
}

#[tokio::test]
async fn pages_have_no_forms_that_a_role_may_not_send() {
    let keyed = Keyed::start().await;
    let trainer = keyed.key(Role::Trainer);
    for role in Role::ALL {
        let key = keyed.key(*role);
        let graded = keyed.grade(key, &batch([item("2", "\\boxed{3}")])).await;
        let graded = graded.json();
        let id = graded["results"][0]["grade"].as_str().unwrap();
        let got = keyed.get(key, &format!("/ui/grades/{id}")).await;
        let html = String::from_utf8_lossy(&got.bytes);
        assert!(html.contains("id=\"replay\""), "{html}");
        let has_form = html.contains("/adjudicate");
        assert_eq!(has_form, *role >= Role::Operator, "{role}: {html}");
    }
    // The page of an error has the navigation of its viewer.
    let got = keyed.get(trainer, "/ui/queue").await;
    assert_eq!(got.status, StatusCode::FORBIDDEN);
    assert!(links(&String::from_utf8_lossy(&got.bytes)).contains(&"/ui/runs".to_owned()));
    let got = keyed.get(trainer, "/ui/nothing").await;
    assert_eq!(got.status, StatusCode::NOT_FOUND);
    let html = String::from_utf8_lossy(&got.bytes);
    assert!(
        html.contains("no page at") && !html.contains("/ui/queue"),
        "{html}"
    );
}

#[tokio::test]
async fn signing_in_never_adopts_a_cookie() {
    let keyed = Keyed::start().await;
    let key = keyed.key(Role::Trainer).reveal();
    let form = format!("key={key}");
    let planted = "assay_session=planted";
    let first = cookie(&sign_in(&keyed, &form, &[("cookie", planted)]).await);
    assert_ne!(first, planted);
    assert_eq!(page(&keyed, "/ui", planted).await, StatusCode::UNAUTHORIZED);
    // A second sign-in ends the first session.
    let second = cookie(&sign_in(&keyed, &form, &[("cookie", &first)]).await);
    assert_ne!(first, second);
    assert_eq!(page(&keyed, "/ui", &first).await, StatusCode::UNAUTHORIZED);
    assert_eq!(page(&keyed, "/ui", &second).await, StatusCode::OK);
    // Of two cookies, none is used.
    let both = format!("{second}; {planted}");
    assert_eq!(page(&keyed, "/ui", &both).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn other_sites_cannot_sign_in_or_act() {
    let keyed = Keyed::start().await;
    let key = keyed.key(Role::Admin).reveal();
    let form = format!("key={key}");
    for headers in [
        [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
        ],
        [("origin", "http://evil.example"), ("accept", "*/*")],
    ] {
        let got = sign_in(&keyed, &form, &headers).await;
        assert_eq!(got.status, StatusCode::FORBIDDEN, "{headers:?}");
        assert!(!got.headers.contains_key(header::SET_COOKIE));
    }
    let cookie = cookie(&sign_in(&keyed, &form, &[("origin", "http://assay.example")]).await);
    let forged = Request::post("/ui/grades/01JD5XW7P9V6F8K4M3N2Q1R0ST/adjudicate")
        .header(header::COOKIE, &cookie)
        .header(header::HOST, "assay.example")
        .header(header::ORIGIN, "http://evil.example");
    let got = keyed
        .service
        .send(forged.body(Body::from("decision=right")).unwrap())
        .await;
    assert_eq!(got.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_wrong_key_shows_the_form_again_without_it() {
    let keyed = Keyed::start().await;
    let wrong = assay_access::Key::random().unwrap();
    let form = format!("key={}&then=//evil.example", wrong.reveal());
    let got = sign_in(&keyed, &form, &[]).await;
    assert_eq!(got.status, StatusCode::UNAUTHORIZED);
    let text = String::from_utf8_lossy(&got.bytes);
    assert!(
        text.contains("not one of this node") && text.contains("name=\"key\""),
        "{text}"
    );
    assert!(
        !text.contains(wrong.reveal()) && !text.contains("evil.example"),
        "{text}"
    );
}
