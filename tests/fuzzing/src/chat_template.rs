//! Chat templates of reward models: compiles one and renders a rollout.
//!
//! The last line is the rollout as JSON, `{"prompt": …, "completion": …}`; everything before it is
//! the template.
//!
//! Properties: rendering is deterministic and its output bounded; the spans of the prompt are
//! within the output, in order.

use assay_core::Completion;
use assay_reward_model::fuzzing::render;
use serde_json::Value;

/// Most bytes of output for a short rollout.
const MOST_BYTES: usize = 128 << 20;

/// Compiles a template and renders a rollout.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (template, rollout) = text.rsplit_once('\n').unwrap_or((text, ""));
    let mut rollout: Value = serde_json::from_str(rollout).unwrap_or_default();
    let mut part = |name: &str, default: &str| {
        let read = rollout
            .get_mut(name)
            .map(Value::take)
            .map(serde_json::from_value::<Completion>);
        read.and_then(Result::ok)
            .unwrap_or_else(|| Completion::Text(default.into()))
    };
    let (prompt, completion) = (part("prompt", "What is 2 + 2?"), part("completion", "4"));
    let Ok(Ok((text, spans))) = render(template, &prompt, &completion) else {
        return;
    };
    assert!(text.len() <= MOST_BYTES, "{} bytes", text.len());
    for span in spans.iter().flatten() {
        assert!(
            text.get(span.clone()).is_some(),
            "{span:?} is not a part of {} bytes",
            text.len()
        );
    }
    let again = render(template, &prompt, &completion);
    assert_eq!(again, Ok(Ok((text, spans))), "deterministic");
}
