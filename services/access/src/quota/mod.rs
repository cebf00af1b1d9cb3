//! Quotas of keys. Each is enforced by a meter in memory, so allowances are full after a restart,
//! except for the bytes stored: the gate reads from the record how many are stored for the key, and
//! the meter adds estimates for later requests. Where nodes share a record, the gate exchanges with
//! the others what each meter has admitted.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_record::access::{QuotaUse, Quotas};

use crate::metrics;

/// When a client may retry a request that waiting alone does not admit.
const NEVER: Duration = Duration::from_secs(3_600);

/// Least allowance of grading time with which a request is admitted, in seconds.
const LEAST_TIME: f64 = 1e-3;

/// A quota of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Items submitted in a minute.
    ItemsPerMinute,
    /// Seconds of grading in a minute.
    CpuSecondsPerMinute,
    /// Items in progress.
    ItemsInFlight,
    /// Bytes stored in the record.
    BytesStored,
}

/// A text is not the name of a quota.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown quota `{0}`; use `items-per-minute`, `cpu-seconds-per-minute`, `items-in-flight` or \
     `bytes-stored`"
)]
pub struct UnknownQuota(String);

impl FromStr for Quota {
    type Err = UnknownQuota;

    /// Accepts the names of options, with hyphens, and those of messages, with underscores.
    fn from_str(text: &str) -> Result<Self, UnknownQuota> {
        let name = text.replace('-', "_");
        Self::ALL
            .into_iter()
            .find(|quota| quota.as_str() == name)
            .ok_or_else(|| UnknownQuota(text.to_owned()))
    }
}

impl Quota {
    /// All quotas.
    pub const ALL: [Self; 4] = [
        Self::ItemsPerMinute,
        Self::CpuSecondsPerMinute,
        Self::ItemsInFlight,
        Self::BytesStored,
    ];

    /// Its value in `quotas`.
    #[must_use]
    pub fn limit(self, mut quotas: Quotas) -> Option<u64> {
        *self.limit_mut(&mut quotas)
    }

    pub(crate) fn limit_mut(self, quotas: &mut Quotas) -> &mut Option<u64> {
        match self {
            Self::ItemsPerMinute => &mut quotas.items_per_minute,
            Self::CpuSecondsPerMinute => &mut quotas.cpu_seconds_per_minute,
            Self::ItemsInFlight => &mut quotas.items_in_flight,
            Self::BytesStored => &mut quotas.bytes_stored,
        }
    }

    /// Name of the quota, as in `assay keys`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ItemsPerMinute => "items_per_minute",
            Self::CpuSecondsPerMinute => "cpu_seconds_per_minute",
            Self::ItemsInFlight => "items_in_flight",
            Self::BytesStored => "bytes_stored",
        }
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request exceeds a quota of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExceededQuota {
    /// The quota.
    pub quota: Quota,
    /// Its value.
    pub limit: u64,
    /// When the request fits; `None` if time alone does not free the quota.
    pub retry_after: Option<Duration>,
    /// For [`Quota::BytesStored`]: the bytes that are used, including estimates for requests in
    /// progress, and the estimate for this request.
    pub bytes: Option<(u64, u64)>,
}

impl fmt::Display for ExceededQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            quota,
            limit,
            retry_after,
            bytes,
        } = self;
        write!(f, "the quota `{quota}` of the key ({limit}) is exceeded; ")?;
        match (quota, retry_after) {
            (Quota::ItemsInFlight, _) => f.write_str("retry when earlier requests are done"),
            (_, Some(wait)) => write!(f, "retry in {} s", seconds(*wait)),
            (_, None) => {
                let (used, needed) = bytes.unwrap_or_default();
                write!(
                    f,
                    "{used} bytes are used, and this request may need {needed}; ask the operator \
                     of the node to delete grades of the key or to raise the quota"
                )
            }
        }
    }
}

impl std::error::Error for ExceededQuota {}

/// Whole seconds, rounded up, at least 1.
fn seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

impl ExceededQuota {
    /// Seconds to wait before the request is sent again.
    #[must_use]
    pub fn retry_after_s(&self) -> u64 {
        seconds(self.retry_after.unwrap_or(NEVER))
    }
}

