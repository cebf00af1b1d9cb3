//! Learning curves as SVG: means over seeds with a band of one standard error, one curve per
//! series. The SVG has no scripts and follows the reader's light or dark setting.

use std::collections::BTreeMap;
use std::fmt::Write as _;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 880.0;
/// Height of the panel.
const PANEL: f64 = 380.0;
/// Position of the first line of the legend, and line height.
const LEGEND: (f64, f64) = (58.0, 22.0);
/// Number of colours; further series reuse them with dashes.
const COLOURS: usize = 6;
/// Approximate number of intervals on an axis.
const INTERVALS: f64 = 5.0;

const STYLE: &str = "\
    text{font:14px system-ui,sans-serif;fill:#222}.t{font-size:17px;font-weight:600}\
    .m{fill:#555}.e{text-anchor:end}.c{text-anchor:middle}.p{fill:#fff}.g{stroke:#ddd}\
    .a{stroke:#888}.l{fill:none;stroke-width:2}.b{stroke:none;fill-opacity:.18}\
    .s0{stroke:#4c78a8;fill:#4c78a8}.s1{stroke:#e08a2c;fill:#e08a2c}\
    .s2{stroke:#4f9d57;fill:#4f9d57}.s3{stroke:#8a62a8;fill:#8a62a8}\
    .s4{stroke:#9a6b52;fill:#9a6b52}.s5{stroke:#3aa0a8;fill:#3aa0a8}.l{fill:none}.b{stroke:none}\
    @media(prefers-color-scheme:dark){text{fill:#e6e6e6}.m{fill:#aaa}.p{fill:#15181c}\
    .g{stroke:#333}.a{stroke:#777}.s0{stroke:#6f9fd0;fill:#6f9fd0}\
    .s1{stroke:#f0a552;fill:#f0a552}.s2{stroke:#6dbb75;fill:#6dbb75}\
    .s3{stroke:#ab85c8;fill:#ab85c8}.s4{stroke:#bd8d73;fill:#bd8d73}\
    .s5{stroke:#5cc0c8;fill:#5cc0c8}.l{fill:none}.b{stroke:none}}";

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
    #[expect(
        clippy::cast_precision_loss,
        reason = "steps and runs are far below 2^53"
    )]
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

/// An axis: ends and tick interval; the ends are multiples of the interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Axis {
    low: f64,
    high: f64,
    interval: f64,
}

impl Axis {
    /// An axis that covers `values`, with an interval of 1, 2 or 5 times a power of ten.
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((value, value), |(low, high)| {
                (low.min(value), high.max(value))
            }))
        });
        let (low, high) = match ends {
            None => (0.0, 1.0),
            Some((low, high)) if high - low > 1e-9 * high.abs().max(low.abs()) => (low, high),
            // A single value is in the middle of an axis of about its size.
            Some((low, high)) => (
                low - low.abs().max(1.0) / 2.0,
                high + high.abs().max(1.0) / 2.0,
            ),
        };
        let rough = (high - low) / INTERVALS;
        let power = 10f64.powf(rough.log10().floor());
        let interval = [1.0, 2.0, 5.0]
            .map(|times| times * power)
            .into_iter()
            .find(|interval| *interval >= rough);
        let interval = interval.unwrap_or(10.0 * power);
        Self {
            low: (low / interval).floor() * interval,
            high: (high / interval).ceil() * interval,
            interval,
        }
    }

    fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// The ticks with their labels, which have as many digits as the interval requires.
    fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        let digits = (-self.interval.log10().floor()).clamp(0.0, 12.0) as usize;
        let first = (self.low / self.interval).round();
        let count = ((self.high - self.low) / self.interval).round() as u32;
        let interval = self.interval;
        (0..=count).map(move |index| {
            let value = (first + f64::from(index)) * interval;
            (value, format!("{value:.digits$}"))
        })
    }
}

/// Draws the series.
#[must_use]
pub fn svg(labels: &Labels, series: &[Series]) -> String {
    let curves: Vec<Vec<Point>> = series.iter().map(Series::points).collect();
    let (positions, lines) = legend(series);
    let top = LEGEND.0 + LEGEND.1 * lines + 8.0;
    let points = || curves.iter().flatten();
    let plot = Plot {
        top,
        x_axis: Axis::around(points().map(|(step, _, _)| *step)),
        y_axis: Axis::around(points().flat_map(|(_, mean, error)| [mean - error, mean + error])),
    };
    let height = top + PANEL + 64.0;
    let mut drawing = Drawing(String::new());
    drawing.put(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\">"
    ));
    drawing.put(format_args!("<title>{}</title>", escaped(&labels.title)));
    drawing.put(format_args!("<style>{STYLE}</style>"));
    drawing.put(format_args!(
        "<rect class=\"p\" width=\"{WIDTH}\" height=\"{height}\"/>"
    ));
    drawing.frame(&plot, labels);
    for (index, (x, y)) in positions.into_iter().enumerate() {
        drawing.line(&style(index), (x, y - 5.0), (x + 24.0, y - 5.0));
        drawing.text("", x + 30.0, y, &series[index].label);
    }
    for (index, points) in curves.iter().enumerate() {
        drawing.curve(&plot, index, points);
    }
    drawing.put(format_args!("</svg>"));
    drawing.0
}

