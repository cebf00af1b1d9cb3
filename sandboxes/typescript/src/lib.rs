//! Owns the translation of TypeScript to JavaScript: what is removed and what is replaced. Neither
//! checks types nor runs programs.
//!
//! Every token that remains keeps its line, and its column unless a replacement precedes it on the
//! line, so errors and tracebacks refer to the original text. Types become spaces. Enums and
//! parameter properties become the JavaScript that the TypeScript compiler emits for them.
//! Namespaces, import aliases, decorators and accessor properties are refused.

mod edits;
mod enums;
mod eraser;
mod nesting;
mod position;
mod tokens;

use oxc_allocator::Allocator;
use oxc_ast_visit::Visit;
use oxc_parser::Parser;
use oxc_parser::config::TokensParserConfig;
use oxc_span::{LabeledSpan, SourceType};

use edits::Edits;
use eraser::Eraser;
pub use position::Position;

/// Maximum length of a text, in bytes. The parser is recursive, and its stack must suffice for the
/// deepest nesting that a text of this length can have.
pub const MAX_BYTES: usize = 128 << 10;

/// Stack that [`javascript`] needs for any text, in bytes.
pub const STACK: usize = 1 << 30;

/// Why a text is not translated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeScriptError {
    /// The text is longer than [`MAX_BYTES`].
    #[error("a TypeScript program can have at most {MAX_BYTES} bytes")]
    TooLong,
    /// The text is not TypeScript, or uses an unsupported feature.
    #[error("{message}")]
    Syntax {
        /// Position of the error, if known.
        position: Option<Position>,
        /// What is wrong.
        message: String,
    },
}

/// The JavaScript of a TypeScript module or script.
///
/// # Errors
/// [`TypeScriptError`] with the position of the first error.
pub fn javascript(text: &str) -> Result<String, TypeScriptError> {
    if text.len() > MAX_BYTES {
        return Err(TypeScriptError::TooLong);
    }
    let error = |offset: Option<u32>, message: String| TypeScriptError::Syntax {
        position: offset.map(|offset| Position::of(text, offset)),
        message,
    };
    if let Some(offset) = nesting::too_deep(text) {
        let offset = u32::try_from(offset).ok();
        return Err(error(offset, "the program is nested too deeply".to_owned()));
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::ts())
        .with_config(TokensParserConfig)
        .parse();
    if let Some(diagnostic) = parsed.diagnostics.iter().next() {
        let offset = diagnostic.labels.iter().next().map(LabeledSpan::offset);
        let message = if has_jsx(text) {
            "JSX is not supported".to_owned()
        } else {
            diagnostic.message.to_string()
        };
        return Err(error(offset, message));
    }
    let mut eraser = Eraser::new(text, &parsed.tokens);
    eraser.visit_program(&parsed.program);
    let edits: Edits = eraser
        .finish()
        .map_err(|unsupported| error(Some(unsupported.offset), unsupported.message.to_owned()))?;
    Ok(edits.apply(text))
}

/// Whether a text that does not compile would compile as a module with JSX.
fn has_jsx(text: &str) -> bool {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::tsx()).parse();
    (text.contains("</") || text.contains("/>")) && parsed.diagnostics.iter().next().is_none()
}

#[cfg(test)]
mod tests;
