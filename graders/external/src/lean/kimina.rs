//! Requests and replies of Kimina's Lean server.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::source::Source;
use crate::http::{CallError, CallErrorKind};
use crate::reply::Judgement;
use crate::route::Route;

/// The id of the only snippet of a request.
const ID: &str = "assay";

/// The axioms of Lean's classical logic.
const AXIOMS: [&str; 3] = ["propext", "Classical.choice", "Quot.sound"];

/// Maximum length of a quoted message, in bytes.
const MAX_QUOTED: usize = 300;

/// The body of a request. The server stops Lean after `seconds`.
pub(crate) fn request(route: Route, source: &Source, seconds: u64) -> Value {
    match route {
        Route::Check => {
            json!({ "snippets": [{ "id": ID, "code": source.text }], "timeout": seconds })
        }
        Route::Verify => {
            json!({ "codes": [{ "custom_id": ID, "proof": source.text }], "timeout": seconds })
        }
    }
}

/// What Lean said about the file.
#[derive(Debug, Deserialize)]
struct Response {
    /// An error of the REPL, which has then not read the file.
    message: Option<String>,
    messages: Option<Vec<Message>>,
    sorries: Option<Vec<IgnoredAny>>,
}

#[derive(Debug, Deserialize)]
struct Message {
    severity: String,
    pos: Option<Position>,
    data: String,
}

#[derive(Debug, Deserialize)]
struct Position {
    line: usize,
}

/// Checks that Lean has read the file, and that the declarations of the task have no error.
///
/// # Errors
/// [`CallError`] if it has not, such as after a timeout: there is no verdict.
pub(crate) fn reply(text: &str, source: &Source) -> Result<(), CallError> {
    let error = |kind, reason: String| CallError {
        reason,
        kind,
        may_cost: true,
    };
    let response = read(text).map_err(|unread| match unread {
        // Lean would need as long for the same file again.
        Unread::Server(reason) if reason.contains("timed out") => {
            error(CallErrorKind::OfItem, reason)
        }
        Unread::Server(reason) | Unread::Form(reason) => {
            error(CallErrorKind::Transient(None), reason)
        }
    })?;
    let of_task = response.errors().find(|message| {
        let line = message.pos.as_ref().map(|position| position.line);
        line.is_some_and(|line| line < source.first_line)
    });
    of_task.map_or(Ok(()), |message| {
        let reason = format!("the `statement` has an error: {}", quoted(&message.data));
        Err(error(CallErrorKind::OfItem, reason))
    })
}

/// The verdict of a reply without a fault of the server.
///
/// # Errors
/// If the reply does not have the expected form.
pub(crate) fn verdict(text: &str, source: &Source) -> Result<Judgement, String> {
    let response = read(text).map_err(|unread| match unread {
        Unread::Server(reason) | Unread::Form(reason) => reason,
    })?;
    Ok(Judgement::Proof {
        rejected: response.rejected(&source.check),
    })
}

/// Why there is no response of Lean.
enum Unread {
    /// The server says so.
    Server(String),
    /// The reply does not have the expected form.
    Form(String),
}

fn read(text: &str) -> Result<Response, Unread> {
    #[derive(Deserialize)]
    struct Body {
        results: Vec<Checked>,
    }
    #[derive(Deserialize)]
    struct Checked {
        error: Option<String>,
        response: Option<Response>,
    }
    let body: Body = serde_json::from_str(text)
        .map_err(|error| Unread::Form(format!("the reply is not one of Kimina's: {error}")))?;
    let Ok([Checked { error, response }]) = <[Checked; 1]>::try_from(body.results) else {
        return Err(Unread::Form("the reply must have one result".to_owned()));
    };
    if let Some(error) = error {
        return Err(Unread::Server(quoted(&error).to_owned()));
    }
    let response = response
        .ok_or_else(|| Unread::Form("the reply has neither a response nor an error".to_owned()))?;
    match &response.message {
        Some(message) => Err(Unread::Server(quoted(message).to_owned())),
        None => Ok(response),
    }
}

