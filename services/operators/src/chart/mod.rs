//! Charts as SVG, drawn here so that a page needs no script and no style of its own. A chart knows
//! columns of numbers and nothing of grades. Colours and fonts are the style sheet's; every column
//! tells its numbers when pointed at.

mod band;
mod frame;
mod heat;
mod interval;
mod lines;
mod shares;

pub(crate) use band::band;
pub(crate) use heat::heat;
pub(crate) use interval::interval;
pub(crate) use lines::{Line, lines};
pub(crate) use shares::shares;

/// Most columns of a chart: about one for each four pixels.
const COLUMNS: i64 = 120;

/// Steps of one column in a chart of all steps up to `last`: a power of 2, because the record keeps
/// sums of such buckets.
pub(crate) fn width(last: Option<i64>) -> i64 {
    let buckets = (last.unwrap_or(0).max(0) / COLUMNS).cast_unsigned();
    1 << (u64::BITS - buckets.leading_zeros())
}

/// A chart, or nothing where there is nothing to draw. The one text that templates write without
/// escaping.
pub(crate) type Svg = String;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_at_most_so_many_columns() {
        assert_eq!(
            [None, Some(-5), Some(0), Some(119), Some(120), Some(239)].map(width),
            [1, 1, 1, 1, 2, 2]
        );
        for last in [240, 1_000, 123_456, 10_i64.pow(12)] {
            assert!(
                last / width(Some(last)) < COLUMNS && last / width(Some(last)) >= COLUMNS / 2 - 1,
                "{last}"
            );
        }
    }
}
