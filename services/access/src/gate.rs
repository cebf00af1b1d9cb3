//! Authenticates callers. The keys are in memory and are read again within about a second after
//! they change, so a request costs no query.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use assay_core::Clock;
use assay_record::RecordError;
use assay_record::access::{
    AccessState, AccessStore, AuditEntry, KeyUse, LOCAL_CALLER, OtherUse, QuotaUse, namespace_of,
};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::key::{Key, MalformedKey};
use crate::keyring::{Keyring, RefusedKey};
use crate::manage::{COMMAND_LINE, audit_entry};
use crate::metrics;
use crate::proxy::{Proxies, RefusedUser, USER_PREFIX};
use crate::session::{SessionKey, Sessions};

/// How often a node looks for changes of keys.
const REFRESH: Duration = Duration::from_secs(1);

/// After this many refreshes, the use of keys is written.
const REFRESHES_PER_WRITE: u32 = 60;

/// After this many refreshes, the refused callers are written to the audit log. An attacker then
/// adds at most six entries a minute.
const REFRESHES_PER_REFUSALS: u32 = 10;

/// After this many refreshes, everything that was admitted is written for other nodes, also if they
/// know it. Less often than rows of processes that have ended are deleted.
const REFRESHES_PER_SIGN_OF_LIFE: u32 = 600;

/// Maximum number of ids of refused keys in one entry of the audit log.
const MAX_REFUSED_IDS: usize = 8;

/// When a node requires keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPolicy {
    /// As soon as there is a key, even one that was revoked.
    IfAny,
    /// Always.
    Required,
    /// Never.
    Off,
}

/// Why a caller is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The request has no key.
    #[error(
        "this node requires a key; send it as `Authorization: Bearer KEY`, or use \
         `/k/KEY/` as the start of the path"
    )]
    Missing,
    /// The request has several keys.
    #[error("the request has several keys; send one")]
    Several,
    /// The key is malformed.
    #[error(transparent)]
    Malformed(#[from] MalformedKey),
    /// The key is not valid.
    #[error(transparent)]
    Refused(#[from] RefusedKey),
    /// A page was opened without a session.
    #[error("sign in to open this page")]
    NotSignedIn,
    /// The session has ended.
    #[error("the session has ended; sign in again")]
    NoSession,
    /// A proxy names the user in a way that is not accepted, or one without a role.
    #[error(transparent)]
    User(#[from] RefusedUser),
    /// A request without a key has the header of a proxy, but does not come from one.
    #[error(
        "this node requires a key, and believes the header that names the user only from the \
         addresses in `access.proxies`"
    )]
    NotFromProxy,
}

impl Denied {
    /// All values of [`Denied::reason`].
    pub(crate) const REASONS: &[&str] = &[
        "missing",
        "several",
        "malformed",
        "mistyped",
        "unknown",
        "rotated",
        "expired",
        "revoked",
        "no_session",
        "malformed_user",
        "several_users",
        "unknown_user",
        "not_from_proxy",
    ];

    const fn reason(self) -> &'static str {
        match self {
            Self::Missing | Self::NotSignedIn => "missing",
            Self::Several => "several",
            Self::Malformed(MalformedKey::Form) => "malformed",
            Self::Malformed(MalformedKey::Checksum) => "mistyped",
            Self::Refused(RefusedKey::Unknown) => "unknown",
            Self::Refused(RefusedKey::Rotated) => "rotated",
            Self::Refused(RefusedKey::Expired) => "expired",
            Self::Refused(RefusedKey::Revoked) => "revoked",
            Self::NoSession => "no_session",
            Self::User(RefusedUser::Malformed) => "malformed_user",
            Self::User(RefusedUser::Several) => "several_users",
            Self::User(RefusedUser::WithKey) => "several",
            Self::User(RefusedUser::Unknown) => "unknown_user",
            Self::NotFromProxy => "not_from_proxy",
        }
    }
}

/// A run would be in the namespace of another caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the run `{run}` would belong to the caller `{name}`, who would see it as its own; choose a \
     name that does not start with `{name}:`"
)]
pub struct RunOfKey {
    run: String,
    name: String,
}

