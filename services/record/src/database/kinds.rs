//! Kinds: the columns that many grades have in common, stored once in `kinds`. Finds the kinds of
//! grades and numbers them.

use std::collections::HashMap;

use assay_core::Hash;
use serde::Serialize;

use super::insert::Values;
use crate::Appeal;
use crate::StoredGrade;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};

/// An existing kind is overwritten with itself, because SQLite returns the number only of a written
/// row.
const UPSERT: &str = "insert into kinds (spec, channel, grader, version, image, policy, outcome, \
     verdict, pass, deterministic, cached, policy_hash, appeal, truncated, cause) \
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
     on conflict (spec) do update set spec = excluded.spec returning no";

/// The columns of `kinds`. The encoding of this struct is the start of `kinds.spec`, so the order
/// of fields must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub(super) struct Kind<'g> {
    pub(super) channel: &'g str,
    pub(super) grader: &'g str,
    pub(super) version: u32,
    /// Earlier releases had the image of the guest here; it is part of the evidence.
    image: Option<Hash>,
    policy: &'g str,
    pub(super) outcome: &'g str,
    pub(super) verdict: Option<&'g str>,
    pass: Option<bool>,
    deterministic: bool,
    cached: bool,
    policy_hash: Option<Hash>,
    pub(super) appeal: Option<&'g str>,
    /// Whether the completion was truncated, and the code of the error. Their encoding follows, if
    /// either has a value.
    #[serde(skip)]
    pub(super) truncated: bool,
    #[serde(skip)]
    pub(super) cause: Option<&'g str>,
}

impl Kind<'_> {
    /// The value of `kinds.spec`.
    fn spec(&self) -> postcard::Result<Vec<u8>> {
        let spec = postcard::to_stdvec(self)?;
        match (self.truncated, self.cause) {
            (false, None) => Ok(spec),
            added => postcard::to_extend(&added, spec),
        }
    }
}

/// The kinds of some grades.
#[derive(Default)]
pub(super) struct Kinds<'g> {
    pub(super) list: Vec<Kind<'g>>,
    indices: HashMap<Kind<'g>, usize>,
}

impl<'g> Kinds<'g> {
    /// Index of the grade's kind in the list.
    pub(super) fn index(&mut self, stored: &'g StoredGrade) -> usize {
        let kind = Kind {
            channel: &stored.grade.channel,
            grader: &stored.grade.grader.name,
            version: stored.grade.grader.version,
            image: None,
            policy: &stored.source.policy,
            outcome: &stored.grade.outcome,
            verdict: stored.grade.verdict.as_deref(),
            pass: stored.grade.pass,
            deterministic: stored.grade.deterministic,
            cached: stored.grade.cached,
            policy_hash: stored.source.policy_hash,
            appeal: stored.grade.appeal.as_ref().map(Appeal::as_str),
            truncated: stored.grade.is_truncated(),
            cause: stored.grade.error.as_ref().map(|error| error.code.as_str()),
        };
        // Most batches have two or three kinds, and comparing them is cheaper than hashing five
        // texts.
        if let Some(index) = self
            .list
            .iter()
            .take(4)
            .position(|existing| *existing == kind)
        {
            return index;
        }
        *self.indices.entry(kind).or_insert_with(|| {
            self.list.push(kind);
            self.list.len() - 1
        })
    }

    /// Inserts the missing kinds and returns the numbers of all kinds in the list.
    pub(super) async fn upsert(
        &self,
        connection: &mut Connection,
    ) -> Result<Vec<i64>, DatabaseError> {
        let mut numbers = Vec::with_capacity(self.list.len());
        for kind in &self.list {
            let spec = kind.spec().map_err(|error| DatabaseError::Row {
                table: "kinds",
                column: "spec",
                reason: error.to_string(),
            })?;
            let mut values = Values::with_capacity(15);
            values
                .add(spec)
                .add(kind.channel)
                .add(kind.grader)
                .add(i64::from(kind.version))
                .add(kind.image.as_ref().map(|hash| &hash.as_bytes()[..]))
                .add(kind.policy)
                .add(kind.outcome)
                .add(kind.verdict)
                .add(kind.pass)
                .add(kind.deterministic)
                .add(kind.cached)
                .add(kind.policy_hash.as_ref().map(|hash| &hash.as_bytes()[..]))
                .add(kind.appeal)
                .add(kind.truncated)
                .add(kind.cause);
            let row = sql::query(UPSERT)
                .with(values.finish())
                .fetch_one(connection)
                .await?;
            numbers.push(row.try_get("no")?);
        }
        Ok(numbers)
    }
}
