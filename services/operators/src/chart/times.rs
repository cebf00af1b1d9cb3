//! Lines of numbers by time, with their intervals.

use super::frame::{Frame, Svg};
use crate::display::time;

/// A value of a column, with its interval if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) value: f64,
    pub(crate) range: Option<(f64, f64)>,
}

/// A line with its name, the index of its colour, and a value for each column.
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) colour: usize,
    pub(crate) points: Vec<Option<Point>>,
}

/// Maximum number of labels of times.
const LABELS: usize = 4;

/// Draws lines over spans of time that start at `starts`, in order, each `width` long, in units of
/// `unit_us` microseconds since the Unix epoch. The scale contains all intervals and 0. Empty
/// without a value.
pub(crate) fn times(
    title: &str,
    (unit_us, width): (i64, i64),
    starts: &[i64],
    series: &[Series],
    format_value: impl Fn(f64) -> String,
) -> Svg {
    let points = || series.iter().flat_map(|line| &line.points).flatten();
    let bounds = points().flat_map(|point| {
        let (low, high) = point.range.unwrap_or((point.value, point.value));
        [low, high]
    });
    let (lowest, highest) = bounds.fold((0.0, 0.0), |(low, high): (f64, f64), value| {
        (low.min(value), high.max(value))
    });
    let frame = Frame::new(title, starts, width, (lowest, highest));
    let Some(frame) = frame.filter(|_| points().next().is_some()) else {
        return Svg::new();
    };
    // A day is 144 units of ten minutes, but any unit has a day.
    let has_days = width.saturating_mul(unit_us) >= 86_400_000_000;
    let shown = |start: i64| {
        let text = time(start.saturating_mul(unit_us));
        let end = if has_days { 10 } else { 16 };
        text.get(..end).map_or(text.clone(), str::to_owned)
    };
    let mut frame = frame.with_labels(labels(starts, |start| {
        // Without the year.
        shown(start).get(5..).unwrap_or_default().to_owned()
    }));
    frame.grid(&format_value);
    for (rank, line) in series.iter().enumerate() {
        let columns = || starts.iter().zip(&line.points);
        for (start, point) in columns() {
            let Some((low, high)) = point.and_then(|point| point.range) else {
                continue;
            };
            let (x, low, high) = (frame.middle(*start), frame.y(low), frame.y(high));
            frame.draw(format_args!(
                r#"<path class="whisker" d="M{x:.1} {low:.1}V{high:.1}"/>"#
            ));
        }
        let at = |(start, point): (&i64, &Option<Point>)| {
            point.map(|point| (frame.middle(*start), frame.y(point.value)))
        };
        let places: Vec<Option<(f64, f64)>> = columns().map(at).collect();
        frame.path(
            format_args!("line c{}", line.colour),
            places.iter().copied(),
        );
        // Smaller than those below, which remain visible where values are equal.
        let radius = 4.0 / (rank + 1) as f64;
        for (x, y) in places.into_iter().flatten() {
            frame.draw(format_args!(
                r#"<circle class="dot c{}" cx="{x:.1}" cy="{y:.1}" r="{radius:.1}"/>"#,
                line.colour
            ));
        }
    }
    frame.close(starts, |at| {
        let values = series.iter().filter_map(|line| {
            let Point { value, range } = line.points.get(at).copied().flatten()?;
            let range = range.map_or_else(String::new, |(low, high)| {
                format!(" ({} to {})", format_value(low), format_value(high))
            });
            Some(format!("{} {}{range}", line.name, format_value(value)))
        });
        let values: Vec<String> = values.collect();
        format!("{}: {}", shown(starts[at]), values.join(", "))
    })
}

/// The columns with a label: the first, the last, and some that are far from others.
fn labels(starts: &[i64], shown: impl Fn(i64) -> String) -> Vec<(i64, String)> {
    let (Some(first), Some(last)) = (starts.first(), starts.last()) else {
        return Vec::new();
    };
    let gap = (last - first) / LABELS as i64;
    let mut labels: Vec<(i64, String)> = Vec::new();
    for start in starts {
        let is_far = labels.last().is_none_or(|(known, _)| start - known >= gap);
        if is_far && (start == last || last - start >= gap || labels.is_empty()) {
            labels.push((*start, shown(*start)));
        }
    }
    // Times within one span look alike.
    labels.dedup_by(|(_, later), (_, earlier)| later == earlier);
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-28 00:00 UTC in units of ten minutes.
    const DAY: i64 = 1_795_824_000 / 600;

    fn series(points: Vec<Option<Point>>) -> [Series; 1] {
        [Series {
            name: "false positives",
            colour: 0,
            points,
        }]
    }

    #[test]
    fn draws_intervals_and_names_times() {
        let point = |value| {
            Some(Point {
                value,
                range: Some((value / 2.0, 2.0 * value)),
            })
        };
        let starts = [DAY, DAY + 144, DAY + 288];
        let lines = series(vec![point(0.1), None, point(0.2)]);
        let svg = times("rates", (600_000_000, 144), &starts, &lines, |value| {
            format!("{value:.2}")
        });
        assert_eq!(svg.matches("class=\"whisker\"").count(), 2, "{svg}");
        assert!(
            svg.contains("2026-11-28: false positives 0.10 (0.05 to 0.20)"),
            "{svg}"
        );
        assert!(svg.contains(">11-28</text>") && svg.contains(">11-30</text>"));
        let empty = times(
            "rates",
            (600_000_000, 144),
            &starts,
            &series(vec![]),
            |_| String::new(),
        );
        assert_eq!(empty, "");
    }

    #[test]
    fn times_of_hours_have_hours_and_few_labels() {
        let starts: Vec<i64> = (0..48).map(|hour| DAY + 6 * hour).collect();
        let points = starts.iter().map(|_| {
            Some(Point {
                value: 0.5,
                range: None,
            })
        });
        let lines = series(points.collect());
        let svg = times("rates", (600_000_000, 6), &starts, &lines, |value| {
            format!("{value:.1}")
        });
        assert!(
            svg.contains("2026-11-28 01:00: false positives 0.5<"),
            "{svg}"
        );
        assert!(svg.contains(">11-29 23:00</text>"), "{svg}");
        assert!(labels(&starts, |_| String::new()).len() <= LABELS + 1);
        let few = labels(&starts, |start| start.to_string());
        assert!((3..=LABELS + 1).contains(&few.len()), "{few:?}");
    }
}
