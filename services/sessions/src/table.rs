//! The open sessions of a node, and their quotas.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::ops::Bound;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_core::{Clock, FairPermit, FairPermits, Ids, SessionId, worker_use};
use assay_wire::sessions::{EndedBody, SessionBody};

use crate::error::SessionError;
use crate::frozen::FrozenStates;
use crate::interpreters::{Interpreters, NoImages};
use crate::journal::Journal;
use crate::limits::Settings;
use crate::metrics::{self, EndReason};
use crate::session::{Progress, Session};

/// Folder of the states, in that of the sessions.
const STATES: &str = "states";

/// Folder of the journals.
const JOURNALS: &str = "journals";

/// Extension of a journal.
const JOURNAL: &str = "jsonl";

/// Extension that a journal gets that cannot be read.
const DAMAGED: &str = "damaged";

/// File that is locked by the process that uses the folder.
const LOCK: &str = "lock";

/// Time between two searches for sessions that have expired.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(5);

/// Who sends a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// Name of the caller, which owns the sessions that it opens.
    pub caller: String,
    /// Whether it sees the sessions of all callers.
    pub sees_all: bool,
    /// Whose share of the node it uses.
    pub share: Arc<str>,
}

impl Sender {
    fn sees(&self, session: &Session) -> bool {
        self.sees_all || session.opened.caller == self.caller
    }
}

/// The folder of the sessions cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process uses it.
    #[error("another process uses the sessions in `{}`", .0.display())]
    InUse(PathBuf),
    /// It cannot be read or written.
    #[error("cannot use the folder of sessions `{}`: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
}

/// The open sessions of a node. Cheap to clone: clones share them.
#[derive(Clone)]
pub struct Sessions(Arc<Shared>);

struct Shared {
    interpreters: Arc<dyn Interpreters>,
    clock: Arc<dyn Clock>,
    ids: Ids,
    settings: Settings,
    states: FrozenStates,
    /// For calls whose states are in memory for a worker.
    permits: FairPermits,
    table: Mutex<Table>,
    /// Locked while this process uses the folder.
    _lock: Option<File>,
}

#[derive(Default)]
struct Table {
    sessions: BTreeMap<SessionId, Arc<Session>>,
    by_caller: BTreeMap<String, usize>,
    /// Sessions with a name, by caller and name.
    by_name: HashMap<(String, String), SessionId>,
}

