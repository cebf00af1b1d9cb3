//! Applies entries within a transaction that the caller opens and ends, each grade exactly once.
//!
//! Which grades are new is determined before anything is written: all grades of a batch that is not
//! in the database are new, and batches that are stored (sent again after a crash, or split into
//! several entries) are looked up. Sums include only new grades, so replaying an entry changes
//! nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use assay_core::BatchId;
use assay_rewards::channel::ChannelCounts;

use super::answers::NewAnswers;
use super::bodies::{PERMANENT, insert_bodies};
use super::claims::upsert_claims;
use super::costs::NewCosts;
use super::insert::{Insert, Values, look_up};
use super::keys::{Amounts, AppliedBatch, KindTotals, NO_RUN};
use super::kinds::Kinds;
use super::names::ChannelUses;
use super::rows::{
    INSERT_GRADES, NewRow, batch_id, bind_grade, digest_new, id_bytes, key, position,
};
use super::sources::NewSources;
use super::sums::{add_counts, add_numbers, greatest, least};
use super::totals::RunTotals;
use super::{channels, charts, documents, events, facets, holdings, prompts, query, rollups};
use crate::Event;
use crate::channel;
use crate::cost::Cost;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::pending::Applicable;
use crate::pending::loaded_entry::LoadedEntry;
use crate::pending::packs::DocumentPack;
use crate::prompt_history::{self, Visits};
use crate::rollup::Totals;
use crate::signals::MIN_GOLDS;
use crate::spool::Position;

const UPSERT_RUN: &str = concat!(
    "insert into runs (name, grades, graded, ungradable, failed, passed, scores, score_sum, \
     rewards, reward_sum, last_step, first_us, last_us, caller) \
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) \
     on conflict (name) do update set ",
    add_counts!(
        "runs": "grades",
        "graded",
        "ungradable",
        "failed",
        "passed",
        "scores",
        "rewards"
    ),
    ", ",
    add_numbers!("runs": "score_sum", "reward_sum"),
    ", last_step = case when excluded.last_step > runs.last_step then excluded.last_step \
     else coalesce(runs.last_step, excluded.last_step) end, ",
    least!("runs": "first_us"),
    ", ",
    greatest!("runs": "last_us"),
    " returning no"
);

const INSERT_BATCHES: Insert = Insert {
    prefix: "insert into batches (no, id, run, step, caller, items, received_us, first_us, \
             last_us, grades, grade_bytes, pack_bytes, checksum)",
    columns: 13,
    // Counts of a batch that is not counted stay null. A batch that gets bodies again, because its
    // entry was applied late, has some to delete.
    suffix: concat!(
        "on conflict (no) do update set ",
        least!("batches": "first_us"),
        ", ",
        greatest!("batches": "last_us"),
        ", grades = batches.grades + excluded.grades, \
         grade_bytes = batches.grade_bytes + excluded.grade_bytes, \
         pack_bytes = batches.pack_bytes + excluded.pack_bytes, checksum = excluded.checksum, \
         deleted = case when batches.deleted = 1 and excluded.pack_bytes > 0 then 0 \
         else batches.deleted end"
    ),
};

/// The work of one transaction.
pub(super) struct ApplyRequest<'w> {
    /// Name of the spool whose progress is stored.
    pub(super) spool: &'w str,
    pub(super) entries: &'w [Applicable],
    /// The new progress, unless the stored one is past it.
    pub(super) progress: Position,
    pub(super) now_us: i64,
    /// Whether newer entries may have been applied before these.
    pub(super) late: bool,
}

