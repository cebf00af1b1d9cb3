//! Programs that GCC compiles and clang does not, or that do something else here. The compiler's
//! messages say where, and the source is changed there. Lines keep their numbers by `#line`
//! directives.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::diagnostics::{Diagnostic, Position, Severity, Source, identifier, quoted};
use super::manifest::Manifest;

/// What a source that was rejected is compiled with instead.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repair {
    pub(super) text: String,
    /// Whether the compiler knows no functions of the library by their names.
    pub(super) without_builtins: bool,
}

/// Headers that may declare a function that a program in C calls without a declaration.
const C_HEADERS: [&str; 10] = [
    "stdlib.h",
    "string.h",
    "strings.h",
    "time.h",
    "unistd.h",
    "ctype.h",
    "math.h",
    "sys/time.h",
    "stdio.h",
    "assay/undeclared.h",
];

/// Texts to insert, by offset.
#[derive(Default)]
struct Insertions(Vec<(usize, String)>);

impl Insertions {
    fn add(&mut self, offset: usize, text: impl Into<String>) {
        self.0.push((offset, text.into()));
    }

    fn applied(mut self, text: &str) -> String {
        self.0.sort_by_key(|(offset, _)| *offset);
        let mut changed = String::with_capacity(text.len() + 64 * self.0.len());
        let mut done = 0;
        for (offset, inserted) in &self.0 {
            changed.push_str(&text[done..*offset]);
            changed.push_str(inserted);
            done = *offset;
        }
        changed.push_str(&text[done..]);
        changed
    }
}

/// Changes a source that compiles so that arguments of `printf` have the sizes that their
/// conversions read, as in the registers of x86-64: 64-bit integers are truncated, and 32-bit ones
/// extended. `None` if all have.
pub(super) fn with_sizes_of_formats(
    source: Source<'_>,
    messages: &[Diagnostic<'_>],
) -> Option<String> {
    let mut insertions = Insertions::default();
    for message in messages {
        if message.severity != Severity::Warning {
            continue;
        }
        let Some(cast) = cast(message.text) else {
            continue;
        };
        let offset = |position| source.offset(message.path, position);
        let begins_here = |range: &&(Position, Position)| range.0 == message.position;
        let range = message.ranges.iter().find(begins_here);
        let Some(start) = offset(message.position) else {
            continue;
        };
        // An argument of a macro has no range.
        let end = match range {
            Some((_, end)) => offset(*end),
            None => Some(start + argument(&source.text[start..])),
        };
        if let Some(end) = end
            && start < end
        {
            insertions.add(start, cast);
            insertions.add(end, ")");
        }
    }
    (!insertions.0.is_empty()).then(|| insertions.applied(source.text))
}

/// The length of the argument of a call at the beginning of a text.
fn argument(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(first) = text[at..].chars().next() {
        match first {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' | ',' | ';' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        at += match first {
            '"' | '\'' => literal(&text[at..], first),
            _ => first.len_utf8(),
        };
    }
    at
}

/// The cast that gives an argument the size of its conversion; `None` if it has that size, or if
/// one of the types is no integer.
fn cast(message: &str) -> Option<&'static str> {
    let (wanted, given) = message
        .split_once(" but the argument has type ")
        .or_else(|| message.split_once(", but argument has type "))?;
    let wanted = wanted
        .split_once("format specifies type ")
        .or_else(|| wanted.split_once(" should have type "))?;
    match (bits(wanted.1)?, bits(given)?) {
        (32, 64) => Some("(int)("),
        (64, 32) => Some("(long)(unsigned)("),
        _ => None,
    }
}

/// The size in a call of an integer type, which is written as `'T'` or `'T' (aka 'U')`.
fn bits(written: &str) -> Option<u32> {
    let name = match written.split_once("(aka ") {
        Some((_, canonical)) => quoted(canonical),
        None => quoted(written),
    };
    match name? {
        "int" | "unsigned int" | "char" | "signed char" | "unsigned char" | "short"
        | "unsigned short" | "bool" | "_Bool" | "wchar_t" | "wint_t" => Some(32),
        "long" | "unsigned long" | "long long" | "unsigned long long" => Some(64),
        _ => None,
    }
}

