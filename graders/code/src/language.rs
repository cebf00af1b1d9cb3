//! The table of languages. Everything that distinguishes them in this crate is a field of a row.

use assay_worker::program::Translation;

use crate::imports::imports;

/// A language in which programs are graded. A node need not have an image of it.
#[derive(Debug)]
pub(crate) struct Language {
    /// Its name in tasks.
    pub(crate) name: &'static str,
    /// Other names that datasets, clients and info strings of fenced blocks use for it, in lower
    /// case and without a version.
    pub(crate) aliases: &'static [&'static str],
    /// Whether the version after one of these names is a version of this language.
    has_version: fn(&str) -> bool,
    /// The language of the images in which its programs run.
    pub(crate) image_language: &'static str,
    /// How its source is translated to that language.
    pub(crate) translation: Translation,
    /// Extension of its file names.
    extension: &'static str,
    /// Names and texts of the presets of preludes.
    pub(crate) presets: &'static [(&'static str, &'static str)],
    /// Top-level names of the modules that a text imports. Empty if they do not affect the choice
    /// of an image.
    pub(crate) imports: fn(&str) -> Vec<&str>,
    /// Whether `pytest` tests can test its programs.
    pub(crate) has_pytest: bool,
    /// Whether other servers compile it in a separate step before the run.
    pub(crate) is_compiled: bool,
    /// A program that prints the sum of the numbers on a line of standard input.
    pub(crate) sum_program: &'static str,
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
        aliases: &["py", "cpython", "pypy"],
        has_version: |version| version.is_empty() || version.starts_with('3'),
        image_language: "python",
        translation: Translation::None,
        extension: "py",
        presets: &[("leetcode", include_str!("presets/leetcode.py"))],
        imports,
        has_pytest: true,
        is_compiled: false,
        sum_program: "print(sum(map(int, input().split())))\n",
    },
    Language {
        name: "javascript",
        aliases: &[
            "js",
            "node",
            "node.js",
            "nodejs",
            "mjs",
            "cjs",
            "jsx",
            "ecmascript",
        ],
        has_version: |_| true,
        image_language: "javascript",
        translation: Translation::None,
        extension: "js",
        presets: &[("leetcode", include_str!("presets/leetcode.js"))],
        imports: |_| Vec::new(),
        has_pytest: false,
        is_compiled: false,
        sum_program: SUM_IN_JAVASCRIPT,
    },
    Language {
        name: "typescript",
        aliases: &["ts", "mts", "cts", "tsx"],
        has_version: |_| true,
        image_language: "javascript",
        translation: Translation::TypeScript,
        extension: "js",
        presets: &[("leetcode", include_str!("presets/leetcode.js"))],
        imports: |_| Vec::new(),
        has_pytest: false,
        is_compiled: true,
        sum_program: SUM_IN_JAVASCRIPT,
    },
];

const SUM_IN_JAVASCRIPT: &str = "\
const numbers = require('fs').readFileSync(0, 'utf8').trim().split(' ').map(Number);
console.log(numbers.reduce((sum, number) => sum + number, 0));
";

/// The language that a name refers to, such as `python`, `PYTHON3`, `Python 3.12` or `nodejs`.
pub(crate) fn named(name: &str) -> Option<&'static Language> {
    let name: String = name
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|character| character.to_ascii_lowercase())
        .collect();
    let digit = name.find(|character: char| character.is_ascii_digit());
    let (stem, version) = name.split_at(digit.unwrap_or(name.len()));
    let stem = stem.trim_end_matches(['-', '_', ':', '.', '@']);
    LANGUAGES.iter().find(|language| {
        (language.name == stem || language.aliases.contains(&stem))
            && (language.has_version)(version)
    })
}

/// The message about a name that is not the name of a language.
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
    fn a_name_belongs_to_one_language() {
        let names = LANGUAGES
            .iter()
            .flat_map(|language| language.aliases.iter().chain([&language.name]));
        let mut found: Vec<&&str> = names.collect();
        let count = found.len();
        found.sort();
        found.dedup();
        assert_eq!(found.len(), count);
    }

    #[test]
    fn names_of_datasets_and_clients_are_known() {
        for (name, language) in [
            ("python", Some("python")),
            ("PYTHON3", Some("python")),
            ("Python 3.12", Some("python")),
            ("PyPy 3-64", Some("python")),
            ("py3", Some("python")),
            ("python2.7", None),
            ("PYTHON2", None),
            ("nodejs", Some("javascript")),
            ("Node.js 20", Some("javascript")),
            ("JavaScript", Some("javascript")),
            ("ts", Some("typescript")),
            ("TypeScript", Some("typescript")),
            ("java", None),
            ("cobol", None),
            ("3", None),
            ("", None),
        ] {
            let found = named(name).map(|language| language.name);
            assert_eq!(found, language, "{name}");
        }
    }

    #[test]
    fn files_have_the_extension_of_their_language() {
        assert_eq!(named("python").unwrap().file("main"), "main.py");
        assert_eq!(named("javascript").unwrap().file("prelude"), "prelude.js");
        assert!(unsupported("cobol").ends_with("use one of `python`, `javascript`, `typescript`"));
    }
}
