//! Keys of callers and the audit log. They are written directly, not through the spool: they are
//! few, and `assay keys` writes them while a node runs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use assay_core::BoxFuture;

use super::postgres;
use super::query;
use super::rows::count;
use crate::RecordError;
use crate::access::{
    AccessState, AccessStore, AuditEntry, AuditRecord, KeyError, KeyRecord, KeyUse, OtherUse,
    QuotaUse, Quotas, Role,
};
use crate::database::sql::{self, Connection, Pool, Row};
use crate::database::{DatabaseError, Location};
use crate::pending::{Digest, Pending};

const TABLE: &str = "keys";

const SELECT_KEYS: &str = "select id, name, role, hash, previous_hash, previous_until_us, \
     items_per_minute, cpu_seconds_per_minute, items_in_flight, bytes_stored_limit, created_us, \
     rotated_us, expires_us, revoked_us, last_used_us, \
     coalesce((select bytes from caller_holdings where caller = keys.name), 0) \
     + coalesce((select bytes from permanent_holdings where caller = keys.name), 0) \
     + coalesce((select bytes from reply_holdings where caller = keys.name), 0) as bytes_held \
     from keys order by name";

const SELECT_HELD: &str = "select caller, cast(sum(bytes) as bigint) as bytes from (\
     select caller, bytes from caller_holdings \
     union all select caller, bytes from permanent_holdings \
     union all select caller, bytes from reply_holdings) as held group by caller";

const INSERT_KEY: &str = "insert into keys (id, role, hash, previous_hash, previous_until_us, \
     items_per_minute, cpu_seconds_per_minute, items_in_flight, bytes_stored_limit, created_us, \
     rotated_us, expires_us, revoked_us, name) \
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";

const UPDATE_KEY: &str = "update keys set id = $1, role = $2, hash = $3, previous_hash = $4, \
     previous_until_us = $5, items_per_minute = $6, cpu_seconds_per_minute = $7, \
     items_in_flight = $8, bytes_stored_limit = $9, created_us = $10, rotated_us = $11, \
     expires_us = $12, revoked_us = $13 where name = $14";

/// The tables of keys and of the audit log.
#[derive(Debug, Clone)]
pub struct RecordAccess {
    pool: Pool,
    /// Name of this process among those that use the database.
    process: Arc<str>,
    /// `None` if the database is opened without its spool.
    unapplied: Option<Unapplied>,
}

/// The entries that are recorded but not in the database yet.
#[derive(Clone)]
struct Unapplied {
    /// Name of the spool.
    spool: Arc<str>,
    pending: Arc<Pending>,
}

impl std::fmt::Debug for Unapplied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unapplied").finish_non_exhaustive()
    }
}

impl RecordAccess {
    /// Opens the tables of a database in the same file as `writer`, which is used itself if the
    /// database is in memory.
    pub(super) async fn beside(location: &Location, writer: &Pool) -> Result<Self, DatabaseError> {
        let pool = if location.is_in_memory() {
            writer.clone()
        } else {
            location.connect_access().await?
        };
        Self::prepared(pool).await
    }

    /// Opens the database of `location`, creating and migrating it.
    pub(crate) async fn open(location: &Location) -> Result<Self, DatabaseError> {
        let writer = location.connect_writer().await?;
        if location.is_in_memory() {
            return Self::prepared(writer).await;
        }
        writer.close().await;
        Self::prepared(location.connect_access().await?).await
    }

    /// Appends an entry to the audit log of the database of `location`, which exists.
    pub(crate) async fn append_to(
        location: &Location,
        entry: &AuditEntry,
    ) -> Result<(), DatabaseError> {
        let mut connection = location.connect_once().await?;
        append(&mut connection, entry).await?;
        Ok(connection.close().await?)
    }

    async fn prepared(pool: Pool) -> Result<Self, DatabaseError> {
        let (secret, process) = (random::<32>()?, u128::from_ne_bytes(random()?));
        sql::query(
            "insert into access (no, secret, version) values (1, $1, 0) on conflict do nothing",
        )
        .bind(&secret[..])
        .execute(&mut pool.acquire().await?)
        .await?;
        Ok(Self {
            pool,
            process: format!("{process:032x}").into(),
            unapplied: None,
        })
    }

