//! Stacked bars of shares by step.

use super::frame::{Frame, Svg};
use super::style::Style;
use crate::display::{count, percent};

/// Draws columns that start at these steps, each `width` steps wide, with a count for each part.
/// `parts` are the names and styles of the parts.
pub(crate) fn shares(
    title: &str,
    width: i64,
    columns: &[(i64, Vec<u64>)],
    parts: &[(String, Style)],
) -> Svg {
    let steps: Vec<i64> = columns.iter().map(|(step, _)| *step).collect();
    let Some(mut frame) = Frame::new(title, &steps, width, (0.0, 1.0)) else {
        return Svg::new();
    };
    frame.grid(|share| format!("{:.0} %", 100.0 * share));
    for (step, counts) in columns {
        let all: u64 = counts.iter().sum();
        let (x, column) = frame.column(*step);
        let mut below = 0;
        for (part, (_, Style { colour, pattern })) in counts.iter().zip(parts) {
            let (from, to) = (
                below as f64 / all.max(1) as f64,
                (below + part) as f64 / all.max(1) as f64,
            );
            below += part;
            let (top, height) = (frame.y(to), frame.y(from) - frame.y(to));
            if height > 0.05 {
                // Narrow columns overlap a little, to leave no gaps between them.
                let bar = if column < 6.0 {
                    column + 0.3
                } else {
                    column - 1.0
                };
                let place = format!(
                    "x=\"{x:.1}\" y=\"{top:.1}\" width=\"{bar:.1}\" height=\"{height:.1}\""
                );
                frame.draw(format_args!("<rect class=\"c{colour}\" {place}/>"));
                if *pattern > 0 {
                    frame.draw(format_args!("<rect fill=\"url(#p{pattern})\" {place}/>"));
                }
            }
        }
    }
    frame.close(&steps, |at| {
        let (step, counts) = &columns[at];
        let all = counts.iter().sum();
        let parts = parts.iter().zip(counts).filter(|(_, part)| **part > 0);
        let parts = parts
            .map(|((name, _), part)| format!("{name} {} ({})", count(*part), percent(*part, all)));
        format!("step {step}: {}", parts.collect::<Vec<_>>().join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tooltips_contain_counts_and_shares() {
        let parts = [
            ("graded".to_owned(), Style::plain(0)),
            ("<failed>".to_owned(), Style::plain(3)),
        ];
        let svg = shares("outcomes", 1, &[(0, vec![3, 1]), (1, vec![0, 0])], &parts);
        assert!(
            svg.contains("graded 3 (75.0 %), &lt;failed&gt; 1 (25.0 %)"),
            "{svg}"
        );
        assert_eq!(
            (
                svg.matches("class=\"c0\"").count(),
                svg.matches("class=\"c3\"").count()
            ),
            (1, 1)
        );
    }
}
