//! Divides grades that are graded again into pieces whose bodies fit into memory.

use std::collections::{HashMap, HashSet};

use assay_core::GradeId;
use assay_engine::{Engine, EngineError, MemoryPermit};
use assay_record::{Record, RecordError, StoredGrade};

use super::stored_items::hashes;

/// Most bytes of the bodies of a piece with more than one grade.
const BYTES: u64 = 16 << 20;

/// Memory of the items of a piece, as a factor of their bytes.
const PARSED_FACTOR: u64 = 4;

/// Grades that are graded again as one batch.
#[derive(Default)]
pub(super) struct Piece {
    /// The grades in their order.
    pub(super) ids: Vec<GradeId>,
    /// Those that are stored.
    pub(super) rows: HashMap<GradeId, StoredGrade>,
    /// Bytes of their bodies.
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

/// Divides grades into pieces, in their order.
pub(super) async fn divide(record: &Record, ids: &[GradeId]) -> Result<Vec<Piece>, RecordError> {
    let rows = record.grades_by_id(ids).await?;
    let all: HashSet<_> = rows.values().flat_map(hashes).collect();
    let all: Vec<_> = all.into_iter().collect();
    let sizes = record.body_sizes(&all).await?;
    let (mut pieces, mut piece, mut counted) = (Vec::new(), Piece::default(), HashSet::new());
    for id in ids {
        let row = rows.get(id);
        let new: Vec<_> = row.into_iter().flat_map(hashes).collect();
        let bytes = |counted: &HashSet<_>| -> u64 {
            let new = new.iter().filter(|hash| !counted.contains(*hash));
            new.filter_map(|hash| sizes.get(hash)).sum()
        };
        if !piece.ids.is_empty() && piece.bytes + bytes(&counted) > BYTES {
            pieces.push(std::mem::take(&mut piece));
            counted.clear();
        }
        piece.bytes += bytes(&counted);
        counted.extend(new);
        piece.ids.push(*id);
        piece.rows.extend(row.map(|row| (*id, row.clone())));
    }
    if !piece.ids.is_empty() {
        pieces.push(piece);
    }
    Ok(pieces)
}
