//! A key-value cache with one tensor per layer, for devices that prefer few large operations.
//! Completions of different lengths are padded with masked columns.

use assay_weights::config::DecoderConfig;
use candle_core::{D, DType, Device, Result, Tensor};

use crate::batch::to_u32;
use crate::ops::{Heads, scale_of};

pub(super) struct PaddedCache {
    windows: Vec<Option<usize>>,
    device: Device,
    /// By layer, each `[rows, columns, kv_heads * head_dim]`.
    layers: Vec<[Tensor; 2]>,
    /// For each row, the position of the token of each column; `None` for masked columns.
    positions: Vec<Vec<Option<usize>>>,
}

impl PaddedCache {
    pub(super) fn new(config: &DecoderConfig, device: &Device) -> Self {
        Self {
            windows: config.windows.clone(),
            device: device.clone(),
            layers: Vec::new(),
            positions: Vec::new(),
        }
    }

    pub(super) fn admit(
        &mut self,
        keys_and_values: &[[Tensor; 2]],
        starts: &[usize],
        text_of: &[usize],
    ) -> Result<()> {
        let lengths: Vec<usize> = starts.windows(2).map(|ends| ends[1] - ends[0]).collect();
        let longest = text_of
            .iter()
            .map(|text| lengths[*text])
            .max()
            .unwrap_or_default();
        let old = self.columns();
        let columns = longest.max(old);
        // The rows of the text, then its last row repeated for masked columns.
        let indices: Vec<u32> = text_of
            .iter()
            .flat_map(|text| (0..columns).map(move |column| (*text, column)))
            .map(|(text, column)| to_u32(starts[text] + column.min(lengths[text] - 1)))
            .collect();
        let indices = Tensor::from_vec(indices, text_of.len() * columns, &self.device)?;
        let fresh = keys_and_values.iter().map(|pair| {
            let [k, v] = pair.each_ref().map(|x| {
                x.index_select(&indices, 0)?
                    .reshape((text_of.len(), columns, x.dim(1)?))
            });
            Ok([k?, v?])
        });
        let fresh = fresh.collect::<Result<Vec<_>>>()?;
        if self.positions.is_empty() {
            self.layers = fresh;
        } else {
            for (layer, fresh) in self.layers.iter_mut().zip(fresh) {
                for (old_part, fresh) in layer.iter_mut().zip(fresh) {
                    let filled = old_part.pad_with_zeros(1, 0, columns - old)?;
                    *old_part = Tensor::cat(&[filled, fresh], 0)?;
                }
            }
        }
        self.positions
            .iter_mut()
            .for_each(|row| row.resize(columns, None));
        let positions = |text: &usize| {
            (0..columns)
                .map(|column| (column < lengths[*text]).then_some(column))
                .collect()
        };
        self.positions.extend(text_of.iter().map(positions));
        Ok(())
    }

    /// Keeps only some completions. Columns that none of them needs are removed, so that there are
    /// never more columns than tokens of the longest completion with its prompt.
    pub(super) fn retain(&mut self, unfinished: &[bool]) -> Result<()> {
        if unfinished.iter().all(|unfinished| *unfinished) {
            return Ok(());
        }
        let old = self.columns();
        let rows: Vec<usize> = (0..unfinished.len())
            .filter(|row| unfinished[*row])
            .collect();
        let mut flags = unfinished.iter();
        self.positions.retain(|_| *flags.next().unwrap_or(&false));
        if rows.is_empty() {
            self.layers.clear();
            return Ok(());
        }
        let used = |row: &[Option<usize>]| row.iter().flatten().count();
        let columns = self.positions.iter().map(|row| used(row)).max();
        let columns = columns.unwrap_or_default();
        let count = rows.len();
        if columns == old {
            let rows = rows.into_iter().map(to_u32).collect();
            let rows = Tensor::from_vec(rows, count, &self.device)?;
            for part in self.layers.iter_mut().flatten() {
                *part = part.index_select(&rows, 0)?;
            }
            return Ok(());
        }
        // The used columns of each row, in order, then its first one for masked columns.
        let mut indices = Vec::with_capacity(count * columns);
        for (row, positions) in rows.iter().zip(&mut self.positions) {
            let of = |column: usize| to_u32(row * old + column);
            let filled = positions.iter().enumerate();
            let filled = filled.filter(|(_, position)| position.is_some());
            indices.extend(filled.map(|(column, _)| of(column)));
            positions.retain(Option::is_some);
            indices.extend((positions.len()..columns).map(|_| of(0)));
            positions.resize(columns, None);
        }
        let indices = Tensor::from_vec(indices, count * columns, &self.device)?;
        for part in self.layers.iter_mut().flatten() {
            let width = part.dim(2)?;
            *part = part
                .reshape(((), width))?
                .index_select(&indices, 0)?
                .reshape((count, columns, width))?;
        }
        Ok(())
    }

    /// Number of columns.
    fn columns(&self) -> usize {
        self.positions.first().map_or(0, Vec::len)
    }

