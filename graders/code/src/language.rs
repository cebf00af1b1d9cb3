//! The table of languages. Everything that distinguishes them in this crate is a field of a row.

use crate::imports::imports;

/// A language in which programs are graded. A node need not have an image of it.
#[derive(Debug)]
pub(crate) struct Language {
    /// Its name in tasks.
    pub(crate) name: &'static str,
    /// First words of the info strings of its fenced blocks, in lower case.
    fences: &'static [&'static str],
    /// Extension of the names of its files.
    extension: &'static str,
    /// Names and texts of the presets of preludes.
    pub(crate) presets: &'static [(&'static str, &'static str)],
    /// Top-level names of the modules that a text imports, as far as the choice of an image depends
    /// on them.
    pub(crate) imports: fn(&str) -> Vec<&str>,
    /// Whether pytest can run tests of its programs.
    pub(crate) has_pytest: bool,
}

impl Language {
    /// The name of a file in this language, as the messages of its compiler show it.
    pub(crate) fn file(&self, stem: &str) -> String {
        format!("{stem}.{}", self.extension)
    }
}

/// All languages.
pub(crate) const LANGUAGES: &[Language] = &[
    Language {
        name: "python",
        fences: &["python", "py", "python3", "py3"],
        extension: "py",
        presets: &[("leetcode", include_str!("presets/leetcode.py"))],
        imports,
        has_pytest: true,
    },
    Language {
        name: "javascript",
        fences: &["javascript", "js", "node", "nodejs", "mjs", "cjs", "jsx"],
        extension: "js",
        presets: &[("leetcode", include_str!("presets/leetcode.js"))],
        imports: |_| Vec::new(),
        has_pytest: false,
    },
];

/// The language of this name.
pub(crate) fn named(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == name)
}

/// The language that the first word of an info string refers to.
pub(crate) fn of_fence(word: &str) -> Option<&'static Language> {
    LANGUAGES
        .iter()
        .find(|language| language.fences.contains(&word))
}

/// The message about a name that is none.
pub(crate) fn unsupported(name: &str) -> String {
    let names: Vec<&str> = LANGUAGES.iter().map(|language| language.name).collect();
    format!(
        "unsupported language `{name}`; use one of `{}`",
        names.join("`, `")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_fences_belong_to_one_language() {
        let fences = LANGUAGES.iter().flat_map(|language| language.fences);
        let mut found: Vec<&&str> = fences.collect();
        let count = found.len();
        found.sort();
        found.dedup();
        assert_eq!(found.len(), count);
        for language in LANGUAGES {
            assert_eq!(
                of_fence(language.name).map(|found| found.name),
                Some(language.name)
            );
        }
    }

    #[test]
    fn files_have_the_extension_of_their_language() {
        assert_eq!(named("python").unwrap().file("main"), "main.py");
        assert_eq!(named("javascript").unwrap().file("prelude"), "prelude.js");
        assert!(named("cobol").is_none());
        assert!(unsupported("cobol").ends_with("use one of `python`, `javascript`"));
    }
}
