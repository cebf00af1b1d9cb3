//! A line that is small enough for a table cell, without axes.

use std::fmt::Write as _;

use super::frame::{Svg, escape};

/// Size of the drawing, in SVG units.
const WIDTH: f64 = 110.0;
const HEIGHT: f64 = 22.0;

/// Distance of the line from the edges.
const MARGIN: f64 = 2.0;

/// Draws numbers from left to right in equal distances. The scale is from the lowest to the highest
/// number, but at least `least` high. `label` describes the drawing.
pub(crate) fn spark(numbers: &[f64], least: f64, label: &str) -> Svg {
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if numbers.is_empty() || !(high - low).is_finite() {
        return Svg::new();
    }
    let range = (high - low).max(least);
    // A range that is smaller than the scale is in its middle.
    let low = low - (range - (high - low)) / 2.0;
    let distance = (WIDTH - 2.0 * MARGIN) / (numbers.len().max(2) - 1) as f64;
    let mut path = String::new();
    for (at, number) in numbers.iter().enumerate() {
        let x = MARGIN + at as f64 * distance;
        let y = HEIGHT - MARGIN - (number - low) / range * (HEIGHT - 2.0 * MARGIN);
        // Makes a single point visible as a dot, by the round ends of the line.
        let (command, dot) = if at == 0 { ('M', "h0") } else { ('L', "") };
        // Writing to a string cannot fail.
        let _ = write!(path, "{command}{x:.1} {y:.1}{dot}");
    }
    format!(
        "<svg class=\"spark chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" role=\"img\" aria-label=\"{label}\"><title>{label}</title>\
         <path class=\"line c0\" d=\"{path}\"/></svg>",
        label = escape(label)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_the_width_and_the_scale() {
        let svg = spark(&[0.0, 1.0, 0.5], 0.1, "reward <0 to 1>");
        assert!(
            svg.contains("d=\"M2.0 20.0h0L55.0 2.0L108.0 11.0\""),
            "{svg}"
        );
        assert!(
            svg.contains("aria-label=\"reward &lt;0 to 1&gt;\""),
            "{svg}"
        );
    }

    #[test]
    fn draws_equal_numbers_in_the_middle_and_no_others_than_finite_ones() {
        assert!(spark(&[0.5, 0.5], 0.1, "").contains("M2.0 11.0h0L108.0 11.0"));
        assert!(spark(&[0.5], 0.1, "").contains("M2.0 11.0h0\""));
        assert_eq!(spark(&[], 0.1, ""), "");
        assert_eq!(spark(&[f64::MAX, f64::MIN], 0.1, ""), "");
    }
}
