//! Entry points of the fuzz target for documents. Not part of the API.

use std::ops::Range;

use assay_documents::{Json, SyntaxError};

use crate::formats::Format;
use crate::requirements::Wanted;
use crate::source::Source;

const FORMATS: [Format; 5] = [
    Format::Json,
    Format::Yaml,
    Format::Xml,
    Format::Toml,
    Format::Csv,
];

/// The number of formats.
pub const COUNT: usize = FORMATS.len();

/// A candidate text of a completion.
#[derive(Debug, PartialEq)]
pub struct Candidate {
    /// The text.
    pub text: String,
    /// Its byte range in the completion.
    pub span: Range<usize>,
    /// The document, or the byte of the completion at which parsing fails.
    pub document: Result<Json, usize>,
}

/// Reads a document of this format.
///
/// # Errors
/// [`SyntaxError`] if the text is malformed.
pub fn read(format: usize, text: &str) -> Result<Json, SyntaxError> {
    FORMATS[format].read(text)
}

/// The candidate texts of a completion.
#[must_use]
pub fn extract(format: usize, completion: &str, think_open: bool) -> Vec<Candidate> {
    let visible = Source::visible(completion, think_open);
    crate::extract::extract(FORMATS[format], &visible, &Wanted::default())
        .into_iter()
        .map(|mut candidate| {
            let source = &candidate.source;
            let read = candidate
                .document
                .take()
                .unwrap_or_else(|| read(format, source.text()));
            let document = read.map_err(|error| source.at(error.at.min(source.text().len())));
            Candidate {
                text: source.text().to_owned(),
                span: source.span(),
                document,
            }
        })
        .collect()
}
