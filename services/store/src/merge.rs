//! Responsible for reads: what the database has and what still waits, merged so that nothing is
//! missed and nothing counts twice.
//!
//! A read takes the waiting entries first and the state of the database second. An entry leaves the
//! waiting ones only after the database has it, so it is in one of the two; and the state knows how
//! far the spool was applied in it, so an entry that is in both is recognised by its position and
//! dropped from the waiting ones. Grades that were sent again are recognised by their id: the
//! database's row wins over a waiting one and the older waiting one over the newer, exactly as if
//! all had been applied.

mod runs;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use assay_core::channel::{Adjudication, ChannelCounts, Draw, Event};
use assay_core::check::DatasetCheck;
use assay_core::pair::{KnownPairs, PairPage};
use assay_core::prompt::{self, Visits};
use assay_core::record::{Body, Claim, GradeRecord, RequestKey, SealedReply};
use assay_core::store::{GradeFilter, GradePage, StoreError};
use assay_core::{BatchId, GradeId, Hash, Visit};

use crate::database::{Database, Snapshot, merge_claim};
use crate::packs::{BadContent, unsqueeze};
use crate::pending::{Digest, Item, Pending};
use crate::writer::Loaded;

/// Batches whose presence in the database is looked up at once.
const LOOKUP: usize = 64;

/// Both sources of a read.
pub(crate) struct Sources<'s> {
    pub(crate) pending: &'s Pending,
    pub(crate) database: &'s dyn Database,
    /// How long a read of pairs waits for those that are on their way into the database.
    pub(crate) timeout: Duration,
}

