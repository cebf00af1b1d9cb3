//! Reads one consistent state of the database, in a read transaction that includes the progress of
//! the spool.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use assay_core::{BatchId, BoxFuture, GradeId, Hash};
use assay_record::channel::ChannelCounts;
use assay_record::chart::Steps;
use assay_record::dataset_check::DatasetCheck;
use assay_record::event::{Adjudication, Draw};
use assay_record::names::UsedNames;
use assay_record::pair::{KnownPairs, PairPage};
use assay_record::retention::{PruneEstimate, PruneFilter, StorageReport};
use assay_record::rollup::Rollups;
use assay_record::store::GradeFilter;
use assay_record::{Body, Claim, GradeRecord, RequestKey, SealedReply, Visit};
use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{AssertSqlSafe, Pool, QueryBuilder, Row, Transaction};

use super::codec::{codec, kind};
use super::query::ListLookups;
use super::rows::{
    POSITION_BITS, SELECT_GRADE, batch_id, count, hash, id_bytes, key, position, read_grade,
};
use super::sums::number;
use super::{channels, charts, checks, events, names, pairs, prompts, query, rollups, storage};
use crate::database::{DatabaseError, Snapshot};
use crate::packs::{Compressed, PackedBody, body_of, decompress};
use crate::retention_step::{Interrupted, PruneTarget, PrunedBatch};
use crate::spool::Position;
use crate::totals::RunTotals;

/// A read transaction of SQLite. In WAL mode it sees the state at its first read until it ends, and
/// neither blocks the writer nor is blocked by it.
struct ReadTransaction {
    transaction: Transaction<'static, Sqlite>,
    progress: Position,
}

/// Starts a read transaction. `begin` alone does not start one: SQLite fixes the state at the first
/// read. That read is the progress, so every later read sees exactly the entries up to this
/// progress, and the caller can drop these entries from the pending ones without missing or
/// repeating a grade.
pub(super) async fn open(
    readers: &Pool<Sqlite>,
    spool: &str,
) -> Result<impl Snapshot + use<>, DatabaseError> {
    let mut transaction = readers.begin().await?;
    let progress = query::progress(&mut transaction, spool).await?;
    Ok(ReadTransaction {
        transaction,
        progress,
    })
}

impl ReadTransaction {
    /// Finds a grade by its key, which follows from its batch and position.
    async fn find_grade(&mut self, id: GradeId) -> Result<Option<GradeRecord>, DatabaseError> {
        let sql = format!(
            "{SELECT_GRADE} from grades g join batches b on b.no = ? join kinds k on k.no = \
             g.kind where g.key = ?"
        );
        let sql: Arc<str> = sql.into();
        for (number, batch) in query::batches_around(&mut self.transaction, id.into()).await? {
            // The id of a grade is the id of its batch plus one plus its position.
            let position = u128::from(id) - u128::from(batch) - 1;
            let Ok(position) = u32::try_from(position) else {
                continue;
            };
            // Such a position would be part of the batch's number in the key.
            if position >> POSITION_BITS != 0 {
                continue;
            }
            let row = sqlx::query(AssertSqlSafe(sql.clone()))
                .bind(number)
                .bind(key(number, position))
                .fetch_optional(&mut *self.transaction)
                .await?;
            if let Some(row) = row {
                return read_grade(&row).map(Some);
            }
        }
        Ok(None)
    }

