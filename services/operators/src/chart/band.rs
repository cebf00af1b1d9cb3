//! A line of means by step, with a band of one standard error. Columns are links.

use super::frame::{Frame, Svg};
use crate::display::{count, number};

/// Mean, its standard error and number of values of a column.
pub(crate) type Column = (f64, f64, u64);

/// Draws columns that start at these steps, each `width` steps wide. `address` is that of what a
/// column shows, by its first step.
pub(crate) fn band(
    title: &str,
    width: i64,
    columns: &[(i64, Column)],
    address: impl Fn(i64) -> String,
) -> Svg {
    let steps: Vec<i64> = columns.iter().map(|(step, _)| *step).collect();
    let low = columns
        .iter()
        .map(|(_, (mean, error, _))| mean - error)
        .fold(0.0, f64::min);
    let high = columns
        .iter()
        .map(|(_, (mean, error, _))| mean + error)
        .fold(1.0, f64::max);
    let Some(mut frame) = Frame::new(title, &steps, width, (low, high)) else {
        return Svg::new();
    };
    let decimals = frame.decimals();
    frame.grid(|value| format!("{value:.decimals$}"));
    let upper = columns
        .iter()
        .map(|(step, (mean, error, _))| (*step, mean + error));
    let lower = columns
        .iter()
        .rev()
        .map(|(step, (mean, error, _))| (*step, mean - error));
    let corners: Vec<String> = upper
        .chain(lower)
        .map(|(step, value)| format!("{:.1},{:.1}", frame.middle(step), frame.y(value)))
        .collect();
    frame.draw(format_args!(
        r#"<polygon class="band" points="{}"/>"#,
        corners.join(" ")
    ));
    let points: Vec<_> = columns
        .iter()
        .map(|(step, (mean, ..))| Some((frame.middle(*step), frame.y(*mean))))
        .collect();
    frame.path("line c0", points.into_iter());
    let tooltip = |at: usize| {
        let (step, (mean, error, values)) = columns[at];
        let (mean, error, values) = (number(mean), number(error), count(values));
        format!("step {step}: {mean} ± {error} of {values}")
    };
    frame.close_linked(&steps, tooltip, |at| address(steps[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_tooltip() {
        let columns = [(0, (0.25, 0.1, 8)), (1, (0.5, 0.1, 1_024))];
        let svg = band("reward", 1, &columns, |step| format!("/{step}"));
        assert!(
            svg.contains("href=\"/1\" aria-label=\"step 1: 0.500"),
            "{svg}"
        );
        assert!(svg.contains("step 1: 0.500 ± 0.100 of 1,024"), "{svg}");
        assert_eq!(svg.matches("class=\"hit\"").count(), 2);
        assert_eq!(band("reward", 1, &[], |_| String::new()), "");
    }
}
