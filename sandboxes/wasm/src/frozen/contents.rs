//! The contents of the files of a frozen instance, in runs that are compressed one by one. A run
//! that a call did not change is copied as it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::{FrozenError, cannot};
use super::packed::{Packed, RUN, pack, unpack};
use crate::files::{FileBytes, Files, MAX_BYTES, NodeId};

/// The content of a file.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Content<'a> {
    length: u64,
    /// Its parts of [`RUN`] bytes; the last one may be shorter.
    #[serde(borrow)]
    runs: Vec<Packed<'a>>,
}

impl Content<'_> {
    /// About the bytes that it takes in a frozen instance.
    pub(super) fn frozen_bytes(&self) -> usize {
        let runs = self.runs.iter();
        runs.map(|run| size_of_val(run) + run.frozen_bytes()).sum()
    }

    fn unpack(&self) -> Result<FileBytes, FrozenError> {
        let length = usize::try_from(self.length).unwrap_or(usize::MAX);
        if self.runs.len() != length.div_ceil(RUN) {
            return Err(cannot("read", &"a file has the wrong length"));
        }
        let mut bytes = vec![0; length];
        for (target, run) in bytes.chunks_mut(RUN).zip(&self.runs) {
            match run.stored() {
                Some(stored) if stored.len() == target.len() => target.copy_from_slice(stored),
                Some(_) => return Err(cannot("read", &"a part of a file has the wrong length")),
                None => unpack(run, target)?,
            }
        }
        Ok(bytes.into())
    }
}

/// The contents of the files with which an instance was thawed.
#[derive(Default)]
pub(crate) struct ThawedContents<'a>(BTreeMap<NodeId, (FileBytes, Content<'a>)>);

impl<'a> ThawedContents<'a> {
    /// Gives the files of a frozen instance their contents, which are in the order of their nodes.
    /// `opened` are the nodes of its descriptors.
    pub(super) fn apply(
        contents: Vec<Content<'a>>,
        files: &mut Files,
        opened: impl Iterator<Item = NodeId>,
    ) -> Result<Self, FrozenError> {
        let total = contents
            .iter()
            .fold(0_u64, |sum, file| sum.saturating_add(file.length));
        if total > MAX_BYTES {
            return Err(cannot("thawed", &"its files are too large"));
        }
        let unpacked = contents.iter().map(Content::unpack);
        let unpacked = unpacked.collect::<Result<_, _>>()?;
        files
            .complete(unpacked, opened)
            .map_err(|problem| cannot("thawed", &problem))?;
        let thawed = files.contents().zip(contents);
        let thawed = thawed.map(|((node, bytes), content)| (node, (bytes.clone(), content)));
        Ok(Self(thawed.collect()))
    }

    /// The contents of the files after a call.
    pub(super) fn freeze(&self, files: &Files) -> Result<Vec<Content<'a>>, FrozenError> {
        let contents = files.contents().map(|(node, bytes)| {
            let before = self.0.get(&node);
            match before {
                // Nothing has written to the file.
                Some((before, content)) if std::ptr::eq::<[u8]>(&**before, &**bytes) => {
                    return Ok(content.clone());
                }
                _ => {}
            }
            let mut before = before
                .into_iter()
                .flat_map(|(before, content)| before.chunks(RUN).zip(&content.runs));
            let runs = bytes.chunks(RUN).map(|run| match before.next() {
                Some((before, packed)) if before == run => Ok(packed.clone()),
                _ => pack(run),
            });
            Ok(Content {
                length: bytes.len() as u64,
                runs: runs.collect::<Result<_, _>>()?,
            })
        });
        contents.collect()
    }
}