    async fn list(
        &mut self,
        filter: &GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> Result<Vec<GradeRecord>, DatabaseError> {
        // Runs and kinds are looked up first: if there are none, no grade matches, and otherwise
        // the query compares numbers instead of texts.
        let run = match &filter.run {
            Some(name) => {
                let Some(number) = query::run_number(&mut self.transaction, name).await? else {
                    return Ok(Vec::new());
                };
                Some(number)
            }
            None => None,
        };
        let kinds = query::kinds(&mut self.transaction, filter).await?;
        if kinds.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let cursor_batches = match before {
            Some(before) => query::batches_around(&mut self.transaction, before.into()).await?,
            None => Vec::new(),
        };
        query::list(
            filter,
            &ListLookups {
                run,
                kinds,
                cursor_batches,
            },
            before,
            limit,
        )
        .build()
        .fetch_all(&mut *self.transaction)
        .await?
        .iter()
        .map(read_grade)
        .collect()
    }

    async fn find_present(
        &mut self,
        batches: &[BatchId],
    ) -> Result<HashMap<BatchId, HashSet<GradeId>>, DatabaseError> {
        let mut present = HashMap::new();
        // SQLite limits the number of parameters of a statement.
        for chunk in batches.chunks(512) {
            let mut query = QueryBuilder::<Sqlite>::new("select no, id from batches where id in (");
            let mut ids = query.separated(", ");
            for batch in chunk {
                ids.push_bind(id_bytes(*batch));
            }
            query.push(")");
            let rows = query
                .build()
                // Its text depends on the number of ids, so caching the statement would only evict
                // others.
                .persistent(false)
                .fetch_all(&mut *self.transaction)
                .await?;
            for row in rows {
                let batch = batch_id(row.try_get("id")?, "batches")?;
                let number: i64 = row.try_get("no")?;
                let keys: Vec<i64> =
                    sqlx::query_scalar("select key from grades where key between ? and ?")
                        .bind(key(number, 0))
                        .bind(key(number + 1, 0) - 1)
                        .fetch_all(&mut *self.transaction)
                        .await?;
                let ids = keys.into_iter().map(|key| batch.grade(position(key)));
                present.insert(batch, ids.collect());
            }
        }
        Ok(present)
    }

    async fn read_runs(
        &mut self,
        prefix: &str,
        limit: u32,
        named: &[Arc<str>],
    ) -> Result<HashMap<Arc<str>, RunTotals>, DatabaseError> {
        const SELECT: &str = "select name, grades, graded, ungradable, failed, passed, scores, \
             score_sum, last_step, first_us, last_us from runs where grades > 0";
        let mut query = QueryBuilder::<Sqlite>::new(SELECT);
        if !prefix.is_empty() {
            // No text in UTF-8 sorts after the last character.
            query.push(" and name >= ").push_bind(prefix.to_owned());
            query
                .push(" and name < ")
                .push_bind(format!("{prefix}{}", char::MAX));
        }
        query
            .push(" order by last_us desc, name limit ")
            .push_bind(i64::from(limit));
        let last_used = query.build().fetch_all(&mut *self.transaction).await?;
        // Named runs are read in addition: those with pending entries may become the last used ones
        // when these are added.
        let mut runs = HashMap::new();
        for row in &last_used {
            read_run(row, &mut runs)?;
        }
        for chunk in named.chunks(512) {
            let mut query = QueryBuilder::<Sqlite>::new(SELECT);
            query.push(" and name in (");
            let mut names = query.separated(", ");
            for name in chunk {
                names.push_bind(name.clone());
            }
            query.push(")");
            let rows = query
                .build()
                .persistent(false)
                .fetch_all(&mut *self.transaction)
                .await?;
            for row in &rows {
                read_run(row, &mut runs)?;
            }
        }
        Ok(runs)
    }

    async fn read_body(&mut self, hash: Hash) -> Result<Option<Body>, DatabaseError> {
        let row = sqlx::query(
            "select b.kind, b.start, b.size, p.codec, p.size as pack_size, p.content \
             from bodies b join packs p on p.no = b.pack where b.hash = ?",
        )
        .bind(&hash.as_bytes()[..])
        .fetch_optional(&mut *self.transaction)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let location = PackedBody {
            hash,
            kind: kind(row.try_get("kind")?)?,
            start: row.try_get("start")?,
            size: row.try_get("size")?,
        };
        let pack = Compressed {
            codec: codec("packs", row.try_get("codec")?)?,
            size: row.try_get("pack_size")?,
            content: row.try_get("content")?,
        };
        Ok(Some(body_of(&decompress(&pack)?, &location)?))
    }

    async fn read_claim(&mut self, requested: &RequestKey) -> Result<Option<Claim>, DatabaseError> {
        let row = sqlx::query(
            "select request, batch, time_us, media, codec, size, reply from idempotency \
             where caller = ? and key = ?",
        )
        .bind(requested.caller.as_ref())
        .bind(requested.key.as_str())
        .fetch_optional(&mut *self.transaction)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let reply = match row.try_get::<Option<String>, _>("media")? {
            Some(media) => Some(SealedReply {
                media,
                body: decompress(&Compressed {
                    codec: codec("idempotency", row.try_get("codec")?)?,
                    size: row.try_get("size")?,
                    content: row.try_get("reply")?,
                })?,
            }),
            None => None,
        };
        Ok(Some(Claim {
            key: requested.clone(),
            request: hash(row.try_get("request")?, "idempotency", "request")?,
            batch: batch_id(row.try_get("batch")?, "idempotency")?,
            time_us: row.try_get("time_us")?,
            reply,
        }))
    }
}

fn read_run(row: &SqliteRow, runs: &mut HashMap<Arc<str>, RunTotals>) -> Result<(), DatabaseError> {
    let name: &str = row.try_get("name")?;
    runs.insert(
        name.into(),
        RunTotals {
            grades: count(row.try_get("grades")?),
            graded: count(row.try_get("graded")?),
            ungradable: count(row.try_get("ungradable")?),
            failed: count(row.try_get("failed")?),
            passed: count(row.try_get("passed")?),
            scores: count(row.try_get("scores")?),
            score_sum: number(row.try_get("score_sum")?),
            last_step: row.try_get("last_step")?,
            times: Some((row.try_get("first_us")?, row.try_get("last_us")?)),
        },
    );
    Ok(())
}

impl Snapshot for ReadTransaction {
    fn progress(&self) -> Position {
        self.progress
    }

    fn grade(&mut self, id: GradeId) -> BoxFuture<'_, Result<Option<GradeRecord>, DatabaseError>> {
        Box::pin(self.find_grade(id))
    }

