//! An entry of the spool in memory.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use assay_core::Hash;

use crate::chart::Counted;
use crate::pending::packs::Contents;
use crate::spool::frame::{self, Seal};
use crate::{Entry, NewGrade};

/// Memory of a grade without its document.
const ROW_BYTES: usize = size_of::<NewGrade>() + 256;

/// An entry and its compressed contents in memory.
#[derive(Debug)]
pub(crate) struct LoadedEntry {
    /// The rows. Documents, bodies and the body of the reply may be missing; `contents` has them.
    pub(crate) entry: Arc<Entry>,
    pub(crate) contents: Contents,
    /// Approximate size in memory, in bytes.
    pub(crate) bytes: usize,
}

impl LoadedEntry {
    pub(crate) fn new(entry: Arc<Entry>, contents: Contents) -> Self {
        let grades = entry.grades.iter();
        let rows: usize = grades.map(|grade| ROW_BYTES + grade.document.len()).sum();
        let bodies: usize = entry
            .bodies
            .iter()
            .map(|body| body.content.len() + 80)
            .sum();
        let reply = entry
            .claim
            .as_ref()
            .and_then(|claim| claim.reply.as_ref())
            .map_or(0, |reply| reply.body.len());
        let bytes = 512 + rows + bodies + reply + contents.bytes();
        Self {
            entry,
            contents,
            bytes,
        }
    }

    /// Sizes of the entry's bodies in bytes.
    pub(crate) fn sizes(&self) -> HashMap<Hash, u32> {
        let locations = self.contents.packs.iter().flat_map(|pack| &pack.bodies);
        locations.map(|body| (body.hash, body.size)).collect()
    }

    /// Adds `grades`, a part of the entry's grades, to the counts for charts.
    pub(crate) fn count<'g>(
        &self,
        grades: impl IntoIterator<Item = &'g NewGrade>,
        sizes: &HashMap<Hash, u32>,
        counted: &mut Counted,
    ) {
        let grades: Vec<&NewGrade> = grades.into_iter().collect();
        for new in &grades {
            let bytes = sizes.get(&new.row.source.completion_hash).copied();
            counted.push(&new.row, bytes);
            counted.push_signals(new);
        }
        counted.push_missing(&self.entry, &grades, sizes);
    }

    /// Decodes a frame after checking its checksum.
    pub(crate) fn from_frame(seal: &Seal, bytes: &[u8]) -> io::Result<Self> {
        if frame::measure(seal, bytes) != Some(bytes.len()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a frame of the spool is damaged",
            ));
        }
        let (entry, contents) = frame::decode(bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Self::new(Arc::new(entry), contents))
    }
}
