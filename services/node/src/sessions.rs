//! The interpreter sessions of a node, and where their files are.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_core::{Clock, Ids};
use assay_sessions::Sessions;

use crate::Config;
use crate::error::NodeError;
use crate::sandboxes::Sandboxes;

/// Maximum time that a call waits for a worker.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(60);

/// Sessions that are opened at their first use: commands that only grade do not use them, and one
/// process at a time has their folder.
#[derive(Default)]
pub(crate) struct NodeSessions(Mutex<Option<Sessions>>);

impl NodeSessions {
    /// The sessions; the first call reads those that an earlier process left.
    ///
    /// # Errors
    /// [`NodeError::Sessions`].
    pub(crate) fn open(
        &self,
        config: &Config,
        sandboxes: &Sandboxes,
        clock: &Arc<dyn Clock>,
    ) -> Result<Sessions, NodeError> {
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sessions) = opened.as_ref() {
            return Ok(sessions.clone());
        }
        let sessions = Sessions::open(
            config.sessions.settings(folder(config), sandboxes.calls()),
            sandboxes.interpreters(QUEUE_TIMEOUT),
            Arc::clone(clock),
            Ids::random(),
        )?;
        *opened = Some(sessions.clone());
        Ok(sessions)
    }
}

/// The folder of the sessions; `None` if the node keeps them in memory only.
fn folder(config: &Config) -> Option<PathBuf> {
    let configured = &config.sessions.folder;
    if !configured.as_os_str().is_empty() {
        return Some(configured.clone());
    }
    config.store.beside("sessions")
}