/// Headers for the functions of the library that a program in C calls without a declaration. GCC
/// calls them with the types of the arguments, which works on x86-64 for most.
pub(super) fn undeclared_headers(
    messages: &[Diagnostic<'_>],
    header: impl Fn(&str) -> Option<String>,
) -> String {
    let names: BTreeSet<&str> = messages
        .iter()
        .filter(|message| message.text.starts_with("call to undeclared function '"))
        .filter_map(|message| quoted(message.text))
        .collect();
    let declares = |text: &str, name: &str| {
        text.match_indices(name).any(|(at, _)| {
            text[at + name.len()..].trim_start().starts_with('(')
                && text[..at].ends_with([' ', '*'])
        })
    };
    let mut includes = String::new();
    for included in C_HEADERS {
        let Some(text) = header(included) else {
            continue;
        };
        if names.iter().any(|name| declares(&text, name)) {
            // Writing to a string cannot fail.
            let _ = writeln!(includes, "#include <{included}>");
        }
    }
    includes
}

/// Changes a source that clang rejected as far as GCC accepts what it rejected for. `None` if
/// nothing is to be changed.
pub(super) fn repaired(
    manifest: &Manifest,
    source: Source<'_>,
    messages: &[Diagnostic<'_>],
    is_c: bool,
) -> Option<Repair> {
    let mut insertions = Insertions::default();
    let mut without_builtins = false;
    let mut renamed = BTreeSet::new();
    for (number, message) in messages.iter().enumerate() {
        if message.severity != Severity::Error {
            continue;
        }
        let Some(at) = source.offset(message.path, message.position) else {
            continue;
        };
        let notes = || {
            let following = messages[number + 1..].iter();
            following.take_while(|note| note.severity == Severity::Note)
        };
        let name = identifier(&source.text[at..]);
        if message.text.starts_with("a type specifier is required") {
            if !is_c && name == "main" {
                insertions.add(at, "int ");
            }
        } else if is_c && message.text.starts_with("redefinition of") {
            // A function that only the compiler knows is declared where it is redefined.
            without_builtins |= notes().any(|note| {
                (note.path, note.position) == (message.path, message.position)
                    && note.text == "previous definition is here"
            });
        } else if is_c && message.text.starts_with("conflicting types for") {
            let called = notes().find(|note| note.text == "previous implicit declaration is here");
            let called = called.and_then(|note| source.offset(note.path, note.position));
            if let Some((start, prototype)) =
                called.and_then(|called| prototype(source.text, at, called))
            {
                insertions.add(start, prototype);
            }
        } else if !is_c && CLASHES.iter().any(|text| message.text.starts_with(text)) {
            let declared = notes().any(|note| is_hidden(manifest, source, note.path));
            let name = match name.is_empty() {
                true => quoted(message.text).unwrap_or_default(),
                false => name,
            };
            if declared && !name.is_empty() && !name.starts_with('_') {
                renamed.insert(name);
            }
        }
    }
    if let Some((offset, path, line)) = after_includes(source)
        && !renamed.is_empty()
    {
        let mut defines = String::new();
        for name in renamed {
            let _ = writeln!(defines, "#define {name} {name}_of_the_program");
        }
        let _ = writeln!(defines, "#line {line} \"{path}\"");
        insertions.add(offset, defines);
    }
    let changed = without_builtins || !insertions.0.is_empty();
    changed.then(|| Repair {
        text: insertions.applied(source.text),
        without_builtins,
    })
}

/// Messages about a name that is declared twice.
const CLASHES: [&str; 8] = [
    "redefinition of",
    "functions that differ only in their return type",
    "declaration of",
    "conflicting types for",
    "exception specification in declaration",
    "static declaration of",
    "call to",
    "reference to",
];

/// Whether a program would not see the declarations of a C header with GCC's library.
fn is_hidden(manifest: &Manifest, source: Source<'_>, header: &str) -> bool {
    let folder = format!("{}/c/", manifest.sysroot);
    let Some(name) = header.strip_prefix(&folder) else {
        return false;
    };
    let Some(declaring) = manifest.declaring.get(name) else {
        return false;
    };
    let known = |name: &str| {
        manifest.standard_headers.iter().any(|known| known == name)
            || manifest.declaring.contains_key(name)
    };
    included(source).all(|name| known(name) && !declaring.iter().any(|declaring| declaring == name))
}

/// The names of the headers that a source includes.
fn included<'a>(source: Source<'a>) -> impl Iterator<Item = &'a str> {
    source.lines().filter_map(|line| {
        let name = include(line.text)?;
        let name = name.trim_start().strip_prefix(['<', '"'])?;
        name.split(['>', '"']).next()
    })
}

