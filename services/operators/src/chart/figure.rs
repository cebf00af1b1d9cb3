//! A chart with its caption and legend.

use super::{Style, Svg};

/// A chart as pages show it.
pub(crate) struct Figure {
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) svg: Svg,
    /// Names and styles of the parts, for the legend.
    pub(crate) parts: Vec<(String, Style)>,
}
