//! Users whom a reverse proxy names in a header, over TCP. The proxy has the address 127.0.0.2, and
//! everyone else 127.0.0.1.

use std::net::Ipv4Addr;

use assay_record::access::{Quotas, Role};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;

use crate::http::connections::{Listening, listening, rest};
use crate::http::fixtures::{batch, item};

const PROXY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const OTHER: Ipv4Addr = Ipv4Addr::LOCALHOST;

async fn behind_proxy() -> Listening {
    listening(|config| {
        config.access.proxy_header = "X-User".to_owned();
        config.access.proxies = vec![PROXY.to_string()];
        config.access.proxy_users = [
            ("alice@lab.example".to_owned(), Role::Trainer),
            ("olga".to_owned(), Role::Operator),
            ("ada".to_owned(), Role::Admin),
        ]
        .into();
    })
    .await
}

struct Reply {
    status: StatusCode,
    text: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

impl Listening {
    /// Sends a request with the lines of a head from an address.
    async fn send_from(
        &self,
        from: Ipv4Addr,
        request: &str,
        headers: &[&str],
        body: &str,
    ) -> Reply {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        let mut stream = socket.connect(self.address).await.unwrap();
        let mut head = format!("{request} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|line| line.starts_with("Host:")) {
            head.push_str("Host: localhost\r\n");
        }
        for line in headers {
            head.push_str(&format!("{line}\r\n"));
        }
        let length = body.len();
        let message = format!("{head}Content-Length: {length}\r\n\r\n{body}");
        stream.write_all(message.as_bytes()).await.unwrap();
        let reply = rest(&mut stream).await;
        let (head, text) = reply
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("{reply}"));
        let status = head.split(' ').nth(1).unwrap();
        Reply {
            status: status.parse().unwrap(),
            text: text.to_owned(),
        }
    }

    async fn get_from(&self, from: Ipv4Addr, path: &str, headers: &[&str]) -> Reply {
        self.send_from(from, &format!("GET {path}"), headers, "")
            .await
    }
}

