//! Checks the names in a filter of grades. A misspelled one would silently select nothing.

use assay_base::did_you_mean;
use assay_core::{ErrorCode, Verdict};
use assay_record::{Appeal, GradeFilter, RecordError};

use crate::Review;

/// Names of outcomes.
pub const OUTCOMES: &[&str] = &["graded", "ungradable", "failed"];

/// Results of appeals.
pub const APPEALS: &[&str] = &Appeal::RESULTS;

/// Maximum number of runs among which a similar name is looked for.
const MAX_RUNS: u32 = 1_000;

/// Why a filter is rejected.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// A name that does not exist, or a condition that requires another one.
    #[error("{message}")]
    Invalid {
        /// The part of the filter.
        parameter: &'static str,
        /// What is wrong, and the known names.
        message: String,
    },
    /// The record cannot be read.
    #[error(transparent)]
    Store(#[from] RecordError),
}

impl Review {
    /// Checks the outcome, the appeal, the grader, the verdict, the cause and the search for texts
    /// of a filter, and the grader of its channel. Graders, verdicts and causes that this node does
    /// not have are accepted if a recorded grade has them.
    ///
    /// # Errors
    /// [`FilterError`].
    pub async fn check_filter(&self, filter: &GradeFilter) -> Result<(), FilterError> {
        let fixed = [
            ("outcome", &*filter.outcomes, OUTCOMES),
            ("appeal", &*filter.appeals, APPEALS),
        ];
        for (parameter, names, known) in fixed {
            let mut names = names.iter().map(String::as_str);
            if let Some(name) = names.find(|name| !known.contains(name)) {
                let listed = format!("; expected one of `{}`", known.join("`, `"));
                let what = format!("{parameter} `{name}`");
                return Err(unknown(
                    parameter,
                    &what,
                    name,
                    known.iter().copied(),
                    &listed,
                ));
            }
        }
        if let Some(grader) = &filter.grader {
            let what = format!("grader `{grader}`");
            self.check_grader(filter, "grader", grader, &what).await?;
        }
        if let Some(channel) = &filter.channel {
            let grader = channel.split('/').next().unwrap_or_default();
            let what = format!("grader `{grader}` of the channel `{channel}`");
            self.check_grader(filter, "channel", grader, &what).await?;
        }
        for verdict in &filter.verdicts {
            let verdicts = || self.verdicts(filter.grader.as_deref());
            if verdicts().all(|known| known != verdict) && !self.has_verdict(verdict).await? {
                let what = format!("verdict `{verdict}`");
                let listed = "; `GET /v1/graders` lists the verdicts of each grader";
                return Err(unknown("verdict", &what, verdict, verdicts(), listed));
            }
        }
        for cause in &filter.causes {
            let codes = || ErrorCode::ALL.iter().map(|code| code.as_str());
            if codes().all(|known| known != cause) && !self.has_cause(cause).await? {
                let what = format!("cause `{cause}`");
                let listed = "; `docs/PROBLEMS.md` lists the codes of errors";
                return Err(unknown("cause", &what, cause, codes(), listed));
            }
        }
        if let (Some(text), Some(record)) = (&filter.text, self.engine.record())
            && let Some(problem) = record.search_problem(text).await?
        {
            return Err(FilterError::Invalid {
                parameter: "text",
                message: format!("`text`: {problem}"),
            });
        }
        if filter.prompt_key.is_some() && filter.run.is_none() {
            return Err(FilterError::Invalid {
                parameter: "prompt_key",
                message: "`prompt_key` requires `run`: prompts are listed within a run".to_owned(),
            });
        }
        Ok(())
    }