/// Positions of the labels, and the number of lines.
fn legend(series: &[Series]) -> (Vec<(f64, f64)>, f64) {
    let (mut x, mut line) = (LEFT, 0.0);
    let positions = series.iter().map(|series| {
        let width = 54.0 + 7.5 * series.label.chars().map(|_| 1.0).sum::<f64>();
        if x > LEFT && x + width > RIGHT {
            (x, line) = (LEFT, line + 1.0);
        }
        let position = (x, LEGEND.0 + LEGEND.1 * line);
        x += width;
        position
    });
    let positions: Vec<_> = positions.collect();
    (positions, line + 1.0)
}

/// Attributes of a series: its colour, with dashes if the colour is reused.
fn style(index: usize) -> String {
    let dashes = if index < COLOURS {
        ""
    } else {
        "\" stroke-dasharray=\"6 4"
    };
    format!("l s{}{dashes}", index % COLOURS)
}

/// Maps values to positions.
struct Plot {
    top: f64,
    x_axis: Axis,
    y_axis: Axis,
}

impl Plot {
    fn bottom(&self) -> f64 {
        self.top + PANEL
    }

    fn x(&self, step: f64) -> f64 {
        LEFT + self.x_axis.share(step) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom() - self.y_axis.share(value) * PANEL
    }
}

/// The SVG text. Writing to a `String` cannot fail, so `put` drops the result.
struct Drawing(String);

impl Drawing {
    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        let written = self
            .0
            .write_fmt(element)
            .and_then(|()| self.0.write_char('\n'));
        debug_assert!(written.is_ok());
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escaped(text)
        ));
    }

    fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    fn frame(&mut self, plot: &Plot, labels: &Labels) {
        self.text("t", LEFT, 30.0, &labels.title);
        for (value, text) in plot.y_axis.ticks() {
            let y = plot.y(value);
            self.line("g", (LEFT, y), (RIGHT, y));
            self.text("m e", LEFT - 8.0, y + 5.0, &text);
        }
        for (value, text) in plot.x_axis.ticks() {
            let x = plot.x(value);
            self.line("a", (x, plot.bottom()), (x, plot.bottom() + 5.0));
            self.text("m c", x, plot.bottom() + 22.0, &text);
        }
        self.line("a", (LEFT, plot.bottom()), (RIGHT, plot.bottom()));
        self.text(
            "m c",
            f64::midpoint(LEFT, RIGHT),
            plot.bottom() + 46.0,
            &labels.x_axis,
        );
        let middle = plot.top + PANEL / 2.0;
        let label = escaped(&labels.y_axis);
        self.put(format_args!(
            "<text class=\"c m\" transform=\"translate(18 {middle:.1}) rotate(-90)\">{label}</text>"
        ));
    }

    fn curve(&mut self, plot: &Plot, index: usize, points: &[Point]) {
        let position =
            |(step, value): (f64, f64)| format!("{:.1},{:.1}", plot.x(step), plot.y(value));
        if points.iter().any(|(_, _, error)| *error > 0.0) {
            let upper = points
                .iter()
                .map(|(step, mean, error)| position((*step, mean + error)));
            let lower = points
                .iter()
                .rev()
                .map(|(step, mean, error)| position((*step, mean - error)));
            let band: Vec<String> = upper.chain(lower).collect();
            self.put(format_args!(
                "<polygon class=\"b s{}\" points=\"{}\"/>",
                index % COLOURS,
                band.join(" ")
            ));
        }
        match points {
            [] => {}
            [(step, mean, _)] => {
                let (x, y) = (plot.x(*step), plot.y(*mean));
                self.put(format_args!(
                    "<circle class=\"s{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>",
                    index % COLOURS
                ));
            }
            points => {
                let line: Vec<String> = points
                    .iter()
                    .map(|(step, mean, _)| position((*step, *mean)))
                    .collect();
                self.put(format_args!(
                    "<polyline class=\"{}\" points=\"{}\"/>",
                    style(index),
                    line.join(" ")
                ));
            }
        }
    }
}

/// Escapes a text for XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
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
    fn axes_end_at_round_numbers() {
        let axis = Axis::around([0.58, 0.752].into_iter());
        let ticks: Vec<_> = axis.ticks().map(|(_, text)| text).collect();
        assert_eq!(ticks, ["0.55", "0.60", "0.65", "0.70", "0.75", "0.80"]);
        let steps: Vec<_> = Axis::around([0.0, 400.0].into_iter())
            .ticks()
            .map(|(_, text)| text)
            .collect();
        assert_eq!(steps, ["0", "100", "200", "300", "400"]);
        for values in [
            vec![],
            vec![0.0],
            vec![-3.0, -3.0],
            vec![1e300, -1e300],
            vec![1e-300],
        ] {
            let axis = Axis::around(values.clone().into_iter());
            assert!(
                axis.low < axis.high && axis.ticks().count() < 20,
                "{values:?}: {axis:?}"
            );
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
        let svg = svg(&labels(), &all);
        assert_eq!(
            (
                svg.matches("<polyline").count(),
                svg.matches("<polygon").count()
            ),
            (2, 1)
        );
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(
            svg.contains("trained &amp; tried") && svg.contains("a &lt; b") && !svg.contains("NaN")
        );
    }

    #[test]
    fn wraps_long_legends() {
        let series = |index: usize| Series {
            label: format!("series of number {index}"),
            runs: vec![vec![(0, 0.0), (1, 1.0)]],
        };
        let (positions, lines) = legend(&(0..9).map(series).collect::<Vec<_>>());
        assert!(lines > 1.0 && positions.iter().all(|(x, _)| *x < RIGHT - 100.0));
    }
}
