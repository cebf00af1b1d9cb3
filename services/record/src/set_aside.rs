//! The entries of a record that are set aside: lists, counts and retries them.

use std::sync::Arc;

use crate::database::Location;
use crate::options::RecordOptions;
use crate::record::blocking;
use crate::spool::segment::Folder;
use crate::spool::set_aside::{SetAsideFile, SetAsideFolder, SetAsideNote};
use crate::{Record, RecordError, Retried, SetAside};

impl Record {
    fn aside(&self) -> Option<SetAsideFolder> {
        self.shared.folder.as_deref().map(SetAsideFolder::of)
    }

    /// Returns the entries that are set aside, in the order they were recorded.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn set_aside(&self) -> Result<Vec<SetAside>, RecordError> {
        let Some(aside) = self.aside() else {
            return Ok(Vec::new());
        };
        let files = blocking(move || aside.list()).await.map_err(unreadable)?;
        Ok(files.iter().map(set_aside).collect())
    }

    /// Retries the entries that are set aside and returns the result for each. Entries that are
    /// applied are removed from those set aside.
    ///
    /// # Errors
    /// [`RecordError::Unavailable`] if they cannot be listed.
    pub async fn apply_set_aside(&self) -> Result<Vec<Retried>, RecordError> {
        let (Some(aside), Some(folder)) = (self.aside(), self.shared.folder.clone()) else {
            return Ok(Vec::new());
        };
        let files = blocking(move || aside.list()).await.map_err(unreadable)?;
        let mut tried = Vec::with_capacity(files.len());
        let mut applied = Vec::new();
        for file in files {
            let described = set_aside(&file);
            let error = self.apply_file(&folder, &file).await.err();
            if error.is_none() {
                applied.push(file);
            }
            tried.push((described, error));
        }
        if !applied.is_empty() && !self.shared.database.checkpoint().await? {
            return Err(RecordError::Unavailable(
                "entries were applied but are not synced to disk yet, because a reader blocks the \
                 checkpoint; run this again"
                    .to_owned(),
            ));
        }
        let remaining = move || {
            let aside = SetAsideFolder::of(&folder);
            applied
                .iter()
                .try_for_each(|file| aside.remove_file(file))?;
            aside.count()
        };
        self.shared
            .health
            .count_set_aside(blocking(remaining).await.map_err(unreadable)?);
        Ok(tried)
    }

    async fn apply_file(&self, folder: &Folder, file: &SetAsideFile) -> Result<(), String> {
        if file.note.lost {
            return Err(file.note.reason.clone());
        }
        let (aside, path) = (SetAsideFolder::of(folder), file.path.clone());
        let loaded = blocking(move || aside.load(&path))
            .await
            .map_err(|error| error.to_string())?;
        let applied = self
            .shared
            .database
            .apply_late(Arc::new(loaded), self.shared.clock.unix_us())
            .await;
        applied.map_err(|error| error.to_string())
    }
}

/// Counts the set-aside entries of the record with these options without opening it, because
/// another node may be using it.
///
/// # Errors
/// The error of reading the folder of the spool.
pub fn set_aside_entries(options: &RecordOptions) -> std::io::Result<u64> {
    let location = Location::parse(&options.database);
    let spool = options.spool.clone().or_else(|| location?.spool());
    spool.map_or(Ok(0), |spool| SetAsideFolder::at(&spool).count())
}

fn set_aside(file: &SetAsideFile) -> SetAside {
    let SetAsideNote {
        reason,
        batch,
        grades,
        time_us,
        lost: _,
    } = file.note.clone();
    let batch = batch.and_then(|batch| batch.parse().ok());
    SetAside {
        name: file.name.clone(),
        batch,
        grades,
        bytes: file.bytes,
        reason,
        time_us,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn unreadable(error: std::io::Error) -> RecordError {
    RecordError::Unavailable(format!(
        "cannot read the set-aside entries ({error}); check the folder of the spool"
    ))
}
