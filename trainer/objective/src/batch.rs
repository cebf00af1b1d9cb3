//! The inputs of the loss and their validation: afterwards, every tensor has the same shape and
//! type, and is 0 where the mask is 0.

use candle_core::{DType, Tensor};
use serde::{Deserialize, Serialize};

use crate::ObjectiveError;
use crate::tensor::{broadcast_column, or_else, row_sums};

/// A version of the policy whose log-probabilities can be recorded in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyVersion {
    /// The proximal policy: the weights before the first update from this batch.
    Old,
    /// The policy that generated the tokens, with the log-probabilities recorded at the time.
    Behaviour,
    /// A frozen policy from which the model should not diverge far.
    Reference,
    /// A stronger policy to distil from.
    Teacher,
}

impl PolicyVersion {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::Behaviour => "behaviour",
            Self::Reference => "reference",
            Self::Teacher => "teacher",
        }
    }
}

/// Outputs of the policy model for the tokens of a batch, with their graph.
#[derive(Debug, Clone)]
pub struct Current {
    /// Log-probability of each token, `[rows, tokens]`.
    pub logp: Tensor,
    /// Entropy of the distribution at each token in nats, `[rows, tokens]`; required only if the
    /// objective has an entropy bonus.
    pub entropy: Option<Tensor>,
}

/// Recorded data of a batch, which does not depend on the current weights. No tensor has a graph.
///
/// A row is one completion. Tensors are padded to the same width and have any float type. Values
/// where the mask is 0 never affect the loss, even if they are `NaN`.
#[derive(Debug, Clone)]
pub struct Batch {
    /// 1 for tokens that the policy generated and learns from; 0 for padding, for tool output, and
    /// for rows excluded from the loss. `[rows, tokens]`.
    pub mask: Tensor,
    /// Advantages, `[rows]` or `[rows, tokens]`.
    pub advantages: Tensor,
    /// Log-probabilities by [`PolicyVersion::Old`], `[rows, tokens]`.
    pub old: Option<Tensor>,
    /// Log-probabilities by [`PolicyVersion::Behaviour`], `[rows, tokens]`.
    pub behaviour: Option<Tensor>,
    /// Log-probabilities by [`PolicyVersion::Reference`], `[rows, tokens]`.
    pub reference: Option<Tensor>,
    /// Log-probabilities by [`PolicyVersion::Teacher`], `[rows, tokens]`.
    pub teacher: Option<Tensor>,
    /// Entropies of the old policy in nats, `[rows, tokens]`; used by the top-entropy mask.
    pub entropy: Option<Tensor>,
    /// 1 for demonstrations, 0 for rollouts, `[rows]`.
    pub demonstrations: Option<Tensor>,
    /// Scores in \[0, 1\], `[rows]`; the labels of PACS.
    pub scores: Option<Tensor>,
    /// The group of each row: rows with equal numbers are rollouts of the same prompt. May be empty
    /// if the objective does not compare the members of a group.
    pub groups: Vec<usize>,
}

impl Batch {
    /// A batch that has only mask and advantages.
    #[must_use]
    pub fn new(mask: Tensor, advantages: Tensor) -> Self {
        Self {
            mask,
            advantages,
            old: None,
            behaviour: None,
            reference: None,
            teacher: None,
            entropy: None,
            demonstrations: None,
            scores: None,
            groups: Vec::new(),
        }
    }

    /// The micro-batch of `count` rows from row `start`.
    ///
    /// # Errors
    /// The range exceeds the rows of the batch.
    pub fn rows(&self, start: usize, count: usize) -> Result<Self, ObjectiveError> {
        let cut = |tensor: &Tensor| tensor.narrow(0, start, count);
        let cut_some = |tensor: &Option<Tensor>| tensor.as_ref().map(cut).transpose();
        Ok(Self {
            mask: cut(&self.mask)?,
            advantages: cut(&self.advantages)?,
            old: cut_some(&self.old)?,
            behaviour: cut_some(&self.behaviour)?,
            reference: cut_some(&self.reference)?,
            teacher: cut_some(&self.teacher)?,
            entropy: cut_some(&self.entropy)?,
            demonstrations: cut_some(&self.demonstrations)?,
            scores: cut_some(&self.scores)?,
            groups: self
                .groups
                .iter()
                .copied()
                .skip(start)
                .take(count)
                .collect(),
        })
    }
}