/// Applies the entries after the progress in the database, and updates the progress.
pub(super) async fn apply(
    connection: &mut Connection,
    request: &ApplyRequest<'_>,
) -> Result<(), DatabaseError> {
    let ApplyRequest {
        spool,
        entries,
        progress,
        now_us,
        late,
    } = *request;
    let applied = query::progress(connection, spool).await?;
    let loaded: Vec<&LoadedEntry> = entries
        .iter()
        .filter(|(end, _)| *end > applied)
        .map(|(_, loaded)| loaded.as_ref())
        .collect();

    let mut batches = find_batches(connection, &loaded).await?;
    let mut kinds = Kinds::default();
    let mut new_grades: Vec<NewRow<'_>> = Vec::new();
    let mut next_document = documents::next_number(connection).await?;
    let mut document_packs: Vec<(i64, i64, &DocumentPack)> = Vec::new();
    let mut sums: BTreeMap<(BatchId, usize), Totals> = BTreeMap::new();
    let mut runs: BTreeMap<&Arc<str>, (RunTotals, &str)> = BTreeMap::new();
    let (mut channels, mut visits) = (ChannelCounts::default(), Visits::default());
    let mut uses = ChannelUses::default();
    let mut chart_counts = charts::NewCounts::new();
    let mut costs: Vec<(BatchId, &str, &str, i64, Cost)> = Vec::new();
    let mut answers: Vec<(&Arc<str>, NewAnswers<'_>)> = Vec::new();
    let mut by_policy: Vec<(BatchId, &str, ChannelCounts)> = Vec::new();
    for loaded in &loaded {
        let entry = loaded.entry.as_ref();
        let mut totals = RunTotals::default();
        let first_new = new_grades.len();
        let Some(batch) = batches.get_mut(&entry.batch) else {
            continue;
        };
        let packs = &loaded.contents.documents;
        let first_document = next_document;
        next_document += i64::try_from(packs.len()).unwrap_or(i64::MAX);
        let documents = documents::locations(first_document, packs);
        for (new, document) in entry.grades.iter().zip(documents) {
            let stored = &new.row;
            if batch.may_repeat && !batch.existing.insert(stored.grade.position) {
                continue;
            }
            if document_packs.last().map(|(number, ..)| *number) != Some(document.pack)
                && let Some(pack) =
                    packs.get(usize::try_from(document.pack - first_document).unwrap_or(0))
            {
                document_packs.push((document.pack, batch.number, pack));
                batch.added.grade_bytes += pack.compressed.content.len() as u64;
            }
            let kind = kinds.index(stored);
            totals.add_grade(stored);
            sums.entry((entry.batch, kind)).or_default().push(stored);
            let digest = digest_new(stored, document.checksum);
            batch.added.grades += 1;
            batch.added.grade_bytes += digest.bytes;
            batch.checksum = batch
                .checksum
                .map(|checksum| checksum.wrapping_add(digest.checksum));
            new_grades.push(NewRow {
                key: key(batch.number, stored.grade.position),
                kind,
                checksum: digest.checksum,
                stored,
                new,
                document,
            });
        }
        let grades_of_entry = || new_grades[first_new..].iter().map(|new| new.stored);
        let of_entry = counts_of(&new_grades[first_new..]);
        let parts = counts_by_policy(&new_grades[first_new..], &of_entry);
        by_policy.extend(parts.map(|(policy, counts)| (entry.batch, policy, counts)));
        channels.add(of_entry);
        uses.add_grades(grades_of_entry());
        prompt_history::add_grades(&mut visits, grades_of_entry());
        if let Some((first, last)) = totals.times {
            let (earliest, latest) = batch.times.unwrap_or((first, last));
            batch.times = Some((earliest.min(first), latest.max(last)));
        }
        let sizes = loaded.sizes();
        for row in &new_grades[first_new..] {
            let grade = &row.stored.grade;
            let completion = sizes.get(&row.stored.source.completion_hash);
            let bytes = u64::from(row.document.size) + completion.map_or(0, |size| (*size).into());
            let cost = Cost {
                grades: 1,
                cpu_us: row.new.measured.cpu_us,
                grade_us: grade.grade_us,
                queue_us: grade.queue_us,
                work: grade.work,
                bytes,
            };
            costs.push((
                entry.batch,
                &*entry.caller,
                &*grade.grader.name,
                row.key,
                cost,
            ));
        }
        if let Some(run) = &entry.run {
            let mut found = NewAnswers::new(entry.step);
            for row in &new_grades[first_new..] {
                found.add(row.new, row.key);
            }
            answers.push((run, found));
            let (sums, _) = runs
                .entry(run)
                .or_insert_with(|| (RunTotals::default(), &entry.caller));
            sums.add(&totals);
            loaded.count(
                new_grades[first_new..].iter().map(|row| row.new),
                &sizes,
                chart_counts.entry((run, entry.step)).or_default(),
            );
        }
    }

    let numbers = upsert_runs(connection, &runs).await?;
    for batch in batches.values_mut() {
        let run = batch.entry.run.as_ref().and_then(|run| numbers.get(run));
        batch.run = run.copied().unwrap_or(NO_RUN);
    }
    let with_batches: Vec<(i64, &LoadedEntry)> = loaded
        .iter()
        .map(|loaded| {
            let batch = batches.get(&loaded.entry.batch);
            (batch.map_or(PERMANENT, |batch| batch.number), *loaded)
        })
        .collect();
    let pack_bytes = insert_bodies(connection, &with_batches).await?;
    for batch in batches.values_mut() {
        batch.added.pack_bytes = pack_bytes.get(&batch.number).copied().unwrap_or(0);
    }
    insert_batches(connection, &batches).await?;
    holdings::add(connection, batches.values()).await?;
    let kind_numbers = kinds.upsert(connection).await?;
    INSERT_GRADES
        .run(connection, &new_grades, |values, new| {
            bind_grade(values, new, kind_numbers[new.kind]);
        })
        .await?;
    documents::insert(connection, &document_packs).await?;
    let sums: Vec<KindTotals<'_>> = sums
        .iter()
        .filter_map(|((batch, kind), sums)| Some((batches.get(batch)?, kinds.list[*kind], sums)))
        .collect();
    let grades_with_runs = new_grades.iter().map(|new| {
        let batch = batches.get(&new.stored.source.batch);
        (batch.map_or(NO_RUN, |batch| batch.run), new.stored)
    });
    facets::insert(connection, &sums, grades_with_runs).await?;
    rollups::upsert(connection, &sums).await?;
    upsert_claims(connection, &loaded, now_us, late).await?;
    let events_of_entries: Vec<&Event> = loaded
        .iter()
        .flat_map(|loaded| &loaded.entry.events)
        .collect();
    let mut sources = NewSources::default();
    for (batch, policy, counts) in by_policy {
        let run = batches.get(&batch).map_or(NO_RUN, |batch| batch.run);
        sources.add(run, policy, counts);
    }
    events::insert(connection, &events_of_entries, &mut channels, &mut sources).await?;
    channels::add(connection, &channels).await?;
    sources.upsert(connection).await?;
    uses.upsert(connection).await?;
    prompts::add(connection, &visits, &numbers).await?;
    let mut new_costs = NewCosts::default();
    for (batch, caller, grader, key, cost) in &costs {
        let run = batches.get(batch).map_or(NO_RUN, |batch| batch.run);
        new_costs.add(run, caller, grader, *key, cost);
    }
    new_costs.upsert(connection).await?;
    for (run, mut found) in answers {
        let Some(number) = numbers.get(run) else {
            continue;
        };
        found.upsert(connection, *number).await?;
        let repeated = found.repeated(connection, *number, MIN_GOLDS).await?;
        if let Some(counted) = chart_counts.get_mut(&(run, found.step())) {
            counted.count_repeated(repeated);
        }
    }
    charts::add(connection, &chart_counts, &numbers).await?;

    if progress > applied {
        sql::query(
            "insert into spool_progress (spool, segment, byte) values ($1, $2, $3) \
             on conflict (spool) do update set segment = excluded.segment, byte = excluded.byte",
        )
        .bind(spool)
        .bind(progress.segment.cast_signed())
        .bind(progress.byte.cast_signed())
        .execute(connection)
        .await?;
    }
    Ok(())
}

/// The counts of the channels of some grades of an entry.
fn counts_of(grades: &[NewRow<'_>]) -> ChannelCounts {
    let mut counts = ChannelCounts::default();
    let counted = grades.iter().map(|row| (row.stored, row.new.unjudged));
    channel::add_grades(&mut counts, counted);
    counts
}

/// The same by policy. `all` are the counts of all the grades, which mostly have one policy.
fn counts_by_policy<'g>(
    grades: &[NewRow<'g>],
    all: &ChannelCounts,
) -> impl Iterator<Item = (&'g str, ChannelCounts)> {
    let parts = grades.chunk_by(|a, b| a.stored.source.policy == b.stored.source.policy);
    parts.filter_map(move |part| {
        let counts = if part.len() == grades.len() {
            all.clone()
        } else {
            counts_of(part)
        };
        Some((&*part.first()?.stored.source.policy, counts))
    })
}

/// Looks up the batches of `loaded` that are stored, and assigns numbers to the others.
async fn find_batches<'e>(
    connection: &mut Connection,
    loaded: &[&'e LoadedEntry],
) -> Result<BTreeMap<BatchId, AppliedBatch<'e>>, DatabaseError> {
    let mut batches = BTreeMap::new();
    let mut in_order = Vec::new();
    for loaded in loaded {
        let entry = loaded.entry.as_ref();
        // Entries of events have no batch.
        if entry.items == 0 {
            continue;
        }
        let batch_entry = batches
            .entry(entry.batch)
            .and_modify(|batch: &mut AppliedBatch<'_>| batch.may_repeat = true);
        batch_entry.or_insert_with(|| {
            in_order.push(entry.batch);
            AppliedBatch {
                number: 0,
                run: NO_RUN,
                entry,
                may_repeat: false,
                existing: HashSet::new(),
                times: None,
                new: true,
                counted: true,
                checksum: Some(0),
                added: Amounts::default(),
            }
        });
    }
    let ids: Vec<Vec<u8>> = batches.keys().map(|id| id_bytes(*id)).collect();
    let select = "select no, id, grades is not null as counted, checksum from batches where id in";
    for row in look_up(connection, select, &ids).await? {
        let number: i64 = row.try_get("no")?;
        let keys: Vec<i64> =
            sql::query_scalar("select key from grades where key between $1 and $2")
                .bind(key(number, 0))
                .bind(key(number + 1, 0) - 1)
                .fetch_all(connection)
                .await?;
        if let Some(batch) = batches.get_mut(&batch_id(row.try_get("id")?, "batches")?) {
            batch.number = number;
            batch.new = false;
            batch.counted = row.try_get("counted")?;
            batch.checksum = row.try_get("checksum")?;
            batch.may_repeat = true;
            batch.existing.extend(keys.into_iter().map(position));
        }
    }
    // Only new batches take a number: `verify` reports a number without a batch as damage.
    let mut next = next_number(connection).await?;
    for id in in_order {
        if let Some(batch) = batches.get_mut(&id)
            && batch.new
        {
            batch.number = next;
            next += 1;
        }
    }
    Ok(batches)
}

/// The number of the next new batch. Numbers of deleted batches are not used again.
async fn next_number(connection: &mut Connection) -> Result<i64, DatabaseError> {
    Ok(sql::query_scalar(
        "select max(no) + 1 from (select coalesce(max(no), 0) as no from batches \
         union all select coalesce(max(last), 0) from deleted_batches) as used",
    )
    .fetch_one(connection)
    .await?)
}

async fn upsert_runs<'e>(
    connection: &mut Connection,
    runs: &BTreeMap<&'e Arc<str>, (RunTotals, &str)>,
) -> Result<HashMap<&'e Arc<str>, i64>, DatabaseError> {
    let mut numbers = HashMap::with_capacity(runs.len());
    for (run, (totals, caller)) in runs {
        // A run without grades is not listed. These values do not affect the times of later grades.
        let (first_us, last_us) = totals.times.unwrap_or((i64::MAX, i64::MIN));
        let mut values = Values::with_capacity(14);
        values
            .add(run.as_ref())
            .add_count(totals.grades)
            .add_count(totals.graded)
            .add_count(totals.ungradable)
            .add_count(totals.failed)
            .add_count(totals.passed)
            .add_count(totals.scores)
            .add_number(totals.score_sum)
            .add_count(totals.rewards)
            .add_number(totals.reward_sum)
            .add(totals.last_step)
            .add(first_us)
            .add(last_us)
            .add(*caller);
        let number = sql::query(UPSERT_RUN)
            .with(values.finish())
            .fetch_one(connection)
            .await?
            .try_get("no")?;
        numbers.insert(*run, number);
    }
    Ok(numbers)
}

async fn insert_batches(
    connection: &mut Connection,
    batches: &BTreeMap<BatchId, AppliedBatch<'_>>,
) -> Result<(), DatabaseError> {
    let changed: Vec<_> = batches
        .values()
        .filter(|batch| batch.new || batch.added != Amounts::default())
        .collect();
    INSERT_BATCHES
        .run(connection, &changed, |values, batch| {
            let (first_us, last_us) = batch.times.unwrap_or((i64::MAX, i64::MIN));
            values
                .add(batch.number)
                .add(id_bytes(batch.entry.batch))
                .add(batch.run)
                .add(batch.entry.step)
                .add(batch.entry.caller.clone())
                .add(i64::from(batch.entry.items))
                .add(batch.entry.received_us)
                .add(first_us)
                .add(last_us)
                .add_count(batch.added.grades)
                .add_count(batch.added.grade_bytes)
                .add_count(batch.added.pack_bytes)
                .add(batch.checksum);
        })
        .await?;
    Ok(())
}
