//! Learning curves as SVG: means over seeds with a band of one standard error, one curve per
//! series.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_charts::{DrawError, GRID, INK, PAPER, SERIES, heading, mesh, text};
use plotters::prelude::{
    ChartBuilder, Circle, Color as _, DashedLineSeries, LineSeries, PathElement, Polygon,
    SeriesLabelPosition,
};

/// Width and height of the image.
const SIZE: (u32, u32) = (900, 500);

/// Title and axis labels.
#[derive(Debug, Clone)]
pub struct Labels {
    /// The title.
    pub title: String,
    /// Label of the vertical axis, for example `true accuracy`.
    pub y_axis: String,
    /// Label of the horizontal axis, for example `step`.
    pub x_axis: String,
}

/// A curve.
#[derive(Debug, Clone)]
pub struct Series {
    /// Label in the legend.
    pub label: String,
    /// Values by step, one list per run, from [`read`](super::read).
    pub runs: Vec<Vec<(u64, f64)>>,
}

/// A point of a curve: step, mean, standard error.
type Point = (f64, f64, f64);

impl Series {
    /// Means and standard errors at the steps that all runs have; the error of a single run is 0.
    fn points(&self) -> Vec<Point> {
        let mut by_step: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (step, value) in self
            .runs
            .iter()
            .flatten()
            .filter(|(_, value)| value.is_finite())
        {
            by_step.entry(*step).or_default().push(*value);
        }
        by_step.retain(|_, values| values.len() == self.runs.len());
        let n = self.runs.len() as f64;
        let point = |(step, values): (u64, Vec<f64>)| {
            let mean = values.iter().sum::<f64>() / n;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let error = if values.len() > 1 {
                (squares / (n - 1.0) / n).sqrt()
            } else {
                0.0
            };
            (step as f64, mean, error)
        };
        by_step.into_iter().map(point).collect()
    }
}

/// Draws the series. Those with the colour of an earlier one are dashed.
///
/// # Errors
/// If there is no room for the labels.
pub fn svg(labels: &Labels, series: &[Series]) -> Result<String, DrawError> {
    let curves: Vec<Vec<Point>> = series.iter().map(Series::points).collect();
    let points = || curves.iter().flatten();
    let steps = range(points().map(|(step, _, _)| *step), 0.0);
    let values = range(
        points().flat_map(|(_, mean, error)| [mean - error, mean + error]),
        0.05,
    );
    assay_charts::svg(&labels.title, SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .caption(&labels.title, heading(area))
            .margin(20)
            .x_label_area_size(50)
            .y_label_area_size(70)
            .build_cartesian_2d(steps, values)?;
        mesh(&mut chart, area)
            .x_labels(6)
            .x_label_formatter(&|step| format!("{}", (step * 1e3).round() / 1e3))
            .y_labels(6)
            .x_desc(&labels.x_axis)
            .y_desc(&labels.y_axis)
            .draw()?;
        for (index, (series, points)) in series.iter().zip(&curves).enumerate() {
            let colour = SERIES[index % SERIES.len()];
            if points.iter().any(|(_, _, error)| *error > 0.0) {
                let upper = points
                    .iter()
                    .map(|(step, mean, error)| (*step, mean + error));
                let lower = points
                    .iter()
                    .map(|(step, mean, error)| (*step, mean - error));
                let band: Vec<_> = upper.chain(lower.rev()).collect();
                chart.draw_series([Polygon::new(band, colour.mix(0.18))])?;
            }
            let line = colour.stroke_width(2);
            let means = points.iter().map(|(step, mean, _)| (*step, *mean));
            let drawn = if let [(step, mean, _)] = points[..] {
                chart.draw_series([Circle::new((step, mean), 4, colour.filled())])?
            } else if index < SERIES.len() {
                chart.draw_series(LineSeries::new(means, line))?
            } else {
                chart.draw_series(DashedLineSeries::new(means, 6, 4, line))?
            };
            drawn
                .label(&series.label)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], line));
        }
        if !series.is_empty() {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::LowerRight)
                .background_style(PAPER.mix(0.8))
                .border_style(GRID)
                .label_font(text(area, INK))
                .draw()?;
        }
        Ok(())
    })
}

/// The range of an axis that shows `values`, with this share of its length at both ends.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> Range<f64> {
    let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    });
    let (low, high) = ends.unwrap_or((0.0, 1.0));
    let size = low.abs().max(high.abs());
    if high - low > 1e-9 * size {
        let margin = margin * (high - low);
        low - margin..high + margin
    } else {
        // A single value is in the middle of an axis of about its size.
        low - size.max(1.0) / 2.0..high + size.max(1.0) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        Labels {
            title: "a < b".to_owned(),
            y_axis: "accuracy".to_owned(),
            x_axis: "step".to_owned(),
        }
    }

    #[test]
    fn averages_over_steps_that_all_runs_have() {
        let runs = vec![
            vec![(1, 0.0), (2, 1.0), (3, 5.0)],
            vec![(1, 1.0), (2, 1.0), (4, f64::NAN)],
        ];
        let points = Series {
            label: String::new(),
            runs,
        }
        .points();
        // Two numbers with distance 1: deviation 1/√2, error of the mean 1/2.
        assert_eq!(points, [(1.0, 0.5, 0.5), (2.0, 1.0, 0.0)]);
    }

    #[test]
    fn axes_show_all_values() {
        assert_eq!(range([0.0, 400.0].into_iter(), 0.05), -20.0..420.0);
        for values in [vec![], vec![0.0], vec![-3.0, -3.0], vec![1e-300]] {
            let axis = range(values.iter().copied(), 0.05);
            assert!(axis.start < axis.end, "{values:?}: {axis:?}");
            assert!(values.iter().all(|value| axis.contains(value)));
        }
    }

    #[test]
    fn draws_a_curve_and_a_label_per_series() {
        let series = |label: &str, runs: Vec<Vec<(u64, f64)>>| Series {
            label: label.to_owned(),
            runs,
        };
        let all = [
            series(
                "trained & tried",
                vec![vec![(0, 0.5), (10, 0.7)], vec![(0, 0.4), (10, 0.8)]],
            ),
            series("shuffled", vec![vec![(0, 0.5), (10, 0.5)]]),
            series("one point", vec![vec![(5, 0.5)]]),
            series("nothing", vec![]),
        ];
        let svg = svg(&labels(), &all).unwrap();
        for colour in &["#4C78A8", "#E08A2C"] {
            let curve = format!("stroke=\"{colour}\" stroke-width=\"2\"");
            assert!(svg.matches(&curve).count() >= 2, "{colour}: {svg}");
        }
        assert_eq!(svg.matches("<polygon").count(), 1);
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(
            svg.contains("trained &amp; tried") && svg.contains("a &lt; b") && !svg.contains("NaN")
        );
    }
}