    /// Includes the `pending` entries of this spool in the stored bytes.
    pub(crate) fn with_pending(self, spool: &str, pending: Arc<Pending>) -> Self {
        let spool = spool.into();
        Self {
            unapplied: Some(Unapplied { spool, pending }),
            ..self
        }
    }

    /// Closes the connection.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// A connection that syncs every commit.
    pub(crate) async fn connection(&self) -> Result<Connection, DatabaseError> {
        Ok(self.pool.acquire().await?)
    }

    async fn read_state(&self) -> Result<AccessState, DatabaseError> {
        let row = sql::query("select secret, version from access")
            .fetch_one(&mut self.pool.acquire().await?)
            .await?;
        Ok(AccessState {
            secret: hash(&row, "secret")?.ok_or_else(|| invalid("access", "secret", &"is null"))?,
            version: row.try_get("version")?,
        })
    }

    async fn read_keys(&self) -> Result<Vec<KeyRecord>, DatabaseError> {
        read_keys(&mut self.pool.acquire().await?).await
    }

    async fn create(&self, key: &KeyRecord, audit: &AuditEntry) -> Result<(), CreateError> {
        let begun = self.pool.begin_writing().await;
        let mut transaction = begun.map_err(DatabaseError::from)?;
        let exists: i64 = sql::query_scalar("select count(*) from keys where name = $1")
            .bind(&key.name)
            .fetch_one(&mut transaction)
            .await
            .map_err(DatabaseError::from)?;
        if exists > 0 {
            return Err(CreateError::Exists);
        }
        // `;` follows `:`, so the range contains all names with the prefix.
        let runs: i64 = sql::query_scalar(
            "select count(*) from \
             (select 1 from runs where name >= $1 and name < $2 limit 1) as owned",
        )
        .bind(format!("{}:", key.name))
        .bind(format!("{};", key.name))
        .fetch_one(&mut transaction)
        .await
        .map_err(DatabaseError::from)?;
        if runs > 0 {
            return Err(CreateError::OwnsRuns);
        }
        write_key(&mut transaction, INSERT_KEY, key).await?;
        append(&mut transaction, audit).await?;
        transaction.commit().await.map_err(DatabaseError::from)?;
        Ok(())
    }

    /// Replaces `old` by `new` if it is the key of this name. Returns the key that was found.
    async fn replace(
        &self,
        old: &KeyRecord,
        new: &KeyRecord,
        audit: &AuditEntry,
    ) -> Result<Option<KeyRecord>, DatabaseError> {
        let mut transaction = self.pool.begin_writing().await?;
        let keys = read_keys(&mut transaction).await?;
        let found = keys.into_iter().find(|key| key.name == old.name);
        if is_replaceable(found.as_ref(), old) {
            write_key(&mut transaction, UPDATE_KEY, new).await?;
            append(&mut transaction, audit).await?;
        }
        transaction.commit().await?;
        Ok(found)
    }

    async fn write_uses(&self, uses: &[KeyUse]) -> Result<(), DatabaseError> {
        let mut transaction = self.pool.begin_writing().await?;
        for used in uses {
            sql::query(
                "update keys set last_used_us = case when last_used_us > $1 then last_used_us \
                 else $1 end where id = $2",
            )
            .bind(used.last_used_us)
            .bind(&used.id)
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    async fn read_held(&self) -> Result<HashMap<String, u64>, DatabaseError> {
        // Listed before the database is read, so that no entry is missed.
        let pending = self.unapplied.as_ref().map(|unapplied| {
            let recorded = unapplied.pending.select(Digest::is_held);
            (&unapplied.spool, recorded)
        });
        let mut transaction = self.pool.begin().await?;
        let mut held = HashMap::new();
        if let Some((spool, entries)) = pending {
            let progress = query::progress(&mut transaction, spool).await?;
            for entry in entries.iter().filter(|entry| entry.end > progress) {
                let bytes: &mut u64 = held.entry(entry.digest.caller.to_string()).or_default();
                *bytes += entry.size();
            }
        }
        let rows = sql::query(SELECT_HELD).fetch_all(&mut transaction).await?;
        for row in rows {
            *held.entry(row.try_get("caller")?).or_default() += count(row.try_get("bytes")?);
        }
        Ok(held)
    }

    async fn exchange(&self, uses: &[QuotaUse]) -> Result<Vec<OtherUse>, DatabaseError> {
        let mut connection = self.pool.acquire().await?;
        postgres::quota_uses::exchange(&mut connection, &self.process, uses).await
    }

    async fn append_one(&self, entry: &AuditEntry) -> Result<(), DatabaseError> {
        let mut connection = self.pool.acquire().await?;
        append(&mut connection, entry).await
    }

    async fn read_log(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>, DatabaseError> {
        let rows = sql::query(
            "select no, time_us, caller, role, action, target, details from audit \
             where no < $1 order by no desc limit $2",
        )
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit)
        .fetch_all(&mut self.pool.acquire().await?)
        .await?;
        rows.iter().map(read_audit).collect()
    }
}

fn random<const BYTES: usize>() -> Result<[u8; BYTES], DatabaseError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        DatabaseError::Driver(sqlx::Error::Io(std::io::Error::other(error.to_string())))
    })?;
    Ok(bytes)
}

