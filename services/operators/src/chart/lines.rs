//! Lines of numbers by step.

use super::frame::{Frame, Svg};

/// A line with its name, the index of its colour, and a value for each column.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) colour: usize,
    pub(crate) values: Vec<Option<f64>>,
}

/// Draws lines over columns that start at `steps`, each `width` steps wide. The scale is from the
/// lowest to the highest value, and contains 0.
pub(crate) fn lines(
    title: &str,
    width: i64,
    steps: &[i64],
    lines: &[Line],
    format_value: impl Fn(f64) -> String,
) -> Svg {
    let values = lines.iter().flat_map(|line| &line.values).flatten();
    let (lowest, highest) = values.fold((0.0, 0.0), |(low, high): (f64, f64), value| {
        (low.min(*value), high.max(*value))
    });
    let frame = Frame::new(title, steps, width, (lowest, highest));
    let Some(mut frame) = frame.filter(|_| lowest < highest) else {
        return Svg::new();
    };
    frame.grid(&format_value);
    for line in lines {
        let at = |(step, value): (&i64, &Option<f64>)| {
            value.map(|value| (frame.middle(*step), frame.y(value)))
        };
        let points: Vec<_> = steps.iter().zip(&line.values).map(at).collect();
        frame.path(format_args!("line c{}", line.colour), points.into_iter());
    }
    frame.close(steps, |at| {
        let values = lines.iter().filter_map(|line| {
            let value = line.values.get(at).copied().flatten()?;
            Some(format!("{} {}", line.name, format_value(value)))
        });
        format!(
            "step {}: {}",
            steps[at],
            values.collect::<Vec<_>>().join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::display::span;

    #[test]
    fn tooltips_name_all_lines() {
        let two = [
            Line {
                name: "median",
                colour: 0,
                values: vec![Some(1_000.0), None],
            },
            Line {
                name: "95 %",
                colour: 1,
                values: vec![Some(4_000.0), Some(2_000.0)],
            },
        ];
        let svg = lines("grading", 1, &[3, 4], &two, span);
        assert!(
            svg.contains("step 3: median 1.0 ms, 95 % 4.0 ms")
                && svg.contains("step 4: 95 % 2.0 ms"),
            "{svg}"
        );
        assert_eq!(lines("grading", 1, &[3], &[], span), "");
    }
}
