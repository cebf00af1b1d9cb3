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
        let old = self.positions.first().map_or(0, Vec::len);
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

    pub(super) fn retain(&mut self, unfinished: &[bool]) -> Result<()> {
        if unfinished.iter().all(|unfinished| *unfinished) {
            return Ok(());
        }
        let rows: Vec<u32> = (0..unfinished.len())
            .filter(|row| unfinished[*row])
            .map(to_u32)
            .collect();
        let mut flags = unfinished.iter();
        self.positions.retain(|_| *flags.next().unwrap_or(&false));
        if rows.is_empty() {
            self.layers.clear();
            return Ok(());
        }
        let count = rows.len();
        let rows = Tensor::from_vec(rows, count, &self.device)?;
        for part in self.layers.iter_mut().flatten() {
            *part = part.index_select(&rows, 0)?;
        }
        Ok(())
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
