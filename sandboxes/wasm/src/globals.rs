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