/// A bucket of tokens that fills at a constant rate up to the limit of a minute. Spending may make
/// it negative: a batch larger than the limit is admitted when the bucket is full, and delays later
/// ones, so that the rate holds on average.
#[derive(Debug)]
struct Bucket {
    /// Tokens when it was last used.
    tokens: f64,
    /// When that was.
    at: Duration,
}

impl Bucket {
    /// A bucket that is full; empty without a limit.
    #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^52")]
    fn full(limit: Option<u64>, now: Duration) -> Self {
        Self {
            tokens: limit.unwrap_or(0) as f64,
            at: now,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^52")]
    fn refill(&mut self, limit: u64, now: Duration) {
        let limit = limit as f64;
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * limit / 60.0).min(limit);
        self.at = now;
    }

    /// How long until the bucket has `amount` tokens, or is full.
    #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^52")]
    fn wait(&self, amount: f64, limit: u64) -> Option<Duration> {
        if limit == 0 {
            return Some(NEVER);
        }
        let missing = amount.min(limit as f64) - self.tokens;
        (missing > 0.0)
            .then(|| Duration::try_from_secs_f64(missing * 60.0 / limit as f64).unwrap_or(NEVER))
    }
}

/// Bytes that are stored for a key: those in the record when it was last read, and estimates for
/// later requests.
#[derive(Debug, Default)]
struct StoredBytes {
    held: u64,
    /// Estimates for the requests in progress.
    in_progress: u64,
    /// Estimates for all requests that are done.
    done: u64,
    /// The part of `done` that is included in `held`, because it was done before the record was
    /// read.
    read: u64,
}

impl StoredBytes {
    fn used(&self) -> u64 {
        let since = self.done.saturating_sub(self.read);
        self.held
            .saturating_add(self.in_progress)
            .saturating_add(since)
    }
}

#[derive(Debug)]
struct Usage {
    items: Bucket,
    cpu_seconds: Bucket,
    bytes: StoredBytes,
}

impl Usage {
    /// Charges what another node has admitted; less than nothing if it has rejected a request that
    /// it had admitted. Allowances must be up to date, because time adds to what is left of them.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn charge(&mut self, quotas: Quotas, items: i64, cpu_us: i64, now: Duration) {
        if let Some(limit) = quotas.items_per_minute {
            self.items.refill(limit, now);
            self.items.tokens -= items as f64;
        }
        if let Some(limit) = quotas.cpu_seconds_per_minute {
            self.cpu_seconds.refill(limit, now);
            self.cpu_seconds.tokens -= cpu_us as f64 / 1e6;
        }
    }

    /// Fails if no time is left. Work is charged when its time is known.
    fn check_time(&mut self, quotas: Quotas, now: Duration) -> Result<(), ExceededQuota> {
        let Some(limit) = quotas.cpu_seconds_per_minute else {
            return Ok(());
        };
        self.cpu_seconds.refill(limit, now);
        match self.cpu_seconds.wait(LEAST_TIME, limit) {
            None => Ok(()),
            Some(wait) => Err(ExceededQuota {
                quota: Quota::CpuSecondsPerMinute,
                limit,
                retry_after: Some(wait),
                bytes: None,
            }),
        }
    }
}

/// Meters what a key uses. Survives changes of the key.
#[derive(Debug)]
pub struct Meter {
    id: String,
    name: Arc<str>,
    quotas: Mutex<Quotas>,
    usage: Mutex<Usage>,
    in_flight: AtomicU64,
    /// Items in progress on other nodes, as far as known.
    elsewhere: AtomicU64,
    /// Items admitted and microseconds charged since the process started.
    admitted: (AtomicI64, AtomicI64),
    /// What was last written for other nodes.
    written: Mutex<Option<QuotaUse>>,
    /// When the key was last used, in microseconds since the Unix epoch; 0 for not since the last
    /// write.
    used_us: AtomicI64,
}

impl Meter {
    /// A meter with full allowances.
    #[must_use]
    pub fn new(id: &str, name: &str, quotas: Quotas, now: Duration) -> Self {
        let usage = Usage {
            items: Bucket::full(quotas.items_per_minute, now),
            cpu_seconds: Bucket::full(quotas.cpu_seconds_per_minute, now),
            bytes: StoredBytes::default(),
        };
        Self {
            id: id.to_owned(),
            name: name.into(),
            quotas: Mutex::new(quotas),
            usage: Mutex::new(usage),
            in_flight: AtomicU64::new(0),
            elsewhere: AtomicU64::new(0),
            admitted: (AtomicI64::new(0), AtomicI64::new(0)),
            written: Mutex::new(None),
            used_us: AtomicI64::new(0),
        }
    }

