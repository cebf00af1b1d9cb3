//! One call over HTTP: a bounded request, a bounded reply, and what a failure means. The URL is the
//! operator's; redirects are not followed, so that no other server is called.

use std::time::Duration;

use assay_base::causes::with_causes;
use assay_base::truncated;
use memchr::memmem;
use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use serde::Deserialize;

use crate::settings::{JudgeSettings, Secret};

/// Maximum length of a quoted error of the server, in characters.
const MAX_QUOTED: usize = 200;

/// Maximum size of a reply with an error, in bytes.
const MAX_ERROR_BYTES: usize = 16 << 10;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallError {
    pub(crate) reason: String,
    pub(crate) kind: CallErrorKind,
    /// Whether the server may have done the work, and charge for it.
    pub(crate) may_cost: bool,
}

/// What to do after a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallErrorKind {
    /// Too many calls: call again after this time.
    Limited(Option<Duration>),
    /// Another call may succeed, after this time if the server named one.
    Transient(Option<Duration>),
    /// Every call would fail in the same way, such as one with a wrong key.
    Permanent,
    /// Another call for this item would fail in the same way, such as one that is too long.
    OfItem,
}

/// The server of a judge.
pub(crate) struct Endpoint {
    client: Client,
    url: String,
    key: Secret,
    max_bytes: usize,
}

impl Endpoint {
    /// Creates the client.
    ///
    /// # Errors
    /// If it cannot be created, or the key cannot be sent.
    pub(crate) fn new(settings: &JudgeSettings) -> Result<Self, String> {
        // Fails if a provider is already installed, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut headers = HeaderMap::new();
        if !settings.key.is_empty() {
            let bearer = format!("Bearer {}", settings.key.reveal());
            let mut bearer = HeaderValue::from_str(&bearer)
                .map_err(|_| "the key contains characters that cannot be sent".to_owned())?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        let client = Client::builder()
            .default_headers(headers)
            .redirect(Policy::none())
            .pool_max_idle_per_host(settings.in_flight)
            .build()
            .map_err(|error| with_causes(&error))?;
        Ok(Self {
            client,
            url: settings.url.clone(),
            key: settings.key.clone(),
            max_bytes: settings.reply_bytes,
        })
    }

    /// Posts a request and reads the reply, which must arrive within `timeout`.
    ///
    /// The reply does not contain the key.
    pub(crate) async fn post(
        &self,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let exchange = self.exchange(body);
        tokio::time::timeout(timeout, exchange)
            .await
            .unwrap_or_else(|_| {
                Err(CallError {
                    reason: format!("no reply within {:.3} s", timeout.as_secs_f64()),
                    kind: CallErrorKind::Transient(None),
                    may_cost: true,
                })
            })
    }

    async fn exchange(&self, body: Vec<u8>) -> Result<Vec<u8>, CallError> {
        let request = self
            .client
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json");
        let sent = request.body(body).send().await;
        let reply = sent.map_err(transport)?;
        let status = reply.status();
        if status.is_success() {
            let body = read(reply, self.max_bytes).await?;
            let contains_key =
                !self.key.is_empty() && memmem::find(&body, self.key.reveal().as_bytes()).is_some();
            return Ok(if contains_key {
                self.without_key(&String::from_utf8_lossy(&body))
                    .into_bytes()
            } else {
                body
            });
        }
        let after = retry_after(reply.headers());
        let kind = match status {
            StatusCode::TOO_MANY_REQUESTS => CallErrorKind::Limited(after),
            StatusCode::REQUEST_TIMEOUT => CallErrorKind::Transient(after),
            _ if status.is_server_error() => CallErrorKind::Transient(after),
            StatusCode::UNAUTHORIZED
            | StatusCode::PAYMENT_REQUIRED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::METHOD_NOT_ALLOWED => CallErrorKind::Permanent,
            _ => CallErrorKind::OfItem,
        };
        let quoted = read(reply, MAX_ERROR_BYTES).await.ok();
        let quoted = quoted.as_deref().and_then(message);
        let quoted = quoted.map(|message| format!(": {}", self.quoted(&message)));
        Err(CallError {
            reason: format!("status {status}{}", quoted.unwrap_or_default()),
            kind,
            may_cost: false,
        })
    }

    /// The start of a text of the server, without the key.
    pub(crate) fn quoted(&self, text: &str) -> String {
        truncated(&self.without_key(text), MAX_QUOTED).to_owned()
    }

    /// A text of the server, in which it may have repeated the key.
    pub(crate) fn without_key(&self, message: &str) -> String {
        if self.key.is_empty() {
            message.to_owned()
        } else {
            message.replace(self.key.reveal(), "***")
        }
    }
}

/// The error of a request that got no reply. The error would contain the URL, which may contain a
/// key.
fn transport(error: reqwest::Error) -> CallError {
    let may_cost = !error.is_connect();
    CallError {
        reason: with_causes(&error.without_url()),
        kind: CallErrorKind::Transient(None),
        may_cost,
    }
}

/// Reads a body of at most `max` bytes.
async fn read(mut reply: Response, max: usize) -> Result<Vec<u8>, CallError> {
    let mut body = Vec::new();
    while let Some(part) = reply.chunk().await.map_err(transport)? {
        if body.len() + part.len() > max {
            return Err(CallError {
                reason: format!("the reply has more than {max} bytes"),
                kind: CallErrorKind::OfItem,
                may_cost: true,
            });
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

/// Longest time that a judge may ask to wait.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// The time that the server asks to wait: seconds, or a date, which is compared with that of the
/// reply, because clocks differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let asked = text(RETRY_AFTER)?;
    let wait = if let Ok(seconds) = asked.parse() {
        Duration::try_from_secs_f64(seconds).ok()?
    } else {
        let sent = httpdate::parse_http_date(text(DATE)?).ok()?;
        let until = httpdate::parse_http_date(asked).ok()?;
        until.duration_since(sent).unwrap_or_default()
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

/// The message of an error in the form of OpenAI, `{"error": {"message": "…"}}`.
fn message(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        error: ErrorBody,
    }
    #[derive(Deserialize)]
    struct ErrorBody {
        message: String,
    }
    let body: Body = serde_json::from_slice(body).ok()?;
    Some(body.error.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_how_long_to_wait() {
        let sent = "Mon, 30 Nov 2026 10:00:00 GMT";
        for (date, asked, seconds) in [
            (None, "7", Some(7.0)),
            (None, " 0.5 ", Some(0.5)),
            (None, "86400", Some(3_600.0)),
            (None, "-1", None),
            (None, "soon", None),
            (Some(sent), "Mon, 30 Nov 2026 10:01:30 GMT", Some(90.0)),
            (Some(sent), "Monday, 30-Nov-26 10:01:30 GMT", Some(90.0)),
            (Some(sent), "Mon, 30 Nov 2026 09:00:00 GMT", Some(0.0)),
            (Some(sent), "Tue, 01 Dec 2026 10:00:00 GMT", Some(3_600.0)),
            (None, "Mon, 30 Nov 2026 10:01:30 GMT", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(asked));
            if let Some(date) = date {
                headers.insert(DATE, HeaderValue::from_static(date));
            }
            let wait = retry_after(&headers).map(|wait| wait.as_secs_f64());
            assert_eq!(wait, seconds, "{asked}");
        }
    }
}
