//! Reads that combine pending entries and the database, such that nothing is missed and nothing
//! counts twice.
//!
//! A read first takes the pending entries and then a state of the database. An entry is removed
//! from the pending ones only after the database has it, so it is in at least one of the two. The
//! state includes the progress of the spool, so an entry that is in both is recognised by its
//! position and dropped from the pending ones. Grades that were sent again are recognised by their
//! id: the row in the database has precedence over a pending one, and an older pending one over a
//! newer, exactly as if all entries had been applied.

mod names;
mod runs;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use assay_core::{BatchId, GradeId, Hash};
use assay_record::channel::ChannelCounts;
use assay_record::dataset_check::DatasetCheck;
use assay_record::event::{Adjudication, Draw};
use assay_record::pair::{KnownPairs, PairPage};
use assay_record::prompt_history::{self, Visits};
use assay_record::store::{GradeFilter, GradePage, StoreError};
use assay_record::{Body, Claim, Event, GradeRecord, RequestKey, SealedReply, Visit};

use crate::database::{Database, Snapshot, merge_claim};
use crate::loaded_entry::LoadedEntry;
use crate::packs::{BadContent, decompress};
use crate::pending::{Digest, Pending, PendingEntry};

/// Number of batches whose grades are looked up in the database at once.
const LOOKUP: usize = 64;

/// The two sources of a read.
pub(crate) struct Sources<'s> {
    pub(crate) pending: &'s Pending,
    pub(crate) database: &'s dyn Database,
    /// Longest time that a read of pairs waits for pending ones.
    pub(crate) timeout: Duration,
}

