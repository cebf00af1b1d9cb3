//! One session: what it was opened with, what its calls have used and left, and their order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_core::{Hash, worker_use};
use assay_wire::sessions::{Files, Restored, SessionBody, SessionState};
use tokio::sync::OwnedMutexGuard;

use crate::error::SessionError;
use crate::frozen::FrozenStates;
use crate::journal::{Journal, Line, Opened};
use crate::limits::{MAX_WAITING, Used};

/// Microseconds of a second.
const SECOND_US: i64 = 1_000_000;

/// A session.
pub(crate) struct Session {
    /// Without its files, which only the journal has.
    pub(crate) opened: Opened,
    pub(crate) journal: Journal,
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Calls that run or wait.
    in_progress: AtomicUsize,
    progress: Mutex<Progress>,
}

/// What the calls of a session have used and left.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    /// Hash of the image in which it continues.
    pub(crate) image_hash: String,
    pub(crate) used: Used,
    /// What the last call with an effect left. The session is counted as its user.
    pub(crate) state: Option<Hash>,
    /// Whether the state must be restored by running the calls again.
    pub(crate) needs_replay: bool,
    /// How it was restored, until its next call.
    pub(crate) restored: Option<Restored>,
    /// Why the state cannot be restored.
    pub(crate) lost: Option<String>,
    /// When it was used last.
    pub(crate) used_us: i64,
    pub(crate) has_ended: bool,
}

/// The turn of a call. The next call of the session waits until it is dropped.
pub(crate) struct Turn {
    _guard: OwnedMutexGuard<()>,
    _place: Place,
}

/// The place of a call among those of its session.
struct Place(Arc<Session>);

impl Place {
    fn enter(session: &Arc<Session>) -> Result<Self, SessionError> {
        let place = Self(Arc::clone(session));
        let before = session.in_progress.fetch_add(1, Ordering::Relaxed);
        if before >= MAX_WAITING {
            return Err(SessionError::Crowded(before));
        }
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.in_progress.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Session {
    /// A session with the journal that it was opened with.
    pub(crate) fn new(mut opened: Opened, journal: Journal, progress: Progress) -> Self {
        opened.files = Files::new();
        Self {
            opened,
            journal,
            turn: Arc::default(),
            in_progress: AtomicUsize::new(0),
            progress: Mutex::new(progress),
        }
    }

    /// Waits until the calls before this one have ended. They have the order in which this was
    /// called.
    ///
    /// # Errors
    /// [`SessionError::Crowded`], and [`SessionError::Unknown`] if the session ended meanwhile.
    pub(crate) async fn turn(self: &Arc<Self>) -> Result<Turn, SessionError> {
        let place = Place::enter(self)?;
        let guard = worker_use::waiting(Arc::clone(&self.turn).lock_owned()).await;
        if self.progress().has_ended {
            return Err(self.unknown());
        }
        Ok(Turn {
            _guard: guard,
            _place: place,
        })
    }

    /// The error of a request: the session is unknown if it ended meanwhile, and its files with it.
    pub(crate) fn error(&self, error: SessionError) -> SessionError {
        if self.progress().has_ended {
            self.unknown()
        } else {
            error
        }
    }

    /// The error about a session that has ended.
    fn unknown(&self) -> SessionError {
        SessionError::Unknown(self.opened.id.to_string())
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has had no call for as long as it may.
    pub(crate) fn has_expired(&self, now_us: i64) -> bool {
        let is_idle = self.in_progress.load(Ordering::Relaxed) == 0;
        is_idle && self.expires_us(self.progress().used_us) <= now_us
    }

    fn expires_us(&self, used_us: i64) -> i64 {
        let idle = i64::try_from(self.opened.idle_seconds).unwrap_or(i64::MAX);
        used_us.saturating_add(idle.saturating_mul(SECOND_US))
    }

    pub(crate) fn body(&self, states: &FrozenStates) -> SessionBody {
        let progress = self.progress().clone();
        let place = progress.state.as_ref().and_then(|hash| states.place(hash));
        let state = match (&progress.lost, place) {
            (Some(_), _) => SessionState::Lost,
            (None, Some((true, _))) => SessionState::Memory,
            (None, Some((false, _))) => SessionState::Disk,
            (None, None) if progress.needs_replay => SessionState::Disk,
            (None, None) => SessionState::New,
        };
        let opened = &self.opened;
        SessionBody {
            id: opened.id.to_string(),
            name: opened.name.clone(),
            caller: opened.caller.clone(),
            language: opened.language.clone(),
            image: opened.image.clone(),
            image_hash: progress.image_hash,
            seed: opened.seed,
            limits: opened.limits,
            calls: progress.used.calls,
            remaining: progress.used.remaining(&opened.limits),
            state,
            state_bytes: place.map_or(0, |(_, bytes)| bytes),
            forked_from: opened.forked_from.map(|id| id.to_string()),
            restored: progress.restored,
            opened_us: opened.opened_us,
            used_us: progress.used_us,
            expires_us: self.expires_us(progress.used_us),
        }
    }
}

impl Progress {
    /// That of a new session.
    pub(crate) fn new(opened: &Opened) -> Self {
        Self {
            image_hash: opened.image_hash.clone(),
            used: Used::default(),
            state: None,
            needs_replay: false,
            restored: None,
            lost: None,
            used_us: opened.opened_us,
            has_ended: false,
        }
    }

    /// That of a session with this journal, whose state an earlier process wrote. `None` if the
    /// first line does not describe a session.
    pub(crate) fn read(lines: &[Line], states: &FrozenStates) -> Option<(Opened, Self)> {
        let (Line::Opened(opened), lines) = lines.split_first()? else {
            return None;
        };
        let mut progress = Self::new(opened);
        for line in lines {
            match line {
                Line::Opened(_) => return None,
                Line::Called(called) => {
                    let logged = &called.logged;
                    let used = &mut progress.used;
                    used.calls = logged.call;
                    used.work = used.work.saturating_add(logged.work);
                    used.output_bytes = used.output_bytes.saturating_add(called.output_bytes);
                    progress.state = called.state;
                    progress.used_us = progress.used_us.max(logged.time_us);
                }
                Line::Restored { image_hash, state } => {
                    progress.image_hash.clone_from(image_hash);
                    progress.state = *state;
                }
            }
        }
        if let Some(hash) = progress.state {
            if states.adopt(&hash) {
                progress.restored = Some(Restored::Frozen);
            } else {
                progress.state = None;
                progress.needs_replay = true;
            }
        }
        Some((opened.clone(), progress))
    }
}
