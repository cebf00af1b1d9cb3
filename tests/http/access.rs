//! Roles, and what callers see of each other, over the router of a real node.

use assay_access::{Key, NewKey};
use assay_core::SystemClock;
use assay_node::config::{Config, KeyRequirement};
use assay_record::access::{Access, Quotas, Role};
use axum::body::Body;
use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};

use crate::http::fixtures::{Got, Service, batch, item, service_with};

/// A node that requires keys, with a key of every role.
pub(crate) struct Keyed {
    pub(crate) service: Service,
    keys: Vec<(Role, Key)>,
}

impl Keyed {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// With a configuration that `change` has changed.
    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let service = service_with(|config| {
            config.access.keys = KeyRequirement::Required;
            change(config);
        })
        .await;
        let mut keyed = Self {
            service,
            keys: Vec::new(),
        };
        for role in Role::ALL {
            let key = keyed.create(role.as_str(), *role, Quotas::default()).await;
            keyed.keys.push((*role, key));
        }
        keyed
    }

    pub(crate) async fn create(&self, name: &str, role: Role, quotas: Quotas) -> Key {
        create_key(&self.service, name, role, quotas).await
    }

    pub(crate) fn key(&self, role: Role) -> &Key {
        &self.keys.iter().find(|(of, _)| *of == role).unwrap().1
    }

    pub(crate) async fn send(&self, key: &Key, method: Method, path: &str, body: &Value) -> Got {
        send_with_key(&self.service, key, method, path, body).await
    }

    pub(crate) async fn get(&self, key: &Key, path: &str) -> Got {
        self.send(key, Method::GET, path, &Value::Null).await
    }

    pub(crate) async fn grade(&self, key: &Key, batch: &Value) -> Got {
        self.send(key, Method::POST, "/v1/grade", batch).await
    }
}

pub(crate) async fn create_key(service: &Service, name: &str, role: Role, quotas: Quotas) -> Key {
    let gate = service.node.gate();
    let new = NewKey {
        name: name.to_owned(),
        role,
        quotas,
        expires_us: None,
    };
    let store = gate.store().unwrap().as_ref();
    let key = assay_access::create(store, &SystemClock::new(), "test", new)
        .await
        .unwrap();
    gate.refresh().await.unwrap();
    key
}

pub(crate) async fn send_with_key(
    service: &Service,
    key: &Key,
    method: Method,
    path: &str,
    body: &Value,
) -> Got {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {}", key.reveal()))
        .header(header::CONTENT_TYPE, "application/json");
    let body = if body.is_null() {
        Body::empty()
    } else {
        Body::from(body.to_string())
    };
    service.send(request.body(body).unwrap()).await
}

/// A path of the router with values for its parameters.
fn example(path: &str) -> String {
    path.replace("{id}", "01JD5XW7P9V6F8K4M3N2Q1R0ST")
        .replace("{*rest}", "rest")
        .replace("{run}", "run")
        .replace("{name}", "name")
        .replace("{path}", "path")
        .replace("{comment}", "01JD5XW7P9V6F8K4M3N2Q1R0ST")
}

#[tokio::test]
async fn a_run_without_a_namespace_is_not_in_that_of_a_key() {
    let keyed = Keyed::start().await;
    let of_run = |run: &str| {
        let mut batch = batch(vec![item("1", "1")]);
        batch["run"] = json!(run);
        batch
    };
    keyed
        .create("alice", Role::Trainer, Quotas::default())
        .await;
    for role in [Role::Operator, Role::Admin] {
        for run in ["alice:x", "trainer:x:y", "admin:x"] {
            let refused = keyed.grade(keyed.key(role), &of_run(run)).await;
            let (status, code, pointer) = refused.refusal();
            assert_eq!((status, code.as_str()), (422, "invalid_field"), "{run}");
            assert_eq!(pointer.as_deref(), Some("/run"));
        }
        for run in ["alice", "alice-2:x", ":x", "@a:x"] {
            let graded = keyed.grade(keyed.key(role), &of_run(run)).await;
            assert_eq!(graded.status, StatusCode::OK, "{run}");
        }
    }
    // In its own namespace, a caller may choose any name.
    let graded = keyed
        .grade(keyed.key(Role::Trainer), &of_run("alice:x"))
        .await;
    assert_eq!(graded.status, StatusCode::OK);
}

