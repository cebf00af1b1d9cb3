//! Keys and values in one tensor for each layer, for devices that want few large operations.
//! Completions of different lengths are filled up with columns that nobody sees.

use assay_weights::config::DecoderConfig;
use candle_core::{D, DType, Device, Result, Tensor};

use crate::batch::small;
use crate::ops::{Heads, scale_of};

pub(super) struct Padded {
    windows: Vec<Option<usize>>,
    device: Device,
    /// By layer, each `[rows, columns, kv_heads * head_dim]`.
    layers: Vec<[Tensor; 2]>,
    /// For each row the position of the token of each column; `None` for columns nobody sees.
    positions: Vec<Vec<Option<usize>>>,
}

impl Padded {
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
        kept: &[[Tensor; 2]],
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
        // The rows of a text, then any row for the columns nobody sees.
        let places: Vec<u32> = text_of
            .iter()
            .flat_map(|text| (0..columns).map(move |at| (*text, at)))
            .map(|(text, at)| small(starts[text] + at.min(lengths[text] - 1)))
            .collect();
        let places = Tensor::from_vec(places, text_of.len() * columns, &self.device)?;
        let fresh = kept.iter().map(|pair| {
            let [k, v] = pair.each_ref().map(|x| {
                x.index_select(&places, 0)?
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
        let seen = |text: &usize| {
            (0..columns)
                .map(|at| (at < lengths[*text]).then_some(at))
                .collect()
        };
        self.positions.extend(text_of.iter().map(seen));
        Ok(())
    }

    pub(super) fn keep(&mut self, stays: &[bool]) -> Result<()> {
        if stays.iter().all(|stays| *stays) {
            return Ok(());
        }
        let rows: Vec<u32> = (0..stays.len())
            .filter(|row| stays[*row])
            .map(small)
            .collect();
        let mut stays = stays.iter();
        self.positions.retain(|_| *stays.next().unwrap_or(&false));
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
        let shares = candle_nn::ops::softmax(&scores, D::Minus1)?.to_dtype(q.dtype())?;
        shares.matmul(&v?)?.reshape((rows, heads * head_dim))
    }

    /// `[rows, 1, 1, columns]` of 0 for what is seen.
    fn mask(&self, window: Option<usize>, columns: usize) -> Result<Tensor> {
        let seen = |row: &[Option<usize>], column: usize| {
            let last = row.last().copied().flatten().unwrap_or_default();
            row[column].is_some_and(|at| window.is_none_or(|window| at + window > last))
        };
        let numbers: Vec<f32> = self
            .positions
            .iter()
            .flat_map(|row| {
                (0..columns).map(|column| {
                    if seen(row, column) {
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