impl Sessions {
    /// Opens the folder of the settings, with the sessions that an earlier process left in it.
    ///
    /// # Errors
    /// [`OpenError`]. A session that cannot be read is set aside with a line in the log.
    pub fn open(
        settings: Settings,
        interpreters: Arc<dyn Interpreters>,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Result<Self, OpenError> {
        metrics::start();
        let folder = settings.folder.as_deref();
        let lock = folder.map(lock).transpose()?;
        let states = FrozenStates::new(
            folder.map(|folder| folder.join(STATES)),
            settings.memory_bytes,
            settings.disk_bytes,
        );
        let mut table = Table::default();
        if let Some(folder) = folder {
            let read = read_journals(folder, &states, &mut table);
            read.and_then(|()| states.sweep())
                .map_err(|error| at(folder, error))?;
        }
        let sessions = Self(Arc::new(Shared {
            interpreters,
            clock,
            ids,
            permits: permits(&settings),
            settings,
            states,
            table: Mutex::new(table),
            _lock: lock,
        }));
        sessions.report();
        Ok(sessions)
    }

    /// Those of a node without images, on which none can be opened.
    #[must_use]
    pub fn without_images(clock: Arc<dyn Clock>) -> Self {
        let settings = Settings::default();
        Self(Arc::new(Shared {
            interpreters: Arc::new(NoImages),
            clock,
            ids: Ids::random(),
            permits: permits(&settings),
            settings,
            states: FrozenStates::new(None, 0, 0),
            table: Mutex::default(),
            _lock: None,
        }))
    }

    pub(crate) fn interpreters(&self) -> &dyn Interpreters {
        self.0.interpreters.as_ref()
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn states(&self) -> &FrozenStates {
        &self.0.states
    }

    pub(crate) fn now_us(&self) -> i64 {
        self.0.clock.unix_us()
    }

    pub(crate) fn new_id(&self) -> SessionId {
        self.0.ids.session(self.0.clock.as_ref())
    }

    /// Waits for a permit to send a call to a worker.
    ///
    /// # Errors
    /// Never, because the permits are not closed.
    pub(crate) async fn permit(&self, sender: &Sender) -> Result<FairPermit, SessionError> {
        let permit = worker_use::waiting(self.0.permits.acquire(&sender.share)).await;
        permit.map_err(|_| SessionError::Busy)
    }

    /// A new, empty journal.
    pub(crate) fn new_journal(&self, id: SessionId) -> io::Result<Journal> {
        let folder = self.0.settings.folder.as_deref();
        Journal::create(folder.map(|folder| {
            folder
                .join(JOURNALS)
                .join(id.to_string())
                .with_extension(JOURNAL)
        }))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rejects `count` more sessions of a caller if there are too many.
    ///
    /// # Errors
    /// [`SessionError::TooMany`].
    pub(crate) fn check_quota(&self, caller: &str, count: usize) -> Result<(), SessionError> {
        self.table().check_quota(caller, count, &self.0.settings)
    }

    /// Adds sessions of one caller to the table, all or none.
    ///
    /// # Errors
    /// [`SessionError::TooMany`], and [`SessionError::NameTaken`].
    pub(crate) fn insert(&self, sessions: &[Arc<Session>]) -> Result<(), SessionError> {
        let mut table = self.table();
        if let Some(first) = sessions.first() {
            let caller = &first.opened.caller;
            if let Some(named) = sessions.iter().find_map(|session| table.named(session)) {
                return Err(SessionError::NameTaken(named));
            }
            table.check_quota(caller, sessions.len(), &self.0.settings)?;
        }
        for session in sessions {
            table.insert(Arc::clone(session));
        }
        Ok(())
    }

    /// The session with this id.
    ///
    /// # Errors
    /// [`SessionError::Unknown`], also if another caller has it.
    pub(crate) fn find(&self, sender: &Sender, id: &str) -> Result<Arc<Session>, SessionError> {
        let parsed = id.parse::<SessionId>().ok();
        let found = parsed.and_then(|id| self.table().sessions.get(&id).cloned());
        found
            .filter(|session| sender.sees(session))
            .ok_or_else(|| SessionError::Unknown(id.to_owned()))
    }

    /// The open session of a caller with this name.
    pub(crate) fn named(&self, caller: &str, name: &str) -> Option<Arc<Session>> {
        let table = self.table();
        let id = table.by_name.get(&(caller.to_owned(), name.to_owned()))?;
        table.sessions.get(id).cloned()
    }

    /// Describes a session.
    ///
    /// # Errors
    /// [`SessionError::Unknown`].
    pub fn describe(&self, sender: &Sender, id: &str) -> Result<SessionBody, SessionError> {
        Ok(self.find(sender, id)?.body(self.states()))
    }

    /// Up to `limit` sessions with ids after this one, oldest first.
    #[must_use]
    pub fn list(
        &self,
        sender: &Sender,
        after: Option<SessionId>,
        limit: usize,
    ) -> Vec<SessionBody> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let found: Vec<_> = {
            let table = self.table();
            let sessions = table.sessions.range((after, Bound::Unbounded));
            let seen = sessions.filter(|(_, session)| sender.sees(session));
            seen.take(limit)
                .map(|(_, session)| Arc::clone(session))
                .collect()
        };
        let bodies = found.iter().map(|session| session.body(self.states()));
        bodies.collect()
    }

    /// Ends a session and deletes what it left. A call that runs has no effect.
    ///
    /// # Errors
    /// [`SessionError::Unknown`].
    pub fn end(&self, sender: &Sender, id: &str) -> Result<EndedBody, SessionError> {
        let session = self.find(sender, id)?;
        self.remove(&session, EndReason::Deleted);
        Ok(EndedBody {
            id: session.opened.id.to_string(),
            calls: session.progress().used.calls,
        })
    }

    /// A name that no session has.
    #[must_use]
    pub fn new_name(&self) -> String {
        self.new_id().to_string()
    }

    /// The id of the sender's session with this name, if it is open.
    #[must_use]
    pub fn id_of_name(&self, sender: &Sender, name: &str) -> Option<String> {
        let session = self.named(&sender.caller, name)?;
        Some(session.opened.id.to_string())
    }

    /// Uses the sender's sessions whose names begin with `prefix`, so that they expire together.
    /// Returns the seconds without a call after which they end; `None` if none is open.
    #[must_use]
    pub fn use_group(&self, sender: &Sender, prefix: &str) -> Option<u64> {
        let now_us = self.now_us();
        let group = self.group(sender, prefix);
        for session in &group {
            let mut progress = session.progress();
            progress.used_us = progress.used_us.max(now_us);
        }
        group.first().map(|session| session.opened.idle_seconds)
    }

    /// Ends the sender's session with this name, if it is open.
    pub fn end_named(&self, sender: &Sender, name: &str) {
        if let Some(session) = self.named(&sender.caller, name) {
            self.remove(&session, EndReason::Deleted);
        }
    }

    /// Ends the sender's sessions whose names begin with `prefix`, and returns their number.
    pub fn end_group(&self, sender: &Sender, prefix: &str) -> usize {
        let group = self.group(sender, prefix);
        for session in &group {
            self.remove(session, EndReason::Deleted);
        }
        group.len()
    }

    /// The sender's sessions whose names begin with `prefix`.
    fn group(&self, sender: &Sender, prefix: &str) -> Vec<Arc<Session>> {
        let table = self.table();
        let names = table
            .by_name
            .iter()
            .filter(|((caller, name), _)| *caller == sender.caller && name.starts_with(prefix));
        names
            .filter_map(|(_, id)| table.sessions.get(id).cloned())
            .collect()
    }

    /// Most seconds without a call after which a session ends.
    #[must_use]
    pub fn idle_seconds(&self) -> u64 {
        self.settings().idle.as_secs()
    }

    fn remove(&self, session: &Session, reason: EndReason) {
        if !self.table().remove(session) {
            return;
        }
        let state = {
            let mut progress = session.progress();
            progress.has_ended = true;
            progress.state.take()
        };
        if let Some(state) = state {
            self.states().release(&state);
        }
        session.journal.delete();
        metrics::ended(reason);
    }

    /// Ends the sessions that had no call for as long as they may, and returns their number.
    pub fn expire(&self) -> usize {
        let now = self.now_us();
        let expired: Vec<_> = {
            let table = self.table();
            let sessions = table.sessions.values();
            sessions
                .filter(|session| session.has_expired(now))
                .cloned()
                .collect()
        };
        for session in &expired {
            self.remove(session, EndReason::Expired);
        }
        expired.len()
    }

    /// Ends sessions that have expired, and keeps the metrics up to date, until it is dropped.
    pub async fn run_expiry(&self) {
        loop {
            let this = self.clone();
            // Deletes files.
            let expired = tokio::task::spawn_blocking(move || {
                let expired = this.expire();
                this.report();
                expired
            });
            if let Ok(expired @ 1..) = expired.await {
                tracing::info!(expired, "sessions without calls have ended");
            }
            tokio::time::sleep(EXPIRY_INTERVAL).await;
        }
    }

    fn report(&self) {
        metrics::open(self.table().sessions.len());
        metrics::states(self.states().counts());
    }
}

impl Table {
    fn check_quota(
        &self,
        caller: &str,
        count: usize,
        settings: &Settings,
    ) -> Result<(), SessionError> {
        let own = self.by_caller.get(caller).copied().unwrap_or_default();
        let quotas = [
            (own, settings.per_caller, "per_caller", "you have"),
            (self.sessions.len(), settings.open, "open", "the node has"),
        ];
        for (used, most, setting, who) in quotas {
            if used.saturating_add(count) > most {
                return Err(SessionError::TooMany(format!(
                    "{who} {used} of at most {most} open sessions (`sessions.{setting}`); end some"
                )));
            }
        }
        Ok(())
    }

    /// The session that has the name of a new one.
    fn named(&self, session: &Session) -> Option<SessionId> {
        self.by_name.get(&name_of(session)?).copied()
    }

    fn insert(&mut self, session: Arc<Session>) {
        let caller = session.opened.caller.clone();
        *self.by_caller.entry(caller).or_default() += 1;
        if let Some(name) = name_of(&session) {
            self.by_name.insert(name, session.opened.id);
        }
        self.sessions.insert(session.opened.id, session);
    }

    fn remove(&mut self, session: &Session) -> bool {
        let removed = self.sessions.remove(&session.opened.id).is_some();
        if removed && let Some(name) = name_of(session) {
            self.by_name.remove(&name);
        }
        if removed && let Some(count) = self.by_caller.get_mut(&session.opened.caller) {
            *count -= 1;
            if *count == 0 {
                self.by_caller.remove(&session.opened.caller);
            }
        }
        removed
    }
}

/// The caller and the name of a session with a name.
fn name_of(session: &Session) -> Option<(String, String)> {
    let opened = &session.opened;
    Some((opened.caller.clone(), opened.name.clone()?))
}

fn permits(settings: &Settings) -> FairPermits {
    FairPermits::new(settings.calls, settings.calls / 2)
}

fn at(path: &Path, error: io::Error) -> OpenError {
    OpenError::Folder {
        path: path.to_owned(),
        error,
    }
}

/// Creates the folders and locks them for this process.
fn lock(folder: &Path) -> Result<File, OpenError> {
    let create = || {
        // Other users of the machine must not read what sessions contain.
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(folder.join(STATES))?;
        builder.create(folder.join(JOURNALS))?;
        File::create(folder.join(LOCK))
    };
    let lock = create().map_err(|error| at(folder, error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => Err(OpenError::InUse(folder.to_owned())),
        Err(fs::TryLockError::Error(error)) => Err(at(folder, error)),
    }
}

/// Reads the sessions that an earlier process left.
fn read_journals(folder: &Path, states: &FrozenStates, table: &mut Table) -> io::Result<()> {
    for entry in fs::read_dir(folder.join(JOURNALS))? {
        let path = entry?.path();
        if path.extension() != Some(OsStr::new(JOURNAL)) {
            continue;
        }
        match read_journal(&path, states) {
            Ok(session) => table.insert(Arc::new(session)),
            Err(error) => {
                tracing::error!(
                    path = %path.display(), %error,
                    "the journal of a session cannot be read and is set aside"
                );
                fs::rename(&path, path.with_extension(DAMAGED))?;
            }
        }
    }
    Ok(())
}

fn read_journal(path: &Path, states: &FrozenStates) -> io::Result<Session> {
    let (journal, lines) = Journal::open(path.to_owned())?;
    let read = Progress::read(&lines, states);
    let (opened, progress) =
        read.ok_or_else(|| io::Error::other("it does not describe a session"))?;
    if let Some(how) = progress.restored {
        metrics::restored(how);
    }
    Ok(Session::new(opened, journal, progress))
}
