//! Recorded grades page by page, newest first, from a server or the database.

use assay_record::{GradeFilter, StoredGrade};
use assay_wire::grades::GradesBody;

use super::{Source, record_of};
use crate::arguments::GradeSelection;

/// Maximum rows per page, which is the limit of `GET /v1/grades`.
pub(crate) const PAGE: u32 = 1_000;

/// A cursor over the selected grades. It keeps one page in memory.
pub(crate) struct Rows<'s> {
    source: &'s Source,
    selection: &'s GradeSelection,
    before: Option<String>,
    started: bool,
    ended: bool,
}

impl<'s> Rows<'s> {
    /// Starts at the newest grade that matches `selection`.
    pub(crate) fn new(source: &'s Source, selection: &'s GradeSelection) -> Self {
        Self {
            source,
            selection,
            before: None,
            started: false,
            ended: false,
        }
    }

    /// As [`Rows::next`], but fails if there is no row because the run does not exist.
    pub(crate) async fn next_of_run(&mut self, limit: u32) -> anyhow::Result<Vec<StoredGrade>> {
        let is_first = !self.started;
        let rows = self.next(limit).await?;
        if let Some(run) = self
            .selection
            .run
            .as_deref()
            .filter(|_| is_first && rows.is_empty())
        {
            self.source.require_run(run).await?;
        }
        Ok(rows)
    }

    /// Returns the next `limit` rows: fewer on the last page, none after it.
    pub(crate) async fn next(&mut self, limit: u32) -> anyhow::Result<Vec<StoredGrade>> {
        self.started = true;
        let mut rows = Vec::new();
        // A page of a search may have fewer rows than requested, or none, although others follow.
        while !self.ended && rows.len() < limit as usize {
            let left = limit - u32::try_from(rows.len()).unwrap_or(limit);
            rows.append(&mut self.page(left).await?);
        }
        Ok(rows)
    }

    async fn page(&mut self, limit: u32) -> anyhow::Result<Vec<StoredGrade>> {
        let page = match self.source {
            Source::Server(client) => {
                let mut query = selection_query(self.selection);
                query.push(("limit", limit.to_string()));
                query.extend(self.before.take().map(|before| ("before", before)));
                client.grades(&query).await?
            }
            Source::Node(node) => {
                let store = record_of(node)?;
                let before = self
                    .before
                    .take()
                    .map(|before| before.parse())
                    .transpose()?;
                let filter = filter(self.selection)?;
                node.review().check_filter(&filter).await?;
                let page = store.grades(&filter, before, limit).await?;
                let grades = page.grades;
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

fn filter(selection: &GradeSelection) -> anyhow::Result<GradeFilter> {
    Ok(GradeFilter {
        run: selection.run.clone(),
        step: selection.step,
        step_min: selection.step_min,
        step_max: selection.step_max,
        grader: selection.grader.clone(),
        channel: selection.channel.clone(),
        outcomes: GradeFilter::values(selection.outcome.as_deref()),
        verdicts: GradeFilter::values(selection.verdict.as_deref()),
        appeals: GradeFilter::values(selection.appeal.as_deref()),
        truncated: selection.truncated,
        causes: GradeFilter::values(selection.cause.as_deref()),
        batch: selection.batch.as_deref().map(str::parse).transpose()?,
        caller: selection.caller.clone(),
        item: selection.id.clone(),
        group: selection.group.clone(),
        label: selection.label.clone(),
        prompt_key: selection.prompt.clone(),
        score_min: selection.score_min,
        score_max: selection.score_max,
        since_us: selection.since,
        until_us: selection.until,
        text: selection.text.clone(),
    })
}

/// The parameters of `GET /v1/grades` for a selection.
pub(crate) fn selection_query(selection: &GradeSelection) -> Vec<(&'static str, String)> {
    let texts = [
        ("run", &selection.run),
        ("grader", &selection.grader),
        ("channel", &selection.channel),
        ("outcome", &selection.outcome),
        ("verdict", &selection.verdict),
        ("appeal", &selection.appeal),
        ("cause", &selection.cause),
        ("batch", &selection.batch),
        ("caller", &selection.caller),
        ("id", &selection.id),
        ("group", &selection.group),
        ("label", &selection.label),
        ("prompt_key", &selection.prompt),
    ];
    let mut query: Vec<_> = texts
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.clone()?)))
        .collect();
    query.extend((selection.truncated).map(|cut| ("truncated", cut.to_string())));
    for (name, step) in [
        ("step", selection.step),
        ("step_min", selection.step_min),
        ("step_max", selection.step_max),
    ] {
        query.extend(step.map(|step| (name, step.to_string())));
    }
    query.extend(
        selection
            .score_min
            .map(|score| ("score_min", score.to_string())),
    );
    query.extend(
        selection
            .score_max
            .map(|score| ("score_max", score.to_string())),
    );
    query.extend(selection.since.map(|us| ("since_us", us.to_string())));
    query.extend(selection.until.map(|us| ("until_us", us.to_string())));
    let text = selection.text.as_ref();
    query.extend(text.map(|text| ("text", text.to_string())));
    query
}
