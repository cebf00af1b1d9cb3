//! Parsers of the document formats. Each returns a [`Json`] tree, or the position of the error in a
//! malformed text. Texts are never repaired. Scalars of formats without types (XML, CSV) stay
//! strings.

mod csv;
mod limits;
mod numbers;
mod toml;
mod xml;
mod yaml;

use assay_documents::{Json, SyntaxError};
use serde::Deserialize;

pub(crate) use numbers::decimal;

/// The format of a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    #[default]
    Json,
    Yaml,
    Xml,
    Toml,
    Csv,
}

impl Format {
    /// The name of the format in tasks and evidence.
    pub(crate) fn name(self) -> &'static str {
        self.names()[0]
    }

    /// Names of the format in the info string of a fence.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Json => &["json"],
            Self::Yaml => &["yaml", "yml"],
            Self::Xml => &["xml"],
            Self::Toml => &["toml"],
            Self::Csv => &["csv"],
        }
    }

    /// Whether every scalar is a string, so that only a schema or an expected value determines
    /// its type.
    pub(crate) fn is_untyped(self) -> bool {
        matches!(self, Self::Xml | Self::Csv)
    }

    /// Whether the text of a document shows that nothing is missing at its end: a bracket, a quote
    /// or an end tag closes it. The other formats have no end of their own.
    pub(crate) fn has_end(self, document: &Json) -> bool {
        match self {
            Self::Json => !matches!(document, Json::Number(_)),
            Self::Xml => true,
            Self::Yaml | Self::Toml | Self::Csv => false,
        }
    }

    /// Parses a text that consists of one document.
    pub(crate) fn read(self, text: &str) -> Result<Json, SyntaxError> {
        match self {
            Self::Json => Json::read(text),
            Self::Yaml => yaml::read(text),
            Self::Xml => xml::read(text),
            Self::Toml => toml::read(text),
            Self::Csv => csv::read(text),
        }
    }
}
