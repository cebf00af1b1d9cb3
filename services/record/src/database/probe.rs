//! Distinguishes an invalid entry from a database that rejects all entries: provides an entry that
//! is known to be valid, which the caller applies in a transaction that is rolled back.

use std::sync::Arc;

use assay_core::{BatchId, Hash};

use crate::database::DatabaseError;
use crate::pending::loaded_entry::LoadedEntry;
use crate::pending::packs::Contents;
use crate::{Body, BodyKind, Entry, GradeRecord};

/// An entry that is known to be valid.
pub(super) fn sample(now_us: i64) -> Result<LoadedEntry, DatabaseError> {
    let entry = entry(now_us);
    let contents = Contents::of(&entry.bodies, None, 0).map_err(DatabaseError::Spool)?;
    Ok(LoadedEntry::new(Arc::new(entry), contents))
}

/// A batch of one grade with its body. Its id differs from the id of every real batch, because
/// those start with the time.
fn entry(now_us: i64) -> Entry {
    let batch = BatchId::from(0);
    let body = Body {
        hash: Hash::of(b"probe"),
        kind: BodyKind::Text,
        content: b"probe".to_vec(),
    };
    let grade = GradeRecord {
        caller: "probe".into(),
        run: Some("probe".into()),
        step: Some(0),
        group: Some("probe".to_owned()),
        prompt_key: Some("probe".to_owned()),
        channel: "probe/default".to_owned(),
        grader: "probe".to_owned(),
        task_hash: body.hash,
        queue_us: 0,
        grade_us: 0,
        work: 0,
        time_us: now_us,
        ..GradeRecord::passed(batch, 0, body.hash)
    };
    Entry {
        batch,
        caller: "probe".into(),
        run: grade.run.clone(),
        step: grade.step,
        items: 1,
        received_us: now_us,
        grades: vec![grade],
        bodies: vec![body],
        events: Vec::new(),
        claim: None,
    }
}
