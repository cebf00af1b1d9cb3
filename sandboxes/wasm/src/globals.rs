//! Exports the mutable globals of a module, so that the host can set them back to their values in
//! the image.

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{ExportKind, ExportSection, Module, RawSection};
use wasmparser::{Parser, Payload};
use wasmtime::{AsContextMut, Global, Instance, Result, bail, format_err};

/// Beginning of the names of these exports. Their order follows.
const PREFIX: &str = "assay global ";

fn export_name(at: usize) -> String {
    format!("{PREFIX}{at}")
}

/// The exported mutable globals of an instance, of which there must be `count`.
pub(crate) fn of(
    mut store: impl AsContextMut,
    instance: &Instance,
    count: usize,
) -> Result<Vec<Global>> {
    (0..count)
        .map(|at| {
            let global = instance.get_global(&mut store, &export_name(at));
            global.ok_or_else(|| format_err!("the image does not export its global {at}"))
        })
        .collect()
}

/// The module with all its mutable globals exported, and their number.
///
/// # Errors
/// If the module is malformed, or has no exports.
pub(crate) fn exported(module: &[u8]) -> Result<(Vec<u8>, usize)> {
    let mut encoder = Module::new();
    let (mut globals, mut has_exports) = (Vec::new(), false);
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        match &payload {
            Payload::ImportSection(imports) => {
                for import in imports.clone().into_imports() {
                    if matches!(import?.ty, wasmparser::TypeRef::Global(_)) {
                        bail!("the module imports a global");
                    }
                }
            }
            Payload::GlobalSection(section) => {
                for (index, global) in section.clone().into_iter().enumerate() {
                    if global?.ty.mutable {
                        globals.push(u32::try_from(index)?);
                    }
                }
            }
            Payload::ExportSection(section) => {
                has_exports = true;
                let mut exports = ExportSection::new();
                RoundtripReencoder
                    .parse_export_section(&mut exports, section.clone())
                    .map_err(|error| format_err!("{error}"))?;
                for (at, index) in globals.iter().enumerate() {
                    exports.export(&export_name(at), ExportKind::Global, *index);
                }
                encoder.section(&exports);
                continue;
            }
            _ => {}
        }
        if let Some((id, range)) = payload.as_section() {
            let data = &module[range];
            encoder.section(&RawSection { id, data });
        }
    }
    if !has_exports {
        bail!("the module exports nothing");
    }
    Ok((encoder.finish(), globals.len()))
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{
        CodeSection, ConstExpr, DataCountSection, DataSection, ElementSection, Elements,
        EntityType, Function, FunctionSection, GlobalSection, GlobalType, ImportSection,
        Instruction, MemorySection, MemoryType, RefType, TableSection, TableType, TypeSection,
        ValType,
    };
    use wasmtime::{Engine, Module as Compiled, Store, Val};
    use wasmtime_wizer::Wizer;

    use super::*;

    /// A module with a memory, a table, three globals, segments, and a function with this body.
    fn module(body: &[Instruction<'_>]) -> Vec<u8> {
        let mut module = Module::new();
        let mut types = TypeSection::new();
        types.ty().function([], []);
        module.section(&types);
        let mut functions = FunctionSection::new();
        functions.function(0);
        module.section(&functions);
        let mut tables = TableSection::new();
        tables.table(TableType {
            element_type: RefType::FUNCREF,
            table64: false,
            minimum: 2,
            maximum: None,
            shared: false,
        });
        module.section(&tables);
        let mut memories = MemorySection::new();
        memories.memory(MemoryType {
            minimum: 1,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        module.section(&memories);
        let mut globals = GlobalSection::new();
        for (mutable, value) in [(true, 3), (false, 4), (true, 5)] {
            let ty = GlobalType {
                val_type: ValType::I32,
                mutable,
                shared: false,
            };
            globals.global(ty, &ConstExpr::i32_const(value));
        }
        module.section(&globals);
        let mut exports = ExportSection::new();
        exports.export("memory", ExportKind::Memory, 0);
        module.section(&exports);
        let mut elements = ElementSection::new();
        elements.passive(Elements::Functions([0].as_slice().into()));
        module.section(&elements);
        module.section(&DataCountSection { count: 1 });
        let mut code = CodeSection::new();
        let mut function = Function::new([]);
        for instruction in body.iter().chain([&Instruction::End]) {
            function.instruction(instruction);
        }
        code.function(&function);
        module.section(&code);
        let mut data = DataSection::new();
        data.passive([1]);
        module.section(&data);
        module.finish()
    }

    #[test]
    fn mutable_globals_are_exported_in_order() {
        let (module, count) = exported(&module(&[])).unwrap();
        assert_eq!(count, 2);
        let engine = Engine::default();
        let mut store = Store::new(&engine, ());
        let compiled = Compiled::new(&engine, module).unwrap();
        let instance = Instance::new(&mut store, &compiled, &[]).unwrap();
        let globals = of(&mut store, &instance, 2).unwrap();
        let values = globals.iter().map(|global| match global.get(&mut store) {
            Val::I32(value) => value,
            other => panic!("{other:?}"),
        });
        assert_eq!(values.collect::<Vec<_>>(), [3, 5]);
        assert!(of(&mut store, &instance, 3).is_err());
        assert!(instance.get_memory(&mut store, "memory").is_some());
    }

    #[test]
    fn imported_globals_are_rejected() {
        let mut module = Module::new();
        let mut imports = ImportSection::new();
        let ty = GlobalType {
            val_type: ValType::I32,
            mutable: true,
            shared: false,
        };
        imports.import("env", "global", EntityType::Global(ty));
        module.section(&imports);
        assert!(exported(&module.finish()).is_err());
    }

    /// The host cannot undo these. The builder of images relies on the snapshot to reject them.
    #[test]
    fn instructions_that_change_other_state_are_rejected() {
        use Instruction::{
            DataDrop, Drop, ElemDrop, I32Const, RefNull, TableCopy, TableFill, TableGrow,
            TableInit, TableSet,
        };
        let (zero, null) = (I32Const(0), RefNull(wasm_encoder::HeapType::FUNC));
        let three = [zero.clone(), zero.clone(), zero.clone()];
        let with = |before: &[Instruction<'static>], after: &[Instruction<'static>]| {
            [before, after].concat()
        };
        let rejected = [
            with(&[zero.clone(), null.clone()], &[TableSet(0)]),
            with(&[null.clone(), zero.clone()], &[TableGrow(0), Drop]),
            with(&[zero.clone(), null, zero], &[TableFill(0)]),
            with(
                &three,
                &[TableCopy {
                    src_table: 0,
                    dst_table: 0,
                }],
            ),
            with(
                &three,
                &[TableInit {
                    elem_index: 0,
                    table: 0,
                }],
            ),
            vec![ElemDrop(0)],
            vec![DataDrop(0)],
        ];
        for body in rejected {
            let error = Wizer::new().instrument(&module(&body)).err();
            let text = format!("{:#}", error.expect("rejected"));
            assert!(text.contains("unsupported"), "{body:?}: {text}");
        }
        assert!(Wizer::new().instrument(&module(&[])).is_ok());
    }
}