    fn grades<'a>(
        &'a mut self,
        filter: &'a GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<GradeRecord>, DatabaseError>> {
        Box::pin(self.list(filter, before, limit))
    }

    fn present<'a>(
        &'a mut self,
        batches: &'a [BatchId],
    ) -> BoxFuture<'a, Result<HashMap<BatchId, HashSet<GradeId>>, DatabaseError>> {
        Box::pin(self.find_present(batches))
    }

    fn runs<'a>(
        &'a mut self,
        prefix: &'a str,
        limit: u32,
        named: &'a [Arc<str>],
    ) -> BoxFuture<'a, Result<HashMap<Arc<str>, RunTotals>, DatabaseError>> {
        Box::pin(self.read_runs(prefix, limit, named))
    }

    fn run_steps<'a>(
        &'a mut self,
        run: &'a str,
        width: i64,
    ) -> BoxFuture<'a, Result<Steps, DatabaseError>> {
        Box::pin(async move {
            match query::run_number(&mut self.transaction, run).await? {
                Some(number) => charts::read(&mut self.transaction, number, width).await,
                None => Ok(Steps::new()),
            }
        })
    }

    fn run_series<'a>(&'a mut self, run: &'a str) -> BoxFuture<'a, Result<Rollups, DatabaseError>> {
        Box::pin(async move {
            match query::run_number(&mut self.transaction, run).await? {
                Some(number) => rollups::read(&mut self.transaction, number).await,
                None => Ok(Rollups::new()),
            }
        })
    }

    fn body(&mut self, hash: Hash) -> BoxFuture<'_, Result<Option<Body>, DatabaseError>> {
        Box::pin(self.read_body(hash))
    }

    fn claim<'a>(
        &'a mut self,
        key: &'a RequestKey,
    ) -> BoxFuture<'a, Result<Option<Claim>, DatabaseError>> {
        Box::pin(self.read_claim(key))
    }

    fn channels(&mut self) -> BoxFuture<'_, Result<ChannelCounts, DatabaseError>> {
        Box::pin(channels::read(&mut self.transaction))
    }

    fn used_names(&mut self) -> BoxFuture<'_, Result<UsedNames, DatabaseError>> {
        Box::pin(names::read(&mut self.transaction))
    }

    fn prompts<'a>(&'a mut self, run: &'a str) -> BoxFuture<'a, Result<u64, DatabaseError>> {
        Box::pin(names::prompts(&mut self.transaction, run))
    }

    fn adjudications(
        &mut self,
        grade: GradeId,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, DatabaseError>> {
        Box::pin(events::adjudications(&mut self.transaction, grade))
    }

    fn last_adjudications(
        &mut self,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, DatabaseError>> {
        Box::pin(events::last_adjudications(&mut self.transaction, limit))
    }

    fn draws<'a>(
        &'a mut self,
        grades: &'a [GradeId],
    ) -> BoxFuture<'a, Result<Vec<Draw>, DatabaseError>> {
        Box::pin(events::draws(&mut self.transaction, grades))
    }

    fn known_pairs<'a>(
        &'a mut self,
        model: &'a str,
        requested: &'a [Hash],
    ) -> BoxFuture<'a, Result<KnownPairs, DatabaseError>> {
        Box::pin(pairs::known(&mut self.transaction, model, requested))
    }

    fn pairs<'a>(
        &'a mut self,
        model: &'a str,
        after: u64,
        limit: u32,
    ) -> BoxFuture<'a, Result<PairPage, DatabaseError>> {
        Box::pin(pairs::page(&mut self.transaction, model, after, limit))
    }

    fn dataset_checks(
        &mut self,
        before: BatchId,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<DatasetCheck>, DatabaseError>> {
        Box::pin(checks::list(&mut self.transaction, before, limit))
    }

    fn storage(&mut self, limit: u32) -> BoxFuture<'_, Result<StorageReport, DatabaseError>> {
        Box::pin(storage::read(&mut self.transaction, limit))
    }

    fn prune_target<'a>(
        &'a mut self,
        filter: &'a PruneFilter,
    ) -> BoxFuture<'a, Result<PruneTarget, DatabaseError>> {
        Box::pin(storage::target(&mut self.transaction, filter))
    }

    fn prune_estimate<'a>(
        &'a mut self,
        target: &'a PruneTarget,
    ) -> BoxFuture<'a, Result<PruneEstimate, DatabaseError>> {
        Box::pin(storage::estimate(&mut self.transaction, target))
    }

    fn next_batches<'a>(
        &'a mut self,
        target: &'a PruneTarget,
        after: BatchId,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<PrunedBatch>, DatabaseError>> {
        Box::pin(storage::next(&mut self.transaction, target, after, limit))
    }

    fn interrupted(&mut self) -> BoxFuture<'_, Result<Interrupted, DatabaseError>> {
        Box::pin(storage::interrupted(&mut self.transaction))
    }

    fn visits<'a>(
        &'a mut self,
        run: &'a str,
        prompts: Option<&'a [String]>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, Vec<Visit>>, DatabaseError>> {
        Box::pin(async move {
            match query::run_number(&mut self.transaction, run).await? {
                Some(number) => prompts::read(&mut self.transaction, number, prompts).await,
                None => Ok(BTreeMap::new()),
            }
        })
    }
}
