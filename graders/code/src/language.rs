//! The table of languages. Everything that distinguishes them in this crate is a field of a row.

use std::ops::Deref;

use assay_worker::program::Translation;

use crate::driver_evidence::Limit;
use crate::features;
use crate::imports::imports;
use crate::statements;

/// A language in which programs are graded. A node need not have an image of it.
#[derive(Debug)]
pub(crate) struct Language {
    /// Its name in tasks.
    pub(crate) name: &'static str,
    /// Other names that datasets, clients and info strings of fenced blocks use for it, in lower
    /// case and without a version.
    pub(crate) aliases: &'static [&'static str],
    /// The standard that the version after one of these names selects; `None` if this language has
    /// no such version.
    dialect: fn(&str) -> Option<&'static str>,
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
    /// Whether functions are found when the program is compiled, for `call` tests. Such languages
    /// have no `assert` tests.
    pub(crate) compiles_calls: bool,
    /// Whether `pytest` tests can test its programs.
    pub(crate) has_pytest: bool,
    /// The feature that the sandbox does not support, if messages of the compiler show that a
    /// program uses one.
    pub(crate) unsupported: fn(&str) -> Option<Limit>,
    /// Whether its programs can include files when they are compiled.
    pub(crate) includes_files: bool,
    /// Whether other servers compile it in a separate step before the run.
    pub(crate) is_compiled: bool,
    /// Whether a text has anything but comments and statements that do nothing.
    pub(crate) has_statement: fn(&str) -> bool,
    /// A program that does nothing.
    pub(crate) empty_program: &'static str,
    /// A program that prints the sum of the numbers on a line of standard input.
    pub(crate) sum_program: &'static str,
}

impl Language {
    /// The name of a file in this language, as the messages of its compiler show it.
    pub(crate) fn file(&self, stem: &str) -> String {
        format!("{stem}.{}", self.extension)
    }
}

const JAVASCRIPT: Language = Language {
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
    dialect: |_| Some(""),
    image_language: "javascript",
    translation: Translation::None,
    extension: "js",
    presets: &[("leetcode", include_str!("presets/leetcode.js"))],
    imports: |_| Vec::new(),
    compiles_calls: false,
    has_pytest: false,
    unsupported: |_| None,
    includes_files: false,
    is_compiled: false,
    has_statement: statements::in_javascript,
    empty_program: "",
    sum_program: SUM_IN_JAVASCRIPT,
};