impl Response {
    fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().flatten()
    }

    fn errors(&self) -> impl Iterator<Item = &Message> {
        self.messages()
            .filter(|message| message.severity == "error")
    }

    /// Why the proof does not count, if it does not.
    fn rejected(&self, check: &str) -> Option<String> {
        if let Some(error) = self.errors().next() {
            return Some(format!("Lean reports an error: {}", quoted(&error.data)));
        }
        let is_unfinished = |message: &Message| message.data.contains("declaration uses");
        if self.sorries.iter().flatten().next().is_some() || self.messages().any(is_unfinished) {
            return Some("the proof contains `sorry`".to_owned());
        }
        let name = format!("'{check}'");
        let mut listed = self.messages().filter_map(|message| {
            let rest = message.data.strip_prefix(&name)?;
            (message.severity == "info").then_some(rest.trim())
        });
        let (Some(axioms), None) = (listed.next(), listed.next()) else {
            return Some("Lean did not reach the end of the file".to_owned());
        };
        if axioms == "does not depend on any axioms" {
            return None;
        }
        let list = axioms
            .strip_prefix("depends on axioms:")
            .and_then(|list| list.trim().strip_prefix('[')?.strip_suffix(']'));
        let Some(list) = list else {
            return Some("Lean did not list the axioms".to_owned());
        };
        let mut axioms = list.split(',').map(str::trim);
        axioms
            .find(|axiom| !AXIOMS.contains(axiom))
            .map(|axiom| format!("the proof depends on the axiom `{}`", quoted(axiom)))
    }
}

fn quoted(text: &str) -> &str {
    assay_base::truncated(text.trim(), MAX_QUOTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        Source {
            text: "import Mathlib".to_owned(),
            check: "assay_check_c0de".to_owned(),
            first_line: 7,
        }
    }

    /// A reply with these messages, each a severity, a line and a text.
    fn replied(messages: &[(&str, usize, &str)]) -> String {
        let messages = messages.iter().map(|(severity, line, data)| {
            json!({ "severity": severity, "pos": { "line": line, "column": 0 }, "data": data })
        });
        let messages: Vec<Value> = messages.collect();
        json!({ "results": [{ "id": ID, "time": 0.1, "response": { "messages": messages } }] })
            .to_string()
    }

    fn rejected(text: &str) -> Option<String> {
        reply(text, &source()).unwrap();
        match verdict(text, &source()).unwrap() {
            Judgement::Proof { rejected } => rejected,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn both_routes_receive_one_file() {
        let body = request(Route::Check, &source(), 50);
        assert_eq!(body["snippets"][0]["code"], "import Mathlib");
        let body = request(Route::Verify, &source(), 50);
        assert_eq!(body["codes"][0]["proof"], "import Mathlib");
        assert_eq!(body["timeout"], 50);
    }

    #[test]
    fn a_proof_counts_if_lean_lists_its_axioms() {
        let listed = |axioms: &str| {
            let message = format!("'assay_check_c0de' depends on axioms: [{axioms}]");
            replied(&[("warning", 8, "unused variable"), ("info", 12, &message)])
        };
        assert_eq!(
            rejected(&listed("propext,\n Classical.choice,\n Quot.sound")),
            None
        );
        let none = "'assay_check_c0de' does not depend on any axioms";
        assert_eq!(rejected(&replied(&[("info", 12, none)])), None);
        for (text, part) in [
            (listed("propext, sorryAx"), "`sorryAx`"),
            (listed("Lean.ofReduceBool"), "`Lean.ofReduceBool`"),
            (listed("assay_target_c0de"), "`assay_target_c0de`"),
            (replied(&[]), "end of the file"),
            (
                replied(&[("info", 12, none), ("info", 13, none)]),
                "end of the file",
            ),
            (
                replied(&[("info", 12, &none.replace("c0de", "other"))]),
                "end of the file",
            ),
            (
                replied(&[("error", 8, "unsolved goals"), ("info", 12, none)]),
                "unsolved",
            ),
            (
                replied(&[
                    ("warning", 8, "declaration uses 'sorry'"),
                    ("info", 12, none),
                ]),
                "`sorry`",
            ),
        ] {
            let reason = rejected(&text).unwrap();
            assert!(reason.contains(part), "{text}: {reason}");
        }
    }

    #[test]
    fn a_fault_of_the_server_or_the_task_is_no_verdict() {
        let failed = |result: Value| {
            let text = json!({ "results": [result] }).to_string();
            reply(&text, &source()).unwrap_err().kind
        };
        let transient = CallErrorKind::Transient(None);
        let timeout = json!({ "id": ID, "error": "Lean REPL command timed out in 60 seconds" });
        assert_eq!(failed(timeout), CallErrorKind::OfItem);
        assert_eq!(
            failed(json!({ "id": ID, "error": "Lean process broken pipe" })),
            transient
        );
        let unknown = json!({ "id": ID, "response": { "message": "Unknown environment." } });
        assert_eq!(failed(unknown), transient);
        assert_eq!(failed(json!({ "id": ID })), transient);
        for text in ["", "{}", r#"{"results":[]}"#] {
            assert_eq!(
                reply(text, &source()).unwrap_err().kind,
                transient,
                "{text}"
            );
        }
        let of_task = replied(&[("error", 5, "unknown identifier 'x'")]);
        let error = reply(&of_task, &source()).unwrap_err();
        assert_eq!(error.kind, CallErrorKind::OfItem);
        assert!(error.reason.contains("`statement`"), "{error:?}");
    }
}
