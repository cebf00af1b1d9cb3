//! SVG charts, rendered on the server, so that pages need no script for them. Charts draw columns
//! of numbers and know nothing about grades. Colours and fonts are in the style sheet. Each column
//! has a tooltip with its numbers.

mod band;
mod figure;
mod frame;
mod heat;
mod interval;
mod lines;
mod shares;
mod spark;
mod style;
mod times;

pub(crate) use band::band;
pub(crate) use figure::Figure;
pub(crate) use frame::Svg;
pub(crate) use heat::heat;
pub(crate) use interval::{bar, interval};
pub(crate) use lines::{Line, lines};
pub(crate) use shares::shares;
pub(crate) use spark::spark;
pub(crate) use style::{Style, VerdictStyles};
pub(crate) use times::{Point, Series, times};

/// Maximum number of columns per chart, about one per four pixels.
const MAX_COLUMNS: i64 = 120;

/// Number of steps per column in a chart of all steps up to `last`: a power of two. The record
/// keeps sums of 1, 16, 256 and 4,096 steps. Columns of 8 steps or 8 times the others would be made
/// from the most sums, so columns are twice as wide instead.
pub(crate) fn width(last: Option<i64>) -> i64 {
    let buckets = (last.unwrap_or(0).max(0) / MAX_COLUMNS).cast_unsigned();
    let power = u64::BITS - buckets.leading_zeros();
    1 << if power % 4 == 3 { power + 1 } else { power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_have_at_most_the_maximum_number_of_columns() {
        assert_eq!(
            [
                None,
                Some(119),
                Some(120),
                Some(479),
                Some(480),
                Some(1_919),
                Some(1_920)
            ]
            .map(width),
            [1, 1, 2, 4, 16, 16, 32]
        );
        for last in [240, 1_000, 123_456, 10_i64.pow(12)] {
            assert!(
                last / width(Some(last)) < MAX_COLUMNS
                    && last / width(Some(last)) >= MAX_COLUMNS / 4 - 1,
                "{last}"
            );
        }
    }
}
