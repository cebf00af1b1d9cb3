//! Charts as SVG, drawn here so that a page needs no script and no style of its own. A chart knows columns of numbers and nothing of
//! grades. Colours and fonts are the style sheet's; every column tells its numbers when pointed at.

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
pub(crate) const COLUMNS: i64 = 120;

/// A chart, or nothing where there is nothing to draw. The one text that templates write without escaping.
pub(crate) type Svg = String;
