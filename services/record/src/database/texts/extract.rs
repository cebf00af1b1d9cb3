//! What is searched of completions and prompts: their words, of long ones the first and the last.

use assay_core::Completion;

use crate::{Body, BodyKind};

/// Bytes at each end of a text that are searched, if the text has more than twice as many.
const END_BYTES: usize = 16 << 10;

/// Separates the ends of a long text, so that no phrase extends over what is left out. A character
/// for private use is a word of its own.
const GAP: &str = " \u{E000} ";

/// The text of a completion: the text itself, or the last message of the assistant.
pub(super) fn completion(body: &Body) -> String {
    match messages(body) {
        Some(messages) => ends(&messages.text()),
        None => ends(&plain(body)),
    }
}

/// The text of a prompt: the text itself, or those of all messages.
pub(super) fn prompt(body: &Body) -> String {
    match messages(body) {
        Some(Completion::Messages(messages)) => {
            let texts: Vec<String> = messages.iter().map(assay_core::Message::text).collect();
            ends(&texts.join("\n"))
        }
        _ => ends(&plain(body)),
    }
}

fn messages(body: &Body) -> Option<Completion> {
    (body.kind == BodyKind::Messages)
        .then(|| serde_json::from_slice(&body.content).ok())
        .flatten()
}

fn plain(body: &Body) -> std::borrow::Cow<'_, str> {
    match body.kind {
        BodyKind::Text => String::from_utf8_lossy(&body.content),
        // The JSON of messages that cannot be read is not text.
        _ => "".into(),
    }
}

/// A text, or its ends without the words that are cut.
fn ends(text: &str) -> String {
    if text.len() <= 2 * END_BYTES {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(END_BYTES)];
    let tail = &text[text.ceil_char_boundary(text.len() - END_BYTES)..];
    let head = head.trim_end_matches(char::is_alphanumeric);
    let tail = tail.trim_start_matches(char::is_alphanumeric);
    format!("{head}{GAP}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(kind: BodyKind, content: &str) -> Body {
        let content = content.as_bytes().to_vec();
        Body {
            hash: kind.hash(&content),
            kind,
            content,
        }
    }

    #[test]
    fn reads_the_last_message_of_a_completion_and_all_of_a_prompt() {
        let messages = r#"[{"role":"user","content":"ask"},
            {"role":"assistant","content":"first"},
            {"role":"assistant","content":[{"type":"text","text":"last"}]},
            {"role":"tool","content":"result"}]"#;
        let messages = body(BodyKind::Messages, messages);
        assert_eq!(completion(&messages), "last");
        assert_eq!(prompt(&messages), "ask\nfirst\nlast\nresult");
        let text = body(BodyKind::Text, "plain");
        assert_eq!((&*completion(&text), &*prompt(&text)), ("plain", "plain"));
        assert_eq!(completion(&body(BodyKind::Messages, "not JSON")), "");
    }

    #[test]
    fn keeps_the_ends_of_a_long_text_without_cut_words() {
        let words: Vec<String> = (0..20_000).map(|n| format!("wörd{n}")).collect();
        let text = words.join(" ");
        let kept = ends(&text);
        assert!(kept.len() <= 2 * END_BYTES + GAP.len());
        let mut parts = kept.split(GAP);
        let (head, tail) = (parts.next().unwrap(), parts.next().unwrap());
        assert!(text.starts_with(head) && text.ends_with(tail));
        let known: std::collections::HashSet<&str> = words.iter().map(String::as_str).collect();
        for word in head.split_whitespace().chain(tail.split_whitespace()) {
            assert!(known.contains(word), "{word}");
        }
        assert_eq!(ends("short"), "short");
    }
}