impl Sources<'_> {
    /// The pending entries whose digest passes, oldest first, and a state of the database that
    /// contains none of them.
    async fn view(
        &self,
        passes: impl Fn(&Digest) -> bool,
    ) -> Result<(Vec<Arc<PendingEntry>>, Box<dyn Snapshot>), StoreError> {
        let mut pending = self.pending.select(passes);
        let snapshot = self.database.snapshot().await?;
        let progress = snapshot.progress();
        pending.retain(|entry| entry.end > progress);
        Ok((pending, snapshot))
    }

    pub(crate) async fn grade(&self, id: GradeId) -> Result<Option<GradeRecord>, StoreError> {
        let (pending, mut snapshot) = self.view(|digest| digest.may_contain_grade(id)).await?;
        if let Some(grade) = snapshot.grade(id).await? {
            return Ok(Some(grade));
        }
        for entry in pending {
            let loaded = load(&entry).await?;
            let found = loaded.entry.grades.iter().find(|grade| grade.grade == id);
            if let Some(grade) = found {
                return Ok(Some(grade.clone()));
            }
        }
        Ok(None)
    }

    pub(crate) async fn body(&self, hash: Hash) -> Result<Option<Body>, StoreError> {
        // A body is identified by its content, so a pending one needs no lookup in the database.
        for entry in self.pending.select(|digest| digest.may_contain_body(hash)) {
            let loaded = load(&entry).await?;
            if let Some(body) = loaded.contents.body(hash).map_err(inconsistent)? {
                return Ok(Some(body));
            }
        }
        let mut snapshot = self.database.snapshot().await?;
        Ok(snapshot.body(hash).await?)
    }

    pub(crate) async fn claim(&self, key: &RequestKey) -> Result<Option<Claim>, StoreError> {
        let (pending, mut snapshot) = self
            .view(|digest| digest.claim.as_ref() == Some(key))
            .await?;
        let mut claim = snapshot.claim(key).await?;
        drop(snapshot);
        for entry in pending {
            let loaded = load(&entry).await?;
            if let Some(newer) = claim_of(&loaded).map_err(inconsistent)? {
                claim = Some(merge_claim(claim, newer));
            }
        }
        Ok(claim)
    }

    pub(crate) async fn grades(
        &self,
        filter: &GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> Result<GradePage, StoreError> {
        let (pending, mut snapshot) = self
            .view(|digest| may_match(filter, before, digest))
            .await?;
        // One more than the page, to find out whether another page follows.
        let with_next = (limit as usize).saturating_add(1);
        let mut grades = snapshot
            .grades(filter, before, limit.saturating_add(1))
            .await?;
        let mut groups: Vec<Vec<Arc<PendingEntry>>> = by_batch(pending);
        groups.sort_by_key(|group| std::cmp::Reverse(highest(group)));
        for chunk in groups.chunks(LOOKUP) {
            let enough = |grades: &[GradeRecord], group: &[Arc<PendingEntry>]| {
                grades.len() >= with_next
                    && grades
                        .last()
                        .is_some_and(|last| highest(group) < Some(last.grade))
            };
            if chunk.first().is_some_and(|group| enough(&grades, group)) {
                break;
            }
            let present = snapshot.present(&batches(chunk)).await?;
            for group in chunk {
                if enough(&grades, group) {
                    break;
                }
                let new = new_grades(group, &present).await?;
                let matching = new.into_iter().filter(|grade| {
                    filter.keeps(grade) && before.is_none_or(|before| grade.grade < before)
                });
                grades.extend(matching);
                grades.sort_by_key(|grade| std::cmp::Reverse(grade.grade));
                grades.truncate(with_next);
            }
        }
        let more = grades.len() == with_next;
        grades.truncate(limit as usize);
        let next = grades.last().filter(|_| more).map(|grade| grade.grade);
        Ok(GradePage { grades, next })
    }

    pub(crate) async fn channels(&self) -> Result<ChannelCounts, StoreError> {
        let (pending, mut snapshot) = self
            .view(|digest| digest.totals.grades > 0 || digest.events)
            .await?;
        let mut counts = snapshot.channels().await?;
        for entry in &pending {
            load(entry)
                .await?
                .entry
                .events
                .iter()
                .for_each(|event| counts.add_event(event));
        }
        for (_, new_grades) in new_grades_by_entry(pending, snapshot.as_mut()).await? {
            counts.add_grades(&new_grades);
        }
        Ok(counts)
    }

    pub(crate) async fn visits(
        &self,
        run: &str,
        prompts: Option<&[String]>,
    ) -> Result<BTreeMap<String, Vec<Visit>>, StoreError> {
        let (pending, mut snapshot) = self
            .view(|digest| digest.run.as_deref() == Some(run) && digest.totals.grades > 0)
            .await?;
        let mut visits = snapshot.visits(run, prompts).await?;
        let mut unapplied = Visits::default();
        for (_, new_grades) in new_grades_by_entry(pending, snapshot.as_mut()).await? {
            prompt_history::add_grades(&mut unapplied, &new_grades);
        }
        for ((_, key, step), visit) in unapplied {
            if prompts.is_some_and(|prompts| !prompts.contains(&key)) {
                continue;
            }
            let visits_of_prompt = visits.entry(key).or_default();
            match visits_of_prompt.binary_search_by_key(&step, |visit| visit.step) {
                Ok(at) => visits_of_prompt[at].add(&visit),
                Err(at) => visits_of_prompt.insert(at, visit),
            }
        }
        Ok(visits)
    }

    pub(crate) async fn last_adjudications(
        &self,
        limit: u32,
    ) -> Result<Vec<Adjudication>, StoreError> {
        let (pending, mut snapshot) = self.view(|digest| digest.events).await?;
        let mut found = snapshot.last_adjudications(limit).await?;
        for entry in pending {
            found.extend(
                load(&entry)
                    .await?
                    .entry
                    .events
                    .iter()
                    .filter_map(|event| match event {
                        Event::Adjudicated(adjudication) => Some(adjudication.clone()),
                        _ => None,
                    }),
            );
        }
        found.sort_by_key(|adjudication| std::cmp::Reverse(adjudication.id));
        found.dedup_by_key(|adjudication| adjudication.id);
        found.truncate(limit as usize);
        Ok(found)
    }

    pub(crate) async fn adjudications(
        &self,
        grade: GradeId,
    ) -> Result<Vec<Adjudication>, StoreError> {
        let (pending, mut snapshot) = self.view(|digest| digest.events).await?;
        let mut found = snapshot.adjudications(grade).await?;
        for entry in pending {
            for event in &load(&entry).await?.entry.events {
                if let Event::Adjudicated(adjudication) = event
                    && adjudication.grade == grade
                {
                    found.push(adjudication.clone());
                }
            }
        }
        Ok(found)
    }

    pub(crate) async fn draws(&self, grades: &[GradeId]) -> Result<Vec<Draw>, StoreError> {
        let (pending, mut snapshot) = self.view(|digest| digest.events).await?;
        let mut found = snapshot.draws(grades).await?;
        for entry in pending {
            for event in &load(&entry).await?.entry.events {
                if let Event::Drawn(draw) = event
                    && grades.contains(&draw.grade)
                    && found.iter().all(|earlier| earlier.grade != draw.grade)
                {
                    found.push(draw.clone());
                }
            }
        }
        Ok(found)
    }

    pub(crate) async fn known_pairs(
        &self,
        model: &str,
        pairs: &[Hash],
    ) -> Result<KnownPairs, StoreError> {
        let (pending, mut snapshot) = self.view(|digest| digest.events).await?;
        let mut unapplied: BTreeSet<Hash> = BTreeSet::new();
        for entry in pending {
            unapplied.extend(load(&entry).await?.entry.events.iter().filter_map(
                |event| match event {
                    Event::Collected(pair) if pair.model == model => Some(pair.pair),
                    _ => None,
                },
            ));
        }
        let candidates: Vec<Hash> = pairs.iter().chain(&unapplied).copied().collect();
        let KnownPairs {
            known: stored,
            total,
        } = snapshot.known_pairs(model, &candidates).await?;
        let stored: BTreeSet<Hash> = stored.into_iter().collect();
        let new_pairs = unapplied.difference(&stored).count() as u64;
        let is_known = |pair: &Hash| stored.contains(pair) || unapplied.contains(pair);
        Ok(KnownPairs {
            known: pairs.iter().copied().filter(is_known).collect(),
            total: total + new_pairs,
        })
    }

    pub(crate) async fn pairs(
        &self,
        model: &str,
        after: u64,
        limit: u32,
    ) -> Result<PairPage, StoreError> {
        tokio::time::timeout(self.timeout, self.pending.wait_for_events())
            .await
            .map_err(|_| {
                StoreError::Unavailable(
                    "cannot list pairs while some are not in the database yet; check whether the \
                     database is locked, and retry"
                        .to_owned(),
                )
            })?;
        Ok(self
            .database
            .snapshot()
            .await?
            .pairs(model, after, limit)
            .await?)
    }

    pub(crate) async fn dataset_checks(
        &self,
        before: Option<BatchId>,
        limit: u32,
    ) -> Result<Vec<DatasetCheck>, StoreError> {
        let before = before.unwrap_or_else(|| u128::MAX.into());
        let (pending, mut snapshot) = self.view(|digest| digest.events).await?;
        let mut found = snapshot.dataset_checks(before, limit).await?;
        for entry in pending {
            found.extend(
                load(&entry)
                    .await?
                    .entry
                    .events
                    .iter()
                    .filter_map(|event| match event {
                        Event::Checked(check) if check.id < before => Some(check.clone()),
                        _ => None,
                    }),
            );
        }
        found.sort_by_key(|check| std::cmp::Reverse(check.id));
        found.dedup_by_key(|check| check.id);
        found.truncate(limit as usize);
        Ok(found)
    }

    pub(crate) async fn dataset_check(
        &self,
        id: BatchId,
    ) -> Result<Option<DatasetCheck>, StoreError> {
        let after = u128::from(id).checked_add(1).map(BatchId::from);
        Ok(self
            .dataset_checks(after, 1)
            .await?
            .into_iter()
            .find(|check| check.id == id))
    }
}

