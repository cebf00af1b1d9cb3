//! Connections over TCP: idle and stalled connections are closed, connections with a request in
//! progress are not, and many idle connections do not lock out other clients.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use assay_node::Config;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::http::fixtures::{Service, batch, item, service_with};

/// Timeout of waits for something that must happen; it is reached only if the service is broken.
const LONG: Duration = Duration::from_secs(60);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A service that accepts connections.
pub(crate) struct Listening {
    pub(crate) service: Service,
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

pub(crate) async fn listening(change: impl FnOnce(&mut Config)) -> Listening {
    let service = service_with(change).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let stopped = async { drop(stopped.await) };
    let serving = tokio::spawn(assay_api::serve(
        listener,
        service.node.api().unwrap(),
        stopped,
    ));
    Listening {
        service,
        address,
        stop: Some(stop),
        serving,
    }
}

impl Listening {
    async fn connect(&self, says: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(says).await.unwrap();
        stream
    }

    /// Sends a GET on a new connection and returns the reply.
    async fn get(&self, path: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        rest(&mut self.connect(head.as_bytes()).await).await
    }

    /// Stops the server and waits until it has ended.
    async fn stop(&mut self) {
        drop(self.stop.take());
        tokio::time::timeout(LONG, &mut self.serving)
            .await
            .expect("the server ends")
            .unwrap();
    }
}

/// Reads until the server closes the connection.
pub(crate) async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(LONG, stream.read_to_end(&mut bytes))
        .await
        .expect("the server closes");
    if let Err(error) = read {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads one reply and leaves the connection open.
async fn reply(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let whole = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).to_lowercase();
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))?;
        (body.len() >= length.trim().parse::<usize>().unwrap()).then_some(())
    };
    while whole(&bytes).is_none() {
        let mut more = [0; 4_096];
        let read = tokio::time::timeout(LONG, stream.read(&mut more))
            .await
            .unwrap()
            .unwrap();
        assert!(read > 0, "closed after {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&more[..read]);
    }
    String::from_utf8(bytes).unwrap()
}

