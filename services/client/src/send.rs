//! Builds requests, sends them, repeats them where that is safe, and reads the replies.

use std::error::Error;
use std::time::Duration;

use assay_wire::ProblemBody;
use bytes::Bytes;
use opentelemetry::trace::TraceContextExt as _;
use reqwest::{Method, RequestBuilder, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::{Client, ClientError};

impl Client {
    /// Sends a request that has no body and changes nothing.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<T, ClientError> {
        self.send(self.call(Method::GET, path, query)?, true).await
    }

    /// Sends a request with a body.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
        idempotent: bool,
    ) -> Result<T, ClientError> {
        let call = self.call(Method::POST, path, &[])?.json(body);
        self.send(call, idempotent).await
    }

    /// Builds a request. Each part of the path is one segment, even if it contains a separator.
    pub(crate) fn call(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<RequestBuilder, ClientError> {
        if let Some(name) = path.iter().find(|name| !assay_wire::fits_path(name)) {
            return Err(ClientError::BadName((*name).to_owned()));
        }
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let call = self.http.request(method, url);
        Ok(match &self.key {
            Some(key) => call.header(header::AUTHORIZATION, key),
            None => call,
        })
    }

    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        call: RequestBuilder,
        idempotent: bool,
    ) -> Result<T, ClientError> {
        self.send_made(|| call.try_clone(), idempotent).await
    }

    /// Sends a request that `make` makes for each try, unless it cannot be sent again.
    pub(crate) async fn send_made<T: DeserializeOwned>(
        &self,
        make: impl FnMut() -> Option<RequestBuilder>,
        idempotent: bool,
    ) -> Result<T, ClientError> {
        let read = |body: &Bytes| serde_json::from_slice(body).map_err(|error| error.to_string());
        self.send_read(make, idempotent, read).await
    }

    /// The same for a reply that `read` reads.
    pub(crate) async fn send_read<T>(
        &self,
        mut make: impl FnMut() -> Option<RequestBuilder>,
        idempotent: bool,
        read: impl Fn(&Bytes) -> Result<T, String>,
    ) -> Result<T, ClientError> {
        let (mut tries, mut last) = (0, None);
        loop {
            let Some(attempt) = make() else {
                return Err(last.unwrap_or_else(|| ClientError::BadUrl {
                    url: self.base.to_string(),
                    reason: "a streamed body cannot be sent twice".to_owned(),
                }));
            };
            let (error, retry_after) = match self.attempt(attempt, &read).await {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            let rejected = matches!(
                &error,
                ClientError::Refused {
                    status: 429 | 503,
                    ..
                }
            );
            let not_sent =
                matches!(&error, ClientError::Transport { error, .. } if error.is_connect());
            let interrupted = matches!(&error, ClientError::Transport { .. });
            let can_retry = rejected || not_sent || (idempotent && interrupted);
            let Some(pause) = self.retry.pause(tries, retry_after).filter(|_| can_retry) else {
                return Err(error);
            };
            tokio::time::sleep(pause).await;
            tries += 1;
            last = Some(error);
        }
    }

    async fn attempt<T>(
        &self,
        call: RequestBuilder,
        read: impl Fn(&Bytes) -> Result<T, String>,
    ) -> Result<T, (ClientError, Option<Duration>)> {
        let transport = |error: reqwest::Error| {
            let url = error.url().unwrap_or(&self.base).clone();
            let error = match certificate_error(&error) {
                Some(reason) => ClientError::Untrusted { url, reason },
                None => ClientError::Transport {
                    url,
                    error: error.without_url(),
                },
            };
            (error, None)
        };
        let call = match traceparent() {
            Some(traceparent) => call.header("traceparent", traceparent),
            None => call,
        };
        let response = call.send().await.map_err(transport)?;
        let (status, url) = (response.status(), response.url().clone());
        let retry_after = response
            .headers()
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        let body = response.bytes().await.map_err(transport)?;
        let unexpected = |reason: String| {
            (
                ClientError::Unexpected {
                    url: url.clone(),
                    status: status.as_u16(),
                    reason,
                },
                None,
            )
        };
        if status == StatusCode::OK {
            return read(&body).map_err(unexpected);
        }
        let ProblemBody { error: problem, .. } =
            serde_json::from_slice(&body).map_err(|error| unexpected(error.to_string()))?;
        Err((
            ClientError::Refused {
                status: status.as_u16(),
                problem,
            },
            retry_after,
        ))
    }
}

/// Why the certificate of the server was rejected, if it was. A retry would fail in the same way.
fn certificate_error(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(rustls::Error::InvalidCertificate(reason)) = error.downcast_ref() {
            return Some(reason.to_string());
        }
        // `source` of an I/O error skips the error that it wraps.
        let wrapped = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        cause = wrapped
            .map(|wrapped| wrapped as &(dyn Error + 'static))
            .or_else(|| error.source());
    }
    None
}

/// The current span in the format of W3C Trace Context; `None` if spans are not exported.
fn traceparent() -> Option<String> {
    let context = tracing::Span::current().context();
    let span = context.span();
    let span = span.span_context();
    span.is_valid().then(|| {
        let flags = span.trace_flags().to_u8();
        format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id())
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing::Instrument as _;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::Retry;

    /// Answers one request with status 200 and `{}`; returns its head.
    fn head_of_one_request(listener: &TcpListener) -> String {
        let (stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
        let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        (&stream)
            .write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}")
            .unwrap();
        head.join("\n")
    }

    #[test]
    fn names_are_one_segment_of_a_path_or_refused() {
        let client = Client::new("http://127.0.0.1:1/base", Retry::default()).unwrap();
        let path = |name: &str| {
            let call = client.call(Method::GET, &["v1", "runs", name], &[]);
            call.map(|call| call.build().unwrap().url().path().to_owned())
        };
        for (name, segment) in [
            ("a/b?c#d", "a%2Fb%3Fc%23d"),
            ("a b", "a%20b"),
            ("%2e", "%252e"),
            ("...", "..."),
            ("é", "%C3%A9"),
        ] {
            assert_eq!(path(name).unwrap(), format!("/base/v1/runs/{segment}"));
        }
        for name in [".", "..", "a\nb", "\ta", "\u{7f}"] {
            let error = path(name).unwrap_err();
            assert!(matches!(error, ClientError::BadName(_)), "{error}");
        }
    }

    #[test]
    fn requests_carry_the_current_span() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = std::thread::spawn(move || head_of_one_request(&listener));
        let provider = SdkTracerProvider::builder().build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let subscriber = tracing_subscriber::registry().with(layer);
        let sent = tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("step");
            let trace = span.context().span().span_context().trace_id().to_string();
            let client = Client::new(&url, Retry::default()).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            // The reply is not a valid one of the service, which does not matter here.
            let _ = runtime.block_on(client.graders().instrument(span));
            trace
        });
        let head = served.join().unwrap();
        assert!(
            head.contains(&format!("traceparent: 00-{sent}-")),
            "{head}\n{sent}"
        );
    }
}