/// Whether an entry with this digest may contain a grade of the list.
fn may_match(filter: &GradeFilter, before: Option<GradeId>, digest: &Digest) -> bool {
    let Some((lowest, _)) = digest.ids else {
        return false;
    };
    before.is_none_or(|before| lowest < before)
        && filter.batch.is_none_or(|batch| digest.batch == batch)
        && filter
            .run
            .as_deref()
            .is_none_or(|run| digest.run.as_deref() == Some(run))
        && filter.step.is_none_or(|step| digest.step == Some(step))
}

/// The entries of each batch, oldest first.
fn by_batch(pending: Vec<Arc<PendingEntry>>) -> Vec<Vec<Arc<PendingEntry>>> {
    let mut groups: BTreeMap<BatchId, Vec<Arc<PendingEntry>>> = BTreeMap::new();
    for entry in pending {
        groups.entry(entry.digest.batch).or_default().push(entry);
    }
    groups.into_values().collect()
}

fn batches(groups: &[Vec<Arc<PendingEntry>>]) -> Vec<BatchId> {
    let first = groups.iter().filter_map(|group| group.first());
    first.map(|entry| entry.digest.batch).collect()
}

fn highest(group: &[Arc<PendingEntry>]) -> Option<GradeId> {
    let ids = group.iter().filter_map(|entry| entry.digest.ids);
    ids.map(|(_, highest)| highest).max()
}

