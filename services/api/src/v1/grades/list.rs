//! `GET /v1/grades`: a page of recorded grades, newest first.

use assay_core::GradeId;
use assay_record::GradeFilter;
use assay_wire::grades::GradesBody;
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{parse, record_of};
use crate::Api;
use crate::error::ApiResult;
use crate::query::{FilterAndPage, PageParameters};
use crate::v1::page::{self, PageLimit};

/// Which grades are selected.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct GradeQuery {
    /// Exact name of the run.
    run: Option<String>,
    /// Exact step.
    step: Option<i64>,
    /// First step, inclusive.
    step_min: Option<i64>,
    /// Last step, inclusive.
    step_max: Option<i64>,
    /// Exact name of the grader, such as `math`.
    grader: Option<String>,
    /// Exact channel, such as `math/default`.
    channel: Option<String>,
    /// `graded`, `ungradable` or `failed`; several are separated by commas.
    #[param(pattern = "^(graded|ungradable|failed)(,(graded|ungradable|failed))*$")]
    outcome: Option<String>,
    /// Exact verdict, such as `wrong_answer`; several are separated by commas.
    verdict: Option<String>,
    /// Result of the appeal: `overturned`, `upheld`, `disagreed` or `unjudged`; several are
    /// separated by commas.
    #[param(
        pattern = "^(overturned|upheld|disagreed|unjudged)(,(overturned|upheld|disagreed|unjudged))*$"
    )]
    appeal: Option<String>,
    /// Whether the completion was cut at the length limit; known of graded items.
    truncated: Option<bool>,
    /// Code of the error of an item without a score, such as `grader_unavailable`; several are
    /// separated by commas.
    cause: Option<String>,
    /// Exact id of the batch.
    #[param(pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
    batch: Option<String>,
    /// Exact name of the caller; only for roles that see the grades of all.
    caller: Option<String>,
    /// Exact id of the item, as sent.
    id: Option<String>,
    /// Exact group, as sent.
    group: Option<String>,
    /// Exact label of a comment on the grade.
    #[param(pattern = "^[a-z0-9._-]{1,64}$")]
    label: Option<String>,
    /// Exact key of the prompt; requires `run`.
    prompt_key: Option<String>,
    /// Minimum score, inclusive.
    score_min: Option<f64>,
    /// Maximum score, inclusive.
    score_max: Option<f64>,
    /// What occurs in the completion or the prompt: `word "a phrase" prefix* -excluded
    /// /regex/`, all of them, in at most 256 bytes. Requires the setting `store.text_search`.
    #[param(max_length = 256)]
    text: Option<String>,
    /// Earliest time, inclusive, in microseconds since the Unix epoch.
    since_us: Option<i64>,
    /// Latest time, exclusive, in microseconds since the Unix epoch.
    until_us: Option<i64>,
}

impl GradeQuery {
    /// The filter with these parameters.
    ///
    /// # Errors
    /// A parameter is invalid, or names something that does not exist.
    pub(crate) async fn filter(self, api: &Api) -> ApiResult<GradeFilter> {
        let filter = GradeFilter {
            batch: self
                .batch
                .as_deref()
                .map(|id| parse("batch", id))
                .transpose()?,
            run: self.run,
            step: self.step,
            step_min: self.step_min,
            step_max: self.step_max,
            grader: self.grader,
            channel: self.channel,
            outcomes: GradeFilter::values(self.outcome.as_deref()),
            verdicts: GradeFilter::values(self.verdict.as_deref()),
            appeals: GradeFilter::values(self.appeal.as_deref()),
            truncated: self.truncated,
            causes: GradeFilter::values(self.cause.as_deref()),
            caller: self.caller,
            item: self.id,
            group: self.group,
            label: self.label,
            prompt_key: self.prompt_key,
            score_min: self.score_min,
            score_max: self.score_max,
            since_us: self.since_us,
            until_us: self.until_us,
            text: self
                .text
                .as_deref()
                .map(|text| parse("text", text))
                .transpose()?,
        };
        api.review().check_filter(&filter).await?;
        Ok(filter)
    }
}

/// The position and size of the page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// List only grades before this one: `next` of the previous page.
    #[param(pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
    before: Option<String>,
    /// Number of grades on the page, 1 to 1,000; 100 by default.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<PageLimit>,
}

impl PageParameters for PageQuery {
    const NAMES: &'static [&'static str] = &["before", "limit"];
}

/// Lists recorded grades, newest first, in pages. With `text`, a page looks at a limited number of
/// grades: it may have fewer than `limit`, or none, and a `next`.
#[utoipa::path(get, path = "/v1/grades", tag = "record", params(GradeQuery, PageQuery),
    responses((status = 200, description = "A page of grades", body = GradesBody)))]
pub(crate) async fn list(
    api: Api,
    FilterAndPage(query, page): FilterAndPage<GradeQuery, PageQuery>,
) -> ApiResult<Json<GradesBody>> {
    let limit = page::limit(page.limit);
    let before: Option<GradeId> = page
        .before
        .as_deref()
        .map(|id| parse("before", id))
        .transpose()?;
    let filter = query.filter(&api).await?;
    let page = record_of(&api)?.grades(&filter, before, limit).await?;
    Ok(Json(GradesBody {
        grades: page.grades,
        next: page.next.map(|id| id.to_string()),
    }))
}
