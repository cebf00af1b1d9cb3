//! Query strings and forms. The filter of a list is in its URL, so a link shows the same rows.

use std::convert::Infallible;
use std::fmt::Display;
use std::str::FromStr;

use assay_base::{did_you_mean, utc};
use assay_core::GradeId;
use assay_record::{GradeFilter, TextQuery, TextQueryError};
use axum::extract::FromRequestParts;
use form_urlencoded::Serializer;
use http::request::Parts;

use crate::failure::Failure;

/// Names and values of a query or form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pairs(Vec<(String, String)>);

/// A text field of a form.
pub(crate) struct Field {
    pub(crate) parameter: &'static str,
    pub(crate) name: &'static str,
    pub(crate) value: String,
    /// Whether its value is why the form is rejected.
    pub(crate) invalid: bool,
}

impl Field {
    /// A field with what was entered. `invalid` is the parameter for which the form is rejected.
    pub(crate) fn new(
        (parameter, name): (&'static str, &'static str),
        value: Option<&str>,
        invalid: Option<&str>,
    ) -> Self {
        Self {
            parameter,
            name,
            value: value.unwrap_or_default().to_owned(),
            invalid: invalid == Some(parameter),
        }
    }
}

impl Pairs {
    /// Reads a query or form. Empty fields are dropped.
    pub(crate) fn read(query: &str) -> Self {
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
        Self(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The last value with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// All values with this name, in order.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Parses the value with this name; `expected` describes it in the error.
    pub(crate) fn parse<T: FromStr>(
        &self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, Failure> {
        let parse = |value: &str| {
            value.trim().parse().map_err(|_| {
                let message = format!("`{name}` must be {expected}, not `{value}`");
                Failure::parameter(name, message)
            })
        };
        self.get(name).map(parse).transpose()
    }

    /// A link to the page at `path`, which has these parameters, with other values of some.
    pub(crate) fn changed(
        &self,
        path: &str,
        names: &[&str],
        changes: &[(&str, Option<&str>)],
    ) -> String {
        let field = |name| {
            let changed = changes.iter().find(|(changed, _)| *changed == name);
            (
                name,
                changed.map_or_else(|| self.get(name), |(_, value)| *value),
            )
        };
        let fields: Vec<_> = names.iter().copied().map(field).collect();
        link(path, &fields)
    }

    /// Rejects names that the page does not know. Ignoring a misspelt filter would show all rows.
    pub(crate) fn reject_unknown(&self, names: &[&str]) -> Result<(), Failure> {
        match self
            .0
            .iter()
            .find(|(name, _)| !names.contains(&name.as_str()))
        {
            Some((name, _)) => {
                let similar = did_you_mean(name, names.iter().copied());
                let end = match names {
                    [] => "; the page has none".to_owned(),
                    _ if similar.is_empty() => format!("; expected one of {}", names.join(", ")),
                    _ => similar,
                };
                Err(Failure::parameter(
                    name,
                    format!("unknown parameter `{name}`{end}"),
                ))
            }
            None => Ok(()),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Pairs {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::read(parts.uri.query().unwrap_or_default()))
    }
}

/// The query of a page without parameters.
pub(crate) struct NoQuery;

impl<S: Send + Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        Pairs::read(parts.uri.query().unwrap_or_default()).reject_unknown(&[])?;
        Ok(Self)
    }
}

/// A link to a path with the pairs that have a value.
pub(crate) fn link(path: &str, pairs: &[(&str, Option<&str>)]) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in pairs {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{query}")
    }
}

/// Query parameters of the list of grades.
pub(crate) const FIELDS: &[&str] = &[
    "run",
    "step",
    "step_min",
    "step_max",
    "grader",
    "channel",
    "outcome",
    "verdict",
    "appeal",
    "truncated",
    "cause",
    "caller",
    "id",
    "group",
    "label",
    "prompt_key",
    "batch",
    "score_min",
    "score_max",
    "since",
    "until",
    "text",
    "before",
];

/// The grades that a page lists.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Listing {
    pub(crate) filter: GradeFilter,
    /// Only grades before this one.
    pub(crate) before: Option<GradeId>,
}

