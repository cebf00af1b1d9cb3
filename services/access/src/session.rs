//! Sessions of the pages: a browser exchanges a key for a cookie. They are in memory, so a restart
//! ends them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Longest duration of a session, and longest time between two of its requests.
const LIFETIME: Duration = Duration::from_secs(8 * 60 * 60);
const IDLE: Duration = Duration::from_secs(60 * 60);

/// Maximum number of sessions. Beyond it, the one that was used least recently ends.
const MAX: usize = 1_024;

/// The key of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionKey {
    /// Public part of the key.
    pub(crate) id: String,
    /// Its hash at sign-in. A rotation ends the session.
    pub(crate) hash: [u8; 32],
}

#[derive(Debug)]
struct Session {
    key: SessionKey,
    started: Duration,
    used: Duration,
}

/// All sessions, by the hash of their cookie: lookups then take no time that depends on a cookie.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

fn index(cookie: &str) -> [u8; 32] {
    *blake3::hash(cookie.as_bytes()).as_bytes()
}

impl Sessions {
    /// Starts a session at the monotonic time `now` and returns its cookie, which is always new.
    pub(crate) fn start(&self, key: SessionKey, now: Duration) -> std::io::Result<String> {
        let cookie = crate::key::random_text(43)?;
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| session.is_open(now));
        if sessions.len() >= MAX {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used);
            if let Some(oldest) = oldest.map(|(index, _)| *index) {
                sessions.remove(&oldest);
            }
        }
        let session = Session {
            key,
            started: now,
            used: now,
        };
        sessions.insert(index(&cookie), session);
        Ok(cookie)
    }

    /// The key of a session that is open at the monotonic time `now`.
    pub(crate) fn key(&self, cookie: &str, now: Duration) -> Option<SessionKey> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get_mut(&index(cookie))?;
        if !session.is_open(now) {
            return None;
        }
        session.used = now;
        Some(session.key.clone())
    }

    pub(crate) fn end(&self, cookie: &str) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.remove(&index(cookie));
    }
}

impl Session {
    fn is_open(&self, now: Duration) -> bool {
        now.saturating_sub(self.started) < LIFETIME && now.saturating_sub(self.used) < IDLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SessionKey {
        SessionKey {
            id: "id".to_owned(),
            hash: [7; 32],
        }
    }

    #[test]
    fn sessions_end_when_idle_old_or_signed_out() {
        let sessions = Sessions::default();
        let minute = |minutes: u64| Duration::from_secs(60 * minutes);
        let cookie = sessions.start(key(), minute(0)).unwrap();
        assert_ne!(cookie, sessions.start(key(), minute(0)).unwrap());
        assert_eq!(sessions.key(&cookie, minute(59)), Some(key()));
        assert_eq!(sessions.key(&cookie, minute(119)), None);
        let used = sessions.start(key(), minute(0)).unwrap();
        for at in 0..16 {
            assert_eq!(sessions.key(&used, minute(30 * at)), Some(key()), "{at}");
        }
        assert_eq!(sessions.key(&used, minute(8 * 60)), None);
        let ended = sessions.start(key(), minute(0)).unwrap();
        sessions.end(&ended);
        assert_eq!(sessions.key(&ended, minute(0)), None);
        assert_eq!(sessions.key("", minute(0)), None);
    }

    #[test]
    fn their_number_is_bounded() {
        let sessions = Sessions::default();
        let first = sessions.start(key(), Duration::from_secs(1)).unwrap();
        for _ in 0..MAX {
            sessions.start(key(), Duration::from_secs(2)).unwrap();
        }
        assert_eq!(sessions.0.lock().unwrap().len(), MAX);
        assert_eq!(sessions.key(&first, Duration::from_secs(2)), None);
    }
}
