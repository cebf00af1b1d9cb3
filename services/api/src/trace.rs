//! The trace of the caller, from its `traceparent` (W3C Trace Context).

use http::HeaderMap;
use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};

/// The caller's span; `None` if the header is absent or malformed.
pub(crate) fn caller(headers: &HeaderMap) -> Option<Context> {
    let header = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = header.split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_known = version == "00" && parts.next().is_none() || version != "00" && version != "ff";
    if !is_known || trace.len() != 32 || span.len() != 16 {
        return None;
    }
    let context = SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED,
        true,
        TraceState::NONE,
    );
    context
        .is_valid()
        .then(|| Context::new().with_remote_span_context(context))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_span_of_the_caller() {
        let read = |header: &str| {
            let headers = HeaderMap::from_iter([(
                http::HeaderName::from_static("traceparent"),
                header.parse().unwrap(),
            )]);
            caller(&headers).map(|context| context.span().span_context().span_id().to_string())
        };
        let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(read(valid).as_deref(), Some("00f067aa0ba902b7"));
        for malformed in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(read(malformed), None, "{malformed}");
        }
    }
}