#[tokio::test]
async fn every_route_needs_the_role_that_it_declares() {
    let keyed = Keyed::start().await;
    let table = assay_api::route_table(&keyed.service.node.api().unwrap());
    assert!(table.len() > 80, "{}", table.len());
    for (method, path, access) in table {
        let path = example(&path);
        assert!(!path.contains('{'), "no example for `{path}`");
        let route = format!("{method} {path}");
        let without = Request::builder()
            .method(method.clone())
            .uri(&path)
            .body(Body::empty());
        let got = keyed.service.send(without.unwrap()).await;
        let Access::Role(needed) = access else {
            assert_ne!(got.status, StatusCode::FORBIDDEN, "{route}");
            // Signing in without a key is refused as well.
            assert!(
                got.status != StatusCode::UNAUTHORIZED || path == "/ui/sign-in",
                "{route}"
            );
            continue;
        };
        assert_eq!(got.status, StatusCode::UNAUTHORIZED, "{route}");
        let is_page = path.starts_with("/ui");
        assert!(is_page || got.headers[header::WWW_AUTHENTICATE] == "Bearer realm=\"assay\"");
        for role in Role::ALL {
            let got = keyed
                .send(keyed.key(*role), method.clone(), &path, &json!({}))
                .await;
            let text = String::from_utf8_lossy(&got.bytes);
            assert!(!text.contains(keyed.key(*role).reveal()), "{route}");
            if *role < needed {
                assert_eq!(got.status, StatusCode::FORBIDDEN, "{route} as {role}");
                assert!(text.contains(needed.as_str()), "{route} as {role}: {text}");
            } else {
                let refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
                assert!(!refused.contains(&got.status), "{route} as {role}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn the_table_of_roles_has_every_operation_of_the_document() {
    let keyed = Keyed::start().await;
    let api = keyed.service.node.api().unwrap();
    let table = assay_api::route_table(&api);
    let document = assay_api::document(keyed.service.node.engine().graders());
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            operations += 1;
            let declared = table.iter().any(|(declared, at, _)| {
                at == path && declared.as_str().eq_ignore_ascii_case(method)
            });
            assert!(declared, "{method} {path}");
        }
    }
    assert!(operations > 50, "{operations}");
}

#[tokio::test]
async fn unknown_paths_and_methods_need_a_key_too() {
    let keyed = Keyed::start().await;
    for (method, path) in [(Method::GET, "/v1/nothing"), (Method::PATCH, "/v1/grade")] {
        let request = Request::builder().method(method.clone()).uri(path);
        let got = keyed
            .service
            .send(request.body(Body::empty()).unwrap())
            .await;
        assert_eq!(got.status, StatusCode::UNAUTHORIZED, "{path}");
        let key = keyed.key(Role::Trainer);
        let got = keyed.send(key, method, path, &Value::Null).await;
        assert!(
            [404, 405].contains(&got.status.as_u16()),
            "{path}: {}",
            got.status
        );
    }
}

#[tokio::test]
async fn says_why_a_key_is_refused() {
    let keyed = Keyed::start().await;
    let valid = keyed.key(Role::Trainer).reveal().to_owned();
    let unknown = Key::random().unwrap().reveal().to_owned();
    let typo = &valid[..valid.len() - 1];
    let header = |value: &str| {
        Request::get("/v1/runs")
            .header(header::AUTHORIZATION, value)
            .body(Body::empty())
            .unwrap()
    };
    for (value, reason) in [
        (format!("Bearer {unknown}"), "not one of this node"),
        (format!("Bearer {typo}"), "mistyped or incomplete"),
        ("Bearer EMPTY".to_owned(), "malformed key"),
        (format!("Basic {valid}"), "malformed key"),
        (valid.clone(), "malformed key"),
    ] {
        let got = keyed.service.send(header(&value)).await;
        assert_eq!(got.refusal().1, "unauthenticated", "{value}");
        let message = got.json()["error"]["message"].to_string();
        assert!(message.contains(reason), "{value}: {message}");
    }
    let twice = Request::get("/v1/runs")
        .header(header::AUTHORIZATION, format!("Bearer {valid}"))
        .header(header::AUTHORIZATION, format!("Bearer {valid}"));
    let got = keyed.service.send(twice.body(Body::empty()).unwrap()).await;
    assert_eq!(got.status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        keyed
            .service
            .send(header(&format!("bearer  {valid}")))
            .await
            .status,
        200
    );
}

/// A batch of one item in the run `r`.
pub(crate) fn one(answer: &str) -> Value {
    let mut batch = batch([item(answer, &format!("so it is \\boxed{{{answer}}}"))]);
    batch["run"] = json!("r");
    batch
}

#[tokio::test]
async fn what_belongs_to_another_caller_does_not_exist() {
    let keyed = Keyed::start().await;
    let alice = keyed
        .create("alice", Role::Trainer, Quotas::default())
        .await;
    let bob = keyed.create("bob", Role::Checker, Quotas::default()).await;
    let operator = keyed.key(Role::Operator);
    let reply = keyed.grade(&alice, &one("1")).await.json();
    let grade = reply["results"][0]["grade"].as_str().unwrap().to_owned();
    let batch = reply["batch"].as_str().unwrap().to_owned();

    for path in [
        "/v1/runs/r".to_owned(),
        "/v1/runs/alice:r".to_owned(),
        format!("/v1/grades/{grade}"),
        "/ui/run?name=r".to_owned(),
        format!("/ui/grades/{grade}"),
    ] {
        assert_eq!(
            keyed.get(&bob, &path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
    let replay = format!("/v1/grades/{grade}/replay");
    let got = keyed.send(&bob, Method::POST, &replay, &Value::Null).await;
    assert_eq!(got.status, StatusCode::NOT_FOUND);
    for path in [
        "/v1/grades".to_owned(),
        "/v1/grades?run=r".to_owned(),
        "/v1/grades?run=alice:r".to_owned(),
        "/v1/grades?caller=alice".to_owned(),
        format!("/v1/grades?batch={batch}"),
        "/v1/grades?verdict=correct".to_owned(),
    ] {
        let got = keyed.get(&bob, &path).await.json();
        assert_eq!(got["grades"], json!([]), "{path}");
    }
    assert_eq!(keyed.get(&bob, "/v1/runs").await.json()["runs"], json!([]));
    let home = keyed.get(&bob, "/ui/runs").await;
    assert!(!String::from_utf8_lossy(&home.bytes).contains("name=r"));

    // Both have a run `r`, each its own.
    let batch = keyed.grade(&bob, &one("2")).await.json()["batch"].clone();
    let own = keyed.get(&bob, "/v1/grades?run=r").await.json();
    assert_eq!(own["grades"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&own["grades"][0]["batch"], &own["grades"][0]["run"]),
        (&batch, &json!("r"))
    );
    assert_eq!(keyed.get(&bob, "/v1/runs/r").await.json()["grades"], 1);
    assert_eq!(
        keyed
            .get(&alice, &format!("/v1/grades/{grade}"))
            .await
            .status,
        200
    );
    let got = keyed
        .send(&alice, Method::POST, &replay, &Value::Null)
        .await;
    assert_eq!(got.status, StatusCode::OK);

    // Operators see all, under names that tell the caller.
    let runs = keyed.get(operator, "/v1/runs").await.json();
    let mut names: Vec<&str> = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["run"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["alice:r", "bob:r"]);
    let of_alice = keyed.get(operator, "/v1/grades?caller=alice").await.json();
    assert_eq!(of_alice["grades"][0]["grade"], json!(grade));
    assert_eq!(of_alice["grades"].as_array().unwrap().len(), 1);
    assert_eq!(of_alice["grades"][0]["caller"], "alice");
}

#[tokio::test]
async fn cached_outcomes_and_idempotency_keys_are_not_shared() {
    let keyed = Keyed::start().await;
    let alice = keyed
        .create("alice", Role::Trainer, Quotas::default())
        .await;
    let bob = keyed.create("bob", Role::Trainer, Quotas::default()).await;
    let cached = |got: Got| got.json()["results"][0]["cached"].as_bool().unwrap();
    assert!(!cached(keyed.grade(&alice, &one("7")).await));
    assert!(cached(keyed.grade(&alice, &one("7")).await));
    assert!(!cached(keyed.grade(&bob, &one("7")).await));

    let once = async |key: &Key| {
        let bearer = format!("Bearer {}", key.reveal());
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k")];
        keyed
            .service
            .grade_with(one("8").to_string(), &headers)
            .await
            .json()["batch"]
            .clone()
    };
    let of_alice = once(&alice).await;
    assert_eq!(of_alice, once(&alice).await);
    assert_ne!(of_alice, once(&bob).await);
}