/// Callers that were refused since the last entry in the audit log. One entry counts them all, so
/// that an attacker cannot fill the database.
#[derive(Debug, Default)]
struct Refusals {
    by_reason: BTreeMap<&'static str, u64>,
    ids: Vec<String>,
}

/// Decides who may call a node.
pub struct Gate {
    policy: KeyPolicy,
    store: Option<Arc<dyn AccessStore>>,
    clock: Arc<dyn Clock>,
    keyring: RwLock<Arc<Keyring>>,
    /// The state of the database that the keyring has; `None` before it is first read.
    state: Mutex<Option<AccessState>>,
    /// What other processes had admitted when it was last read, by process and key; `None` before
    /// that.
    elsewhere: Mutex<Option<HashMap<(String, String), QuotaUse>>>,
    refusals: Mutex<Refusals>,
    sessions: Sessions,
    proxies: Option<Proxies>,
}

impl Gate {
    /// The gate of a node without keys.
    #[must_use]
    pub fn open(clock: Arc<dyn Clock>) -> Self {
        Self::new(KeyPolicy::Off, None, clock)
    }

    fn new(policy: KeyPolicy, store: Option<Arc<dyn AccessStore>>, clock: Arc<dyn Clock>) -> Self {
        metrics::describe(Denied::REASONS);
        Self {
            policy,
            store,
            clock,
            keyring: RwLock::default(),
            state: Mutex::default(),
            elsewhere: Mutex::default(),
            refusals: Mutex::default(),
            sessions: Sessions::default(),
            proxies: None,
        }
    }

    /// The gate that also accepts users whom these proxies name.
    #[must_use]
    pub fn behind(self, proxies: Option<Proxies>) -> Self {
        Self { proxies, ..self }
    }