    pub(super) fn attend(
        &mut self,
        layer: usize,
        [q, k, v]: [&Tensor; 3],
        heads: Heads,
    ) -> Result<Tensor> {
        let Heads {
            heads,
            kv_heads,
            head_dim,
        } = heads;
        let rows = q.dim(0)?;
        if layer == 0 {
            for row in &mut self.positions {
                let next = row.iter().flatten().max().map_or(0, |last| last + 1);
                row.push(Some(next));
            }
        }
        for (part, new) in self.layers[layer].iter_mut().zip([k, v]) {
            *part = Tensor::cat(&[&*part, &new.unsqueeze(1)?], 1)?.contiguous()?;
        }
        let columns = self.layers[layer][0].dim(1)?;
        let [k, v] = self.layers[layer].each_ref().map(|part| {
            part.reshape((rows, columns, kv_heads, head_dim))?
                .transpose(1, 2)?
                .contiguous()
        });
        let q = q.reshape((rows, kv_heads, heads / kv_heads, head_dim))?;
        let scores = (q.contiguous()?.matmul(&k?.t()?.contiguous()?)? * scale_of(head_dim))?;
        let mask = self.mask(self.windows[layer], columns)?;
        let scores = scores.to_dtype(DType::F32)?.broadcast_add(&mask)?;
        let weights = candle_nn::ops::softmax(&scores, D::Minus1)?.to_dtype(q.dtype())?;
        weights.matmul(&v?)?.reshape((rows, heads * head_dim))
    }

    /// `[rows, 1, 1, columns]`: 0 for visible columns, negative infinity for others.
    fn mask(&self, window: Option<usize>, columns: usize) -> Result<Tensor> {
        let is_visible = |row: &[Option<usize>], column: usize| {
            let last = row.last().copied().flatten().unwrap_or_default();
            row[column].is_some_and(|position| window.is_none_or(|window| position + window > last))
        };
        let numbers: Vec<f32> = self
            .positions
            .iter()
            .flat_map(|row| {
                (0..columns).map(|column| {
                    if is_visible(row, column) {
                        0.0
                    } else {
                        f32::NEG_INFINITY
                    }
                })
            })
            .collect();
        Tensor::from_vec(numbers, (self.positions.len(), 1, 1, columns), &self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::families;

    /// The keys of the visible columns of a row, in order.
    fn keys(cache: &PaddedCache, row: usize) -> Vec<f32> {
        let row_keys = cache.layers[0][0].narrow(0, row, 1).unwrap();
        let first = row_keys.narrow(2, 0, 1).unwrap();
        let keys: Vec<f32> = first.flatten_all().unwrap().to_vec1().unwrap();
        let positions = cache.positions[row].iter();
        positions
            .zip(keys)
            .filter_map(|(position, key)| position.map(|_| key))
            .collect()
    }

    /// Rows leave and are replaced many times; each keeps its tokens, and columns stay bounded.
    #[test]
    fn columns_are_bounded_by_the_longest_live_row() {
        let config = DecoderConfig::read(&families()[0]).unwrap();
        let heads = Heads {
            heads: config.heads,
            kv_heads: config.kv_heads,
            head_dim: config.head_dim,
        };
        let config = DecoderConfig {
            windows: vec![None],
            ..config
        };
        let mut cache = PaddedCache::new(&config, &Device::Cpu);
        // The keys of each live row, and its final length.
        let mut live: Vec<(Vec<f32>, usize)> = Vec::new();
        let mut next = 0f32;
        let mut most = 0;
        for round in 0..400usize {
            while live.len() < 4 {
                let prompt: Vec<f32> = (0..1 + (round * 7) % 5)
                    .map(|_| {
                        next += 1.0;
                        next
                    })
                    .collect();
                let length = prompt.len();
                let tensor = |width: usize| {
                    let column = Tensor::from_slice(&prompt, (length, 1), &Device::Cpu);
                    column.unwrap().repeat((1, width)).unwrap()
                };
                let pair = [tensor(heads.kv_width()), tensor(heads.kv_width())];
                cache.admit(&[pair], &[0, length], &[0]).unwrap();
                live.push((prompt, length + 1 + (round * 11) % 23));
            }
            let new: Vec<f32> = live
                .iter_mut()
                .map(|(keys, _)| {
                    next += 1.0;
                    keys.push(next);
                    next
                })
                .collect();
            let column = Tensor::from_slice(&new, (new.len(), 1), &Device::Cpu).unwrap();
            let [q, k] = [heads.width(), heads.kv_width()]
                .map(|width| column.repeat((1, width)).unwrap().contiguous().unwrap());
            cache.attend(0, [&q, &k, &k], heads).unwrap();
            let unfinished: Vec<bool> = live.iter().map(|(keys, end)| keys.len() < *end).collect();
            cache.retain(&unfinished).unwrap();
            let mut flags = unfinished.iter();
            live.retain(|_| *flags.next().unwrap());
            let longest = live.iter().map(|(keys, _)| keys.len()).max();
            assert_eq!(cache.columns(), longest.unwrap_or_default());
            most = most.max(cache.columns());
            for (row, (expected, _)) in live.iter().enumerate() {
                assert_eq!(&keys(&cache, row), expected, "row {row} of round {round}");
            }
        }
        assert!(most > 10 && most <= 5 + 23, "{most}");
    }
}