fn post_head(length: usize) -> String {
    format!("POST /v1/grade HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
}

/// Sends a part of a request, so that the server waits for the rest of its body.
async fn half_sent(server: &Listening, body: &str) -> TcpStream {
    let head = post_head(body.len()).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    let mut stream = server.connect(head.as_bytes()).await;
    let mut answer = [0; 25];
    tokio::time::timeout(LONG, stream.read_exact(&mut answer))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(&body.as_bytes()[..10]).await.unwrap();
    stream
}

fn small_batch() -> String {
    batch([item("1", "\\boxed{1}")]).to_string()
}

/// The server runs only while the test awaits, so it is suspended while the client gives up.
#[tokio::test(flavor = "current_thread")]
async fn batches_of_clients_that_gave_up_are_not_graded() {
    let mut server = listening(|_| {}).await;
    let send = |run: &str| {
        let mut body = batch([item("1", "\\boxed{1}")]);
        body["run"] = json!(run);
        let (head, body) = (post_head(body.to_string().len()), body.to_string());
        let head = head.replace("\r\n\r\n", &format!("\r\nIdempotency-Key: {run}\r\n\r\n"));
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
        stream
    };
    for number in 0..20 {
        drop(send(&format!("gone-{number}")));
    }
    let waiting = send("waiting");
    waiting.set_nonblocking(true).unwrap();
    let answer = reply(&mut TcpStream::from_std(waiting).unwrap()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // The node reads connections in their order, and its pages list what it records.
    server.stop().await;
    let runs = server.service.get("/v1/runs").await.json();
    let names: Vec<_> = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["run"])
        .collect();
    assert_eq!(names, ["waiting"], "{runs}");
}

#[tokio::test]
async fn closes_connections_that_send_no_request() {
    let mut server = listening(|config| config.server.head_seconds = 1).await;
    let sent: [&[u8]; 6] = [
        b"",
        b"P",
        b"PRI * HT",
        PREFACE,
        b"GET /healthz HTTP/1.1\r\nHost: loc",
        b"GET",
    ];
    let mut open = Vec::new();
    for says in sent {
        open.push(server.connect(says).await);
    }
    for (stream, says) in open.iter_mut().zip(sent) {
        let answer = rest(stream).await;
        assert!(
            !answer.contains("200 OK"),
            "{}: {answer}",
            String::from_utf8_lossy(says)
        );
    }
    assert!(server.get("/healthz").await.ends_with("ok\n"));
    server.stop().await;
}

#[tokio::test]
async fn closes_idle_connections_between_requests() {
    let mut server = listening(|config| config.server.idle_seconds = 1).await;
    let ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut stream = server.connect(ask).await;
    assert!(reply(&mut stream).await.ends_with("ok\n"));
    stream.write_all(ask).await.unwrap();
    assert!(
        reply(&mut stream).await.ends_with("ok\n"),
        "it is kept for the next request"
    );
    assert_eq!(rest(&mut stream).await, "");
    server.stop().await;
}

#[tokio::test]
async fn closes_idle_connections_of_http2() {
    let mut server = listening(|config| config.server.idle_seconds = 1).await;
    // The preface, empty settings, and `GET /healthz` from the static table.
    let mut says = PREFACE.to_vec();
    says.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    let mut headers = vec![0x82, 0x86, 0x04, 8];
    headers.extend_from_slice(b"/healthz");
    headers.extend_from_slice(&[0x01, 9]);
    headers.extend_from_slice(b"localhost");
    says.extend_from_slice(&[0, 0, u8::try_from(headers.len()).unwrap(), 1, 5, 0, 0, 0, 1]);
    says.extend_from_slice(&headers);
    let answer = rest(&mut server.connect(&says).await).await;
    assert!(answer.contains("ok\n"), "answered, then closed: {answer:?}");
    server.stop().await;
}

#[tokio::test]
async fn keeps_connections_that_are_worked_on() {
    let mut server = listening(|config| {
        (config.server.head_seconds, config.server.idle_seconds) = (1, 1);
        config.server.body_pause_seconds = 30;
    })
    .await;
    let body = small_batch();
    let mut stream = server.connect(post_head(body.len()).as_bytes()).await;
    // Longer than every limit on connections without a request: the test is about this pause.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    stream.write_all(body.as_bytes()).await.unwrap();
    let answer = reply(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn rejects_stalled_bodies_and_releases_their_memory() {
    let body = small_batch();
    // As sent and as parsed.
    let room = body.len() + assay_wire::parsed(body.as_bytes()).memory() + 8;
    // A caller may use half.
    let mut server = listening(move |config| {
        config.server.body_pause_seconds = 1;
        config.engine.body_bytes_in_flight = 2 * room;
    })
    .await;
    let mut stopped = server
        .connect(format!("{}{}", post_head(room / 2), " ".repeat(room / 2 - 1)).as_bytes())
        .await;
    let answer = rest(&mut stopped).await;
    assert!(
        answer.starts_with("HTTP/1.1 400") && answer.contains("paused for more than 1 s"),
        "{answer}"
    );
    let answer = reply(
        &mut server
            .connect(format!("{}{body}", post_head(body.len())).as_bytes())
            .await,
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn refuses_bodies_that_trickle() {
    let mut server = listening(|config| config.server.body_seconds = 1).await;
    let mut stream = server.connect(post_head(1_000_000).as_bytes()).await;
    let (mut from, mut to) = stream.split();
    let trickle = async {
        while to.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        std::future::pending::<()>().await;
    };
    let mut answer = [0; 4_096];
    let read = tokio::select! {
        read = from.read(&mut answer) => read.unwrap(),
        () = trickle => 0,
    };
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(
        answer.starts_with("HTTP/1.1 400") && answer.contains("incomplete after 1 s"),
        "{answer}"
    );
    server.stop().await;
}

#[tokio::test]
async fn refuses_forms_that_stop() {
    let mut server = listening(|config| config.server.body_pause_seconds = 1).await;
    let head = "POST /ui/queue HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nchannel=";
    let answer = rest(&mut server.connect(head.as_bytes()).await).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn closes_connections_that_take_no_reply() {
    const ASKED: usize = 2_000;
    let mut server = listening(|config| config.server.reply_pause_seconds = 1).await;
    let ask = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut stream = server.connect(&ask.repeat(ASKED)).await;
    // Read nothing until the server has closed the connection.
    let none = "assay_connections_closed_total{reason=\"stalled\"} 0\n";
    while server.get("/metrics").await.contains(none) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let replies = rest(&mut stream).await.matches("HTTP/1.1 200").count();
    assert!(replies < ASKED, "{replies} of {ASKED} replies");
    server.stop().await;
}

#[tokio::test]
async fn idle_connections_lock_out_no_other_client() {
    let mut server = listening(|config| config.server.connections = 8).await;
    let mut kept = server
        .connect(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    reply(&mut kept).await;
    let mut crowd = Vec::new();
    for _ in 0..40 {
        crowd.push(server.connect(b"").await);
    }
    assert!(server.get("/healthz").await.ends_with("ok\n"));
    for stream in &mut crowd[..32] {
        assert_eq!(
            rest(stream).await,
            "",
            "the oldest idle connection is replaced"
        );
    }
    kept.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    assert!(
        reply(&mut kept).await.starts_with("HTTP/1.1 200"),
        "connections that were used are replaced last"
    );
    server.stop().await;
}

#[tokio::test]
async fn answers_health_checks_when_all_connections_have_requests() {
    let mut server = listening(|config| config.server.connections = 2).await;
    let body = small_batch();
    let mut busy = Vec::new();
    for _ in 0..2 {
        busy.push(half_sent(&server, &body).await);
    }
    let refused = server.get("/v1/graders").await;
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(
        refused.to_lowercase().contains("retry-after: 1"),
        "{refused}"
    );
    assert!(server.get("/healthz").await.ends_with("ok\n"));
    for stream in &mut busy {
        stream.write_all(&body.as_bytes()[10..]).await.unwrap();
        assert!(reply(stream).await.starts_with("HTTP/1.1 200"));
    }
    assert!(server.get("/v1/graders").await.starts_with("HTTP/1.1 200"));
    server.stop().await;
}

#[tokio::test]
async fn refuses_heads_that_are_too_large() {
    let mut server = listening(|_| {}).await;
    let long = "x".repeat(70_000);
    let many = (0..500)
        .map(|n| format!("X-{n}: 1\r\n"))
        .collect::<String>();
    let target = format!(
        "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "x".repeat(65_000 - 200)
    );
    for (head, status) in [
        (
            format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: {long}\r\n\r\n"),
            "431",
        ),
        (
            format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"),
            "431",
        ),
        (target, "404"),
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        // The server may close the connection before it has read everything.
        let _ = stream.write_all(head.as_bytes()).await;
        let mut answer = [0; 64];
        let read = tokio::time::timeout(LONG, stream.read(&mut answer))
            .await
            .unwrap()
            .unwrap();
        let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn refuses_hosts_that_do_not_parse() {
    let mut server = listening(|_| {}).await;
    let hosts = [
        "a{b.evil.example",
        "a\"b.evil.example",
        "a`b",
        "evil example",
        "%41",
        "x@localhost",
        "",
        "localhost:",
    ];
    for host in hosts
        .iter()
        .map(|host| format!("Host: {host}"))
        .chain(["Host: localhost\r\nHost: localhost".into()])
    {
        let head = format!("GET /v1/graders HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n");
        let answer = rest(&mut server.connect(head.as_bytes()).await).await;
        assert!(
            answer.starts_with("HTTP/1.1 403") || answer.starts_with("HTTP/1.1 400"),
            "{host}: {answer}"
        );
    }
    let head = "GET http://evil.example/v1/graders HTTP/1.1\r\nHost: localhost\r\nConnection: \
                close\r\n\r\n";
    let answer = rest(&mut server.connect(head.as_bytes()).await).await;
    let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(
        body["error"]["code"], "other_site",
        "the request target is checked as well"
    );
    assert!(server.get("/v1/graders").await.starts_with("HTTP/1.1 200"));
    server.stop().await;
}

#[tokio::test]
async fn closes_every_connection_when_it_stops() {
    let mut server = listening(|_| {}).await;
    let silent = server.connect(b"").await;
    let mut kept = server
        .connect(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    reply(&mut kept).await;
    let body = small_batch();
    let mut working = half_sent(&server, &body).await;
    drop(server.stop.take());
    assert_eq!(rest(&mut kept).await, "");
    working.write_all(&body.as_bytes()[10..]).await.unwrap();
    assert!(
        rest(&mut working).await.starts_with("HTTP/1.1 200"),
        "requests in progress are answered"
    );
    server.stop().await;
    drop(silent);
    assert!(
        server.service.node.engine().admission().is_open(),
        "only connections were closed"
    );
}
