//! A line of means by step, with a band of one standard deviation.

use super::frame::{Frame, Svg};
use crate::display::{count, number};

/// Mean, standard deviation and number of values of a column.
pub(crate) type Column = (f64, f64, u64);

/// Draws columns that start at these steps, each `width` steps wide.
pub(crate) fn band(title: &str, width: i64, columns: &[(i64, Column)]) -> Svg {
    let steps: Vec<i64> = columns.iter().map(|(step, _)| *step).collect();
    let low = columns
        .iter()
        .map(|(_, (mean, deviation, _))| mean - deviation)
        .fold(0.0, f64::min);
    let high = columns
        .iter()
        .map(|(_, (mean, deviation, _))| mean + deviation)
        .fold(1.0, f64::max);
    let Some(mut frame) = Frame::new(title, &steps, width, (low, high)) else {
        return Svg::new();
    };
    frame.grid(|value| format!("{value:.1}"));
    let upper = columns
        .iter()
        .map(|(step, (mean, deviation, _))| (*step, mean + deviation));
    let lower = columns
        .iter()
        .rev()
        .map(|(step, (mean, deviation, _))| (*step, mean - deviation));
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
    frame.close(&steps, |at| {
        let (step, (mean, deviation, values)) = columns[at];
        format!(
            "step {step}: {} ± {} of {}",
            number(mean),
            number(deviation),
            count(values)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_tooltip() {
        let svg = band("reward", 1, &[(0, (0.25, 0.1, 8)), (1, (0.5, 0.1, 1_024))]);
        assert!(svg.contains("step 1: 0.500 ± 0.100 of 1,024"), "{svg}");
        assert_eq!(svg.matches("class=\"hit\"").count(), 2);
        assert_eq!(band("reward", 1, &[]), "");
    }
}