/// A validated batch: one float type, `[rows, tokens]` everywhere, 0 where the mask is 0.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    batch: &'a Batch,
    dtype: DType,
    shape: (usize, usize),
    /// The mask as `u8`.
    pub(crate) live: Tensor,
    /// The mask as numbers.
    pub(crate) mask: Tensor,
    /// Number of tokens of each row, at least 1, as a column.
    pub(crate) lengths: Tensor,
    /// Advantage of each token.
    pub(crate) advantages: Tensor,
}

impl<'a> Tokens<'a> {
    /// Validates mask and advantages. Half-precision types become `f32`.
    pub(crate) fn new(batch: &'a Batch, dtype: DType) -> Result<Self, ObjectiveError> {
        let dtype = if dtype == DType::F64 {
            DType::F64
        } else {
            DType::F32
        };
        let &[rows, width] = batch.mask.dims() else {
            return Err(ObjectiveError::Conflict(
                "`mask` must have shape `[rows, tokens]`",
            ));
        };
        let live = batch.mask.ne(0.0)?.contiguous()?;
        let mask = live.to_dtype(dtype)?;
        let lengths = row_sums(&mask)?.maximum(1.0)?;
        let mut tokens = Self {
            batch,
            dtype,
            shape: (rows, width),
            live,
            mask,
            lengths,
            advantages: batch.mask.clone(),
        };
        tokens.advantages = if batch.advantages.rank() == 1 {
            let column = tokens.row_values("advantages", Some(&batch.advantages))?;
            or_else(&tokens.live, &broadcast_column(&column, &tokens.mask)?, 0.0)?
        } else {
            tokens.clean("advantages", Some(&batch.advantages))?
        };
        Ok(tokens)
    }

    /// A tensor of the batch's shape, with zeros where the mask is 0.
    pub(crate) fn clean(
        &self,
        name: &'static str,
        tensor: Option<&Tensor>,
    ) -> Result<Tensor, ObjectiveError> {
        let tensor = tensor.ok_or(ObjectiveError::Missing(name))?;
        let expected = [self.shape.0, self.shape.1];
        if tensor.dims() != expected {
            return Err(ObjectiveError::Shape {
                name,
                got: tensor.dims().to_vec(),
                expected: expected.to_vec(),
            });
        }
        Ok(or_else(
            &self.live,
            &tensor.to_dtype(self.dtype)?.contiguous()?,
            0.0,
        )?)
    }

    /// One number per row, as a column.
    pub(crate) fn row_values(
        &self,
        name: &'static str,
        tensor: Option<&Tensor>,
    ) -> Result<Tensor, ObjectiveError> {
        let tensor = tensor.ok_or(ObjectiveError::Missing(name))?;
        if tensor.dims() != [self.shape.0] {
            let (got, expected) = (tensor.dims().to_vec(), vec![self.shape.0]);
            return Err(ObjectiveError::Shape {
                name,
                got,
                expected,
            });
        }
        Ok(tensor.to_dtype(self.dtype)?.contiguous()?.unsqueeze(1)?)
    }

    /// Recorded log-probabilities of a policy version.
    pub(crate) fn recorded(&self, policy: PolicyVersion) -> Result<Tensor, ObjectiveError> {
        let tensor = match policy {
            PolicyVersion::Old => &self.batch.old,
            PolicyVersion::Behaviour => &self.batch.behaviour,
            PolicyVersion::Reference => &self.batch.reference,
            PolicyVersion::Teacher => &self.batch.teacher,
        };
        Ok(self.clean(policy.name(), tensor.as_ref())?.detach())
    }

    /// Recorded entropies.
    pub(crate) fn entropy(&self) -> Result<Tensor, ObjectiveError> {
        Ok(self.clean("entropy", self.batch.entropy.as_ref())?.detach())
    }

    /// The same batch, restricted to the tokens where the `u8` mask `keep` is 1.
    pub(crate) fn only(&self, keep: &Tensor) -> Result<Self, ObjectiveError> {
        let live = self.live.mul(keep)?;
        let mask = live.to_dtype(self.dtype)?;
        let lengths = row_sums(&mask)?.maximum(1.0)?;
        let advantages = or_else(&live, &self.advantages, 0.0)?;
        Ok(Self {
            batch: self.batch,
            dtype: self.dtype,
            shape: self.shape,
            live,
            mask,
            lengths,
            advantages,
        })
    }

    /// The batch it was built from.
    pub(crate) fn batch(&self) -> &'a Batch {
        self.batch
    }

    /// Rows and width.
    pub(crate) fn shape(&self) -> (usize, usize) {
        self.shape
    }
}
