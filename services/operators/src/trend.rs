//! How the reward and the failures of a run developed, small enough for a row of a list.

use assay_record::chart::Sums;
use assay_record::run_list::{Trend, TrendColumn};
use assay_record::{Record, RunSummary};

use crate::chart::{Svg, spark};
use crate::display::{number, percent};
use crate::failure::Result;

/// Maximum number of columns of a line, about one per pixel.
const MAX_COLUMNS: u32 = 120;

/// Widths of the columns that the record keeps, in steps.
const WIDTHS: [i64; 4] = [1, 16, 256, 4_096];

/// Height of the scale of rewards at least, so that noise is not drawn as a change.
const MIN_RANGE: f64 = 0.05;

/// Standard errors from which a fall of the reward is marked.
const MIN_ERRORS: f64 = 3.0;

/// The lines of a run.
#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) rewards: Svg,
    /// The shares of items that failed; empty if none did.
    pub(crate) failures: Svg,
    /// Mean reward of the last tenth of the steps, minus that of as many steps before; empty if
    /// one of them has no reward.
    pub(crate) change: String,
    /// Whether the reward fell clearly.
    pub(crate) fell: bool,
}

impl Lines {
    /// Reads the lines of a run.
    pub(crate) async fn read(record: &Record, run: &RunSummary) -> Result<Self> {
        let Some(last) = run.last_step else {
            return Ok(Self::default());
        };
        let fits = |width: &i64| last / width < i64::from(MAX_COLUMNS);
        let width = WIDTHS.into_iter().find(fits).unwrap_or(WIDTHS[3]);
        let trend = record.run_trend(&run.run, width, MAX_COLUMNS).await?;
        Ok(Self::of(&trend))
    }

    fn of(trend: &Trend) -> Self {
        let mean = |column: &TrendColumn| column.rewards.mean();
        let rewards: Vec<f64> = trend.values().filter_map(mean).collect();
        let reward = match (rewards.first(), rewards.last()) {
            (Some(first), Some(last)) => {
                format!("reward by step: {} to {}", number(*first), number(*last))
            }
            _ => String::new(),
        };
        let share = |column: &TrendColumn| column.failed as f64 / column.grades.max(1) as f64;
        let shares: Vec<f64> = trend.values().map(share).collect();
        let (failed, grades) = trend.values().fold((0, 0), |(failed, grades), column| {
            (failed + column.failed, grades + column.grades)
        });
        let change = change(trend);
        Self {
            rewards: spark(&rewards, MIN_RANGE, &reward),
            failures: if failed > 0 {
                let label = format!("failures by step: {} of all items", percent(failed, grades));
                spark(&shares, MIN_RANGE, &label)
            } else {
                Svg::new()
            },
            fell: change
                .is_some_and(|(change, error)| error > 0.0 && -change / error >= MIN_ERRORS),
            change: change.map_or_else(String::new, |(change, _)| signed(change)),
        }
    }
}

/// The change over the last tenth of the columns, with its standard error.
fn change(trend: &Trend) -> Option<(f64, f64)> {
    let tenth = trend.len().div_ceil(10);
    let sums = |skipped: usize| {
        let mut sums = Sums::default();
        let columns = trend.values().rev().skip(skipped).take(tenth);
        columns.for_each(|column| sums.add(&column.rewards));
        sums
    };
    let (after, before) = (sums(0), sums(tenth));
    let change = after.mean()? - before.mean()?;
    let error = after.standard_error().zip(before.standard_error());
    Some((change, error.map_or(0.0, |(x, y)| x.hypot(y))))
}

/// A number with its sign.
fn signed(change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{}", number(change))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(rewards: &[f64], failed: u64) -> TrendColumn {
        let mut sums = Sums::default();
        rewards.iter().for_each(|reward| sums.push(*reward));
        TrendColumn {
            grades: rewards.len() as u64 + failed,
            failed,
            rewards: sums,
        }
    }

    #[test]
    fn compares_the_last_tenth_with_as_many_steps_before() {
        let trend: Trend = (0..20)
            .map(|step| {
                let reward = if step < 18 { [0.9, 1.0] } else { [0.1, 0.2] };
                (step, column(&reward.repeat(20), 0))
            })
            .collect();
        let lines = Lines::of(&trend);
        assert_eq!((lines.change.as_str(), lines.fell), ("-0.800", true));
        assert!(lines.rewards.contains("reward by step: 0.950 to 0.150"));
        assert_eq!(lines.failures, "");
    }

    #[test]
    fn a_run_with_a_single_step_has_no_change() {
        let lines = Lines::of(&Trend::from([(3, column(&[0.5], 1))]));
        assert_eq!((lines.change.as_str(), lines.fell), ("", false));
        assert!(lines.failures.contains("50.0 % of all items"));
        assert_eq!(Lines::of(&Trend::new()).rewards, "");
    }
}