#[tokio::test]
async fn users_of_a_trusted_proxy_have_their_role_and_their_own_runs() {
    let node = behind_proxy().await;
    let alice = ["X-User: alice@lab.example"];
    let mut graded = batch([item("1", "1")]);
    graded["run"] = json!("r");
    graded["step"] = json!(1);
    let json = [
        "X-User: alice@lab.example",
        "Content-Type: application/json",
    ];
    let reply = node
        .send_from(PROXY, "POST /v1/grade", &json, &graded.to_string())
        .await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    let grade = reply.json()["results"][0]["grade"]
        .as_str()
        .unwrap()
        .to_owned();

    let own = node
        .get_from(PROXY, &format!("/v1/grades/{grade}"), &alice)
        .await;
    assert_eq!(own.json()["caller"], "@alice@lab.example");
    assert_eq!(own.json()["run"], "r");
    let all = node
        .get_from(PROXY, &format!("/v1/grades/{grade}"), &["x-user: olga"])
        .await;
    assert_eq!(all.json()["run"], "@alice@lab.example:r");
    let refused = node.get_from(PROXY, "/v1/channels", &alice).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(
        refused
            .text
            .contains("needs the role `operator`; the user `@alice@lab.example`"),
        "{}",
        refused.text
    );
    let page = node.get_from(PROXY, "/ui", &alice).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.text
            .contains("<bdi>@alice@lab.example</bdi> <small>trainer</small>"),
        "{}",
        page.text
    );
    assert!(!page.text.contains("Sign out"));
    let unknown = node.get_from(PROXY, "/v1/runs", &["X-User: mallory"]).await;
    assert_eq!(unknown.status, StatusCode::FORBIDDEN);
    assert!(
        unknown.text.contains("`access.proxy_users`"),
        "{}",
        unknown.text
    );
    let page = node.get_from(PROXY, "/ui", &["X-User: mallory"]).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_key_with_the_name_of_a_user_is_another_caller() {
    let node = behind_proxy().await;
    let gate = node.service.node.gate();
    let new = assay_access::NewKey {
        name: "olga".to_owned(),
        role: Role::Trainer,
        quotas: Quotas::default(),
        expires_us: None,
    };
    let store = gate.store().unwrap().as_ref();
    let key = assay_access::create(store, &assay_core::SystemClock::new(), "test", new)
        .await
        .unwrap();
    gate.refresh().await.unwrap();
    let bearer = format!("Authorization: Bearer {}", key.reveal());
    let status =
        async |from, headers: &[&str]| node.get_from(from, "/v1/audit", headers).await.status;
    assert_eq!(status(PROXY, &["X-User: olga"]).await, StatusCode::OK);
    // Keys work from everywhere, and the header of others changes nothing.
    assert_eq!(status(PROXY, &[&bearer]).await, StatusCode::FORBIDDEN);
    assert_eq!(
        status(OTHER, &[&bearer, "X-User: olga"]).await,
        StatusCode::FORBIDDEN
    );
    let with_key = node
        .get_from(OTHER, "/v1/runs", &[&bearer, "X-User: olga"])
        .await;
    assert_eq!(with_key.status, StatusCode::OK);
    // From the proxy, it would not be clear who sent the request.
    let both = node
        .get_from(PROXY, "/v1/runs", &[&bearer, "X-User: olga"])
        .await;
    assert_eq!(both.status, StatusCode::UNAUTHORIZED);
    assert!(
        both.text.contains("has a key and the proxy's header"),
        "{}",
        both.text
    );
    let in_path = format!("/k/{}/v1/runs", key.reveal());
    let both = node.get_from(PROXY, &in_path, &["X-User: olga"]).await;
    assert_eq!(both.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_header_of_other_addresses_does_nothing() {
    let node = behind_proxy().await;
    for forwarded in [
        "X-Forwarded-For: 127.0.0.2",
        "Forwarded: for=127.0.0.2",
        "X-Real-IP: 127.0.0.2",
    ] {
        let headers = ["X-User: ada", forwarded];
        let reply = node.get_from(OTHER, "/v1/runs", &headers).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{forwarded}");
        assert!(reply.text.contains("`access.proxies`"), "{}", reply.text);
        let page = node.get_from(OTHER, "/ui", &headers).await;
        assert_eq!(page.status, StatusCode::UNAUTHORIZED, "{forwarded}");
    }
    let none = node.get_from(OTHER, "/v1/runs", &[]).await;
    assert_eq!(none.status, StatusCode::UNAUTHORIZED);
    // The proxy itself has no rights without the header.
    let none = node
        .get_from(PROXY, "/v1/runs", &["X-Forwarded-User: ada"])
        .await;
    assert_eq!(none.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn ambiguous_headers_of_a_proxy_are_refused() {
    let node = behind_proxy().await;
    for headers in [
        ["X-User: ada", "X-User: ada"].as_slice(),
        &["X-User: ada", "x-user: olga"],
        &["X-User:"],
        &["X-User: "],
        &["X-User: ada, olga"],
        &["X-User: ada:olga"],
        &["X-User: *"],
        &["X-User: \u{e9}"],
    ] {
        let reply = node.get_from(PROXY, "/v1/runs", headers).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{headers:?}");
        assert!(reply.text.contains("the proxy's header"), "{}", reply.text);
    }
}

#[tokio::test]
async fn other_sites_cannot_act_through_the_proxy() {
    let node = behind_proxy().await;
    let form = "Content-Type: application/x-www-form-urlencoded";
    let act = async |headers: &[&str]| {
        let headers = [&["X-User: ada", form], headers].concat();
        node.send_from(PROXY, "POST /ui/queue", &headers, "channel=math%2Fdefault")
            .await
    };
    for headers in [
        ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"],
        ["Origin: http://evil.example", "Accept: */*"],
        // A name that leads to this machine, on which the proxy runs (DNS rebinding).
        ["Host: evil.example", "Sec-Fetch-Site: same-origin"],
    ] {
        let reply = act(&headers).await;
        assert_eq!(
            reply.status,
            StatusCode::FORBIDDEN,
            "{headers:?}: {}",
            reply.text
        );
        assert!(reply.text.contains("another site"), "{}", reply.text);
    }
    let own = act(&[
        "Sec-Fetch-Site: same-origin",
        "Origin: https://assay.example",
    ])
    .await;
    assert_ne!(own.status, StatusCode::FORBIDDEN, "{}", own.text);
    assert_ne!(own.status, StatusCode::UNAUTHORIZED, "{}", own.text);
}

#[tokio::test]
async fn the_audit_log_names_users_and_refused_ones() {
    let node = behind_proxy().await;
    let json = ["X-User: ada", "Content-Type: application/json"];
    let pruned = node
        .send_from(PROXY, "POST /v1/storage/prune", &json, r#"{"runs":["r"]}"#)
        .await;
    assert_eq!(pruned.status, StatusCode::OK, "{}", pruned.text);
    for _ in 0..2 {
        node.get_from(PROXY, "/v1/runs", &["X-User: mallory"]).await;
    }
    node.get_from(OTHER, "/v1/runs", &["X-User: ada"]).await;
    node.service.node.gate().write_refusals().await.unwrap();
    let log = node
        .get_from(PROXY, "/v1/audit?limit=2", &["X-User: olga"])
        .await
        .json();
    let [refused, act] = log["entries"].as_array().unwrap().as_slice() else {
        panic!("{log}")
    };
    assert_eq!(
        [&act["action"], &act["caller"], &act["role"]],
        ["record.prune", "@ada", "admin"]
    );
    assert_eq!(refused["target"], "mallory");
    assert_eq!(
        refused["details"],
        json!({ "unknown_user": 2, "not_from_proxy": 1 })
    );
}
