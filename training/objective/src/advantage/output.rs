//! What advantages are, and how they lie in a batch.

use candle_core::{DType, Tensor};

use crate::ObjectiveError;

/// Advantages of a batch, in the order of its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Advantages {
    /// One number a row, or one a token of it.
    pub values: Vec<Vec<f64>>,
    /// Whether the row votes in the loss.
    pub keep: Vec<bool>,
    /// Rows without a reward.
    pub masked: usize,
    /// Groups that were dropped for want of a second reward.
    pub dropped_groups: usize,
}

impl Advantages {
    /// Advantages of tokens and the mask of the rows that vote, both `[rows, tokens]` of the mask's
    /// type. Values of tokens go to the places of a row where `mask` is 1, in order.
    ///
    /// # Errors
    /// The mask is of other rows, or a row has values for another number of tokens.
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
        let (mut advantages, mut votes) = (Vec::new(), Vec::new());
        for (row, (places, values)) in rows.iter().zip(&self.values).enumerate() {
            let keep = self.keep.get(row).copied().unwrap_or_default();
            let live = places.iter().filter(|place| **place > 0.0).count();
            if values.len() != 1 && values.len() != live {
                return Err(ObjectiveError::Sample {
                    row,
                    what: "advantages are not one for each token of the mask",
                });
            }
            let mut next = values.iter().cycle();
            for place in places {
                let votes_here = keep && *place > 0.0;
                let value = if *place > 0.0 {
                    next.next().copied().unwrap_or_default()
                } else {
                    0.0
                };
                advantages.push(if votes_here { value } else { 0.0 });
                votes.push(if votes_here { 1.0 } else { 0.0 });
            }
        }
        let tensor = |numbers| {
            Tensor::from_vec::<_, f64>(numbers, mask.shape(), mask.device())?.to_dtype(mask.dtype())
        };
        Ok((tensor(advantages)?, tensor(votes)?))
    }
}
