//! Builtin functions that a right program replaces. In `assert sum(2, 3) == 5`, the tested function
//! has the name of a builtin. A test that calls it without such a program fails before it uses
//! anything from the program, but the task is not at fault.

/// Builtin functions of Python that a program may define itself.
const PYTHON: &[&str] = &[
    "abs",
    "all",
    "any",
    "ascii",
    "bin",
    "bool",
    "bytes",
    "chr",
    "complex",
    "dict",
    "divmod",
    "enumerate",
    "filter",
    "float",
    "format",
    "frozenset",
    "hash",
    "hex",
    "id",
    "int",
    "iter",
    "len",
    "list",
    "map",
    "max",
    "min",
    "next",
    "oct",
    "ord",
    "pow",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "slice",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
];

/// The exception of a builtin that is called with arguments of another function.
const WRONG_ARGUMENTS: &str = "TypeError";

/// A Python program that defines the builtins which a test calls; `None` if the test, which failed
/// with this message, did not fail because of their arguments.
pub(crate) fn in_python(test: &str, message: &str) -> Option<String> {
    if !message.contains(WRONG_ARGUMENTS) {
        return None;
    }
    let called = PYTHON.iter().filter(|name| calls(test, name));
    let program: String = called
        .map(|name| format!("def {name}(*arguments, **named):\n    raise TypeError('undefined')\n"))
        .collect();
    (!program.is_empty()).then_some(program)
}

/// Whether a text calls a function of this name, and not a method.
fn calls(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    text.match_indices(name).any(|(at, _)| {
        let rest = text[at + name.len()..].trim_start_matches(' ');
        rest.starts_with('(') && !text[..at].ends_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defines_the_builtins_that_a_test_calls() {
        let program = in_python(
            "assert sum(2, 3) == x.max(1) + my_abs(2) + len",
            "TypeError: x",
        );
        let program = program.unwrap();
        assert!(program.starts_with("def sum(*arguments, **named):\n"));
        assert_eq!(program.matches("def ").count(), 1);
        assert_eq!(in_python("assert sum(2, 3) == 5", "ValueError: x"), None);
        assert_eq!(in_python("assert add(2, 3) == 5", "TypeError: x"), None);
    }
}
