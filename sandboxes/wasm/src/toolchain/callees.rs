//! Common parts of the source that the host adds to C and C++ programs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use assay_worker::program::Callee;

/// The argument that names the function to call.
pub(super) fn name_of(function: &str, arguments: usize) -> String {
    format!("{function}/{arguments}")
}

/// The names of called functions, each once.
pub(super) fn functions(calls: &[Callee]) -> BTreeSet<&str> {
    calls.iter().map(|call| call.function.as_str()).collect()
}

/// A text, preceded by directives that undefine its words, so that macros of the program do not
/// change it.
pub(super) fn without_macros(text: &str, functions: &BTreeSet<&str>) -> String {
    let words: BTreeSet<&str> = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .filter(|word| !functions.contains(word))
        .collect();
    let mut clean = String::new();
    for word in words {
        // Writing to a string cannot fail.
        let _ = writeln!(clean, "#undef {word}");
    }
    clean + "#line 1\n" + text
}
