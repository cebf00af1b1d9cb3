//! Sequences of a batch, packed without padding. Sequences with the same first tokens, such as the
//! completions of one prompt, share the rows of these tokens.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use candle_core::{Device, Result, Tensor};

use super::attention::Masks;
use super::packed_sequence::PackedSequence;
use crate::sequence::TILE;
use crate::{GpuOptions, Sequence};

/// Concatenated sequences.
pub(crate) struct Packed {
    /// Token ids, `u32`, of all rows.
    pub(crate) ids: Tensor,
    /// Position of each row's token in its sequence, `u32`.
    pub(crate) positions: Tensor,
    /// Token type: the text of a pair that each token belongs to, 0 or 1, `u32`.
    pub(crate) types: Tensor,
    /// The sequences, in the order of their own rows.
    pub(crate) sequences: Arc<[PackedSequence]>,
    /// Attention masks, which all layers use.
    pub(crate) masks: Masks,
    /// Calls of FlashAttention, which all layers use.
    #[cfg(feature = "flash-attn")]
    pub(crate) calls: super::attention::Calls,
    /// How the batch is computed on a GPU.
    pub(crate) gpu: GpuOptions,
    rows: usize,
}

impl Packed {
    /// Packs sequences. With `share`, rows of common first tokens are shared in whole tiles of
    /// attention, so that every tile has the same rows as in an unshared sequence. Only causal
    /// models may share, because their rows do not depend on later tokens.
    pub(crate) fn new(
        sequences: &[&Sequence],
        share: bool,
        device: &Device,
        gpu: GpuOptions,
    ) -> Result<Self> {
        let total = sequences.iter().map(|sequence| sequence.len()).sum();
        let (mut ids, mut positions, mut types) = (
            Vec::with_capacity(total),
            Vec::with_capacity(total),
            Vec::with_capacity(total),
        );
        let mut tiles = SharedTiles::default();
        let mut packed = Vec::with_capacity(sequences.len());
        for sequence in sequences {
            let len = sequence.len();
            let mut ranges = Vec::new();
            let mut node = None;
            let mut shared = 0;
            if share {
                while let Some((next, row)) = tiles.find(node, sequence.tile(shared)) {
                    push(&mut ranges, row..row + TILE);
                    node = Some(next);
                    shared += TILE;
                }
            }
            let own = ids.len()..ids.len() + len - shared;
            push(&mut ranges, own.clone());
            if share {
                let mut first = shared;
                while let Some(tile) = sequence.tile(first) {
                    node = Some(tiles.insert(node, tile, own.start + first - shared));
                    first += TILE;
                }
            }
            ids.extend_from_slice(&sequence.ids[shared..]);
            positions.extend((0u32..).take(len).skip(shared));
            types.extend((shared..len).map(|at| u32::from(at >= sequence.second)));
            packed.push(PackedSequence {
                ranges,
                shared,
                len,
                own,
            });
        }
        let rows = ids.len();
        Ok(Self {
            ids: Tensor::from_vec(ids, rows, device)?,
            positions: Tensor::from_vec(positions, rows, device)?,
            types: Tensor::from_vec(types, rows, device)?,
            sequences: packed.into(),
            masks: Masks::default(),
            #[cfg(feature = "flash-attn")]
            calls: super::attention::Calls::default(),
            gpu,
            rows,
        })
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }
}

/// Appends a range, joined with the last one if it is adjacent.
fn push(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ if range.is_empty() => {}
        _ => ranges.push(range),
    }
}

/// The number of the tile before a tile, and the token ids of the tile.
type TileKey<'a> = (Option<usize>, &'a [u32]);

/// The tiles at the start of sequences, as a tree: the children of a tile are those that follow it.
#[derive(Default)]
struct SharedTiles<'a> {
    /// Number and first row of each tile.
    tiles: HashMap<TileKey<'a>, (usize, usize)>,
}

impl<'a> SharedTiles<'a> {
    fn find(&self, parent: Option<usize>, tile: Option<&'a [u32]>) -> Option<(usize, usize)> {
        self.tiles.get(&(parent, tile?)).copied()
    }

    fn insert(&mut self, parent: Option<usize>, tile: &'a [u32], row: usize) -> usize {
        let next = self.tiles.len();
        self.tiles.insert((parent, tile), (next, row));
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(parts: &[(u32, usize)]) -> Sequence {
        Sequence::whole(
            parts
                .iter()
                .flat_map(|(id, count)| std::iter::repeat_n(*id, *count))
                .collect(),
        )
    }

    #[test]
    fn sequences_share_whole_tiles_of_their_first_tokens() {
        let sequences = [
            sequence(&[(1, 300), (2, 10)]),
            sequence(&[(1, 300), (3, 20)]),
            sequence(&[(4, 5)]),
            sequence(&[(1, 150), (5, 150)]),
            sequence(&[(1, 128)]),
        ];
        let all: Vec<&Sequence> = sequences.iter().collect();
        let packed = Packed::new(&all, true, &Device::Cpu, GpuOptions::default()).unwrap();
        let found: Vec<_> = packed
            .sequences
            .iter()
            .map(|sequence| {
                let ranges = format!("{:?}", sequence.ranges);
                (sequence.shared, sequence.own.clone(), ranges)
            })
            .collect();
        let expected = [
            (0, 0..310, "[0..310]"),
            (256, 310..374, "[0..256, 310..374]"),
            (0, 374..379, "[374..379]"),
            (128, 379..551, "[0..128, 379..551]"),
            (128, 551..551, "[0..128]"),
        ];
        assert_eq!(
            found,
            expected.map(|(shared, own, ranges)| (shared, own, ranges.to_owned()))
        );
        let (ids, positions) = (
            packed.ids.to_vec1::<u32>().unwrap(),
            packed.positions.to_vec1::<u32>().unwrap(),
        );
        assert_eq!((ids.len(), packed.rows()), (551, 551));
        for (sequence, packed) in sequences.iter().zip(packed.sequences.iter()) {
            for (at, id) in sequence.ids.iter().enumerate() {
                let row = packed.row(at).unwrap();
                assert_eq!((ids[row], positions[row] as usize), (*id, at));
            }
            assert_eq!(packed.row(sequence.len()), None);
        }

        let packed = Packed::new(&all, false, &Device::Cpu, GpuOptions::default()).unwrap();
        assert_eq!(
            packed.rows(),
            sequences.iter().map(Sequence::len).sum::<usize>()
        );
    }

    #[test]
    fn equal_tiles_after_different_ones_are_not_shared() {
        let sequences = [
            sequence(&[(1, 128), (2, 128)]),
            sequence(&[(3, 128), (2, 128)]),
        ];
        let packed = Packed::new(
            &[&sequences[0], &sequences[1]],
            true,
            &Device::Cpu,
            GpuOptions::default(),
        )
        .unwrap();
        assert_eq!(packed.rows(), 512);
    }
}