/// What follows `#include`, if a line begins with that.
fn include(line: &str) -> Option<&str> {
    let directive = line.trim_start().strip_prefix('#')?;
    directive.trim_start().strip_prefix("include")
}

/// The offset behind the last line that includes a header, and the place of the next line.
fn after_includes<'a>(source: Source<'a>) -> Option<(usize, &'a str, usize)> {
    let lines = source.lines();
    let last = lines.filter(|line| include(line.text).is_some()).last()?;
    let ended = last.text.ends_with('\n');
    ended.then(|| (last.start + last.text.len(), last.path, last.number + 1))
}

/// A prototype of the function whose name is at an offset, and where to insert it, if the function
/// has no result: before the definition that contains the call.
fn prototype(text: &str, name: usize, called: usize) -> Option<(usize, String)> {
    let before = text[..name].trim_end();
    let start = before.len() - "void".len();
    if !before.ends_with("void") || before[..start].ends_with(is_part_of_a_name) {
        return None;
    }
    let mut depth = 0_usize;
    let end = text[name..].find(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return false,
        }
        depth == 0
    })?;
    let head = &text[start..=name + end];
    // The parameters must be on one line, because lines keep their numbers.
    let head = head.replace(['\n', '\r'], " ");
    (!head.contains(['#', '/'])).then(|| (definition_around(text, called), format!("{head}; ")))
}

