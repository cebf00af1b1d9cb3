//! Messages of interfaces other than chat completions: contents of Gemini, with the role `model`
//! and `parts`, and items of OpenAI's Responses without a role.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::RawJson;
use crate::message::{AnyMessage, ContentPart, Message, MessageContent, string};

/// The messages of a list whose elements were read.
pub(crate) fn messages(list: Vec<AnyMessage>) -> Result<Vec<Message>, String> {
    let mut messages: Vec<Message> = Vec::with_capacity(list.len());
    // Whether the last message consists of items, to which further ones are added: the calls of
    // one reply.
    let mut is_of_items = false;
    for any in list {
        let item = any.role.is_none().then(|| item(&any.rest)).flatten();
        match item {
            Some(Item::Output) => messages.push(output(any.rest)),
            Some(Item::OfAssistant) => {
                let part = ContentPart::Fields(any.rest);
                match messages.last_mut().map(|message| &mut message.content) {
                    Some(MessageContent::Parts(parts)) if is_of_items => parts.push(part),
                    _ => messages.push(Message {
                        role: "assistant".to_owned(),
                        content: MessageContent::Parts(vec![part]),
                        rest: BTreeMap::new(),
                    }),
                }
            }
            None => messages.push(message(any)?),
        }
        is_of_items = matches!(item, Some(Item::OfAssistant));
    }
    Ok(messages)
}

/// An item of OpenAI's Responses that is not a message.
#[derive(Clone, Copy)]
enum Item {
    /// A call or reasoning.
    OfAssistant,
    /// The result of a call.
    Output,
}

/// The kind of the item with these fields, by its type.
fn item(fields: &BTreeMap<String, RawJson>) -> Option<Item> {
    let kind = fields.get("type").and_then(string)?;
    if kind.ends_with("_call_output") {
        return Some(Item::Output);
    }
    (kind == "reasoning" || kind.ends_with("_call")).then_some(Item::OfAssistant)
}

/// The message of a tool for the result of a call.
fn output(mut fields: BTreeMap<String, RawJson>) -> Message {
    let output = fields.remove("output");
    let content = output.and_then(|output| serde_json::from_str(output.get()).ok());
    Message {
        role: "tool".to_owned(),
        content: content.unwrap_or_default(),
        rest: fields,
    }
}

/// A message with a role. The role `model` of Gemini is `assistant`, and its `parts` are the
/// content.
fn message(any: AnyMessage) -> Result<Message, String> {
    let AnyMessage {
        role,
        content,
        mut rest,
    } = any;
    let mut role = role.ok_or("missing field `role`")?;
    if role == "model" {
        "assistant".clone_into(&mut role);
    }
    let content = match (content, rest.get("parts")) {
        (None, Some(parts)) => {
            let parts = parts_of_gemini(parts)?;
            rest.remove("parts");
            MessageContent::Parts(parts)
        }
        (content, _) => content.unwrap_or_default(),
    };
    let message = Message {
        role,
        content,
        rest,
    };
    message.check()?;
    Ok(message)
}

/// Parts of Gemini. Texts have no type, and those that are thoughts become reasoning.
fn parts_of_gemini(parts: &RawJson) -> Result<Vec<ContentPart>, String> {
    let parts: Vec<BTreeMap<String, RawJson>> = serde_json::from_str(parts.get())
        .map_err(|_| "`parts` of a message must be an array of objects".to_owned())?;
    let part = |mut fields: BTreeMap<String, RawJson>| {
        if fields.contains_key("type") {
            return ContentPart::Fields(fields);
        }
        let is_thought = fields.get("thought").is_some_and(|is| is.get() == "true");
        match fields.get("text").and_then(string) {
            Some(text) if !is_thought => ContentPart::Text(text),
            Some(text) => {
                fields.remove("text");
                fields.insert("thinking".to_owned(), Value::String(text).into());
                fields.insert("type".to_owned(), Value::from("thinking").into());
                ContentPart::Fields(fields)
            }
            // A part with a signature has it beside its only member with content.
            None => {
                fields.remove("thoughtSignature");
                ContentPart::Fields(fields)
            }
        }
    };
    let parts: Vec<_> = parts.into_iter().map(part).collect();
    match parts.iter().all(ContentPart::is_valid) {
        true => Ok(parts),
        false => Err("a part has neither a `text` nor a `type` nor a call".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use crate::Completion;

    /// The messages as they are stored.
    fn stored(json: &str) -> String {
        let read: Completion = serde_json::from_str(json).unwrap();
        let body = String::from_utf8(read.to_body().into_owned()).unwrap();
        assert_eq!(serde_json::from_str::<Completion>(&body).unwrap(), read);
        body
    }

    #[test]
    fn reads_contents_of_gemini() {
        let contents = r#"[
            {"role":"user","parts":[{"text":"Where?"}]},
            {"role":"model","parts":[{"text":"I look.","thought":true},{"text":"In "},
                {"functionCall":{"name":"f","args":{"n":1.50}},"thoughtSignature":"x"}]},
            {"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]},
            {"role":"model","content":"Rome"}]"#;
        assert_eq!(
            stored(contents),
            concat!(
                r#"[{"role":"user","content":["Where?"]},"#,
                r#"{"role":"assistant","content":[{"thinking":"I look.","thought":true,"#,
                r#""type":"thinking"},"In ",{"functionCall":{"name":"f","args":{"n":1.50}}}]},"#,
                r#"{"role":"user","content":[{"functionResponse":{"name":"f","response":{}}}]},"#,
                r#"{"role":"assistant","content":"Rome"}]"#
            )
        );
        let read: Completion = serde_json::from_str(contents).unwrap();
        assert_eq!(read.text(), "Rome");
    }

    #[test]
    fn reads_items_of_responses() {
        let items = r#"[
            {"type":"reasoning","id":"r","summary":[]},
            {"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
            {"type":"function_call","call_id":"2","name":"g","arguments":"{}"},
            {"type":"function_call_output","call_id":"1","output":"ok"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done"}]}]"#;
        let read: Completion = serde_json::from_str(items).unwrap();
        let Completion::Messages(messages) = &read else {
            panic!("messages")
        };
        let roles: Vec<_> = messages.iter().map(|message| &*message.role).collect();
        assert_eq!(roles, ["assistant", "tool", "assistant"]);
        assert_eq!(messages[0].content.parts().len(), 3);
        assert_eq!(messages[1].text(), "ok");
        assert_eq!(messages[1].text_of("call_id").as_deref(), Some("1"));
        assert_eq!(read.text(), "Done");
        stored(items);
    }

    #[test]
    fn rejects_elements_of_no_interface() {
        for (json, reason) in [
            (r#"[{"content":"a"}]"#, "missing field `role`"),
            (
                r#"[{"type":"item_reference","id":"1"}]"#,
                "missing field `role`",
            ),
            (
                r#"[{"role":"models","content":"a"}]"#,
                "unknown `role` `models`",
            ),
            (r#"[{"role":"model","parts":"a"}]"#, "an array of objects"),
            (r#"[{"role":"model","parts":[1]}]"#, "an array of objects"),
        ] {
            let error = serde_json::from_str::<Completion>(json).unwrap_err();
            assert!(error.to_string().contains(reason), "{json}: {error}");
        }
    }
}