impl Listing {
    pub(crate) fn read(pairs: &Pairs) -> Result<Self, Failure> {
        pairs.reject_unknown(FIELDS)?;
        let text = |name: &str| pairs.get(name).map(str::to_owned);
        let score = |name: &str| -> Result<Option<f64>, Failure> {
            let score: Option<f64> = pairs.parse(name, "a number")?;
            match score {
                Some(score) if score.is_nan() => {
                    let message = format!("`{name}` must be a number, not `NaN`");
                    Err(Failure::parameter(name, message))
                }
                score => Ok(score),
            }
        };
        let filter = GradeFilter {
            run: text("run"),
            step: pairs.parse("step", "a whole number")?,
            step_min: pairs.parse("step_min", "a whole number")?,
            step_max: pairs.parse("step_max", "a whole number")?,
            grader: text("grader"),
            channel: text("channel"),
            outcomes: GradeFilter::values(pairs.get("outcome")),
            verdicts: GradeFilter::values(pairs.get("verdict")),
            appeals: GradeFilter::values(pairs.get("appeal")),
            truncated: pairs.parse("truncated", "`true` or `false`")?,
            causes: GradeFilter::values(pairs.get("cause")),
            batch: pairs.parse("batch", "the id of a batch")?,
            caller: text("caller"),
            item: text("id"),
            group: text("group"),
            label: text("label"),
            prompt_key: text("prompt_key"),
            score_min: score("score_min")?,
            score_max: score("score_max")?,
            since_us: time(pairs, "since")?,
            until_us: time(pairs, "until")?,
            text: search(pairs)?,
        };
        Ok(Self {
            filter,
            before: pairs.parse("before", "the id of a grade")?,
        })
    }

    /// A link to the same list, starting before another grade.
    pub(crate) fn link(pairs: &Pairs, before: Option<GradeId>) -> String {
        let before = before.map(|id| id.to_string());
        Self::link_with(pairs, &[("before", before.as_deref())])
    }

    /// A link to the list with other values of some parameters.
    pub(crate) fn link_with(pairs: &Pairs, changed: &[(&str, Option<&str>)]) -> String {
        pairs.changed("/ui/grades", FIELDS, changed)
    }

    /// A link to a page that knows the list from which it was opened, such as that of a grade.
    pub(crate) fn link_within(path: &str, pairs: &Pairs) -> String {
        pairs.changed(path, FIELDS, &[("before", None)])
    }
}

/// Reads a search for texts.
fn search(pairs: &Pairs) -> Result<Option<TextQuery>, Failure> {
    let search = pairs.get("text").map(str::parse);
    search
        .transpose()
        .map_err(|error: TextQueryError| Failure::parameter("text", format!("`text`: {error}")))
}

/// Reads a time in UTC, such as `2026-11-22`, `2026-11-22T03:45` or `2026-11-22T03:45:10`, as
/// microseconds since the Unix epoch.
fn time(pairs: &Pairs, name: &str) -> Result<Option<i64>, Failure> {
    let Some(text) = pairs.get(name) else {
        return Ok(None);
    };
    let read = utc::parse(text.trim());
    let message = || {
        format!(
            "`{name}` must be a time in UTC, such as `2026-11-22` or `2026-11-22T03:45`, not \
             `{text}`"
        )
    };
    read.map(Some)
        .ok_or_else(|| Failure::parameter(name, message()))
}

/// The id of a grade, from the path.
pub(crate) fn grade_id(text: &str) -> Result<GradeId, Failure> {
    id("id", text)
}

/// An id, from the part `name` of the path.
pub(crate) fn id<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|error| Failure::parameter(name, format!("{error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_read_back_as_the_same_list() {
        let pairs = Pairs::read(
            "run=a%2Fb+c+&step=+3&score_min=0.5&verdict=&since=2026-11-18T11:06:40&before=",
        );
        let listing = Listing::read(&pairs).unwrap();
        assert_eq!(
            listing.filter.run.as_deref(),
            Some("a/b c "),
            "a name may end in a space"
        );
        assert_eq!(
            (listing.filter.step, listing.filter.score_min),
            (Some(3), Some(0.5))
        );
        assert!(listing.filter.verdicts.is_empty() && listing.before.is_none());
        assert_eq!(listing.filter.since_us, Some(1_795_000_000_000_000));
        let link = Listing::link(&pairs, Some(GradeId::from(7)));
        let (_, query) = link.split_once('?').unwrap();
        let again = Listing::read(&Pairs::read(query)).unwrap();
        assert_eq!(
            (again.filter.run.as_deref(), again.before),
            (Some("a/b c "), Some(GradeId::from(7)))
        );
    }

    #[test]
    fn rejects_unknown_and_malformed_parameters() {
        for query in [
            "verdikt=x",
            "step=x",
            "score_min=NaN",
            "batch=1",
            "before=x",
            "since=yesterday",
            "until=2026-13-01",
            "text=%22open",
        ] {
            let error = Listing::read(&Pairs::read(query)).unwrap_err();
            let name = query.split('=').next().unwrap();
            assert!(error.message.contains(name), "{query}: {}", error.message);
        }
    }
}
