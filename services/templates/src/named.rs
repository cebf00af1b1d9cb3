//! Templates of common datasets, one file each under `named/`.

use crate::TemplateError;

macro_rules! named {
    ($($name:literal),* $(,)?) => {
        /// The names of all built-in templates.
        pub const NAMES: &[&str] = &[$($name),*];

        const SOURCES: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../named/", $name, ".json")))),*
        ];
    };
}

named!(
    "aime",
    "apps",
    "bfcl",
    "gsm8k",
    "humaneval",
    "math",
    "math-500",
    "mbpp",
    "mbpp-sanitized",
    "mmlu",
    "sql-create-context",
    "verl-math",
);

/// The JSON of the template with this name.
pub(crate) fn source(name: &str) -> Result<&'static str, TemplateError> {
    let found = SOURCES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, source)| *source);
    found.ok_or_else(|| {
        let known: Vec<_> = NAMES.iter().map(|known| format!("`{known}`")).collect();
        TemplateError::Unknown {
            name: name.to_owned(),
            known: known.join(", "),
        }
    })
}