/// All languages.
pub(crate) const LANGUAGES: &[Language] = &[
    Language {
        name: "python",
        aliases: &["py", "cpython", "pypy"],
        dialect: |version| (version.is_empty() || version.starts_with('3')).then_some(""),
        image_language: "python",
        translation: Translation::None,
        extension: "py",
        presets: &[("leetcode", include_str!("presets/leetcode.py"))],
        imports,
        compiles_calls: false,
        has_pytest: true,
        unsupported: |_| None,
        includes_files: false,
        is_compiled: false,
        has_statement: statements::in_python,
        empty_program: "",
        sum_program: "print(sum(map(int, input().split())))\n",
    },
    JAVASCRIPT,
    Language {
        name: "typescript",
        aliases: &["ts", "mts", "cts", "tsx"],
        translation: Translation::TypeScript,
        is_compiled: true,
        ..JAVASCRIPT
    },
    Language {
        name: "cpp",
        aliases: &[
            "c++",
            "cxx",
            "cc",
            "cplusplus",
            "g++",
            "gnuc++",
            "gnu++",
            "gcc-c++",
            "clang++",
        ],
        // Programs in older standards compile as C++17, which removed little, and the headers still
        // declare what it removed.
        dialect: |version| match digits(version) {
            "" | "98" | "03" | "0" | "11" | "1" | "14" | "17" => Some("gnu++17"),
            "20" => Some("gnu++20"),
            "23" => Some("gnu++23"),
            // Names of standards before they were published.
            "2" if version.starts_with("2a") => Some("gnu++20"),
            "2" if version.starts_with("2b") => Some("gnu++23"),
            _ => None,
        },
        image_language: "cpp",
        translation: Translation::None,
        extension: "cpp",
        presets: &[
            ("competitive", include_str!("presets/competitive.cpp")),
            ("leetcode", include_str!("presets/leetcode.cpp")),
        ],
        imports: |_| Vec::new(),
        compiles_calls: true,
        has_pytest: false,
        unsupported: features::of_cpp,
        includes_files: true,
        is_compiled: true,
        // Without a function, it does not compile.
        has_statement: |_| true,
        empty_program: "int main() {}\n",
        sum_program: "\
#include <iostream>
int main() {
    long long sum = 0, number;
    while (std::cin >> number) sum += number;
    std::cout << sum << '\\n';
}
",
    },
    Language {
        name: "c",
        aliases: &["gnuc", "gcc", "clang"],
        dialect: |version| match digits(version) {
            "" | "89" | "90" | "99" | "11" | "17" | "18" => Some("gnu17"),
            "23" => Some("gnu23"),
            "2" if version.starts_with("2x") => Some("gnu23"),
            _ => None,
        },
        image_language: "cpp",
        translation: Translation::None,
        extension: "c",
        presets: &[],
        imports: |_| Vec::new(),
        compiles_calls: true,
        has_pytest: false,
        unsupported: features::of_c,
        includes_files: true,
        is_compiled: true,
        // Without a function, it does not compile.
        has_statement: |_| true,
        empty_program: "int main(void) { return 0; }\n",
        sum_program: "\
#include <stdio.h>
int main(void) {
    long long sum = 0, number;
    while (scanf(\"%lld\", &number) == 1) sum += number;
    printf(\"%lld\\n\", sum);
    return 0;
}
",
    },
];

/// The digits at the start of a version.
fn digits(version: &str) -> &str {
    let end = version.find(|character: char| !character.is_ascii_digit());
    &version[..end.unwrap_or(version.len())]
}

/// A language, and the dialect of it that a task or a client chose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    language: &'static Language,
    /// The standard with which its programs are compiled, such as `gnu++20`. Empty if the language
    /// has only one.
    pub(crate) standard: &'static str,
}

impl Deref for Dialect {
    type Target = Language;

    fn deref(&self) -> &Language {
        self.language
    }
}

const SUM_IN_JAVASCRIPT: &str = "\
const numbers = require('fs').readFileSync(0, 'utf8').trim().split(' ').map(Number);
console.log(numbers.reduce((sum, number) => sum + number, 0));
";

/// The language that a name refers to, such as `python`, `PYTHON3`, `Python 3.12`, `nodejs` or
/// `GNU C++20 (64)`.
pub(crate) fn named(name: &str) -> Option<Dialect> {
    let name: String = name
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|character| character.to_ascii_lowercase())
        .collect();
    let digit = name.find(|character: char| character.is_ascii_digit());
    let (stem, version) = name.split_at(digit.unwrap_or(name.len()));
    let stem = stem.trim_end_matches(['-', '_', ':', '.', '@']);
    LANGUAGES.iter().find_map(|language| {
        let is_named = language.name == stem || language.aliases.contains(&stem);
        let standard = is_named.then(|| (language.dialect)(version))??;
        Some(Dialect { language, standard })
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
            ("c++17", Some("cpp")),
            ("C++17 (GCC 7-32)", Some("cpp")),
            ("GNU C++14", Some("cpp")),
            ("cpp", Some("cpp")),
            ("c++98", Some("cpp")),
            ("C", Some("c")),
            ("GNU C11", Some("c")),
            ("c#", None),
            ("c++26", None),
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
    fn versions_select_a_standard() {
        for (name, standard) in [
            ("cpp", "gnu++17"),
            ("C++11", "gnu++17"),
            ("GNU C++0x", "gnu++17"),
            ("c++1z", "gnu++17"),
            ("GNU C++20 (64)", "gnu++20"),
            ("c++2a", "gnu++20"),
            ("cpp23", "gnu++23"),
            ("c++2b", "gnu++23"),
            ("C23", "gnu23"),
            ("c99", "gnu17"),
            ("python3", ""),
        ] {
            assert_eq!(named(name).unwrap().standard, standard, "{name}");
        }
    }

    #[test]
    fn files_have_the_extension_of_their_language() {
        assert_eq!(named("python").unwrap().file("main"), "main.py");
        assert_eq!(named("javascript").unwrap().file("prelude"), "prelude.js");
        assert!(unsupported("cobol").ends_with(", `typescript`, `cpp`, `c`"));
    }
}
