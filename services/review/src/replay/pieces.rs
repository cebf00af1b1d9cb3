//! Divides grades that are graded again into pieces whose bodies fit into memory.

use std::collections::{HashMap, HashSet};

use assay_core::GradeId;
use assay_engine::{Engine, EngineError, MemoryPermit};
use assay_record::{Record, RecordError, StoredGrade};

use super::stored_items::hashes;

/// Most bytes of the bodies and checks of a piece with more than one grade.
const BYTES: u64 = 16 << 20;

/// Most grades of a piece, whose rows are read before their size is known.
const GRADES: usize = 256;

/// Memory of the items of a piece, as a factor of their bytes.
const PARSED_FACTOR: u64 = 4;

/// Grades that are graded again as one batch.
#[derive(Default)]
pub(super) struct Piece {
    /// The grades in their order.
    pub(super) ids: Vec<GradeId>,
    /// Those that are stored.
    pub(super) rows: HashMap<GradeId, StoredGrade>,
    /// Bytes of their bodies and checks.
    bytes: u64,
}

impl Piece {
    /// Counts the memory of its items.
    pub(super) fn reserve(&self, engine: &Engine) -> Result<MemoryPermit, EngineError> {
        let admission = engine.admission();
        let mut held = admission.memory(engine.share());
        let needed = usize::try_from(self.bytes.saturating_mul(PARSED_FACTOR));
        held.grow(
            needed
                .unwrap_or(usize::MAX)
                .min(admission.max_request_bytes()),
        )?;
        Ok(held)
    }
}

/// The pieces of grades, in their order. Each is read when it is needed.
pub(super) struct Pieces<'r> {
    record: &'r Record,
    ids: &'r [GradeId],
}

impl<'r> Pieces<'r> {
    pub(super) fn new(record: &'r Record, ids: &'r [GradeId]) -> Self {
        Self { record, ids }
    }

    /// The next piece; `None` after the last.
    ///
    /// # Errors
    /// [`RecordError`].
    pub(super) async fn next(&mut self) -> Result<Option<Piece>, RecordError> {
        if self.ids.is_empty() {
            return Ok(None);
        }
        let candidates = &self.ids[..self.ids.len().min(GRADES)];
        let mut rows = self.record.grades_by_id(candidates).await?;
        let all: HashSet<_> = rows.values().flat_map(hashes).collect();
        let all: Vec<_> = all.into_iter().collect();
        let sizes = self.record.body_sizes(&all).await?;
        let (mut piece, mut counted) = (Piece::default(), HashSet::new());
        for id in candidates {
            let row = rows.remove(id);
            let new: Vec<_> = row.iter().flat_map(hashes).collect();
            let bodies = new.iter().filter(|hash| !counted.contains(*hash));
            let bodies: u64 = bodies.filter_map(|hash| sizes.get(hash)).sum();
            let checks = row.as_ref().and_then(|row| row.source.checks.as_ref());
            let bytes = bodies + checks.map_or(0, |checks| checks.get().len() as u64);
            if !piece.ids.is_empty() && piece.bytes + bytes > BYTES {
                break;
            }
            piece.bytes += bytes;
            counted.extend(new);
            piece.ids.push(*id);
            piece.rows.extend(row.map(|row| (*id, row)));
        }
        self.ids = &self.ids[piece.ids.len()..];
        Ok(Some(piece))
    }
}