    /// The verdicts of a grader of this node, or of all; some may be repeated.
    pub fn verdicts(&self, grader: Option<&str>) -> impl Iterator<Item = &'static str> {
        let graders = self.engine.graders().iter().map(|grader| grader.spec());
        graders
            .filter(move |spec| grader.is_none_or(|name| spec.name == name))
            .flat_map(|spec| spec.verdicts)
            .map(|verdict| verdict.verdict.as_str())
            // The engine gives it to completions that no grader reads.
            .chain([Verdict::TOO_LONG.as_str()])
    }

    async fn check_grader(
        &self,
        filter: &GradeFilter,
        parameter: &'static str,
        grader: &str,
        what: &str,
    ) -> Result<(), FilterError> {
        let is_installed = self.engine.graders().by_name(grader).is_some();
        if is_installed || self.has_grade(filter, parameter).await? {
            return Ok(());
        }
        let names = self
            .engine
            .graders()
            .iter()
            .map(|grader| grader.spec().name);
        let listed = "; `assay graders` and `GET /v1/graders` list the graders";
        Err(unknown(parameter, what, grader, names, listed))
    }

    /// Whether the record has a grade with the grader or the channel of a filter.
    async fn has_grade(&self, filter: &GradeFilter, parameter: &str) -> Result<bool, RecordError> {
        let only = |name, value: &Option<String>| value.clone().filter(|_| name == parameter);
        let filter = GradeFilter {
            grader: only("grader", &filter.grader),
            channel: only("channel", &filter.channel),
            ..GradeFilter::default()
        };
        self.has_any(&filter).await
    }

    async fn has_verdict(&self, verdict: &str) -> Result<bool, RecordError> {
        let filter = GradeFilter {
            verdicts: vec![verdict.to_owned()],
            ..GradeFilter::default()
        };
        self.has_any(&filter).await
    }

    async fn has_cause(&self, cause: &str) -> Result<bool, RecordError> {
        let filter = GradeFilter {
            causes: vec![cause.to_owned()],
            ..GradeFilter::default()
        };
        self.has_any(&filter).await
    }

    /// Whether a recorded grade matches a filter.
    async fn has_any(&self, filter: &GradeFilter) -> Result<bool, RecordError> {
        match self.engine.record() {
            Some(record) => Ok(!record.grades(filter, None, 1).await?.grades.is_empty()),
            None => Ok(false),
        }
    }

    /// The message that the record has no run of this name, with the most similar name.
    ///
    /// # Errors
    /// [`RecordError`] if the record cannot be read.
    pub async fn unknown_run(&self, name: &str) -> Result<String, RecordError> {
        let runs = match self.engine.record() {
            Some(record) => record.runs(MAX_RUNS).await?,
            None => Vec::new(),
        };
        let similar = did_you_mean(name, runs.iter().map(|run| run.run.as_str()));
        let listed = if similar.is_empty() {
            "; `assay runs` and `GET /v1/runs` list the runs"
        } else {
            ""
        };
        Ok(format!("no run named `{name}`{similar}{listed}"))
    }
}

/// The value with this name; `None` without a name.
pub(crate) fn named<T: Copy>(
    parameter: &'static str,
    name: Option<&str>,
    values: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<Option<T>, FilterError> {
    let Some(name) = name else {
        return Ok(None);
    };
    if let Some(value) = values.iter().find(|value| name_of(**value) == name) {
        return Ok(Some(*value));
    }
    let names: Vec<&str> = values.iter().map(|value| name_of(*value)).collect();
    let listed = format!("; expected one of `{}`", names.join("`, `"));
    let what = format!("{parameter} `{name}`");
    Err(unknown(parameter, &what, name, names, &listed))
}

/// The error for an unknown name: `what` is not one of the `known`, of which one may be similar.
/// `listed` says where they are listed.
pub(crate) fn unknown<'n>(
    parameter: &'static str,
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'n str>,
    listed: &str,
) -> FilterError {
    let similar = did_you_mean(name, known);
    let end = if similar.is_empty() { listed } else { &similar };
    FilterError::Invalid {
        parameter,
        message: format!("unknown {what}{end}"),
    }
}
