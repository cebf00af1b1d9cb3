//! A value, or a value with its interval, small enough for a table cell.

use super::frame::Svg;

/// Size of the drawing, in SVG units.
const WIDTH: f64 = 132.0;
const HEIGHT: f64 = 16.0;

/// Draws `low`, `value` and `high` on the scale from `from` to `to`, with a mark at 0 if the scale
/// contains it.
pub(crate) fn interval(low: f64, value: f64, high: f64, (from, to): (f64, f64)) -> Svg {
    let x = |at: f64| 2.0 + ((at - from) / (to - from)).clamp(0.0, 1.0) * (WIDTH - 4.0);
    let (left, middle, right, zero, half) = (x(low), x(value), x(high), x(0.0), HEIGHT / 2.0);
    format!(
        "<svg class=\"interval\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" role=\"img\" aria-label=\"{value:.3}, from {low:.3} to \
         {high:.3}\"><path class=\"scale\" d=\"M2 {half}H{end}\"/><path class=\"zero\" \
         d=\"M{zero:.1} 2V14\"/><path class=\"range\" d=\"M{left:.1} {half}H{right:.1}\"/><circle \
         class=\"value\" cx=\"{middle:.1}\" cy=\"{half}\" r=\"3.5\"/></svg>",
        end = WIDTH - 2.0
    )
}

/// Draws a bar from 0 in the middle to `value`, on the scale from `-largest` to `largest`.
pub(crate) fn bar(value: f64, largest: f64) -> Svg {
    let middle = WIDTH / 2.0;
    let share = (value / largest.max(f64::MIN_POSITIVE)).clamp(-1.0, 1.0);
    let (x, class) = (
        middle + share * (middle - 2.0),
        if share < 0.0 { "c3" } else { "c2" },
    );
    format!(
        "<svg class=\"interval chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" aria-hidden=\"true\"><path class=\"zero\" d=\"M{middle} 1V15\"/>\
         <rect class=\"{class}\" x=\"{left:.1}\" y=\"4\" width=\"{width:.1}\" height=\"8\"/></svg>",
        left = x.min(middle),
        width = (x - middle).abs(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_start_in_the_middle() {
        assert!(bar(-0.5, 1.0).contains("x=\"34.0\" y=\"4\" width=\"32.0\""));
        assert!(bar(2.0, 1.0).contains("x=\"66.0\" y=\"4\" width=\"64.0\""));
        assert!(bar(0.0, 0.0).contains("width=\"0.0\""));
    }

    #[test]
    fn interval_is_drawn_within_its_scale() {
        let svg = interval(0.25, 0.5, 0.75, (0.0, 1.0));
        assert!(
            svg.contains("M34.0 8H98.0") && svg.contains("cx=\"66.0\""),
            "{svg}"
        );
        assert!(
            interval(-9.0, 0.0, 9.0, (-1.0, 1.0)).contains("M2.0 8H130.0"),
            "clamped to the ends of the scale"
        );
    }
}
