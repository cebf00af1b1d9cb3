//! Grader `structured`: is the document well formed, of its schema, the expected one? Owns
//! extraction of the document, the formats it may be written in, comparison and parts of a score.
//! Trees and schemas are `assay_documents`'.
//!
//! # What it checks
//!
//! The document of a completion is read as JSON, YAML, XML, TOML or CSV, held against a JSON Schema
//! and compared with an expected value, as far as the task gives them. Numbers are compared by
//! value and keep every digit. Each verdict has its place: the byte at which a text breaks, the
//! keyword a value breaks, the values that differ.
//!
//! # What it refuses
//!
//! Repairs: a text that is nearly of its format is not. Keys that stand twice, numbers JSON has
//! none for, document type declarations, several documents, more than 256 levels, aliases or column
//! names that expand to more than 32 MiB. Nothing is fetched: a schema's references lead nowhere
//! but into itself.
//!
//! # Known false positives
//!
//! - A text without structure is a document of YAML: a task of that format needs a schema to refuse
//!   it.
//! - Of several JSON documents in prose the last complete one counts, whatever the words around it
//!   say.
//! - Numbers of a schema, other than those of an expected value, that no 64 bits hold are the
//!   nearest double.
//!
//! # Known false negatives
//!
//! - A fence or a think tag inside a document's own text ends the block, or hides the rest.
//! - In XML and CSV a text stays a text where the schema allows one, or says nothing of the place.
//! - TOML deeper than its reader goes, 80 levels; XML with more than 256 attributes in one element
//!   or 256 namespaces.
//! - Blanks around the commas of CSV belong to its cells.
//!
//! # Example
//!
//! ```json
//! { "type": "structured", "format": "json", "schema": { "type": "object", "required": ["name"] }, "expected": { "name": "Ada" } }
//! ```

mod call;
mod compare;
mod evidence;
mod extract;
mod formats;
#[doc(hidden)]
pub mod fuzzing;
mod grade;
mod levels;
mod places;
mod prepare;
mod source;
mod spec;
mod task;
mod typing;
mod verdict;

pub use prepare::StructuredGrader;
pub use spec::SPEC;