async fn read_keys(connection: &mut Connection) -> Result<Vec<KeyRecord>, DatabaseError> {
    let rows = sql::query(SELECT_KEYS).fetch_all(connection).await?;
    rows.iter().map(read_key).collect()
}

/// Whether the key that was found is still `old`. A revoked key does not change.
fn is_replaceable(found: Option<&KeyRecord>, old: &KeyRecord) -> bool {
    found.is_some_and(|found| found.revoked_us.is_none() && found.is_same_state(old))
}

enum CreateError {
    Exists,
    OwnsRuns,
    Database(DatabaseError),
}

impl From<DatabaseError> for CreateError {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error)
    }
}

/// Executes [`INSERT_KEY`] or [`UPDATE_KEY`].
async fn write_key(
    connection: &mut Connection,
    sql: &'static str,
    key: &KeyRecord,
) -> Result<(), DatabaseError> {
    let previous = key.previous.as_ref();
    sql::query(sql)
        .bind(&key.id)
        .bind(key.role.as_str())
        .bind(&key.hash[..])
        .bind(previous.map(|(hash, _)| &hash[..]))
        .bind(previous.map(|(_, until_us)| *until_us))
        .bind(key.quotas.items_per_minute.map(signed))
        .bind(key.quotas.cpu_seconds_per_minute.map(signed))
        .bind(key.quotas.items_in_flight.map(signed))
        .bind(key.quotas.bytes_stored.map(signed))
        .bind(key.created_us)
        .bind(key.rotated_us)
        .bind(key.expires_us)
        .bind(key.revoked_us)
        .bind(&key.name)
        .execute(connection)
        .await?;
    Ok(())
}

