//! Spans of a batch, as a collector receives them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// Maximum time until a small model is loaded.
const LOADING: Duration = Duration::from_secs(60);

/// Starts a collector; returns its URL and the spans that it receives.
fn collector() -> (String, Receiver<Span>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, spans) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let sender = sender.clone();
            std::thread::spawn(move || receive(&stream.unwrap(), &sender));
        }
    });
    (url, spans)
}

/// Answers the requests of one connection.
fn receive(stream: &TcpStream, spans: &Sender<Span>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut length = 0;
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
        for resource in request.resource_spans {
            for scope in resource.scope_spans {
                scope
                    .spans
                    .into_iter()
                    .for_each(|span| spans.send(span).unwrap());
            }
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0";
        write!(&*stream, "{head}\r\n\r\n").unwrap();
    }
}

/// A process that is killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A batch with a program, a query, a score of a reward model and a mathematical answer.
fn batch() -> Value {
    json!({ "run": "traced", "step": 3, "items": [
        {
            "completion": "```python\nprint(int(input()) + 1)\n```",
            "task": { "type": "code", "language": "python", "tests": [{ "stdin": "1\n", "stdout": "2\n" }] },
        },
        {
            "completion": "```sql\nselect 1\n```",
            "task": {
                "type": "sql", "dialect": "sqlite", "gold": "select 1",
                "database": { "schema": "create table t(x)" },
            },
        },
        {
            "prompt": "What is 6 * 7?", "completion": "42",
            "task": { "type": "reward_model", "model": "scalar" },
        },
        { "completion": "42", "task": { "type": "math", "answer": "42" } },
    ] })
}

/// The names of the spans below a span, as an indented tree. Equal siblings are shown once.
fn tree(children: &BTreeMap<Vec<u8>, Vec<&Span>>, of: &[u8], depth: usize) -> String {
    let mut branches: Vec<String> = children
        .get(of)
        .into_iter()
        .flatten()
        .map(|span| {
            let grader = span.attributes.iter().find_map(|attribute| {
                let shown = ["grader", "lane"].contains(&attribute.key.as_str());
                let value = attribute.value.as_ref()?.value.as_ref()?;
                match value {
                    any_value::Value::StringValue(text) if shown => Some(format!(" {text}")),
                    _ => None,
                }
            });
            let below = tree(children, &span.span_id, depth + 1);
            let indent = "  ".repeat(depth);
            format!(
                "{indent}{}{}\n{below}",
                span.name,
                grader.unwrap_or_default()
            )
        })
        .collect();
    branches.sort();
    branches.dedup();
    branches.concat()
}

#[tokio::test]
async fn spans_of_a_batch_reach_the_collector() {
    let (url, spans) = collector();
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models");
    let mut config =
        assay_tests::config(std::path::Path::new(env!("CARGO_BIN_EXE_assay-measure"))).unwrap();
    config.log.traces = url.into();
    config.reward_models = assay_tests::models::write(&models).unwrap();
    let absent = [("source".to_owned(), "absent".into())];
    config
        .reward_models
        .load
        .insert("absent".to_owned(), absent.into_iter().collect());
    std::fs::write(folder.path().join("assay.toml"), config.to_toml()).unwrap();
    let service = Command::new(env!("CARGO_BIN_EXE_assay-measure"))
        .args(["noisy", "--database", "sqlite://traced.db"])
        .env("ASSAY_LOG_FORMAT", "json")
        .env("ASSAY_LOG_FILTER", "info")
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut service = Running(service);
    let mut lines = BufReader::new(service.0.stderr.take().unwrap()).lines();
    let address = lines
        .by_ref()
        .map(Result::unwrap)
        .find_map(|line| {
            let line: Value = serde_json::from_str(&line).ok()?;
            line["fields"]["address"].as_str().map(str::to_owned)
        })
        .expect("the service logs its address");
    let log = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<_>>());
    // Fails if a provider is already installed, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    let send = async |batch: &Value, header: (&'static str, &'static str)| {
        let reply = client
            .post(format!("http://{address}/v1/grade"))
            .header("traceparent", format!("00-{TRACE}-{CALLER}-01"))
            .header("x-request-id", "mine")
            .header("content-type", "application/json")
            .header(header.0, header.1)
            .body(batch.to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(reply.headers()["x-request-id"], "mine");
        assert_eq!(reply.status().as_u16(), 200);
        reply.bytes().await.unwrap()
    };
    let plain = ("accept", "application/json");
    let grade =
        async |batch: &Value| serde_json::from_slice::<Value>(&send(batch, plain).await).unwrap();
    // The model is loaded while the service already grades.
    let scored = json!({ "items": [batch()["items"][2].clone()] });
    let mut last = Value::Null;
    let loaded = tokio::time::timeout(LOADING, async {
        loop {
            last = grade(&scored).await;
            if last["results"][0]["outcome"] == "graded" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let loaded = loaded.await;
    assert!(
        loaded.is_ok(),
        "not loaded after {LOADING:?}; the last reply is {last}"
    );
    let mut batch = batch();
    batch["items"][2]["completion"] = json!("41");
    let reply = grade(&batch).await;
    let verdicts: Vec<&str> = reply["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["accepted", "correct", "scored", "correct"]);
    // Batches with a key, and streamed ones, are graded by tasks of their own.
    send(&batch, ("idempotency-key", "traced")).await;
    send(&batch, ("accept", "application/x-ndjson")).await;
    // Errors of the server are logged.
    let failed = client
        .post(format!("http://{address}/v1/reward-models/absent/score"))
        .header("x-request-id", "failed")
        .header("content-type", "application/json")
        .body(json!({ "items": [{ "prompt": "?", "completion": "42" }] }).to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(failed.status().as_u16(), 503);
    assert_eq!(failed.headers()["x-request-id"], "failed");
    let failed: Value = serde_json::from_slice(&failed.bytes().await.unwrap()).unwrap();
    assert_eq!(failed["request_id"], "failed");
    kill_process(Pid::from_child(&service.0), Signal::TERM).unwrap();
    assert!(service.0.wait().unwrap().success());
    let log = log.join().unwrap();
    let is_of_failed = |line: &String| {
        serde_json::from_str::<Value>(line).is_ok_and(|line| line["span"]["id"] == "failed")
    };
    assert!(log.iter().any(is_of_failed), "{}", log.join("\n"));

    let received: Vec<Span> = spans.try_iter().collect();
    let batch_id = reply["batch"].as_str().unwrap();
    let of_batch =
        |span: &&Span| span.name == "batch" && format!("{:?}", span.attributes).contains(batch_id);
    let traced = received.iter().find(of_batch).unwrap();
    let request = received
        .iter()
        .find(|span| span.span_id == traced.parent_span_id)
        .unwrap();
    assert_eq!(hex(&request.trace_id), TRACE);
    assert_eq!(hex(&request.parent_span_id), CALLER);
    let mut children: BTreeMap<Vec<u8>, Vec<&Span>> = BTreeMap::new();
    for span in &received {
        children
            .entry(span.parent_span_id.clone())
            .or_default()
            .push(span);
    }
    insta::assert_snapshot!(format!("request\n{}", tree(&children, &request.span_id, 1)));
    let batches: Vec<_> = received
        .iter()
        .filter(|span| span.name == "batch")
        .collect();
    assert!(batches.len() >= 4, "{batches:?}");
    for batch in batches {
        assert_eq!(hex(&batch.trace_id), TRACE, "{batch:?}");
    }
    for name in ["commit", "model"] {
        assert!(received.iter().any(|span| span.name == name), "{name}");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
