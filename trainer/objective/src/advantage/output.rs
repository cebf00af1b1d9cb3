//! Advantages and their conversion to tensors.

use candle_core::{DType, Tensor};

use crate::ObjectiveError;

/// Advantages of a batch, in the order of its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Advantages {
    /// One number per row, or one per token of the row.
    pub values: Vec<Vec<f64>>,
    /// Whether the row is included in the loss.
    pub keep: Vec<bool>,
    /// Number of rows without a reward.
    pub masked: usize,
    /// Number of groups dropped because they have fewer than two rewards.
    pub dropped_groups: usize,
}

impl Advantages {
    /// Advantages of tokens, and `mask` without the excluded rows; both `[rows, tokens]` with the
    /// type of `mask`. Token values are assigned in order to the positions where `mask` is 1.
    ///
    /// # Errors
    /// The number of rows, or of token values of a row, differs from that of the mask.
    pub fn tensors(&self, mask: &Tensor) -> Result<(Tensor, Tensor), ObjectiveError> {
        let rows = mask.to_dtype(DType::F64)?.to_vec2::<f64>()?;
        if rows.len() != self.values.len() {
            let (got, expected) = (vec![self.values.len()], vec![rows.len()]);
            return Err(ObjectiveError::Shape {
                name: "advantages",
                got,
                expected,
            });
        }
        let (mut advantages, mut included) = (Vec::new(), Vec::new());
        for (row, (positions, values)) in rows.iter().zip(&self.values).enumerate() {
            let keep = self.keep.get(row).copied().unwrap_or_default();
            let live = positions.iter().filter(|mask| **mask > 0.0).count();
            if values.len() != 1 && values.len() != live {
                return Err(ObjectiveError::Sample {
                    row,
                    what: "`advantages` must have one value, or one per token of the mask",
                });
            }
            let mut next = values.iter().cycle();
            for position in positions {
                let include = keep && *position > 0.0;
                let value = if *position > 0.0 {
                    next.next().copied().unwrap_or_default()
                } else {
                    0.0
                };
                advantages.push(if include { value } else { 0.0 });
                included.push(if include { 1.0 } else { 0.0 });
            }
        }
        let tensor = |numbers| {
            Tensor::from_vec::<_, f64>(numbers, mask.shape(), mask.device())?.to_dtype(mask.dtype())
        };
        Ok((tensor(advantages)?, tensor(included)?))
    }
}
