//! Saves the memory of an initialised library in its module.

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{ConstExpr, DataSection, MemoryType, Module};
use wasmparser::Parser;
use wasmtime::{Result, bail, format_err};

use super::narrow::PAGE;

/// Longest run of zeros, in bytes, that is stored within a segment. A longer one ends the segment.
const GAP: usize = 64;

/// The module with this memory as its initial contents.
///
/// # Errors
/// If the module is malformed.
pub(super) fn with_memory(module: &[u8], memory: &[u8]) -> Result<Vec<u8>> {
    if !(memory.len() as u64).is_multiple_of(PAGE) {
        bail!("the memory is not a whole number of pages");
    }
    let mut snapshot = Module::new();
    Snapshot {
        memory,
        segments: segments(memory),
    }
    .parse_core_module(&mut snapshot, Parser::new(0), module)
    .map_err(|error| format_err!("{error}"))?;
    Ok(snapshot.finish())
}

struct Snapshot<'a> {
    memory: &'a [u8],
    segments: Vec<std::ops::Range<usize>>,
}

impl Reencode for Snapshot<'_> {
    type Error = std::num::TryFromIntError;

    fn memory_type(
        &mut self,
        kind: wasmparser::MemoryType,
    ) -> std::result::Result<MemoryType, Error<Self::Error>> {
        let memory = utils::memory_type(self, kind);
        Ok(MemoryType {
            minimum: self.memory.len() as u64 / PAGE,
            ..memory
        })
    }

    fn data_count(&mut self, _: u32) -> std::result::Result<u32, Error<Self::Error>> {
        u32::try_from(self.segments.len()).map_err(Error::UserError)
    }

    fn parse_data_section(
        &mut self,
        data: &mut DataSection,
        _: wasmparser::DataSectionReader<'_>,
    ) -> std::result::Result<(), Error<Self::Error>> {
        for range in &self.segments {
            let at = u32::try_from(range.start).map_err(Error::UserError)?;
            let offset = ConstExpr::i32_const(at.cast_signed());
            data.active(0, &offset, self.memory[range.clone()].iter().copied());
        }
        Ok(())
    }
}

/// The ranges of a memory that contain other bytes than zeros, with short gaps included.
fn segments(memory: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, _) in memory.iter().enumerate().filter(|(_, byte)| **byte != 0) {
        match found.last_mut() {
            Some(last) if at - last.end <= GAP => last.end = at + 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_omit_long_runs_of_zeros() {
        let mut memory = vec![0; 1_000];
        (memory[10], memory[20], memory[500]) = (1, 2, 3);
        assert_eq!(segments(&memory), [10..21, 500..501]);
        assert!(segments(&[0; 100]).is_empty());
    }
}
