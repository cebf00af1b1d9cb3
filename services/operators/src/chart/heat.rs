//! Histograms by step, with darker cells for larger bins.

use super::frame::{Frame, Svg};
use crate::display::{count, number};

/// Lower bound and number of values of a bin.
pub(crate) type Bin = (f64, u64);

/// Draws columns that start at these steps, each `width` steps wide, with bins of size `bin`. The
/// shade of a bin depends on its share in the column.
pub(crate) fn heat(title: &str, width: i64, bin: f64, columns: &[(i64, Vec<Bin>)]) -> Svg {
    let steps: Vec<i64> = columns.iter().map(|(step, _)| *step).collect();
    let starts = || {
        columns
            .iter()
            .flat_map(|(_, bins)| bins)
            .map(|(start, _)| *start)
    };
    let (low, high) = (
        starts().fold(0.0, f64::min),
        starts().fold(1.0, f64::max) + bin,
    );
    let Some(mut frame) = Frame::new(title, &steps, width, (low, high)) else {
        return Svg::new();
    };
    for (step, bins) in columns {
        let all: u64 = bins.iter().map(|(_, values)| values).sum();
        let (x, column) = frame.column(*step);
        for (start, values) in bins.iter().filter(|(_, values)| *values > 0) {
            let (top, bottom) = (frame.y(start + bin), frame.y(*start));
            // The square root keeps small bins visible.
            let shade = (*values as f64 / all.max(1) as f64).sqrt();
            frame.draw(format_args!(
                "<rect class=\"heat\" fill-opacity=\"{shade:.2}\" x=\"{x:.1}\" y=\"{top:.1}\" \
                 width=\"{:.1}\" height=\"{:.1}\"/>",
                column + 0.3,
                bottom - top
            ));
        }
    }
    frame.grid(|value| format!("{value:.1}"));
    frame.close(&steps, |at| {
        let (step, bins) = &columns[at];
        let bins = bins.iter().rev().filter(|(_, values)| *values > 0);
        let bins =
            bins.map(|(start, values)| format!("from {}: {}", number(*start), count(*values)));
        format!("step {step}\n{}", bins.collect::<Vec<_>>().join("\n"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_bins_are_darker() {
        let svg = heat("rewards", 1, 0.1, &[(0, vec![(0.0, 1), (1.0, 3)])]);
        assert!(
            svg.contains("fill-opacity=\"0.50\"") && svg.contains("fill-opacity=\"0.87\""),
            "{svg}"
        );
        assert!(svg.contains("from 1.000: 3\nfrom 0.000: 1"), "{svg}");
    }
}
