//! Features of C and C++ that the sandbox does not support, recognised in the messages of the
//! compiler. They explain a compile error and are counted; they never decide a verdict.

use crate::driver_evidence::Limit;

/// The kind of a feature, its name, and texts of which one is in the messages of a program that
/// uses it.
type Feature = (&'static str, &'static str, &'static [&'static str]);

const FEATURES: &[Feature] = &[
    (
        "extension",
        "inline_assembly",
        &["<inline asm>", " in asm\n", " in asm:", "constraint '"],
    ),
    (
        "extension",
        "x86_intrinsics",
        &[
            " type name '__m",
            " identifier '__m128",
            " identifier '__m256",
            " identifier '__m512",
            " identifier '_mm",
            " identifier '__rdtsc",
            " identifier '__builtin_ia32_",
            "undefined symbol: _mm",
            "undefined symbol: __rdtsc",
            "undefined symbol: __builtin_ia32_",
        ],
    ),
    ("thread", "threads", &["threads are not supported"]),
    (
        "process",
        "fork",
        &["identifier 'fork'", "symbol: fork\n", "symbol: fork()\n"],
    ),
    (
        "process",
        "exec",
        &[
            "identifier 'exec",
            "symbol: exec",
            "symbol: popen",
            "identifier 'popen'",
        ],
    ),
    (
        "network",
        "socket",
        &["identifier 'socket'", "symbol: socket\n"],
    ),
    (
        "other",
        "alarm",
        &[
            "identifier 'alarm'",
            "symbol: alarm\n",
            "identifier 'setitimer'",
            "symbol: setitimer\n",
        ],
    ),
];

/// In C++, GCC rejects nested functions too.
const NESTED: Feature = (
    "extension",
    "nested_functions",
    &["function definition is not allowed here"],
);

/// The kinds and names of all features.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let features = FEATURES.iter().chain([&NESTED]);
    features.map(|(kind, name, _)| (*kind, *name))
}

/// The unsupported feature that a C++ program uses, if the messages of the compiler show one.
pub(crate) fn of_cpp(messages: &str) -> Option<Limit> {
    FEATURES.iter().find_map(|feature| limit(feature, messages))
}

/// The unsupported feature that a C program uses, if the messages of the compiler show one.
pub(crate) fn of_c(messages: &str) -> Option<Limit> {
    limit(&NESTED, messages).or_else(|| of_cpp(messages))
}

fn limit((cause, name, texts): &Feature, messages: &str) -> Option<Limit> {
    texts
        .iter()
        .any(|text| messages.contains(text))
        .then(|| Limit {
            cause: (*cause).to_owned(),
            name: (*name).to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_features_in_messages() {
        let name = |messages| of_c(messages).map(|limit| limit.name);
        for (messages, expected) in [
            (
                "main.cpp:2:37: error: invalid instruction\n<inline asm>:1:2: note: here\n",
                "inline_assembly",
            ),
            (
                "main.cpp:2:72: error: invalid output constraint '=&d' in asm\n",
                "inline_assembly",
            ),
            (
                "m.cpp:6:9: error: unknown type name '__m128i'\n",
                "x86_intrinsics",
            ),
            (
                "m.cpp:3:23: error: use of undeclared identifier '_mm256_set1_epi32'\n",
                "x86_intrinsics",
            ),
            (
                "main.cpp: threads are not supported by the sandbox\n",
                "threads",
            ),
            (
                "wasm-ld: error: program.o: undefined symbol: fork\n",
                "fork",
            ),
            (
                "main.c:2:38: error: function definition is not allowed here\n",
                "nested_functions",
            ),
        ] {
            assert_eq!(name(messages).as_deref(), Some(expected), "{messages}");
        }
        assert_eq!(
            name("main.c:1:1: error: use of undeclared identifier 'x'\n"),
            None
        );
        assert_eq!(
            of_cpp("error: function definition is not allowed here"),
            None
        );
    }
}