    /// Public part of the key.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Name of the key.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn quotas(&self) -> Quotas {
        *self.quotas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the quotas. The allowance of a quota that the key did not have is full: what was
    /// used without it does not count.
    pub(crate) fn set_quotas(&self, quotas: Quotas, now: Duration) {
        let mut current = self.quotas.lock().unwrap_or_else(PoisonError::into_inner);
        let mut usage = self.usage();
        if current.items_per_minute.is_none() {
            usage.items = Bucket::full(quotas.items_per_minute, now);
        }
        if current.cpu_seconds_per_minute.is_none() {
            usage.cpu_seconds = Bucket::full(quotas.cpu_seconds_per_minute, now);
        }
        *current = quotas;
    }

    /// Whether the record must be read for the key.
    pub(crate) fn limits_bytes(&self) -> bool {
        self.quotas().bytes_stored.is_some()
    }

    /// Marks the requests that are done, before the record is read.
    pub(crate) fn mark(&self) -> ReadMark {
        ReadMark(self.usage().bytes.done)
    }

    /// Sets the bytes that were in the record when it was read after `mark`. A reading that is
    /// older than the current one is ignored.
    pub(crate) fn set_held(&self, held: u64, mark: ReadMark) {
        let bytes = &mut self.usage().bytes;
        if mark.0 >= bytes.read {
            (bytes.held, bytes.read) = (held, mark.0);
        }
    }

    /// Bytes stored for the key, including estimates for requests in progress.
    #[cfg(test)]
    fn bytes_used(&self) -> u64 {
        self.usage().bytes.used()
    }

    /// What the meter has admitted; `None` if other nodes know it already, or do not need it. Items
    /// in progress are always written, and with `all` whatever is not 0, to show that the process
    /// has not ended.
    pub(crate) fn unwritten(&self, all: bool) -> Option<QuotaUse> {
        let quotas = self.quotas();
        quotas
            .items_per_minute
            .or(quotas.cpu_seconds_per_minute)
            .or(quotas.items_in_flight)?;
        let used = QuotaUse {
            key: self.id.clone(),
            items: self.admitted.0.load(Ordering::Acquire),
            cpu_us: self.admitted.1.load(Ordering::Acquire),
            in_flight: signed(self.in_flight.load(Ordering::Acquire)),
        };
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = written.as_ref().map_or(
            (used.items, used.cpu_us, used.in_flight) == (0, 0, 0),
            |known| *known == used && !all,
        );
        (used.in_flight > 0 || !is_known).then_some(used)
    }

    /// Notes what was written.
    pub(crate) fn set_written(&self, used: QuotaUse) {
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(used);
    }

    /// Charges what other nodes have admitted since the last call, and notes what they have in
    /// progress.
    pub(crate) fn charge_elsewhere(&self, used: &QuotaUse, now: Duration) {
        let quotas = self.quotas();
        self.usage().charge(quotas, used.items, used.cpu_us, now);
        let in_flight = u64::try_from(used.in_flight).unwrap_or(0);
        self.elsewhere.store(in_flight, Ordering::Release);
    }

    pub(crate) fn used(&self, now_us: i64) {
        self.used_us.fetch_max(now_us, Ordering::Relaxed);
    }

    /// When the key was last used; `None` if it was not used since the last call.
    pub(crate) fn take_use(&self) -> Option<i64> {
        let used_us = self.used_us.swap(0, Ordering::Relaxed);
        (used_us != 0).then_some(used_us)
    }

    /// Admits a request with `items` items that takes about `bytes` bytes of the record, at the
    /// monotonic time `now`.
    ///
    /// # Errors
    /// [`ExceededQuota`]; nothing is counted.
    pub fn admit(
        self: &Arc<Self>,
        items: usize,
        bytes: usize,
        now: Duration,
    ) -> Result<Charge, ExceededQuota> {
        self.try_admit(items, bytes, now)
            .inspect_err(|exceeded| metrics::exceeded(&self.name, exceeded.quota.as_str()))
    }

