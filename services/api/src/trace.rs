//! The trace of the caller, from its `traceparent` (W3C Trace Context).

use http::HeaderMap;
use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};

/// The caller's span; `None` if there is not exactly one header, or if it is malformed.
pub(crate) fn caller(headers: &HeaderMap) -> Option<Context> {
    let mut values = headers.get_all("traceparent").iter();
    let header = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    let mut parts = header.split('-');
    let version = hex(parts.next()?, 2)?;
    let trace = hex(parts.next()?, 32)?;
    let span = hex(parts.next()?, 16)?;
    let flags = hex(parts.next()?, 2)?;
    // Later versions may append parts.
    if version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let context = SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED,
        true,
        TraceState::NONE,
    );
    // Ids of zeros are invalid.
    context
        .is_valid()
        .then(|| Context::new().with_remote_span_context(context))
}

/// The text, if it consists of this number of lower-case hexadecimal digits.
fn hex(text: &str, length: usize) -> Option<&str> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == length && text.bytes().all(is_digit)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn read(values: &[&str]) -> Option<SpanContext> {
        let name = http::HeaderName::from_static("traceparent");
        let headers: HeaderMap = values
            .iter()
            .map(|value| (name.clone(), value.parse().unwrap()))
            .collect();
        caller(&headers).map(|context| context.span().span_context().clone())
    }

    #[test]
    fn reads_the_span_of_the_caller() {
        let span = read(&[VALID]).unwrap();
        assert_eq!(
            span.trace_id().to_string(),
            "4bf92f3577b34da6a3ce929d0e0e4736"
        );
        assert_eq!(span.span_id().to_string(), "00f067aa0ba902b7");
        assert!(span.is_sampled() && span.is_remote());
    }

    #[test]
    fn only_the_lowest_flag_means_sampled() {
        for (flags, is_sampled) in [("00", false), ("01", true), ("fe", false), ("ff", true)] {
            let header = format!("{}{flags}", VALID.strip_suffix("01").unwrap());
            assert_eq!(
                read(&[&header]).unwrap().is_sampled(),
                is_sampled,
                "{header}"
            );
        }
    }

    #[test]
    fn reads_later_versions_with_more_parts() {
        for header in [
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-holds",
            "fe-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
        ] {
            let span = read(&[header]).unwrap();
            assert_eq!(span.span_id().to_string(), "00f067aa0ba902b7", "{header}");
        }
    }

    #[test]
    fn ignores_malformed_headers() {
        for malformed in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-+1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0A",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47361-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-+0f067aa0ba902b7-01",
            "0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "FE-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "zz-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-011",
        ] {
            assert_eq!(read(&[malformed]), None, "{malformed}");
        }
    }

    #[test]
    fn ignores_several_headers() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[VALID, VALID]), None);
        assert_eq!(read(&[VALID, "malformed"]), None);
    }
}
