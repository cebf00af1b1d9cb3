//! The frame of a chart over steps: where its columns and values lie, its axes and what it says
//! when pointed at.

use std::fmt::{Display, Write as _};

use crate::show::Shown;

/// Size of the whole drawing and its margins, in units of the drawing.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 210.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 27.0;

/// A drawing under way.
pub(super) struct Frame {
    svg: String,
    /// First and last step.
    steps: (f64, f64),
    /// Steps of one column.
    column: f64,
    /// Lowest and highest value.
    values: (f64, f64),
    /// From one line across to the next.
    tick: f64,
}

impl Frame {
    /// Starts a drawing. `steps` are the first steps of its columns, each `width` steps wide;
    /// `None` without any. `values` are the lowest and highest; the scale goes to the next round
    /// ones.
    pub(super) fn new(title: &str, steps: &[i64], width: i64, values: (f64, f64)) -> Option<Self> {
        let (first, last) = (steps.iter().min()?, steps.iter().max()?);
        let (values, tick) = rounded(values);
        let mut svg = String::with_capacity(8 << 10);
        // Writing to a text cannot fail; here as below.
        let _ = write!(
            svg,
            r#"<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#,
            escaped(title)
        );
        let width = width.max(1) as f64;
        Some(Self {
            svg,
            steps: (*first as f64, *last as f64 + width),
            column: width,
            values,
            tick,
        })
    }

    /// Left edge and width of the column that starts at `step`.
    pub(super) fn column(&self, step: i64) -> (f64, f64) {
        let (first, end) = self.steps;
        let scale = (WIDTH - LEFT - RIGHT) / (end - first);
        (LEFT + (step as f64 - first) * scale, self.column * scale)
    }

    /// Middle of the column that starts at `step`.
    pub(super) fn middle(&self, step: i64) -> f64 {
        let (left, width) = self.column(step);
        left + width / 2.0
    }

    /// Height at which a value lies.
    pub(super) fn y(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    /// Adds a piece of SVG.
    pub(super) fn draw(&mut self, piece: std::fmt::Arguments<'_>) {
        let _ = self.svg.write_fmt(piece);
    }

    /// A line through points in pixels, broken where there is none.
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
                // A lone point is seen as a dot of the line's own round ends.
                if !drawn {
                    path.push_str("h0");
                }
            }
            drawn = point.is_some();
        }
        self.draw(format_args!(r#"<path class="{class}" d="{path}"/>"#));
    }

    /// Lines across at round values, told by `shown`.
    pub(super) fn grid(&mut self, shown: impl Fn(f64) -> String) {
        let (low, high) = self.values;
        let mut value = low;
        while value <= high + self.tick / 2.0 {
            let (y, end) = (self.y(value), WIDTH - RIGHT);
            self.draw(format_args!(
                r#"<path class="grid" d="M{LEFT} {y:.1}H{end}"/>"#
            ));
            let (x, label) = (LEFT - 7.0, escaped(&shown(value)));
            self.draw(format_args!(
                r#"<text class="axis end" x="{x}" y="{:.1}">{label}</text>"#,
                y + 4.5
            ));
            value += self.tick;
        }
    }

    /// Ends the drawing: steps below it, and over each column what it says when pointed at.
    pub(super) fn close(mut self, steps: &[i64], told: impl Fn(usize) -> String) -> String {
        for (at, step) in steps.iter().enumerate() {
            let ((x, width), height) = (self.column(*step), HEIGHT - TOP - BOTTOM);
            let told = escaped(&told(at)).to_string();
            self.draw(format_args!(
                r#"<rect class="hit" x="{x:.1}" y="{TOP}" width="{width:.1}" height="{height}"><title>{told}</title></rect>"#
            ));
        }
        let shown = steps.len().div_ceil(6).max(1);
        for step in steps.iter().step_by(shown) {
            let (x, y) = (self.middle(*step), HEIGHT - 7.0);
            self.draw(format_args!(
                r#"<text class="axis" x="{x:.1}" y="{y}">{step}</text>"#
            ));
        }
        self.svg.push_str("</svg>");
        self.svg
    }
}

/// The scale that holds values from `low` to `high`, and the distance of its lines: 1, 2 or 5 times
/// a power of ten, four or five lines.
fn rounded((low, high): (f64, f64)) -> ((f64, f64), f64) {
    let (low, high) = if high - low > f64::EPSILON {
        (low, high)
    } else {
        (low - 0.5, high + 0.5)
    };
    let least = (high - low) / 5.0;
    let power = 10f64.powf(least.log10().floor());
    let tick = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|times| times * power)
        .find(|tick| *tick >= least * 0.999);
    let tick = tick.unwrap_or(10.0 * power);
    (
        (
            (low / tick + 1e-9).floor() * tick,
            (high / tick - 1e-9).ceil() * tick,
        ),
        tick,
    )
}

/// A text as SVG and HTML take it.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in Shown(text).to_string().chars() {
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
            "what lies beyond stays inside"
        );
    }

    #[test]
    fn one_column_and_one_value_are_drawn_without_dividing_by_nothing() {
        let frame = Frame::new("t", &[5], 1, (0.3, 0.3)).unwrap();
        assert!(frame.y(0.3).is_finite() && frame.middle(5).is_finite());
        assert!(Frame::new("t", &[], 1, (0.0, 1.0)).is_none());
    }

    #[test]
    fn scales_end_at_round_values() {
        let close = |((low, high), tick): ((f64, f64), f64), expected: [f64; 3]| {
            let found = [low, high, tick];
            assert!(
                found
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0)),
                "{found:?}"
            );
        };
        close(rounded((0.0, 1.0)), [0.0, 1.0, 0.2]);
        close(rounded((-0.19, 1.15)), [-0.5, 1.5, 0.5]);
        close(rounded((0.0, 419_400.0)), [0.0, 500_000.0, 100_000.0]);
        close(rounded((0.3, 0.3)), [-0.2, 0.8, 0.2]);
    }

    #[test]
    fn texts_are_escaped() {
        let frame = Frame::new("<script>\"&", &[1], 1, (0.0, 1.0)).unwrap();
        let svg = frame.close(&[1], |_| "</title><script>".to_owned());
        assert!(
            !svg.contains("<script>") && svg.contains("&lt;script&gt;&quot;&amp;"),
            "{svg}"
        );
    }

    #[test]
    fn a_line_breaks_where_there_is_no_value() {
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