impl Sources<'_> {
    /// The waiting entries whose digest passes, oldest first, and a state of the database that
    /// holds none of them.
    async fn view(
        &self,
        passes: impl Fn(&Digest) -> bool,
    ) -> Result<(Vec<Arc<Item>>, Box<dyn Snapshot>), StoreError> {
        let mut items = self.pending.select(passes);
        let snapshot = self.database.snapshot().await?;
        let progress = snapshot.progress();
        items.retain(|item| item.end > progress);
        Ok((items, snapshot))
    }

    pub(crate) async fn grade(&self, id: GradeId) -> Result<Option<GradeRecord>, StoreError> {
        let (items, mut snapshot) = self.view(|digest| digest.may_hold_grade(id)).await?;
        if let Some(grade) = snapshot.grade(id).await? {
            return Ok(Some(grade));
        }
        for item in items {
            let loaded = load(&item).await?;
            let found = loaded.entry.grades.iter().find(|grade| grade.grade == id);
            if let Some(grade) = found {
                return Ok(Some(grade.clone()));
            }
        }
        Ok(None)
    }

    pub(crate) async fn body(&self, hash: Hash) -> Result<Option<Body>, StoreError> {
        // A body is what its hash says wherever it lies, so one that waits needs no look at the
        // database.
        for item in self.pending.select(|digest| digest.may_hold_body(hash)) {
            let loaded = load(&item).await?;
            if let Some(body) = loaded.contents.body(hash).map_err(inconsistent)? {
                return Ok(Some(body));
            }
        }
        let mut snapshot = self.database.snapshot().await?;
        Ok(snapshot.body(hash).await?)
    }

    pub(crate) async fn claim(&self, key: &RequestKey) -> Result<Option<Claim>, StoreError> {
        let (items, mut snapshot) = self
            .view(|digest| digest.claim.as_ref() == Some(key))
            .await?;
        let mut claim = snapshot.claim(key).await?;
        drop(snapshot);
        for item in items {
            let loaded = load(&item).await?;
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
        let (items, mut snapshot) = self.view(|digest| may_keep(filter, before, digest)).await?;
        // One more than the page tells whether another follows.
        let wanted = (limit as usize).saturating_add(1);
        let mut grades = snapshot
            .grades(filter, before, limit.saturating_add(1))
            .await?;
        let mut groups: Vec<Vec<Arc<Item>>> = by_batch(items);
        groups.sort_by_key(|group| std::cmp::Reverse(highest(group)));
        for chunk in groups.chunks(LOOKUP) {
            let enough = |grades: &[GradeRecord], group: &[Arc<Item>]| {
                grades.len() >= wanted
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
                let new = fresh(group, &present).await?;
                let kept = new.into_iter().filter(|grade| {
                    filter.keeps(grade) && before.is_none_or(|before| grade.grade < before)
                });
                grades.extend(kept);
                grades.sort_by_key(|grade| std::cmp::Reverse(grade.grade));
                grades.truncate(wanted);
            }
        }
        let more = grades.len() == wanted;
        grades.truncate(limit as usize);
        let next = grades.last().filter(|_| more).map(|grade| grade.grade);
        Ok(GradePage { grades, next })
    }

    pub(crate) async fn channels(&self) -> Result<ChannelCounts, StoreError> {
        let (items, mut snapshot) = self
            .view(|digest| digest.totals.grades > 0 || digest.events)
            .await?;
        let mut counts = snapshot.channels().await?;
        for item in &items {
            load(item)
                .await?
                .entry
                .events
                .iter()
                .for_each(|event| counts.add_event(event));
        }
        for (_, fresh) in fresh_by_entry(items, snapshot.as_mut()).await? {
            counts.add_grades(&fresh);
        }
        Ok(counts)
    }

    pub(crate) async fn visits(
        &self,
        run: &str,
        prompts: Option<&[String]>,
    ) -> Result<BTreeMap<String, Vec<Visit>>, StoreError> {
        let (items, mut snapshot) = self
            .view(|digest| digest.run.as_deref() == Some(run) && digest.totals.grades > 0)
            .await?;
        let mut visits = snapshot.visits(run, prompts).await?;
        let mut waiting = Visits::default();
        for (_, fresh) in fresh_by_entry(items, snapshot.as_mut()).await? {
            prompt::add_grades(&mut waiting, &fresh);
        }
        for ((_, key, step), visit) in waiting {
            if prompts.is_some_and(|prompts| !prompts.contains(&key)) {
                continue;
            }
            let known = visits.entry(key).or_default();
            match known.binary_search_by_key(&step, |known| known.step) {
                Ok(at) => known[at].add(&visit),
                Err(at) => known.insert(at, visit),
            }
        }
        Ok(visits)
    }

    pub(crate) async fn last_adjudications(
        &self,
        limit: u32,
    ) -> Result<Vec<Adjudication>, StoreError> {
        let (items, mut snapshot) = self.view(|digest| digest.events).await?;
        let mut found = snapshot.last_adjudications(limit).await?;
        for item in items {
            found.extend(
                load(&item)
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
        let (items, mut snapshot) = self.view(|digest| digest.events).await?;
        let mut found = snapshot.adjudications(grade).await?;
        for item in items {
            for event in &load(&item).await?.entry.events {
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
        let (items, mut snapshot) = self.view(|digest| digest.events).await?;
        let mut found = snapshot.draws(grades).await?;
        for item in items {
            for event in &load(&item).await?.entry.events {
                if let Event::Drawn(draw) = event
                    && grades.contains(&draw.grade)
                    && found.iter().all(|known| known.grade != draw.grade)
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
        let (items, mut snapshot) = self.view(|digest| digest.events).await?;
        let mut waiting: BTreeSet<Hash> = BTreeSet::new();
        for item in items {
            waiting.extend(load(&item).await?.entry.events.iter().filter_map(
                |event| match event {
                    Event::Collected(pair) if pair.model == model => Some(pair.pair),
                    _ => None,
                },
            ));
        }
        let asked: Vec<Hash> = pairs.iter().chain(&waiting).copied().collect();
        let KnownPairs {
            known: stored,
            total,
        } = snapshot.known_pairs(model, &asked).await?;
        let stored: BTreeSet<Hash> = stored.into_iter().collect();
        let fresh = waiting.difference(&stored).count() as u64;
        let is_known = |pair: &Hash| stored.contains(pair) || waiting.contains(pair);
        Ok(KnownPairs {
            known: pairs.iter().copied().filter(is_known).collect(),
            total: total + fresh,
        })
    }

    pub(crate) async fn pairs(
        &self,
        model: &str,
        after: u64,
        limit: u32,
    ) -> Result<PairPage, StoreError> {
        tokio::time::timeout(self.timeout, self.pending.events_forgotten())
            .await
            .map_err(|_| {
                StoreError::Unavailable(
                    "collected pairs wait for the database, which is locked or away".to_owned(),
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
        let (items, mut snapshot) = self.view(|digest| digest.events).await?;
        let mut found = snapshot.dataset_checks(before, limit).await?;
        for item in items {
            found.extend(
                load(&item)
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

/// Whether an entry with this digest may hold a grade of the list.
fn may_keep(filter: &GradeFilter, before: Option<GradeId>, digest: &Digest) -> bool {
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
fn by_batch(items: Vec<Arc<Item>>) -> Vec<Vec<Arc<Item>>> {
    let mut groups: BTreeMap<BatchId, Vec<Arc<Item>>> = BTreeMap::new();
    for item in items {
        groups.entry(item.digest.batch).or_default().push(item);
    }
    groups.into_values().collect()
}

fn batches(groups: &[Vec<Arc<Item>>]) -> Vec<BatchId> {
    let first = groups.iter().filter_map(|group| group.first());
    first.map(|item| item.digest.batch).collect()
}

fn highest(group: &[Arc<Item>]) -> Option<GradeId> {
    let ids = group.iter().filter_map(|item| item.digest.ids);
    ids.map(|(_, highest)| highest).max()
}

/// Each waiting entry with those of its grades that are neither in the database nor in an older
/// entry.
async fn fresh_by_entry(
    items: Vec<Arc<Item>>,
    snapshot: &mut dyn Snapshot,
) -> Result<Vec<(Arc<Loaded>, Vec<GradeRecord>)>, StoreError> {
    let mut lists = Vec::new();
    for chunk in by_batch(items).chunks(LOOKUP) {
        let present = snapshot.present(&batches(chunk)).await?;
        for group in chunk {
            let mut seen: HashSet<GradeId> = HashSet::new();
            for item in group {
                lists.push(fresh_of(item, &present, &mut seen).await?);
            }
        }
    }
    Ok(lists)
}

/// The grades of one batch's entries that are neither in the database nor in an older entry.
async fn fresh(
    group: &[Arc<Item>],
    present: &HashMap<BatchId, HashSet<GradeId>>,
) -> Result<Vec<GradeRecord>, StoreError> {
    let (mut seen, mut fresh) = (HashSet::new(), Vec::new());
    for item in group {
        fresh.extend(fresh_of(item, present, &mut seen).await?.1);
    }
    Ok(fresh)
}

async fn fresh_of(
    item: &Arc<Item>,
    present: &HashMap<BatchId, HashSet<GradeId>>,
    seen: &mut HashSet<GradeId>,
) -> Result<(Arc<Loaded>, Vec<GradeRecord>), StoreError> {
    let stored = present.get(&item.digest.batch);
    let is_new = |grade: &GradeRecord| stored.is_none_or(|stored| !stored.contains(&grade.grade));
    let loaded = load(item).await?;
    let grades = loaded.entry.grades.iter();
    let fresh = grades
        .filter(|grade| is_new(grade) && seen.insert(grade.grade))
        .cloned()
        .collect();
    Ok((loaded, fresh))
}

/// The entry's claim with its reply.
fn claim_of(loaded: &Loaded) -> Result<Option<Claim>, BadContent> {
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
                body: unsqueeze(content)?,
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

async fn load(item: &Arc<Item>) -> Result<Arc<Loaded>, StoreError> {
    item.load().await.map_err(|error| {
        StoreError::Unavailable(format!(
            "an entry cannot be read back from the spool ({error}): check its disk"
        ))
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn inconsistent(error: BadContent) -> StoreError {
    StoreError::Inconsistent(error.to_string())
}
