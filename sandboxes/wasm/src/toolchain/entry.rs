//! The type of a program's `main`. WebAssembly checks the types of calls, so programs with an
//! unusual `main` are linked with an object that calls it.

use wasmparser::{
    BinaryReaderError, CompositeInnerType, FuncType, KnownCustom, Linking, Parser, Payload,
    SymbolFlags, SymbolInfo, TypeRef, ValType,
};

/// The names that the compiler gives to `main`: the second one has two parameters.
const NAMES: [&str; 2] = ["main", "__main_argc_argv"];

/// The function that calls `main`. The compiler defines it for `int main(void)`.
const CALLER: &str = "__main_void";

/// The signature of `main` in an object, such as `main(i32,i64,i64)->i32`; `None` if the object
/// does not define it, or calls it itself.
pub(super) fn signature_of_main(object: &[u8]) -> Option<String> {
    read(object).ok().flatten()
}

fn read(object: &[u8]) -> Result<Option<String>, BinaryReaderError> {
    let (mut types, mut functions, mut found) = (Vec::new(), Vec::new(), None);
    for payload in Parser::new(0).parse_all(object) {
        match payload? {
            Payload::TypeSection(section) => {
                for group in section {
                    types.extend(
                        group?
                            .into_types()
                            .map(|kind| match kind.composite_type.inner {
                                CompositeInnerType::Func(function) => Some(function),
                                _ => None,
                            }),
                    );
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    if let TypeRef::Func(kind) = import?.ty {
                        functions.push(kind);
                    }
                }
            }
            Payload::FunctionSection(section) => {
                for kind in section {
                    functions.push(kind?);
                }
            }
            Payload::CustomSection(section) => {
                let KnownCustom::Linking(parts) = section.as_known() else {
                    continue;
                };
                for part in parts {
                    let Linking::SymbolTable(symbols) = part? else {
                        continue;
                    };
                    for symbol in symbols {
                        match defined_function(&symbol?) {
                            Some((CALLER, _)) => return Ok(None),
                            Some((name, index)) if NAMES.contains(&name) => {
                                found = Some((name, index));
                            }
                            _ => {}
                        }
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found.and_then(|(name, index)| {
        let kind = functions.get(index as usize)?;
        text(name, types.get(*kind as usize)?.as_ref()?)
    }))
}

/// The name and the index of a function that the object defines for others.
fn defined_function<'a>(symbol: &SymbolInfo<'a>) -> Option<(&'a str, u32)> {
    let SymbolInfo::Func { flags, index, name } = symbol else {
        return None;
    };
    let other = SymbolFlags::UNDEFINED | SymbolFlags::BINDING_LOCAL;
    if flags.intersects(other) {
        return None;
    }
    Some(((*name)?, *index))
}

fn text(name: &str, kind: &FuncType) -> Option<String> {
    let types = |types: &[ValType]| -> Option<String> {
        let names = types.iter().map(|kind| match kind {
            ValType::I32 => Some("i32"),
            ValType::I64 => Some("i64"),
            _ => None,
        });
        Some(names.collect::<Option<Vec<_>>>()?.join(","))
    };
    let (parameters, results) = (types(kind.params())?, types(kind.results())?);
    Some(format!("{name}({parameters})->{results}"))
}
