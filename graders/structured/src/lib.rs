//! Grader `structured`: is the document well formed, valid and equal to the expected one? Owns the
//! extraction of the document, the document formats, the comparison and partial scores. Trees and
//! schemas belong to `assay_documents`.
//!
//! # What it checks
//!
//! The document of a completion is parsed as JSON, YAML, XML, TOML or CSV, validated against a JSON
//! Schema and compared with an expected value, if the task has them. Numbers are compared by value
//! and keep every digit. Each negative verdict has a location: the byte of a syntax error, the
//! keyword that a value violates, or the values that differ.
//!
//! # What it refuses
//!
//! Malformed documents are never repaired. The grader rejects duplicate keys, numbers that JSON
//! lacks, document type declarations, several documents, more than 256 levels, and aliases or
//! column names that expand to more than 32 MiB. A schema can refer only to itself.
//!
//! # Known false positives
//!
//! - Plain prose is a valid YAML document. A YAML task needs a schema to reject it.
//! - Of several JSON documents in prose, the last one that fits is used, whatever the prose says.
//! - Numbers in a schema that do not fit into 64 bits are compared as the nearest double.
//!
//! # Known false negatives
//!
//! - A fence or a think tag inside a string of the document ends the block, or hides the rest.
//! - In XML and CSV, either all or none of the strings that may also be something else are
//!   converted, if nothing is expected there.
//! - TOML deeper than 80 levels; XML with more than 256 attributes in one element or 256
//!   namespaces.
//! - Blanks around the commas of CSV are part of the cells.
//!
//! # Example
//!
//! ```json
//! { "type": "structured", "format": "json",
//!   "schema": { "type": "object", "required": ["name"] }, "expected": { "name": "Ada" } }
//! ```

mod brackets;
mod call;
mod compare;
mod evidence;
mod extract;
mod formats;
#[doc(hidden)]
pub mod fuzzing;
mod grade;
mod levels;
mod prepare;
mod prose;
mod requirements;
mod source;
mod spec;
mod task;
mod typing;
mod verdict;

pub use prepare::StructuredGrader;
pub use spec::SPEC;
