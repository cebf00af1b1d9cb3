//! Filters and orders of lists of runs, and the last columns of their charts.

use std::collections::BTreeMap;

use crate::chart::Sums;

/// Which runs to list. A field that is `None` does not restrict the result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Part of the name or the note. The case of ASCII letters is ignored.
    pub search: Option<String>,
    /// A tag of the run.
    pub tag: Option<String>,
    /// Whether the run is archived.
    pub archived: Option<bool>,
}

/// By what a list of runs is sorted. Ties are sorted by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunKey {
    /// Time of the last grade.
    #[default]
    LastUsed,
    /// Name.
    Name,
    /// Number of grades.
    Grades,
    /// Mean reward.
    MeanReward,
    /// Share of the graded items that passed.
    PassRate,
}

impl RunKey {
    /// Every key, in the order of documents.
    pub const ALL: &'static [Self] = &[
        Self::LastUsed,
        Self::Name,
        Self::Grades,
        Self::MeanReward,
        Self::PassRate,
    ];

    /// Name in queries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LastUsed => "last_used",
            Self::Name => "name",
            Self::Grades => "grades",
            Self::MeanReward => "mean_reward",
            Self::PassRate => "pass_rate",
        }
    }

    /// The direction in which it sorts unless another one is chosen.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Self::Name => Direction::Ascending,
            _ => Direction::Descending,
        }
    }
}

/// The direction of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

impl Direction {
    /// Both directions.
    pub const ALL: &'static [Self] = &[Self::Ascending, Self::Descending];

    /// Name in queries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ascending => "asc",
            Self::Descending => "desc",
        }
    }

    /// The other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }
}

/// The order of a list of runs. Runs without a value are last in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOrder {
    /// By what it is sorted.
    pub key: RunKey,
    /// In which direction.
    pub direction: Direction,
}

impl From<RunKey> for RunOrder {
    fn from(key: RunKey) -> Self {
        Self {
            key,
            direction: key.direction(),
        }
    }
}

/// Counts of a step, or of a bucket of steps.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TrendColumn {
    /// Grades.
    pub grades: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Sums over their rewards.
    pub rewards: Sums,
}

/// The last columns of the charts of a run, by the first step of each.
pub type Trend = BTreeMap<i64, TrendColumn>;
