//! Entry points of the fuzz target for documents. Not part of the API.

use std::ops::Range;

use assay_documents::{Json, SyntaxError};

use crate::formats::Format;
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
pub struct Found {
    /// The text.
    pub text: String,
    /// Its span in the completion.
    pub span: Range<usize>,
    /// The document, or the byte of the completion with the syntax error.
    pub document: Result<Json, usize>,
}

/// Reads a document of this format.
///
/// # Errors
/// Where and why it is malformed.
pub fn read(format: usize, text: &str) -> Result<Json, SyntaxError> {
    FORMATS[format].read(text)
}

/// The candidate texts of a completion.
#[must_use]
pub fn extract(format: usize, completion: &str, think_open: bool) -> Vec<Found> {
    let visible = Source::visible(completion, think_open);
    let found = crate::extract::extract(FORMATS[format], &visible)
        .into_iter()
        .map(|mut found| {
            let source = &found.source;
            let read = found
                .document
                .take()
                .map_or_else(|| read(format, source.text()), Ok);
            let document = read.map_err(|broken| source.at(broken.at.min(source.text().len())));
            Found {
                text: source.text().to_owned(),
                span: source.span(),
                document,
            }
        });
    found.collect()
}