    /// The gate of a node whose keys are in `store`; without one, the node has no keys.
    ///
    /// # Errors
    /// [`RecordError`] if the keys cannot be read.
    pub async fn start(
        policy: KeyPolicy,
        store: Option<Arc<dyn AccessStore>>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RecordError> {
        let gate = Self::new(policy, store, clock);
        gate.refresh().await?;
        Ok(gate)
    }

    fn keyring(&self) -> Arc<Keyring> {
        Arc::clone(&self.keyring.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether callers need a key.
    #[must_use]
    pub fn requires_key(&self) -> bool {
        match self.policy {
            KeyPolicy::Off => false,
            KeyPolicy::Required => true,
            KeyPolicy::IfAny => self.keyring().has_keys(),
        }
    }

    /// Whether keys were turned off explicitly.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.policy == KeyPolicy::Off
    }

    /// Whether callers need keys but there are none.
    #[must_use]
    pub fn lacks_keys(&self) -> bool {
        self.policy == KeyPolicy::Required && !self.keyring().has_keys()
    }

    /// The storage of keys and of the audit log, if the node has a record.
    #[must_use]
    pub fn store(&self) -> Option<&Arc<dyn AccessStore>> {
        self.store.as_ref()
    }

    /// The clock by which quotas are measured.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Checks the name of a run of a caller without a namespace: an operator, or a caller of a node
    /// that requires no keys. A key that was created within the last second may not be known yet.
    ///
    /// # Errors
    /// [`RunOfKey`] if the run would be in the namespace of a key, or of a user of the proxies.
    pub fn check_shared_run(&self, run: &str) -> Result<(), RunOfKey> {
        let Some(name) = namespace_of(run) else {
            return Ok(());
        };
        let is_user = self.proxies.is_some() && name.starts_with(USER_PREFIX);
        if is_user || self.keyring().has_name(name) {
            return Err(RunOfKey {
                run: run.to_owned(),
                name: name.to_owned(),
            });
        }
        Ok(())
    }

    /// The caller with this key. Without a need for keys, every caller is `local`.
    ///
    /// # Errors
    /// [`Denied`], which is counted and goes to the audit log.
    pub fn authenticate(&self, key: Option<&str>) -> Result<Caller, Denied> {
        if !self.requires_key() {
            return Ok(Caller::local());
        }
        let key = match key.map(Key::parse) {
            Some(Ok(key)) => key,
            Some(Err(malformed)) => return Err(self.refuse(malformed.into(), None)),
            None => return Err(self.refuse(Denied::Missing, None)),
        };
        self.verify(&key)
            .map_err(|refused| self.refuse(refused.into(), Some(key.id())))
    }

    /// The caller with this name, for work that it requested earlier. Without a need for keys,
    /// every caller is `local`.
    ///
    /// # Errors
    /// [`Denied`] if its key is no longer valid, or if the proxies give it no role.
    pub fn named(&self, name: &str) -> Result<Caller, Denied> {
        if !self.requires_key() {
            return Ok(Caller::local());
        }
        if let (Some(user), Some(proxies)) = (name.strip_prefix(USER_PREFIX), self.proxies()) {
            let role = proxies.role(user)?;
            return Ok(Caller::proxied(user, role));
        }
        let keyring = self.keyring();
        if name == LOCAL_CALLER && !keyring.has_name(name) {
            // It was requested before the node had keys.
            return Ok(Caller::local());
        }
        Ok(keyring.named(name, self.clock.unix_us())?)
    }

    /// The proxies whose header names the user, if there are any and callers need a key.
    #[must_use]
    pub fn proxies(&self) -> Option<&Proxies> {
        self.proxies.as_ref().filter(|_| self.requires_key())
    }

    /// The caller whom a trusted proxy names.
    ///
    /// # Errors
    /// [`Denied::User`], which is counted and goes to the audit log.
    pub fn proxied(&self, proxies: &Proxies, user: &str) -> Result<Caller, Denied> {
        match proxies.role(user) {
            Ok(role) => Ok(Caller::proxied(user, role)),
            Err(refused) => {
                let named = (refused == RefusedUser::Unknown).then_some(user);
                Err(self.refuse(refused.into(), named))
            }
        }
    }

    fn verify(&self, key: &Key) -> Result<Caller, RefusedKey> {
        let now_us = self.clock.unix_us();
        let caller = self.keyring().verify(key, now_us)?;
        note_use(&caller, now_us);
        Ok(caller)
    }

    /// Starts a session for the pages and returns its cookie.
    ///
    /// # Errors
    /// [`Denied`] if the key is not valid, or was rotated.
    pub fn sign_in(&self, text: &str) -> Result<String, Denied> {
        let key = Key::parse(text).map_err(|malformed| self.refuse(malformed.into(), None))?;
        let signed_in = || {
            self.verify(&key)?;
            let current = self.keyring().current(&key);
            let hash = current.ok_or(RefusedKey::Rotated)?;
            let id = key.id().to_owned();
            self.sessions
                .start(SessionKey { id, hash }, self.clock.monotonic())
                .map_err(|_| Denied::NoSession)
        };
        signed_in().map_err(|denied| self.refuse(denied, Some(key.id())))
    }

    /// The caller of a session.
    ///
    /// # Errors
    /// [`Denied`] if the session has ended, or its key is no longer valid or was rotated.
    pub fn resume(&self, cookie: &str) -> Result<Caller, Denied> {
        let session = self.sessions.key(cookie, self.clock.monotonic());
        let SessionKey { id, hash } = session.ok_or(Denied::NoSession)?;
        let now_us = self.clock.unix_us();
        let caller = self.keyring().still_valid(&id, &hash, now_us)?;
        note_use(&caller, now_us);
        Ok(caller)
    }

    /// Ends a session.
    pub fn sign_out(&self, cookie: &str) {
        self.sessions.end(cookie);
    }

    /// Counts a refused caller; `id` is the public part of its key or the name
    /// of the user, if that is well formed.
    pub fn refuse(&self, denied: Denied, id: Option<&str>) -> Denied {
        metrics::refused(denied.reason());
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        *refusals.by_reason.entry(denied.reason()).or_default() += 1;
        if let Some(id) = id
            && refusals.ids.len() < MAX_REFUSED_IDS
            && !refusals.ids.iter().any(|known| known == id)
        {
            refusals.ids.push(id.to_owned());
        }
        denied
    }

    /// Reads the keys if they changed, and the bytes stored for keys with a quota for them.
    ///
    /// # Errors
    /// [`RecordError`] if they cannot be read; the earlier keys stay valid.
    pub async fn refresh(&self) -> Result<(), RecordError> {
        let Some(store) = self.store.as_ref().filter(|_| !self.is_off()) else {
            return Ok(());
        };
        self.refresh_keys(store.as_ref()).await?;
        self.refresh_held(store.as_ref()).await
    }

    async fn refresh_held(&self, store: &dyn AccessStore) -> Result<(), RecordError> {
        let keyring = self.keyring();
        // Requests that are done are recorded, so the bytes that are read next include them.
        let marked = keyring
            .meters()
            .filter(|meter| meter.limits_bytes())
            .map(|meter| (meter, meter.mark()));
        let marked: Vec<_> = marked.collect();
        if marked.is_empty() {
            return Ok(());
        }
        let held = store.held().await?;
        for (meter, mark) in marked {
            let bytes = held.get(meter.name().as_ref()).copied();
            meter.set_held(bytes.unwrap_or(0), mark);
        }
        Ok(())
    }

    async fn refresh_keys(&self, store: &dyn AccessStore) -> Result<(), RecordError> {
        let state = store.state().await?;
        if *self.state.lock().unwrap_or_else(PoisonError::into_inner) == Some(state) {
            return Ok(());
        }
        let records = store.keys().await?;
        let keyring = Keyring::new(
            state.secret,
            records,
            &self.keyring(),
            self.clock.monotonic(),
        );
        *self.keyring.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keyring);
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
        Ok(())
    }

    /// Exchanges with the other nodes that share the keys what each has admitted, and charges here
    /// what they have; with `all`, also writes what they know.
    ///
    /// # Errors
    /// [`RecordError`] if that fails. Until it succeeds, each node counts by itself.
    pub async fn exchange_uses(&self, all: bool) -> Result<(), RecordError> {
        let shared = self.store.as_ref().filter(|store| store.is_shared());
        let Some(store) = shared.filter(|_| !self.is_off()) else {
            return Ok(());
        };
        let keyring = self.keyring();
        let unwritten = keyring.meters().filter_map(|meter| {
            let used = meter.unwritten(all)?;
            Some((meter, used))
        });
        let (meters, uses): (Vec<_>, Vec<_>) = unwritten.unzip();
        let others = store.exchange_uses(&uses).await?;
        for (meter, used) in meters.into_iter().zip(uses) {
            meter.set_written(used);
        }
        let by_key = self.admitted_elsewhere(others);
        let now = self.clock.monotonic();
        for meter in keyring.meters() {
            let used = by_key.get(meter.id()).cloned().unwrap_or_default();
            meter.charge_elsewhere(&used, now);
        }
        Ok(())
    }

    /// What other processes have admitted since the last call and have in progress, by key. What
    /// they admitted before the first call does not count.
    fn admitted_elsewhere(&self, others: Vec<OtherUse>) -> HashMap<String, QuotaUse> {
        let mut elsewhere = self
            .elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut by_key: HashMap<String, QuotaUse> = HashMap::new();
        let mut read = HashMap::with_capacity(others.len());
        for OtherUse { process, used } in others {
            let at = (process, used.key.clone());
            let counted = match &*elsewhere {
                Some(known) => known.get(&at).cloned().unwrap_or_default(),
                None => used.clone(),
            };
            let sum = by_key.entry(used.key.clone()).or_default();
            sum.items = sum
                .items
                .saturating_add(used.items.saturating_sub(counted.items));
            let cpu_us = used.cpu_us.saturating_sub(counted.cpu_us);
            sum.cpu_us = sum.cpu_us.saturating_add(cpu_us);
            sum.in_flight = sum.in_flight.saturating_add(used.in_flight);
            read.insert(at, used);
        }
        *elsewhere = Some(read);
        by_key
    }

    /// Writes when keys were used.
    ///
    /// # Errors
    /// [`RecordError`] if that fails; it is tried again the next time.
    pub async fn write_use(&self) -> Result<(), RecordError> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        let keyring = self.keyring();
        let uses = keyring.meters().filter_map(|meter| {
            let key_use = KeyUse {
                id: meter.id().to_owned(),
                last_used_us: meter.take_use()?,
            };
            Some((Arc::clone(meter), key_use))
        });
        let (meters, uses): (Vec<_>, Vec<_>) = uses.unzip();
        if uses.is_empty() {
            return Ok(());
        }
        let written = store.record_use(&uses).await;
        if written.is_err() {
            for (meter, key_use) in meters.iter().zip(&uses) {
                meter.used(key_use.last_used_us);
            }
        }
        written
    }

