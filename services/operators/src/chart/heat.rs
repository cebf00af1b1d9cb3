//! Histograms by step: a column of cells each, darker where more is.

use super::Svg;
use super::frame::Frame;
use crate::show::{count, number};

/// A bin: where it starts and how many it holds.
pub(crate) type Bin = (f64, u64);

/// Draws columns by their first steps, each `width` steps wide; bins are `bin` wide. Shades are
/// shares of the column.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of grades are far below 2^52"
)]
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
        let all: u64 = bins.iter().map(|(_, held)| held).sum();
        let (x, column) = frame.column(*step);
        for (start, held) in bins.iter().filter(|(_, held)| *held > 0) {
            let (top, bottom) = (frame.y(start + bin), frame.y(*start));
            // The root keeps rare bins visible beside full ones.
            let shade = (*held as f64 / all.max(1) as f64).sqrt();
            frame.draw(format_args!(
                r#"<rect class="heat" fill-opacity="{shade:.2}" x="{x:.1}" y="{top:.1}" width="{:.1}" height="{:.1}"/>"#,
                column + 0.3,
                bottom - top
            ));
        }
    }
    frame.grid(|value| format!("{value:.1}"));
    frame.close(&steps, |at| {
        let (step, bins) = &columns[at];
        let told = bins.iter().rev().filter(|(_, held)| *held > 0);
        let told = told.map(|(start, held)| format!("from {}: {}", number(*start), count(*held)));
        format!("step {step}\n{}", told.collect::<Vec<_>>().join("\n"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuller_bins_are_darker() {
        let svg = heat("rewards", 1, 0.1, &[(0, vec![(0.0, 1), (1.0, 3)])]);
        assert!(
            svg.contains("fill-opacity=\"0.50\"") && svg.contains("fill-opacity=\"0.87\""),
            "{svg}"
        );
        assert!(svg.contains("from 1.000: 3\nfrom 0.000: 1"), "{svg}");
    }
}
