//! Programs in C whose functions tests call. C has no templates, so the host reads the types of the
//! functions from the compiled program, and writes the source of a second object that calls them.
//!
//! After the program, the host declares for each function a pointer to it, and a function that
//! takes such a pointer and is `overloadable`. The compiler mangles its name as in C++, so that it
//! contains the types: `_Z17assay_signature_0PFiiPKcE` is that of `int (*)(int, const char *)`.

use std::fmt::Write as _;

use assay_worker::program::Callee;
use wasmparser::{BinaryReaderError, KnownCustom, Linking, Parser, Payload, SymbolInfo};

use super::callees::{functions, name_of, without_macros};

/// Name of the pointer to a function, before its number.
const POINTER: &str = "assay_function_";

/// Name of the function whose mangled name contains the type of the pointer.
const SIGNATURE: &str = "assay_signature_";

/// Declarations of what the library defines (`c/calls.cpp` of the guest).
const LIBRARY: &str = "\
_Bool assay_is(const char *text, const char *other);
void assay_begin(const char *function, int number, const char *json);
_Bool assay_read_bool(void);
char assay_read_char(void);
long long assay_read_signed(long long least, long long most);
unsigned long long assay_read_unsigned(unsigned long long most);
double assay_read_double(void);
char *assay_read_text(unsigned long *length);
void assay_write(const char *text);
void assay_write_signed(long long value);
void assay_write_unsigned(unsigned long long value);
void assay_write_double(double value);
void assay_write_text(const char *text, unsigned long length);
unsigned long strlen(const char *text);
_Noreturn void assay_finish(void);
static void write_char(char value) { assay_write_text(&value, 1); }
static void write_bool(_Bool value) { assay_write(value ? \"true\" : \"false\"); }
static void write_text(const char *text)
{
    if (text)
        assay_write_text(text, strlen(text));
    else
        assay_write(\"null\");
}
static char *read_text(void)
{
    unsigned long length;
    return assay_read_text(&length);
}
";

/// A type that a test can pass or compare.
struct CType {
    /// Its mangled name.
    mangled: &'static str,
    name: &'static str,
    /// The expression that reads it.
    read: &'static str,
    /// The function that writes it.
    write: &'static str,
}

macro_rules! types {
    ($($mangled:literal $name:literal $read:literal $write:literal)*) => {
        &[$(CType { mangled: $mangled, name: $name, read: $read, write: $write }),*]
    };
}

/// A mangled name that begins with that of another type comes first.
const TYPES: &[CType] = types! {
    "PKc" "const char *" "read_text()" "write_text"
    "Pc" "char *" "read_text()" "write_text"
    "b" "_Bool" "assay_read_bool()" "write_bool"
    "c" "char" "assay_read_char()" "write_char"
    "a" "signed char" "assay_read_signed(-128, 127)" "assay_write_signed"
    "h" "unsigned char" "assay_read_unsigned(255)" "assay_write_unsigned"
    "s" "short" "assay_read_signed(-32768, 32767)" "assay_write_signed"
    "t" "unsigned short" "assay_read_unsigned(65535)" "assay_write_unsigned"
    "i" "int" "assay_read_signed(-__INT_MAX__ - 1, __INT_MAX__)" "assay_write_signed"
    "j" "unsigned" "assay_read_unsigned(~0u)" "assay_write_unsigned"
    "l" "long" "assay_read_signed(-__LONG_MAX__ - 1, __LONG_MAX__)" "assay_write_signed"
    "m" "unsigned long" "assay_read_unsigned(~0ul)" "assay_write_unsigned"
    "x" "long long" "assay_read_signed(-__LONG_LONG_MAX__ - 1, __LONG_LONG_MAX__)"
        "assay_write_signed"
    "y" "unsigned long long" "assay_read_unsigned(~0ull)" "assay_write_unsigned"
    "f" "float" "assay_read_double()" "assay_write_double"
    "d" "double" "assay_read_double()" "assay_write_double"
};

/// The declarations that follow the program in its file.
pub(super) fn declarations(calls: &[Callee]) -> String {
    let functions = functions(calls);
    let mut text = String::new();
    for (at, name) in functions.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "__typeof__(&{name}) {POINTER}{at} = &{name};
void __attribute__((overloadable)) {SIGNATURE}{at}(__typeof__(&{name}) pointer) {{}}"
        );
    }
    without_macros(&text, &functions)
}

/// The source that calls the functions of a compiled program.
///
/// # Errors
/// The message about a function that a test cannot call.
pub(super) fn source(object: &[u8], calls: &[Callee]) -> Result<String, String> {
    let symbols = symbols(object).unwrap_or_default();
    let functions = functions(calls);
    let (mut text, mut signatures) = (LIBRARY.to_owned(), Vec::new());
    for (at, name) in functions.iter().enumerate() {
        let signature = symbols
            .iter()
            .find_map(|symbol| symbol.split_once(&format!("{SIGNATURE}{at}P")))
            .ok_or_else(|| format!("`{name}` is not a function\n"))
            .and_then(|(_, mangled)| Signature::read(name, mangled))?;
        let types: Vec<&str> = signature.parameters.iter().map(|kind| kind.name).collect();
        let types = if types.is_empty() {
            "void".to_owned()
        } else {
            types.join(", ")
        };
        let result = signature.result.map_or("void", |kind| kind.name);
        let _ = writeln!(text, "extern {result} (*{POINTER}{at})({types});");
        signatures.push(signature);
    }
    text.push_str("int assay_call_function(int count, char **arguments)\n{\n");
    for Callee {
        function,
        arguments,
    } in calls
    {
        let at = functions.iter().position(|known| known == function);
        let at = at.unwrap_or_default();
        let Signature { parameters, result } = &signatures[at];
        if parameters.len() != *arguments {
            return Err(format!(
                "wrong number of parameters of `{function}`: {}, but a test passes {arguments}\n",
                parameters.len()
            ));
        }
        let name = name_of(function, *arguments);
        let _ = writeln!(text, "    if (assay_is(arguments[1], \"{name}\")) {{");
        for (index, kind) in parameters.iter().enumerate() {
            let (number, CType { name, read, .. }) = (index + 1, kind);
            let _ = writeln!(
                text,
                "        assay_begin(\"{function}\", {number}, arguments[{number} + 1]);
        {name} value{index} = {read};"
            );
        }
        let values: Vec<String> = (0..parameters.len())
            .map(|index| format!("value{index}"))
            .collect();
        let call = format!("{POINTER}{at}({})", values.join(", "));
        let _ = match result {
            Some(kind) => writeln!(text, "        {}({call});", kind.write),
            None => writeln!(text, "        {call};\n        assay_write(\"null\");"),
        };
        text.push_str("        assay_finish();\n    }\n");
    }
    text.push_str("    return 1;\n}\n");
    Ok(text)
}

/// The type of a function.
struct Signature {
    parameters: Vec<&'static CType>,
    /// `None` is `void`.
    result: Option<&'static CType>,
}

impl Signature {
    /// Reads a mangled type, such as `FiiPKcE`.
    fn read(function: &str, mangled: &str) -> Result<Self, String> {
        let types = mangled
            .strip_prefix('F')
            .ok_or_else(|| format!("`{function}` is not a function\n"))?;
        let mut earlier = Vec::new();
        let (result, mut types) = match types.strip_prefix('v') {
            Some(rest) => (None, rest),
            None => {
                let (kind, rest) = next(types, &mut earlier).ok_or_else(|| {
                    format!("a `call` test cannot compare what `{function}` returns: {REASON}\n")
                })?;
                (Some(kind), rest)
            }
        };
        let mut parameters = Vec::new();
        if types == "vE" {
            types = "E";
        }
        while !types.starts_with('E') {
            let (kind, rest) = next(types, &mut earlier).ok_or_else(|| {
                let number = parameters.len() + 1;
                format!("a `call` test cannot pass parameter {number} of `{function}`: {REASON}\n")
            })?;
            parameters.push(kind);
            types = rest;
        }
        Ok(Self { parameters, result })
    }
}

/// Why other types are refused.
const REASON: &str = "only numbers, `char`, `bool` and strings are supported in C, because a \
                      pointer does not tell the length of an array; use C++, or a test with \
                      `stdin`";

/// The type at the start of a mangled name, and the rest. `earlier` are the types to which `S_`,
/// `S0_` and so on refer: each that is not built in, after those that it contains.
fn next<'a>(
    mangled: &'a str,
    earlier: &mut Vec<Option<&'static CType>>,
) -> Option<(&'static CType, &'a str)> {
    if let Some(reference) = mangled.strip_prefix('S') {
        let (number, rest) = reference.split_once('_')?;
        let index = match number {
            "" => 0,
            number => number.parse::<usize>().ok()? + 1,
        };
        return Some(((*earlier.get(index)?)?, rest));
    }
    let (kind, rest) = TYPES.iter().find_map(|kind| {
        let rest = mangled.strip_prefix(kind.mangled)?;
        Some((kind, rest))
    })?;
    match kind.mangled.len() {
        // `const char` is not a type of a value.
        3 => earlier.extend([None, Some(kind)]),
        2 => earlier.push(Some(kind)),
        _ => {}
    }
    Some((kind, rest))
}

