//! Tool calls in every text form, and in messages.
//!
//! The last bit of the first byte: whether the text starts inside reasoning.
//!
//! Properties: reading is deterministic; numbers of calls and attempts are bounded; spans are parts
//! of the text, in order; a call has a name and each argument once; arguments are JSON.

use std::collections::HashSet;

use assay_core::Message;
use assay_documents::Json;
use assay_documents::calls::{
    ArgumentTypes, Call, Form, MAX_CALLS, MAX_MALFORMED, Malformed, Reading, read, read_message,
};
use assay_documents::json::Reader;

/// Deeper than any argument.
const DEPTH: usize = 1_000;

/// Reads the calls of a text and of a message.
pub fn run(bytes: &[u8]) {
    let Some((flags, text)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let think_open = flags & 1 == 1;
    let is_tool = |name: &str| ["f", "weather", "maths.add"].contains(&name);
    let reading = read(text, think_open, &is_tool);
    assert_eq!(reading, read(text, think_open, &is_tool), "deterministic");
    check(&reading);
    let spans = reading.calls.iter().map(|call| &call.span);
    assert!(
        spans.clone().is_sorted_by_key(|span| span.start),
        "{reading:?}"
    );
    let spans = spans
        .chain(reading.malformed.iter().map(|malformed| &malformed.span))
        .chain(&reading.prose);
    for span in spans {
        assert!(
            text.get(span.clone()).is_some(),
            "{span:?} is not a part of {text:?}"
        );
    }
    for Malformed { broken, .. } in &reading.malformed {
        assert!(broken.at <= text.len(), "{broken:?}");
    }
    for form in Form::ALL {
        let mut kept = reading.clone();
        kept.keep_form(*form);
        assert!(kept.calls.iter().all(|call| form.includes(call.form)));
        assert_eq!(
            kept.calls.len() + kept.malformed.len(),
            reading.calls.len() + reading.malformed.len()
        );
    }
    if let Ok(message) = serde_json::from_str::<Message>(text) {
        let reading = read_message(&message, think_open, &is_tool);
        assert_eq!(
            reading,
            read_message(&message, think_open, &is_tool),
            "deterministic"
        );
        check(&reading);
    }
}

fn check(reading: &Reading) {
    assert!(
        reading.calls.len() <= MAX_CALLS,
        "{} calls",
        reading.calls.len()
    );
    // Those of a message are bounded by its size.
    let in_text = reading
        .malformed
        .iter()
        .filter(|malformed| !malformed.span.is_empty())
        .count();
    assert!(in_text <= MAX_MALFORMED, "{in_text} attempts");
    assert!(
        reading
            .malformed
            .iter()
            .all(|malformed| !malformed.broken.reason.is_empty())
    );
    for Call {
        name,
        arguments,
        positional,
        untyped,
        ..
    } in &reading.calls
    {
        assert!(!name.is_empty(), "{reading:?}");
        let names: HashSet<&str> = arguments.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names.len(),
            arguments.len(),
            "a repeated argument: {arguments:?}"
        );
        for value in arguments.iter().map(|(_, value)| value).chain(positional) {
            let written = value.to_string();
            let again = Reader::new(&written).to_depth(DEPTH).all();
            assert_eq!(again.as_ref(), Ok(value), "round trip of {written}");
            if let Json::Text(text) = value
                && *untyped
            {
                let values = ArgumentTypes::default().readings("x", text);
                assert!(values.contains(&Json::Text(text.clone())), "{values:?}");
            }
        }
    }
}
