//! TLS, and the reload of certificates. The certificates of the tests are self-signed:
//! `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500
//! -subj "/CN=assay test one" -addext subjectAltName=IP:127.0.0.1
//! -addext basicConstraints=critical,CA:FALSE`

use std::fs;
use std::path::Path;
use std::sync::Arc;

use assay_api::Tls;
use assay_node::{Config, Node};
use reqwest::{Certificate, Client};

const ONE: [&str; 2] = [
    include_str!("certificates/one.crt"),
    include_str!("certificates/one.key"),
];
const TWO: [&str; 2] = [
    include_str!("certificates/two.crt"),
    include_str!("certificates/two.key"),
];

/// A client that trusts one certificate. It has no connection yet.
fn trusting([certificate, _]: [&str; 2]) -> Client {
    // Fails if another test has installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let certificate = Certificate::from_pem(certificate.as_bytes()).unwrap();
    Client::builder()
        .tls_certs_only([certificate])
        .build()
        .unwrap()
}

fn write(folder: &Path, [certificate, key]: [&str; 2]) {
    fs::write(folder.join("node.crt"), certificate).unwrap();
    fs::write(folder.join("node.key"), key).unwrap();
}

#[tokio::test]
async fn serves_over_tls_only_with_the_configured_certificate() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), ONE);
    let mut config: Config =
        assay_tests::config(Path::new(env!("CARGO_BIN_EXE_assay-measure"))).unwrap();
    config.store.database = "".into();
    config.server.listen = "127.0.0.1:0".parse().unwrap();
    config.server.tls_certificate = folder.path().join("node.crt");
    config.server.tls_key = folder.path().join("node.key");
    let node = Node::with_graders(config, Vec::new()).await.unwrap();
    assert_eq!(node.scheme(), "https");
    let listener = node.listen().await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        node.serve(listener, stopped).await
    });
    let url = format!("https://{address}/healthz");
    let reply = trusting(ONE).get(&url).send().await.unwrap();
    assert_eq!(reply.version(), http::Version::HTTP_2);
    assert_eq!(reply.text().await.unwrap(), "ok\n");
    assert!(trusting(TWO).get(&url).send().await.is_err());
    let plain = format!("http://{address}/healthz");
    assert!(trusting(ONE).get(&plain).send().await.is_err());
    drop(stop);
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn reloads_changed_certificates_and_keeps_the_last_valid_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(folder.path(), ONE);
    let tls = Arc::new(Tls::load(path("node.crt"), path("node.key")).unwrap());
    assert!(!tls.reload().unwrap());
    fs::write(path("node.key"), "").unwrap();
    let error = tls.reload().unwrap_err().to_string();
    assert!(error.contains("node.key"), "{error}");
    // A key that does not belong to the certificate, as between two writes.
    fs::write(path("node.key"), TWO[1]).unwrap();
    assert!(tls.reload().is_err());
    write(folder.path(), TWO);
    assert!(tls.reload().unwrap());
    assert!(!tls.reload().unwrap());
    assert!(Tls::load(path("missing.crt"), path("node.key")).is_err());
}
