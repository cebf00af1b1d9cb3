//! Attention masks of a batch. Layers with the same span use the same masks.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use candle_core::{Device, Result, Tensor};

use super::AttentionSpan;

/// Span, tokens of a tile, and end of the range that they attend to.
type MaskKey = (AttentionSpan, Range<usize>, usize);

/// Masks by tile, each computed once.
#[derive(Default)]
pub(crate) struct Masks(Mutex<HashMap<MaskKey, Option<Tensor>>>);

impl Masks {
    /// Additive mask of a tile in `f32`, `[tile, attended]`: 0 where a token is attended to,
    /// negative infinity elsewhere. `None` if all are attended to.
    pub(super) fn of_tile(
        &self,
        span: AttentionSpan,
        tile: &Range<usize>,
        attended: &Range<usize>,
        len: usize,
        device: &Device,
    ) -> Result<Option<Tensor>> {
        let key = (span, tile.clone(), attended.end);
        let mut masks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mask) = masks.get(&key) {
            return Ok(mask.clone());
        }
        let ranges = || tile.clone().map(|at| span.range(at, len));
        let mask = if ranges().all(|range| range == *attended) {
            None
        } else {
            let row = |range: Range<usize>| {
                attended.clone().map(move |at| {
                    if range.contains(&at) {
                        0.0f32
                    } else {
                        f32::NEG_INFINITY
                    }
                })
            };
            let mask: Vec<f32> = ranges().flat_map(row).collect();
            Some(Tensor::from_vec(
                mask,
                (tile.len(), attended.len()),
                device,
            )?)
        };
        masks.insert(key, mask.clone());
        Ok(mask)
    }
}
