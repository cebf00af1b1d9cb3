//! The frame of a chart over steps: coordinates, axes, tooltips and links.

use std::fmt::{Display, Write as _};

use crate::display::SafeText;

/// An SVG drawing; empty if there is nothing to draw. Templates write only this type unescaped.
pub(crate) type Svg = String;

/// Size and margins of the drawing, in SVG units.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 210.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 27.0;

/// Maximum number of labels on the axis of steps.
const STEP_LABELS: f64 = 7.0;

/// An unfinished drawing.
pub(super) struct Frame {
    title: String,
    svg: String,
    /// First and last step.
    steps: (f64, f64),
    /// Number of steps per column.
    column: f64,
    /// Lowest and highest value.
    values: (f64, f64),
    /// Distance between grid lines.
    tick: f64,
    /// Labels of the axis, each at the middle of a column; `None` for the numbers of steps.
    labels: Option<Vec<(i64, String)>>,
}

impl Frame {
    /// Starts a drawing; `None` without columns. `steps` are the first steps of the columns, each
    /// `width` steps wide. `values` are the lowest and highest value, which are rounded outwards.
    pub(super) fn new(title: &str, steps: &[i64], width: i64, values: (f64, f64)) -> Option<Self> {
        let (first, last) = (steps.iter().min()?, steps.iter().max()?);
        let (values, tick) = rounded_scale(values);
        let width = width.max(1) as f64;
        Some(Self {
            title: escape(title),
            svg: String::with_capacity(8 << 10),
            steps: (*first as f64, *last as f64 + width),
            column: width,
            values,
            tick,
            labels: None,
        })
    }

    /// The frame with these labels on its axis instead of the numbers of steps, each at the middle
    /// of the column that starts there. They must be in order.
    pub(super) fn with_labels(self, labels: Vec<(i64, String)>) -> Self {
        Self {
            labels: Some(labels),
            ..self
        }
    }

    /// The left edge and width of the column that starts at `step`.
    pub(super) fn column(&self, step: i64) -> (f64, f64) {
        let (first, end) = self.steps;
        let scale = (WIDTH - LEFT - RIGHT) / (end - first);
        (LEFT + (step as f64 - first) * scale, self.column * scale)
    }

    /// The middle of the column that starts at `step`.
    pub(super) fn middle(&self, step: i64) -> f64 {
        let (left, width) = self.column(step);
        left + width / 2.0
    }

