//! Sources of time and ids. They are passed to the code that uses them, because tests and replay
//! depend on it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

/// A source of time.
pub trait Clock: Send + Sync {
    /// Time of day in microseconds since the Unix epoch, for the record.
    fn unix_us(&self) -> i64;
    /// Time since a fixed point, for durations. Never decreases.
    fn monotonic(&self) -> Duration;
    /// Time that a processor has worked for this thread, for charges: other work on the machine
    /// does not change it. By default, the monotonic time.
    fn thread_time(&self) -> Duration {
        self.monotonic()
    }
}

/// Runs `work` and returns its result with the [time of its thread](Clock::thread_time).
pub fn thread_time<T>(clock: &dyn Clock, work: impl FnOnce() -> T) -> (T, Duration) {
    let started = clock.thread_time();
    let result = work();
    (result, clock.thread_time().saturating_sub(started))
}

/// The clocks of the system.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// Creates a clock with a monotonic time that starts now.
    #[expect(
        clippy::disallowed_methods,
        reason = "other modules must use this type"
    )]
    #[must_use]
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "other modules must use this type"
    )]
    fn unix_us(&self) -> i64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn thread_time(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap_or_default()
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(u128);

        /// A text in formats for people, otherwise a number.
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    self.0.serialize(serializer)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    let text = Cow::<str>::deserialize(deserializer)?;
                    text.parse().map_err(D::Error::custom)
                } else {
                    u128::deserialize(deserializer).map(Self)
                }
            }
        }

        impl $name {
            /// The 128 bits, which sort by time.
            #[must_use]
            pub fn as_u128(self) -> u128 {
                self.0
            }
        }

        impl From<u128> for $name {
            fn from(bits: u128) -> Self {
                Self(bits)
            }
        }

        impl From<$name> for u128 {
            fn from(id: $name) -> u128 {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Ulid::from(self.0).fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = MalformedId;
            fn from_str(text: &str) -> Result<Self, MalformedId> {
                // 26 characters encode 130 bits. Values of more than 128 bits start with a
                // character above 7 and would be truncated.
                let fits = text.starts_with(|first: char| first.is_ascii_digit() && first <= '7');
                Ulid::from_string(text)
                    .ok()
                    .filter(|_| fits)
                    .map(|ulid| Self(ulid.into()))
                    .ok_or_else(|| MalformedId(text.to_owned()))
            }
        }
    )*};
}

ids! {
    /// Id of a batch: a ULID, so ids sort by time.
    BatchId,
    /// Id of a grade, derived from the id of its batch and its position.
    GradeId,
    /// Id of an interpreter session: a ULID, so ids sort by time.
    SessionId
}

/// A text is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "malformed id `{0}`; expected 26 characters of Crockford base 32, as in \
     `01JD5XW7P9V6F8K4M3N2Q1R0ST`"
)]
pub struct MalformedId(String);

impl BatchId {
    /// The id of the grade at `position` (from 0) of this batch.
    ///
    /// Because it is derived from the batch, a batch that is sent again after a crash writes the
    /// same rows instead of new ones.
    #[must_use]
    pub fn grade(self, position: u32) -> GradeId {
        GradeId(self.0.wrapping_add(1 + u128::from(position)))
    }
}

/// A source of new ids.
pub struct Ids {
    random: Mutex<Box<dyn FnMut() -> u128 + Send>>,
}

impl Ids {
    /// Creates a source that uses the random numbers of the system.
    #[must_use]
    pub fn random() -> Self {
        Self::from_source(|| {
            let mut bytes = [0u8; 16];
            // Without random numbers, ids still differ by time. Two batches of the same millisecond
            // then have the same id, and the record rejects the second; they are never mixed.
            let _ = getrandom::fill(&mut bytes);
            u128::from_le_bytes(bytes)
        })
    }

    /// Creates a source from a function that returns random bits, for tests and replay.
    #[must_use]
    pub fn from_source(source: impl FnMut() -> u128 + Send + 'static) -> Self {
        Self {
            random: Mutex::new(Box::new(source)),
        }
    }

    /// A new batch id for the time of `clock`.
    #[must_use]
    pub fn batch(&self, clock: &dyn Clock) -> BatchId {
        // The lowest 24 bits are reserved for positions, so that ids of grades sort within their
        // batch.
        BatchId(self.ulid(clock) >> 24 << 24)
    }

    /// A new session id for the time of `clock`.
    #[must_use]
    pub fn session(&self, clock: &dyn Clock) -> SessionId {
        SessionId(self.ulid(clock))
    }

    fn ulid(&self, clock: &dyn Clock) -> u128 {
        let bits = {
            let mut source = self
                .random
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            source()
        };
        let ms = u64::try_from(clock.unix_us() / 1_000).unwrap_or(0);
        u128::from(ms) << 80 | bits & ((1 << 80) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_displayed_ids_and_sorts_them() {
        let ids = Ids::from_source(|| u128::MAX);
        let batch = ids.batch(&SystemClock::new());
        let (first, second) = (batch.grade(0), batch.grade(1));
        assert!(first < second && batch.as_u128() < first.as_u128());
        assert_eq!(first.to_string().parse::<GradeId>().unwrap(), first);
        assert!("nonsense".parse::<GradeId>().is_err());
    }
}
