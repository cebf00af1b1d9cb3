//! Distinguishes an invalid entry from a database that rejects all entries: provides an entry that
//! is known to be valid, which the caller applies in a transaction that is rolled back.

use std::sync::Arc;

use assay_core::{BatchId, Hash};

use crate::database::DatabaseError;
use crate::pending::loaded_entry::LoadedEntry;
use crate::pending::packs::Contents;
use crate::{Body, BodyKind, Entry, StoredGrade};

/// An entry that is known to be valid.
pub(super) fn sample(now_us: i64) -> Result<LoadedEntry, DatabaseError> {
    let entry = entry(now_us);
    let contents = Contents::of(&entry, 0).map_err(DatabaseError::Spool)?;
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
    let (caller, run): (Arc<str>, Option<Arc<str>>) = ("probe".into(), Some("probe".into()));
    let mut stored = StoredGrade::passed(batch, 0, body.hash);
    stored.source.caller = Arc::clone(&caller);
    stored.source.run.clone_from(&run);
    stored.source.step = Some(0);
    stored.source.task_hash = body.hash;
    stored.grade.group = Some("probe".to_owned());
    stored.grade.prompt_key = Some("probe".to_owned());
    stored.grade.channel = "probe/default".into();
    stored.grade.grader.name = "probe".into();
    stored.grade.time_us = now_us;
    Entry {
        batch,
        caller,
        run,
        step: Some(0),
        items: 1,
        received_us: now_us,
        grades: vec![stored.into()],
        bodies: vec![body],
        events: Vec::new(),
        claim: None,
    }
}