    /// The vertical position of a value.
    pub(super) fn y(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    /// Adds a piece of SVG.
    pub(super) fn draw(&mut self, piece: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail; this applies to all writes in this file.
        let _ = self.svg.write_fmt(piece);
    }

    /// Draws a line through points, interrupted where there is no point.
    pub(super) fn path(
        &mut self,
        class: impl Display,
        points: impl Iterator<Item = Option<(f64, f64)>>,
    ) {
        let mut path = String::new();
        let mut drawn = false;
        for point in points {
            if let Some((x, y)) = point {
                let _ = write!(path, "{}{x:.1} {y:.1}", if drawn { 'L' } else { 'M' });
                // Makes a single point visible as a dot, by the round ends of the line.
                if !drawn {
                    path.push_str("h0");
                }
            }
            drawn = point.is_some();
        }
        self.draw(format_args!(r#"<path class="{class}" d="{path}"/>"#));
    }

    /// Draws grid lines at round values, with labels from `format`.
    pub(super) fn grid(&mut self, format: impl Fn(f64) -> String) {
        let (low, high) = self.values;
        let (first, last) = ((low / self.tick).round(), (high / self.tick).round());
        let mut at = first;
        while at <= last {
            // A multiple of the tick has no error of earlier additions, and zero has no sign.
            let value = at * self.tick + 0.0;
            at += 1.0;
            let (y, end) = (self.y(value), WIDTH - RIGHT);
            self.draw(format_args!(
                r#"<path class="grid" d="M{LEFT} {y:.1}H{end}"/>"#
            ));
            let (x, label) = (LEFT - 7.0, escape(&format(value)));
            self.draw(format_args!(
                r#"<text class="axis end" x="{x}" y="{:.1}">{label}</text>"#,
                y + 4.5
            ));
        }
    }

    /// Number of decimals that tells grid lines apart.
    pub(super) fn decimals(&self) -> usize {
        (0..6)
            .find(|decimals| {
                let scaled = self.tick * 10f64.powi(*decimals);
                (scaled - scaled.round()).abs() < 1e-6 * scaled
            })
            .map_or(6, |decimals| decimals as usize)
    }

    /// Finishes the drawing with the axis of steps and a tooltip for each column. `tooltip`
    /// receives the index of a column.
    pub(super) fn close(self, steps: &[i64], tooltip: impl Fn(usize) -> String) -> Svg {
        self.finish(steps, tooltip, None)
    }

    /// As [`Frame::close`], with a link for each column, whose name is the tooltip.
    pub(super) fn close_linked(
        self,
        steps: &[i64],
        tooltip: impl Fn(usize) -> String,
        address: impl Fn(usize) -> String,
    ) -> Svg {
        self.finish(steps, tooltip, Some(&address))
    }

    fn label_axis(&mut self) {
        let y = HEIGHT - 7.0;
        if let Some(labels) = self.labels.take() {
            // A label at an edge must not leave the drawing.
            let (left, right) = (LEFT + 40.0, WIDTH - RIGHT - 40.0);
            for (start, label) in labels {
                let (x, label) = (self.middle(start), escape(&label));
                let class = match x {
                    x if x < left => "axis start",
                    x if x > right => "axis end",
                    _ => "axis",
                };
                self.draw(format_args!(
                    r#"<text class="{class}" x="{x:.1}" y="{y}">{label}</text>"#
                ));
            }
            return;
        }
        let (first, end) = self.steps;
        let scale = (WIDTH - LEFT - RIGHT) / (end - first);
        for step in step_labels(self.steps) {
            let x = LEFT + (step + 0.5 - first) * scale;
            self.draw(format_args!(
                r#"<text class="axis" x="{x:.1}" y="{y}">{step}</text>"#
            ));
        }
    }

    fn finish(
        mut self,
        steps: &[i64],
        tooltip: impl Fn(usize) -> String,
        address: Option<&dyn Fn(usize) -> String>,
    ) -> Svg {
        for (at, step) in steps.iter().enumerate() {
            let ((x, width), height) = (self.column(*step), HEIGHT - TOP - BOTTOM);
            let title = escape(&tooltip(at));
            let (start, end) = match address {
                Some(address) => {
                    let address = escape(&address(at));
                    (
                        format!(r#"<a href="{address}" aria-label="{title}">"#),
                        "</a>",
                    )
                }
                None => (String::new(), ""),
            };
            self.draw(format_args!(
                "{start}<rect class=\"hit\" x=\"{x:.1}\" y=\"{TOP}\" width=\"{width:.1}\" \
                 height=\"{height}\"><title>{title}</title></rect>{end}"
            ));
        }
        self.label_axis();
        // Assistive technology skips what is inside of an image, so one with links is a group.
        let role = if address.is_some() { "group" } else { "img" };
        format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"{role}\" \
             aria-label=\"{}\">{}</svg>",
            self.title, self.svg
        )
    }
}

/// The steps with a label, from `first` up to before `end`: multiples of a round number.
fn step_labels((first, end): (f64, f64)) -> impl Iterator<Item = f64> {
    let tick = round_tick((end - first) / STEP_LABELS).max(1.0);
    let (first, last) = ((first / tick).ceil(), ((end - 1.0) / tick).floor());
    std::iter::successors(Some(first), |at| Some(at + 1.0))
        .take_while(move |at| *at <= last)
        .map(move |at| at * tick)
}

/// The smallest of 1, 2 or 5 times a power of ten that is at least `min`.
fn round_tick(min: f64) -> f64 {
    let power = 10f64.powf(min.log10().floor());
    let tick = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|times| times * power)
        .find(|tick| *tick >= min * 0.999);
    tick.unwrap_or(10.0 * power)
}

/// The scale for values from `low` to `high`, and the distance of its grid lines: 1, 2 or 5 times a
/// power of ten, for about five lines.
fn rounded_scale((low, high): (f64, f64)) -> ((f64, f64), f64) {
    let (low, high) = if high - low > f64::EPSILON {
        (low, high)
    } else {
        (low - 0.5, high + 0.5)
    };
    let tick = round_tick((high - low) / 5.0);
    (
        (
            (low / tick + 1e-9).floor() * tick,
            (high / tick - 1e-9).ceil() * tick,
        ),
        tick,
    )
}

/// Escapes a text for SVG and HTML.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in SafeText(text).to_string().chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fill_the_width_and_values_the_height() {
        let frame = Frame::new("t", &[0, 10, 20], 10, (0.0, 1.0)).unwrap();
        let (left, width) = frame.column(0);
        let (last, _) = frame.column(20);
        assert!((left - LEFT).abs() < 1e-9 && (last + width - (WIDTH - RIGHT)).abs() < 1e-9);
        assert!(
            (frame.y(0.0) - (HEIGHT - BOTTOM)).abs() < 1e-9 && (frame.y(1.0) - TOP).abs() < 1e-9
        );
        assert!(
            (frame.y(7.0) - TOP).abs() < 1e-9,
            "values outside of the scale are clamped"
        );
    }