async fn append(connection: &mut Connection, entry: &AuditEntry) -> Result<(), DatabaseError> {
    sql::query(
        "insert into audit (time_us, caller, role, action, target, details) \
         values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(entry.time_us)
    .bind(&entry.caller)
    .bind(entry.role.map(Role::as_str))
    .bind(&entry.action)
    .bind(&entry.target)
    .bind(entry.details.to_string())
    .execute(connection)
    .await?;
    Ok(())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn invalid(table: &'static str, column: &'static str, reason: &dyn ToString) -> DatabaseError {
    DatabaseError::Row {
        table,
        column,
        reason: reason.to_string(),
    }
}

fn hash(row: &Row, column: &'static str) -> Result<Option<[u8; 32]>, DatabaseError> {
    let bytes: Option<&[u8]> = row.try_get(column)?;
    bytes
        .map(|bytes| {
            bytes
                .try_into()
                .map_err(|_| invalid(TABLE, column, &"has not 32 bytes"))
        })
        .transpose()
}

fn read_key(row: &Row) -> Result<KeyRecord, DatabaseError> {
    let limit = |column| -> Result<Option<u64>, DatabaseError> {
        let limit: Option<i64> = row.try_get(column)?;
        Ok(limit.map(|limit| u64::try_from(limit).unwrap_or(0)))
    };
    let role: Cow<'_, str> = row.try_get("role")?;
    let until_us: Option<i64> = row.try_get("previous_until_us")?;
    Ok(KeyRecord {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        role: role
            .parse()
            .map_err(|error| invalid(TABLE, "role", &error))?,
        hash: hash(row, "hash")?.ok_or_else(|| invalid(TABLE, "hash", &"is null"))?,
        previous: hash(row, "previous_hash")?.zip(until_us),
        quotas: Quotas {
            items_per_minute: limit("items_per_minute")?,
            cpu_seconds_per_minute: limit("cpu_seconds_per_minute")?,
            items_in_flight: limit("items_in_flight")?,
            bytes_stored: limit("bytes_stored_limit")?,
        },
        created_us: row.try_get("created_us")?,
        rotated_us: row.try_get("rotated_us")?,
        expires_us: row.try_get("expires_us")?,
        revoked_us: row.try_get("revoked_us")?,
        last_used_us: row.try_get("last_used_us")?,
        bytes_stored: count(row.try_get("bytes_held")?),
    })
}

fn read_audit(row: &Row) -> Result<AuditRecord, DatabaseError> {
    let role: Option<Cow<'_, str>> = row.try_get("role")?;
    let details: Cow<'_, str> = row.try_get("details")?;
    Ok(AuditRecord {
        no: row.try_get("no")?,
        entry: AuditEntry {
            time_us: row.try_get("time_us")?,
            caller: row.try_get("caller")?,
            role: role
                .map(|role| role.parse())
                .transpose()
                .map_err(|error| invalid("audit", "role", &error))?,
            action: row.try_get("action")?,
            target: row.try_get("target")?,
            details: serde_json::from_str(&details)
                .map_err(|error| invalid("audit", "details", &error))?,
        },
    })
}

impl AccessStore for RecordAccess {
    fn state(&self) -> BoxFuture<'_, Result<AccessState, RecordError>> {
        Box::pin(async { Ok(self.read_state().await?) })
    }

    fn keys(&self) -> BoxFuture<'_, Result<Vec<KeyRecord>, RecordError>> {
        Box::pin(async { Ok(self.read_keys().await?) })
    }

    fn create_key<'a>(
        &'a self,
        key: &'a KeyRecord,
        audit: &'a AuditEntry,
    ) -> BoxFuture<'a, Result<(), KeyError>> {
        Box::pin(async {
            self.create(key, audit).await.map_err(|error| match error {
                CreateError::Exists => KeyError::Exists(key.name.clone()),
                CreateError::OwnsRuns => KeyError::OwnsRuns(key.name.clone()),
                CreateError::Database(error) => KeyError::Store(error.into()),
            })
        })
    }

    fn replace_key<'a>(
        &'a self,
        old: &'a KeyRecord,
        new: &'a KeyRecord,
        audit: &'a AuditEntry,
    ) -> BoxFuture<'a, Result<(), KeyError>> {
        Box::pin(async {
            let found = self.replace(old, new, audit).await;
            match found.map_err(RecordError::from)? {
                None => Err(KeyError::Unknown(old.name.clone())),
                Some(found) if found.revoked_us.is_some() => Err(KeyError::Revoked(found.name)),
                found if is_replaceable(found.as_ref(), old) => Ok(()),
                Some(found) => Err(KeyError::Changed(found.name)),
            }
        })
    }

    fn held(&self) -> BoxFuture<'_, Result<HashMap<String, u64>, RecordError>> {
        Box::pin(async { Ok(self.read_held().await?) })
    }

    fn record_use<'a>(&'a self, uses: &'a [KeyUse]) -> BoxFuture<'a, Result<(), RecordError>> {
        Box::pin(async { Ok(self.write_uses(uses).await?) })
    }

    fn is_shared(&self) -> bool {
        matches!(self.pool, Pool::Postgres(_))
    }

    fn exchange_uses<'a>(
        &'a self,
        uses: &'a [QuotaUse],
    ) -> BoxFuture<'a, Result<Vec<OtherUse>, RecordError>> {
        Box::pin(async move {
            if !self.is_shared() {
                return Ok(Vec::new());
            }
            Ok(self.exchange(uses).await?)
        })
    }

    fn append_audit<'a>(&'a self, entry: &'a AuditEntry) -> BoxFuture<'a, Result<(), RecordError>> {
        Box::pin(async { Ok(self.append_one(entry).await?) })
    }

    fn audit_log(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<AuditRecord>, RecordError>> {
        Box::pin(async move { Ok(self.read_log(before, limit).await?) })
    }
}
