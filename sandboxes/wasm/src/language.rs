//! The table of languages.

/// A language that can have an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language {
    /// Its name in tasks.
    pub name: &'static str,
}

/// All languages, in the order in which they are shown.
pub const LANGUAGES: &[Language] = &[Language { name: "python" }];

/// The language of this name.
pub(crate) fn language(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == name)
}