    #[test]
    fn draws_a_single_column_with_a_single_value() {
        let frame = Frame::new("t", &[5], 1, (0.3, 0.3)).unwrap();
        assert!(frame.y(0.3).is_finite() && frame.middle(5).is_finite());
        assert!(Frame::new("t", &[], 1, (0.0, 1.0)).is_none());
    }

    #[test]
    fn scales_end_at_round_values() {
        let assert_close = |((low, high), tick): ((f64, f64), f64), expected: [f64; 3]| {
            let actual = [low, high, tick];
            assert!(
                actual
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0)),
                "{actual:?}"
            );
        };
        assert_close(rounded_scale((0.0, 1.0)), [0.0, 1.0, 0.2]);
        assert_close(rounded_scale((-0.19, 1.15)), [-0.5, 1.5, 0.5]);
        assert_close(rounded_scale((0.0, 419_400.0)), [0.0, 500_000.0, 100_000.0]);
        assert_close(rounded_scale((0.3, 0.3)), [-0.2, 0.8, 0.2]);
    }

    #[test]
    fn labels_steps_at_round_numbers() {
        let labels = |first, end| step_labels((first, end)).collect::<Vec<_>>();
        assert_eq!(labels(1.0, 4.0), [1.0, 2.0, 3.0]);
        assert_eq!(labels(3.0, 97.0), [20.0, 40.0, 60.0, 80.0]);
        assert_eq!(labels(0.0, 968.0), [0.0, 200.0, 400.0, 600.0, 800.0]);
        assert_eq!(labels(7.0, 8.0), [7.0]);
        assert_eq!(labels(-4.0, 1.0), [-4.0, -3.0, -2.0, -1.0, 0.0]);
    }

    #[test]
    fn grid_lines_have_as_many_decimals_as_they_need() {
        let labels = |values| {
            let mut frame = Frame::new("t", &[1], 1, values).unwrap();
            let decimals = frame.decimals();
            frame.grid(|value| format!("{value:.decimals$}"));
            let labels = frame.svg.split("</text>");
            let labels = labels.filter_map(|label| label.rsplit_once('>'));
            labels
                .map(|(_, label)| label.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            labels((0.0, 1.0)),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels((-0.1, 0.1)),
            ["-0.10", "-0.05", "0.00", "0.05", "0.10"]
        );
        assert_eq!(labels((0.0, 40.0)), ["0", "10", "20", "30", "40"]);
    }

    #[test]
    fn a_linked_chart_names_its_links() {
        let frame = Frame::new("t", &[1], 1, (0.0, 1.0)).unwrap();
        let svg = frame.close_linked(
            &[1],
            |_| "step 1: \"x\"".to_owned(),
            |_| "/a?b&c".to_owned(),
        );
        let link = r#"<a href="/a?b&amp;c" aria-label="step 1: &quot;x&quot;"><rect class="hit""#;
        assert!(
            svg.contains(link) && svg.contains(r#"role="group""#),
            "{svg}"
        );
    }

    #[test]
    fn escapes_texts() {
        let frame = Frame::new("<script>\"&", &[1], 1, (0.0, 1.0)).unwrap();
        let svg = frame.close(&[1], |_| "</title><script>".to_owned());
        assert!(
            !svg.contains("<script>") && svg.contains("&lt;script&gt;&quot;&amp;"),
            "{svg}"
        );
    }

    #[test]
    fn line_is_interrupted_where_there_is_no_value() {
        let mut frame = Frame::new("t", &[0, 1, 2], 1, (0.0, 1.0)).unwrap();
        frame.path(
            "line",
            [Some((1.0, 1.0)), None, Some((2.0, 2.0)), Some((3.0, 3.0))].into_iter(),
        );
        assert!(
            frame.svg.contains(r#"d="M1.0 1.0h0M2.0 2.0h0L3.0 3.0""#),
            "{}",
            frame.svg
        );
    }
}
