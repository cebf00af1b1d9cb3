//! Grades of the record page by page, newest first, through a server or from the database itself.

use anyhow::Context;
use assay_core::store::GradeFilter;
use assay_wire::grades::{GradeBody, GradesBody};

use super::Source;
use crate::arguments::Which;

/// Most rows of a page, as a server has it.
pub(crate) const PAGE: u32 = 1_000;

/// A place in a list of grades. Memory is bounded by a page, however long the list.
pub(crate) struct Rows<'s> {
    source: &'s Source,
    which: &'s Which,
    before: Option<String>,
    ended: bool,
}

impl<'s> Rows<'s> {
    /// The newest of those that `which` keeps.
    pub(crate) fn new(source: &'s Source, which: &'s Which) -> Self {
        Self {
            source,
            which,
            before: None,
            ended: false,
        }
    }

    /// The next `limit` rows, fewer on the last page and none after it.
    pub(crate) async fn next(&mut self, limit: u32) -> anyhow::Result<Vec<GradeBody>> {
        if self.ended {
            return Ok(Vec::new());
        }
        let page = match self.source {
            Source::Server(client) => {
                let mut query = query(self.which);
                query.push(("limit", limit.to_string()));
                query.extend(self.before.take().map(|before| ("before", before)));
                client.grades(&query).await?
            }
            Source::Node(node) => {
                let store = node
                    .engine()
                    .store()
                    .context("no database is configured; name one with `--database`")?;
                let before = self
                    .before
                    .take()
                    .map(|before| before.parse())
                    .transpose()?;
                let page = store.grades(&filter(self.which)?, before, limit).await?;
                let grades = page.grades.iter().map(GradeBody::from).collect();
                GradesBody {
                    grades,
                    next: page.next.map(|id| id.to_string()),
                }
            }
        };
        self.ended = page.next.is_none();
        self.before = page.next;
        Ok(page.grades)
    }
}

fn filter(which: &Which) -> anyhow::Result<GradeFilter> {
    Ok(GradeFilter {
        run: which.run.clone(),
        step: which.step,
        grader: which.grader.clone(),
        channel: which.channel.clone(),
        outcome: which.outcome.clone(),
        verdict: which.verdict.clone(),
        appeal: which.appeal.clone(),
        batch: which.batch.as_deref().map(str::parse).transpose()?,
        item: which.id.clone(),
        group: which.group.clone(),
        score_min: which.score_min,
        score_max: which.score_max,
        since_us: None,
        until_us: None,
    })
}

fn query(which: &Which) -> Vec<(&'static str, String)> {
    let texts = [
        ("run", &which.run),
        ("grader", &which.grader),
        ("channel", &which.channel),
        ("outcome", &which.outcome),
        ("verdict", &which.verdict),
        ("appeal", &which.appeal),
        ("batch", &which.batch),
        ("id", &which.id),
        ("group", &which.group),
    ];
    let mut query: Vec<_> = texts
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.clone()?)))
        .collect();
    query.extend(which.step.map(|step| ("step", step.to_string())));
    query.extend(
        which
            .score_min
            .map(|score| ("score_min", score.to_string())),
    );
    query.extend(
        which
            .score_max
            .map(|score| ("score_max", score.to_string())),
    );
    query
}
