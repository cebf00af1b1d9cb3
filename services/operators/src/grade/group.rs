//! The rollouts of a grade's group, side by side.

use std::cmp::Ordering;

use assay_core::{GradeId, Hash};
use assay_record::{BodyKind, GradeFilter, ItemGrade, Record, StoredGrade};
use assay_review::explanation;
use serde_json::Value;

use super::place::address;
use crate::display::{bytes, cell, last_words, optional_number, short};
use crate::failure::Result;
use crate::query::{Pairs, link};
use crate::row::Badge;

/// Maximum number of rollouts on a page.
const MAX_MEMBERS: u32 = 64;

/// Longest completion of which a page reads an excerpt, in bytes.
const MAX_EXCERPTED: u64 = 64 << 10;

/// A rollout of a group.
pub(crate) struct Member {
    pub(crate) address: String,
    /// Whether it is the grade of the page.
    pub(crate) is_current: bool,
    pub(crate) badge: Badge,
    /// The extracted answer; empty if the evidence does not have it.
    pub(crate) answer: String,
    pub(crate) reward: String,
    pub(crate) advantage: String,
    /// Length of the completion; a dash if it is not stored.
    pub(crate) length: String,
    /// The last words of the completion; empty if it is long or not stored.
    pub(crate) excerpt: String,
}

/// The rollouts of a group, by reward, highest first.
pub(crate) struct Group {
    /// What they share.
    pub(crate) name: String,
    pub(crate) members: Vec<Member>,
    /// The list of all of them, if there are more.
    pub(crate) more: Option<String>,
    /// Addresses of the grades before and after the grade of the page.
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
}

impl Group {
    /// The group of a grade: the grades of its batch with the same group, or without one those of
    /// its step with the same prompt. `None` if it is alone.
    pub(crate) async fn read(
        record: &Record,
        stored: &StoredGrade,
        pairs: &Pairs,
    ) -> Result<Option<Self>> {
        let Some((name, filter)) = shared(stored) else {
            return Ok(None);
        };
        let page = record.grades(&filter, None, MAX_MEMBERS).await?;
        let mut grades = page.grades;
        let id = stored.grade.grade;
        if grades.iter().all(|other| other.grade.grade != id) {
            grades.push(stored.clone());
        }
        if grades.len() < 2 {
            return Ok(None);
        }
        grades.sort_by(|a, b| by_reward(&a.grade, &b.grade));
        let hashes: Vec<Hash> = grades
            .iter()
            .map(|stored| stored.source.completion_hash)
            .collect();
        let sizes = record.body_sizes(&hashes).await?;
        let mut members = Vec::with_capacity(grades.len());
        for other in &grades {
            let hash = other.source.completion_hash;
            let size = sizes.get(&hash).copied();
            let excerpt = match size {
                Some(size) if size <= MAX_EXCERPTED => excerpt(record, hash).await?,
                _ => String::new(),
            };
            members.push(Member::new(other, id, (size, excerpt), pairs));
        }
        let at = members.iter().position(|member| member.is_current);
        let near = |step: isize| {
            let at = at?.checked_add_signed(step)?;
            Some(members.get(at)?.address.clone())
        };
        Ok(Some(Self {
            name,
            more: page.next.map(|_| list(&filter)),
            previous: near(-1),
            next: near(1),
            members,
        }))
    }
}

impl Member {
    fn new(
        StoredGrade { grade, .. }: &StoredGrade,
        current: GradeId,
        (size, excerpt): (Option<u64>, String),
        pairs: &Pairs,
    ) -> Self {
        let evidence = grade.evidence.as_ref();
        let evidence = evidence.map_or(Value::Null, |facts| Value::Object(facts.facts()));
        Self {
            address: address(grade.grade, pairs),
            is_current: grade.grade == current,
            badge: Badge::of(grade),
            answer: short(&explanation::extracted(&evidence)),
            reward: optional_number(grade.reward),
            advantage: optional_number(grade.advantage),
            length: size.map_or_else(|| "–".to_owned(), |size| bytes(size as f64)),
            excerpt,
        }
    }
}

/// What the group of a grade is called, and the filter of its grades.
fn shared(StoredGrade { source, grade }: &StoredGrade) -> Option<(String, GradeFilter)> {
    if let Some(group) = &grade.group {
        let filter = GradeFilter {
            batch: Some(source.batch),
            group: Some(group.clone()),
            ..GradeFilter::default()
        };
        return Some((cell(group), filter));
    }
    let prompt = grade.prompt_key.as_ref()?;
    let filter = GradeFilter {
        run: Some(source.run.as_deref()?.to_owned()),
        step: Some(source.step?),
        prompt_key: Some(prompt.clone()),
        ..GradeFilter::default()
    };
    Some((cell(&format!("prompt {prompt}")), filter))
}

/// The list of the grades of a filter of [`shared`].
fn list(filter: &GradeFilter) -> String {
    let batch = filter.batch.map(|batch| batch.to_string());
    let step = filter.step.map(|step| step.to_string());
    let pairs = [
        ("batch", batch.as_deref()),
        ("group", filter.group.as_deref()),
        ("run", filter.run.as_deref()),
        ("step", step.as_deref()),
        ("prompt_key", filter.prompt_key.as_deref()),
    ];
    link("/ui/grades", &pairs)
}

/// Higher rewards first, then those without one; equal ones in the order of the batch.
fn by_reward(a: &ItemGrade, b: &ItemGrade) -> Ordering {
    let reward = |grade: &ItemGrade| grade.reward.unwrap_or(f64::NEG_INFINITY);
    reward(b)
        .total_cmp(&reward(a))
        .then_with(|| a.grade.cmp(&b.grade))
}

/// The last words of a completion, or of the last message of its chat.
async fn excerpt(record: &Record, hash: Hash) -> Result<String> {
    let Some(body) = record.body(hash).await? else {
        return Ok(String::new());
    };
    let content = String::from_utf8_lossy(&body.content);
    if body.kind == BodyKind::Text {
        return Ok(last_words(&content));
    }
    let messages: Value = serde_json::from_str(&content).unwrap_or_default();
    let last = messages.as_array().and_then(|messages| messages.last());
    let last = last.map_or(&Value::Null, |message| &message["content"]);
    Ok(match last {
        Value::Null => String::new(),
        Value::String(text) => last_words(text),
        other => last_words(&other.to_string()),
    })
}
