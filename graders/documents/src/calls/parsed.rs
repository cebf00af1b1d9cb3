//! The calls and the malformed attempts that were read from a text or a message.

use std::ops::Range;

use super::Form;
use crate::json::{Json, SyntaxError};

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Name of the tool.
    pub name: String,
    /// Arguments by name, without duplicates.
    pub arguments: Vec<(String, Json)>,
    /// Positional arguments in order; only some forms have them.
    pub positional: Vec<Json>,
    /// Whether the arguments are texts, because the form has no types; see
    /// [`ArgumentTypes`](super::ArgumentTypes).
    pub untyped: bool,
    /// The id by which messages of tools refer to the call, if it has one.
    pub id: Option<String>,
    /// Byte range in the text; empty for a call in the fields of a message.
    pub span: Range<usize>,
    /// Form of the call.
    pub form: Form,
}

impl Call {
    pub(super) fn new(call: ParsedCall, span: Range<usize>, form: Form) -> Self {
        let ParsedCall {
            name,
            arguments,
            positional,
            untyped,
            id,
        } = call;
        Self {
            name,
            arguments,
            positional,
            untyped,
            id,
            span,
            form,
        }
    }
}

/// A call without byte range and form. The fields are those of [`Call`].
#[derive(Debug, Default)]
pub(super) struct ParsedCall {
    pub(super) name: String,
    pub(super) arguments: Vec<(String, Json)>,
    pub(super) positional: Vec<Json>,
    pub(super) untyped: bool,
    pub(super) id: Option<String>,
}

impl ParsedCall {
    /// A call with named arguments.
    pub(super) fn named(name: impl Into<String>, arguments: Vec<(String, Json)>) -> Self {
        Self {
            name: name.into(),
            arguments,
            ..Self::default()
        }
    }
}

/// Maximum number of calls. The text after them is one malformed attempt.
pub const MAX_CALLS: usize = 1_000;

/// Maximum number of malformed attempts that are reported. The text after them is not read.
pub const MAX_MALFORMED: usize = 50;

/// An attempted call that is malformed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Byte range in the text; empty for an attempt in the fields of a message.
    pub span: Range<usize>,
    /// The error. Its byte counts from the start of the text, or of the `arguments` of the message.
    pub broken: SyntaxError,
    /// Form of the attempt; `None` for forms that are not read.
    pub form: Option<Form>,
}

/// The calls of one text or message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The calls in order.
    pub calls: Vec<Call>,
    /// The malformed attempts in order.
    pub malformed: Vec<Malformed>,
    /// Byte ranges of the text outside both and outside reasoning.
    pub prose: Vec<Range<usize>>,
}

impl Reading {
    /// Whether there are no calls and no malformed attempts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.malformed.is_empty()
    }

    /// Keeps only calls in the forms of one family. Others become malformed attempts.
    pub fn keep_form(&mut self, form: Form) {
        let (matching, others) = std::mem::take(&mut self.calls)
            .into_iter()
            .partition(|call| form.includes(call.form));
        self.calls = matching;
        let rejected = |call: Call| Malformed {
            broken: SyntaxError::new(
                call.span.start,
                format!("the call has the form `{}`, not `{form}`", call.form),
            ),
            span: call.span,
            form: Some(call.form),
        };
        self.malformed.extend(others.into_iter().map(rejected));
        self.malformed.sort_by_key(|malformed| malformed.span.start);
    }
}