/// Each pending entry with those of its grades that are neither in the database nor in an older
/// entry.
async fn new_grades_by_entry(
    pending: Vec<Arc<PendingEntry>>,
    snapshot: &mut dyn Snapshot,
) -> Result<Vec<(Arc<LoadedEntry>, Vec<GradeRecord>)>, StoreError> {
    let mut lists = Vec::new();
    for chunk in by_batch(pending).chunks(LOOKUP) {
        let present = snapshot.present(&batches(chunk)).await?;
        for group in chunk {
            let mut seen: HashSet<GradeId> = HashSet::new();
            for entry in group {
                lists.push(new_grades_of_entry(entry, &present, &mut seen).await?);
            }
        }
    }
    Ok(lists)
}

/// The grades of one batch's entries that are neither in the database nor in an older entry.
async fn new_grades(
    group: &[Arc<PendingEntry>],
    present: &HashMap<BatchId, HashSet<GradeId>>,
) -> Result<Vec<GradeRecord>, StoreError> {
    let (mut seen, mut new_grades) = (HashSet::new(), Vec::new());
    for entry in group {
        new_grades.extend(new_grades_of_entry(entry, present, &mut seen).await?.1);
    }
    Ok(new_grades)
}

/// An entry with those of its grades that are neither in the database nor in `seen`.
async fn new_grades_of_entry(
    entry: &Arc<PendingEntry>,
    present: &HashMap<BatchId, HashSet<GradeId>>,
    seen: &mut HashSet<GradeId>,
) -> Result<(Arc<LoadedEntry>, Vec<GradeRecord>), StoreError> {
    let stored = present.get(&entry.digest.batch);
    let is_new = |grade: &GradeRecord| stored.is_none_or(|stored| !stored.contains(&grade.grade));
    let loaded = load(entry).await?;
    let grades = loaded.entry.grades.iter();
    let new_grades = grades
        .filter(|grade| is_new(grade) && seen.insert(grade.grade))
        .cloned()
        .collect();
    Ok((loaded, new_grades))
}

/// The entry's claim with its reply.
fn claim_of(loaded: &LoadedEntry) -> Result<Option<Claim>, BadContent> {
    let Some(claim) = &loaded.entry.claim else {
        return Ok(None);
    };
    let reply = claim
        .reply
        .as_ref()
        .zip(loaded.contents.reply.as_ref())
        .map(|(reply, content)| {
            Ok(SealedReply {
                media: reply.media.clone(),
                body: decompress(content)?,
            })
        })
        .transpose()?;
    Ok(Some(Claim {
        key: claim.key.clone(),
        request: claim.request,
        batch: claim.batch,
        time_us: claim.time_us,
        reply,
    }))
}

async fn load(entry: &Arc<PendingEntry>) -> Result<Arc<LoadedEntry>, StoreError> {
    entry.load().await.map_err(|error| {
        StoreError::Unavailable(format!(
            "cannot read an entry back from the spool ({error}); check the disk"
        ))
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn inconsistent(error: BadContent) -> StoreError {
    StoreError::Inconsistent(error.to_string())
}