    /// Writes the refused callers since the last call to the audit log, as one entry.
    ///
    /// # Errors
    /// [`RecordError`] if that fails.
    pub async fn write_refusals(&self) -> Result<(), RecordError> {
        let refusals =
            std::mem::take(&mut *self.refusals.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(store) = self
            .store
            .as_ref()
            .filter(|_| !refusals.by_reason.is_empty())
        else {
            return Ok(());
        };
        let entry = AuditEntry {
            time_us: self.clock.unix_us(),
            caller: "unknown".to_owned(),
            role: None,
            action: "caller.refused".to_owned(),
            target: refusals.ids.join(" "),
            details: json!(refusals.by_reason),
        };
        store.append_audit(&entry).await
    }

    /// Keeps the keys up to date, and writes their use and the refused callers. Runs until it is
    /// dropped.
    pub async fn run(&self) {
        if self.store.is_none() {
            return std::future::pending().await;
        }
        let (mut failing, mut refreshes) = (false, 0u32);
        loop {
            tokio::time::sleep(REFRESH).await;
            refreshes = refreshes.wrapping_add(1);
            let done = async {
                self.refresh().await?;
                let all = refreshes.is_multiple_of(REFRESHES_PER_SIGN_OF_LIFE);
                self.exchange_uses(all).await?;
                if refreshes.is_multiple_of(REFRESHES_PER_REFUSALS) {
                    self.write_refusals().await?;
                }
                if refreshes.is_multiple_of(REFRESHES_PER_WRITE) {
                    self.write_use().await?;
                }
                Ok::<_, RecordError>(())
            };
            let done = done.await;
            if let Err(error) = &done
                && !failing
            {
                tracing::error!(%error, "cannot read or write the keys of callers");
            }
            failing = done.is_err();
        }
    }

    /// Writes what [`Gate::run`] has not written yet, when a node stops.
    pub async fn finish(&self) {
        let written = async {
            self.write_refusals().await?;
            self.exchange_uses(false).await?;
            self.write_use().await
        };
        if let Err(error) = written.await {
            tracing::warn!(%error, "cannot write the use of keys");
        }
    }

    /// Appends an administrative act to the audit log. A failure is logged: the act has happened.
    pub async fn audit(&self, caller: &Caller, action: &str, target: &str, details: Value) {
        let role = caller.is_named().then(|| caller.role());
        let entry = audit_entry(self.clock.as_ref(), caller.name(), action, target, details);
        self.append(AuditEntry { role, ..entry }).await;
    }

    /// Like [`Gate::audit`], for an act of a command that has opened the database.
    pub async fn audit_command(&self, action: &str, target: &str, details: Value) {
        let entry = audit_entry(self.clock.as_ref(), COMMAND_LINE, action, target, details);
        self.append(entry).await;
    }

    async fn append(&self, entry: AuditEntry) {
        let Some(store) = &self.store else { return };
        let AuditEntry { action, target, .. } = &entry;
        if let Err(error) = store.append_audit(&entry).await {
            tracing::error!(%error, action, target, "cannot write to the audit log");
        }
    }
}

fn note_use(caller: &Caller, now_us: i64) {
    if let Some(meter) = caller.meter() {
        meter.used(now_us);
        metrics::requested(meter.name());
    }
}