    fn try_admit(
        self: &Arc<Self>,
        items: usize,
        bytes: usize,
        now: Duration,
    ) -> Result<Charge, ExceededQuota> {
        let quotas = self.quotas();
        let (items, bytes) = (items as u64, bytes as u64);
        // Held until the items in flight are counted, so that the check and the count are atomic.
        let mut usage = self.usage();
        let used = usage.bytes.used();
        if let Some(limit) = quotas.bytes_stored
            && bytes > 0
            && used.saturating_add(bytes) > limit
        {
            return Err(ExceededQuota {
                quota: Quota::BytesStored,
                limit,
                retry_after: None,
                bytes: Some((used, bytes)),
            });
        }
        let in_flight = self
            .in_flight
            .load(Ordering::Acquire)
            .saturating_add(self.elsewhere.load(Ordering::Acquire));
        if let Some(limit) = quotas.items_in_flight
            // A batch that is larger than the limit is admitted alone.
            && (in_flight > 0 || limit == 0)
            && in_flight.saturating_add(items) > limit
        {
            return Err(ExceededQuota {
                quota: Quota::ItemsInFlight,
                limit,
                retry_after: Some(Duration::from_secs(1)),
                bytes: None,
            });
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let amount = items as f64;
        usage.check_time(quotas, now)?;
        if let Some(limit) = quotas.items_per_minute
            && items > 0
        {
            usage.items.refill(limit, now);
            if let Some(wait) = usage.items.wait(amount, limit) {
                return Err(ExceededQuota {
                    quota: Quota::ItemsPerMinute,
                    limit,
                    retry_after: Some(wait),
                    bytes: None,
                });
            }
            usage.items.tokens -= amount;
        }
        self.in_flight.fetch_add(items, Ordering::AcqRel);
        self.admitted.0.fetch_add(signed(items), Ordering::AcqRel);
        let in_progress = &mut usage.bytes.in_progress;
        *in_progress = in_progress.saturating_add(bytes);
        drop(usage);
        Ok(Charge {
            meter: Arc::clone(self),
            items,
            bytes,
            rejected: AtomicBool::new(false),
        })
    }

    /// Admits a request before its body is read, if the key has time left at the monotonic time
    /// `now`.
    ///
    /// # Errors
    /// [`ExceededQuota`].
    pub(crate) fn admit_time(&self, now: Duration) -> Result<(), ExceededQuota> {
        let quotas = self.quotas();
        self.usage()
            .check_time(quotas, now)
            .inspect_err(|exceeded| metrics::exceeded(&self.name, exceeded.quota.as_str()))
    }

    /// Charges time.
    pub(crate) fn spend(&self, time: Duration) {
        metrics::spent(&self.name, time);
        let us = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        self.admitted.1.fetch_add(us, Ordering::AcqRel);
        self.usage().cpu_seconds.tokens -= time.as_secs_f64();
    }
}

/// The requests of a key that were done at some moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadMark(u64);

/// An admitted request. It is in progress until this is dropped, which must not happen before it is
/// recorded.
#[derive(Debug)]
pub struct Charge {
    meter: Arc<Meter>,
    items: u64,
    bytes: u64,
    rejected: AtomicBool,
}

impl Charge {
    /// Charges grading time.
    pub fn spend(&self, time: Duration) {
        self.meter.spend(time);
    }

    /// The request was rejected after it had been admitted: it counts as one item, and its bytes do
    /// not count.
    pub fn reject(&self) {
        self.rejected.store(true, Ordering::Release);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let rejected = self.rejected.load(Ordering::Acquire);
        self.meter.in_flight.fetch_sub(self.items, Ordering::AcqRel);
        let mut usage = self.meter.usage();
        let bytes = &mut usage.bytes;
        bytes.in_progress = bytes.in_progress.saturating_sub(self.bytes);
        if rejected {
            let others = self.items.saturating_sub(1);
            self.meter
                .admitted
                .0
                .fetch_sub(signed(others), Ordering::AcqRel);
            // The next refill limits the sum.
            #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
            let tokens = others as f64;
            usage.items.tokens += tokens;
        } else {
            bytes.done = bytes.done.saturating_add(self.bytes);
            drop(usage);
            metrics::admitted(&self.meter.name, self.items);
        }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
