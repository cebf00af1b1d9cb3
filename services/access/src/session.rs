//! Sessions of the pages: a browser exchanges a key for a cookie. They are in memory, so a restart
//! ends them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Longest duration of a session, and longest time between two of its requests.
const LIFETIME: Duration = Duration::from_secs(8 * 60 * 60);
const IDLE: Duration = Duration::from_secs(60 * 60);

/// Maximum number of sessions, and of those of one key. Beyond it, the session that was used least
/// recently ends: of the key itself, or of the key with the most sessions.
const MAX: usize = 1_024;
const MAX_PER_KEY: usize = 16;

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
        if sessions.values().filter(|of| of.key.id == key.id).count() >= MAX_PER_KEY {
            end_oldest(&mut sessions, &key.id);
        } else if sessions.len() >= MAX
            && let Some(id) = key_with_most(&sessions)
        {
            end_oldest(&mut sessions, &id);
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

/// The id of the key with the most sessions; of several, the first in order.
fn key_with_most(sessions: &HashMap<[u8; 32], Session>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    sessions
        .values()
        .for_each(|session| *counts.entry(&session.key.id).or_default() += 1);
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
    Some(most.0.to_owned())
}

/// Ends the session of this key that was used least recently.
fn end_oldest(sessions: &mut HashMap<[u8; 32], Session>, id: &str) {
    let of_key = sessions.iter().filter(|(_, session)| session.key.id == id);
    let oldest = of_key.min_by_key(|(_, session)| session.used);
    if let Some(oldest) = oldest.map(|(index, _)| *index) {
        sessions.remove(&oldest);
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

    fn of(id: usize) -> SessionKey {
        SessionKey {
            id: format!("{id:04}"),
            hash: [7; 32],
        }
    }

    fn key() -> SessionKey {
        of(0)
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
    fn a_key_ends_only_its_own_sessions() {
        let sessions = Sessions::default();
        let at = Duration::from_secs;
        let operator = sessions.start(of(0), at(0)).unwrap();
        let first = sessions.start(of(1), at(1)).unwrap();
        let second = sessions.start(of(1), at(2)).unwrap();
        for _ in 2..=MAX_PER_KEY {
            sessions.start(of(1), at(3)).unwrap();
        }
        let is_open = |cookie: &str| sessions.key(cookie, at(4)).is_some();
        assert!(is_open(&operator) && !is_open(&first) && is_open(&second));
        assert_eq!(sessions.0.lock().unwrap().len(), 1 + MAX_PER_KEY);
    }

    #[test]
    fn the_number_of_sessions_is_bounded() {
        let sessions = Sessions::default();
        let at = Duration::from_secs;
        let operator = sessions.start(of(0), at(0)).unwrap();
        let oldest = sessions.start(of(1), at(1)).unwrap();
        sessions.start(of(1), at(2)).unwrap();
        for id in 2..MAX {
            sessions.start(of(id), at(3)).unwrap();
        }
        let is_open = |cookie: &str| sessions.key(cookie, at(4)).is_some();
        assert_eq!(sessions.0.lock().unwrap().len(), MAX);
        assert!(is_open(&operator) && !is_open(&oldest));
    }
}
