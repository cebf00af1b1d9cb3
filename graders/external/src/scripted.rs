//! A judge that replies as a test says: over HTTP/1.1 on loopback, one request per connection.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the judge replies to one request.
#[derive(Debug, Clone)]
pub enum Scripted {
    /// A chat completion with this text.
    Text(String),
    /// A chat completion that ended at the limit of tokens.
    Truncated(String),
    /// A status with these headers, each with its line end, and a body.
    Status(u16, String, String),
    /// The connection is closed without a reply.
    Closed,
    /// The reply ends before its announced length.
    Broken,
    /// No reply, until the client gives up.
    Silent,
    /// The same after a delay.
    After(Duration, Box<Scripted>),
}

impl Scripted {
    /// A chat completion that is this JSON.
    #[must_use]
    pub fn json(reply: &Value) -> Self {
        Self::Text(reply.to_string())
    }
}

/// The script: from the body of a request to the reply.
type Script = Arc<dyn Fn(&Value) -> Scripted + Send + Sync>;

/// A running judge. It ends when it is dropped.
pub struct ScriptedJudge {
    /// Where chat completions are posted.
    pub url: String,
    calls: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<Value>>>,
    serving: JoinHandle<()>,
}

impl Drop for ScriptedJudge {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Number of requests that are kept.
const MAX_KEPT: usize = 1_000;

impl ScriptedJudge {
    /// Starts a judge.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn start(
        script: impl Fn(&Value) -> Scripted + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (calls, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let requests = Arc::<Mutex<Vec<Value>>>::default();
        let open = Arc::new(AtomicUsize::new(0));
        let script: Script = Arc::new(script);
        let serving = {
            let (calls, most, requests) =
                (Arc::clone(&calls), Arc::clone(&most), Arc::clone(&requests));
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (calls, most, requests) =
                        (Arc::clone(&calls), Arc::clone(&most), Arc::clone(&requests));
                    let (open, script) = (Arc::clone(&open), Arc::clone(&script));
                    tokio::spawn(async move {
                        most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        let served = serve(stream, &script, &calls, &requests).await;
                        open.fetch_sub(1, Ordering::SeqCst);
                        served
                    });
                }
            }
        };
        Ok(Self {
            url: format!("http://{address}/v1/chat/completions"),
            calls,
            most,
            requests,
            serving: tokio::spawn(serving),
        })
    }

    /// Number of requests so far.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Largest number of requests at the same time.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// The bodies of the first requests.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The text of the user message of a request.
#[must_use]
pub fn user_message(request: &Value) -> &str {
    request["messages"][1]["content"]
        .as_str()
        .unwrap_or_default()
}

/// The text between the delimiters of this name in the user message of a request.
#[must_use]
pub fn enclosed<'r>(request: &'r Value, name: &str) -> Option<&'r str> {
    let user = user_message(request);
    let (_, rest) = user.split_once(&format!("<{name}-"))?;
    let (code, rest) = rest.split_once(">\n")?;
    let (text, _) = rest.split_once(&format!("\n</{name}-{code}>"))?;
    Some(text)
}

async fn serve(
    mut stream: TcpStream,
    script: &Script,
    calls: &AtomicUsize,
    requests: &Mutex<Vec<Value>>,
) -> std::io::Result<()> {
    let Some(body) = read_body(&mut stream).await? else {
        return Ok(());
    };
    calls.fetch_add(1, Ordering::SeqCst);
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    {
        let mut kept = requests.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_KEPT {
            kept.push(request.clone());
        }
    }
    let mut reply = script(&request);
    while let Scripted::After(delay, then) = reply {
        tokio::time::sleep(delay).await;
        reply = *then;
    }
    let completion = |text: &str, finish: &str| {
        let written = text.len().div_ceil(4);
        let read = body.len().div_ceil(4);
        json!({
            "id": "c", "object": "chat.completion", "model": "scripted-1",
            "choices": [{
                "index": 0, "finish_reason": finish,
                "message": { "role": "assistant", "content": text },
            }],
            "usage": { "prompt_tokens": read, "completion_tokens": written },
        })
        .to_string()
    };
    let (status, headers, body) = match reply {
        Scripted::Text(text) => (200, String::new(), completion(&text, "stop")),
        Scripted::Truncated(text) => (200, String::new(), completion(&text, "length")),
        Scripted::Status(status, headers, body) => (status, headers, body),
        Scripted::Closed | Scripted::After(..) => return Ok(()),
        Scripted::Broken => {
            let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\":";
            return stream.write_all(head).await;
        }
        Scripted::Silent => {
            let mut byte = [0u8; 1];
            let _ = stream.read(&mut byte).await;
            return Ok(());
        }
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Scripted\r\n{headers}content-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// Reads a request; `None` if the connection ends first.
async fn read_body(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut part = [0u8; 8 << 10];
    loop {
        let count = stream.read(&mut part).await?;
        if count == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&part[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| {
            line.strip_prefix("content-length:")?
                .trim()
                .parse::<usize>()
                .ok()
        });
        if bytes.len() >= end + 4 + length.unwrap_or(0) {
            return Ok(Some(bytes.split_off(end + 4)));
        }
    }
}