/// The names of the functions that an object defines.
fn symbols(object: &[u8]) -> Result<Vec<&str>, BinaryReaderError> {
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(object) {
        let Payload::CustomSection(section) = payload? else {
            continue;
        };
        let KnownCustom::Linking(parts) = section.as_known() else {
            continue;
        };
        for part in parts {
            let Linking::SymbolTable(symbols) = part? else {
                continue;
            };
            for symbol in symbols {
                if let SymbolInfo::Func {
                    name: Some(name), ..
                } = symbol?
                {
                    names.push(name);
                }
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(mangled: &str) -> Result<(Vec<&str>, Option<&str>), String> {
        let Signature { parameters, result } = Signature::read("f", mangled)?;
        let parameters = parameters.iter().map(|kind| kind.name).collect();
        Ok((parameters, result.map(|kind| kind.name)))
    }

    #[test]
    fn reads_mangled_types() {
        let (parameters, result) = names("FiiPKcE").unwrap();
        assert_eq!(
            (parameters, result),
            (vec!["int", "const char *"], Some("int"))
        );
        assert_eq!(names("FvvE"), Ok((vec![], None)));
        let (parameters, result) = names("FPcPKcS_S1_E").unwrap();
        assert_eq!(
            (parameters, result),
            (
                vec!["const char *", "char *", "const char *"],
                Some("char *")
            )
        );
        assert!(names("FPKcS_E").is_err(), "`const char` is not supported");
        assert_eq!(
            names("FPcbcdyE").unwrap().0,
            ["_Bool", "char", "double", "unsigned long long"]
        );
    }

    #[test]
    fn refuses_types_without_a_length() {
        let message = names("FiPiiE").unwrap_err();
        assert!(message.starts_with("a `call` test cannot pass parameter 1 of `f`: only numbers"));
        assert!(names("FPiiE").unwrap_err().contains("cannot compare"));
        assert!(names("i").unwrap_err().contains("is not a function"));
        assert!(names("FiizE").is_err());
    }
}
