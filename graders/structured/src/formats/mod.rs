//! The formats a document may be written in, each read into one [`Json`] tree. A reader says where
//! a text breaks and repairs nothing; what its format cannot tell (types, in XML and CSV) it leaves
//! as text.

mod csv;
mod numbers;
mod toml;
mod xml;
mod yaml;

use assay_documents::{Broken, Json};
use serde::Deserialize;

pub(crate) use numbers::decimal;

/// Most parts of a document that is read: a part takes some sixty bytes.
const MAX_PARTS: usize = 4_000_000;

/// Most bytes that a document may repeat through YAML aliases or CSV column names.
const MAX_COPIED: usize = 32 << 20;

/// What a document is written in.
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
    /// Its name in tasks and evidence.
    pub(crate) fn name(self) -> &'static str {
        self.names()[0]
    }

    /// What the info string of a fence calls it.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Json => &["json"],
            Self::Yaml => &["yaml", "yml"],
            Self::Xml => &["xml"],
            Self::Toml => &["toml"],
            Self::Csv => &["csv"],
        }
    }

    /// Whether it writes every scalar as text, so that only a schema or an expected value tells
    /// what it is.
    pub(crate) fn is_untyped(self) -> bool {
        matches!(self, Self::Xml | Self::Csv)
    }

    /// Reads a text that is one document and nothing else.
    pub(crate) fn read(self, text: &str) -> Result<Json, Broken> {
        match self {
            Self::Json => Json::read(text),
            Self::Yaml => yaml::read(text),
            Self::Xml => xml::read(text),
            Self::Toml => toml::read(text),
            Self::Csv => csv::read(text),
        }
    }
}

/// The byte at which the character of that number begins.
fn byte_of(text: &str, character: usize) -> usize {
    text.char_indices()
        .nth(character)
        .map_or(text.len(), |(at, _)| at)
}

/// A name for a message: not more than anyone reads.
fn short(name: &str) -> String {
    name.chars().take(60).collect()
}