fn is_part_of_a_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The offset of the definition at the top level that contains an offset.
fn definition_around(text: &str, offset: usize) -> usize {
    let (mut depth, mut start) = (0_usize, 0);
    let mut at = 0;
    while at < offset {
        let rest = &text[at..offset];
        let first = rest.chars().next().unwrap_or_default();
        let length = match first {
            '"' | '\'' => literal(rest, first),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '#' if depth == 0 => rest.find('\n').map_or(rest.len(), |end| end + 1),
            _ => first.len_utf8(),
        };
        at += length;
        match first {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends = matches!(first, '}' | ';' | '#');
        if ends && depth == 0 {
            start = at;
        }
    }
    start
}

/// The length of a text or a character in quotes.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::super::diagnostics::diagnostics;
    use super::*;

    fn manifest() -> Manifest {
        serde_json::from_str(
            r#"{
                "files": {}, "versions": {}, "sysroot": "/lib", "commands": {}, "standards": {},
                "refused_imports": {}, "main_callers": {}, "memory": {"stack_bytes": 1},
                "declaring": {"math.h": ["cmath", "math.h"]},
                "standard_headers": ["iostream", "vector"]
            }"#,
        )
        .unwrap()
    }

    fn source(text: &str) -> Source<'_> {
        Source {
            name: "main.c",
            text,
        }
    }

    fn repair(text: &str, messages: &str, is_c: bool) -> Option<String> {
        let repair = repaired(&manifest(), source(text), &diagnostics(messages), is_c);
        repair.map(|repair| repair.text)
    }

    #[test]
    fn arguments_get_the_sizes_of_their_conversions() {
        let text = "printf(\"%d %ld %s\\n\", n, m, s);\n";
        let messages = "main.c:1:23:{1:9-1:11}{1:23-1:24}: warning: format specifies type 'int' but \
                        the argument has type 'size_type' (aka 'unsigned long') [-Wformat]\n\
                        main.c:1:26:{1:12-1:15}{1:26-1:27}: warning: format specifies type 'long' \
                        but the argument has type 'int' [-Wformat]\n\
                        main.c:1:29:{1:16-1:18}{1:29-1:30}: warning: format specifies type 'char *' \
                        but the argument has type 'long' [-Wformat]\n";
        let changed = with_sizes_of_formats(source(text), &diagnostics(messages));
        let expected = "printf(\"%d %ld %s\\n\", (int)(n), (long)(unsigned)(m), s);\n";
        assert_eq!(changed.as_deref(), Some(expected));
        assert_eq!(with_sizes_of_formats(source(text), &[]), None);
        let text = "SHOW(v[f(1, 2)].size(), 9);\n";
        let message = "main.c:1:6: warning: format specifies type 'int' but the argument has type \
                       'unsigned long' [-Wformat]\n";
        let changed = with_sizes_of_formats(source(text), &diagnostics(message));
        assert_eq!(
            changed.as_deref(),
            Some("SHOW((int)(v[f(1, 2)].size()), 9);\n")
        );
    }

    #[test]
    fn main_gets_its_type_in_cpp() {
        let text = "main() {}\nother() {}\n";
        let message = "main.c:1:1: error: a type specifier is required for all declarations\n\
                       main.c:2:1: error: a type specifier is required for all declarations\n";
        let expected = "int main() {}\nother() {}\n";
        assert_eq!(repair(text, message, false).as_deref(), Some(expected));
        assert_eq!(repair(text, message, true), None);
    }

    #[test]
    fn names_are_changed_only_if_gcc_does_not_declare_them() {
        let messages = "main.c:2:5: error: redefinition of 'y1' as different kind of symbol\n\
                        /lib/c/math.h:408:13: note: previous definition is here\n";
        let renamed = "#include <iostream>\n#define y1 y1_of_the_program\n#line 2 \"main.c\"\nint \
                       y1;\n";
        let program = |header: &str| format!("#include <{header}>\nint y1;\n");
        assert_eq!(
            repair(&program("iostream"), messages, false).as_deref(),
            Some(renamed)
        );
        for header in ["cmath", "math.h", "unknown.h"] {
            assert_eq!(repair(&program(header), messages, false), None, "{header}");
        }
    }

    #[test]
    fn procedures_are_declared_before_they_are_called() {
        let text = "int a[] = {1};\nint main() { later('}'); }\nvoid later(char x) {}\n";
        let messages = "main.c:3:6: error: conflicting types for 'later'\n\
                        main.c:2:14: note: previous implicit declaration is here\n";
        let expected = "int a[] = {1};void later(char x); \nint main() { later('}'); }\nvoid \
                        later(char x) {}\n";
        assert_eq!(repair(text, messages, true).as_deref(), Some(expected));
        let other = text.replace("void later", "long later");
        assert_eq!(repair(&other, messages, true), None);
    }

    #[test]
    fn functions_that_the_compiler_knows_can_be_variables() {
        let messages = "main.c:1:5: error: redefinition of 'exp' as different kind of symbol\n\
                        main.c:1:5: note: previous definition is here\n";
        let repair = repaired(
            &manifest(),
            source("int exp;\n"),
            &diagnostics(messages),
            true,
        );
        assert!(repair.unwrap().without_builtins);
    }

    #[test]
    fn undeclared_functions_get_their_headers() {
        let messages = "main.c:1:1: warning: call to undeclared function 'qsort'; ISO C99 and later\n\
                        main.c:1:1: warning: call to undeclared function 'own'; ISO C99 and later\n";
        let header = |name: &str| match name {
            "stdlib.h" => Some("void qsort (void *, size_t);".to_owned()),
            _ => Some("void my_qsort(int);".to_owned()),
        };
        let includes = undeclared_headers(&diagnostics(messages), header);
        assert_eq!(includes, "#include <stdlib.h>\n");
    }
}
