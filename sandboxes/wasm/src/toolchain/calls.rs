//! Programs whose functions tests call: what the host adds to their source. In C++, templates of a
//! header read the arguments and write the returned value according to the types of the function.

use std::fmt::Write as _;

use assay_worker::program::{Callee, Part};

use super::c_calls;
use super::callees::{functions, name_of, without_macros};

/// The header of the guest that C++ programs include first.
const HEADER: &str = "#include <assay/calls.h>\n";

/// The class whose methods are called if there is no global function.
const CLASS: &str = "Solution";

/// A language of the toolchain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    C,
    Cpp,
}

/// The parts of a program, with what its calls need before and after it.
pub(super) fn with_calls(parts: &[Part], calls: &[Callee], language: Language) -> Vec<Part> {
    if calls.is_empty() {
        return parts.to_vec();
    }
    let part = |name: &str, text: String| Part {
        name: name.to_owned(),
        text,
    };
    let (before, after) = match language {
        Language::C => (None, part("call.c", c_calls::declarations(calls))),
        Language::Cpp => (
            Some(part("call.h", HEADER.to_owned())),
            part("call.cpp", definitions(calls)),
        ),
    };
    before
        .into_iter()
        .chain(parts.iter().cloned())
        .chain([after])
        .collect()
}

/// The function that calls the others, in C++.
fn definitions(calls: &[Callee]) -> String {
    let functions = functions(calls);
    let mut text = format!("struct {CLASS};\n");
    for (at, name) in functions.iter().enumerate() {
        // A global function of this name that is never found, so that the name is known.
        let _ = writeln!(
            text,
            "__assay::Absent {name}(__assay::Absent, ...);
namespace __assay {{
struct Callee{at} {{
    template <class Finder>
    static auto function(Finder find) -> decltype(find(&::{name}));
    template <class Finder, class Class>
    static auto method(Finder find, Class*) -> decltype(find(&Class::{name}));
    template <class... Types>
    static decltype(auto) call(Types&&... values)
    {{
        return ::{name}(static_cast<Types&&>(values)...);
    }}
    template <class Class, class... Types>
    static decltype(auto) call_method(Class& object, Types&&... values)
    {{
        return object.{name}(static_cast<Types&&>(values)...);
    }}
}};
}}"
        );
    }
    text.push_str("extern \"C\" int assay_call_function(int, char** arguments)\n{\n");
    for Callee {
        function,
        arguments,
    } in calls
    {
        let at = functions.iter().position(|known| known == function);
        let _ = writeln!(
            text,
            "    if (assay_is(arguments[1], \"{}\"))
        __assay::call<__assay::Callee{}, {CLASS}, {arguments}>(\"{function}\", arguments + 2);",
            name_of(function, *arguments),
            at.unwrap_or_default()
        );
    }
    text.push_str("    return 1;\n}\n");
    without_macros(&text, &functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callee(function: &str, arguments: usize) -> Callee {
        Callee {
            function: function.to_owned(),
            arguments,
        }
    }

    #[test]
    fn programs_without_calls_do_not_change() {
        let parts = [Part {
            name: "main.cpp".to_owned(),
            text: "int main() {}".to_owned(),
        }];
        assert_eq!(with_calls(&parts, &[], Language::Cpp), parts);
        let with = with_calls(&parts, &[callee("add", 2)], Language::Cpp);
        let names: Vec<&str> = with.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["call.h", "main.cpp", "call.cpp"]);
    }

    #[test]
    fn macros_do_not_change_added_text() {
        let text = definitions(&[callee("add", 2), callee("add", 3)]);
        let (directives, rest) = text.split_once("#line 1\n").unwrap();
        for word in [
            "return", "static", "struct", "template", "Types", "Solution",
        ] {
            let directive = format!("#undef {word}\n");
            assert!(directives.contains(&directive), "{word}: {directives}");
        }
        assert!(!directives.contains("#undef add\n"));
        assert_eq!(rest.matches("struct Callee").count(), 1);
        assert_eq!(rest.matches("assay_is(arguments[1], \"add/").count(), 2);
    }
}
