//! What the loss is computed from, and its cleaning: after it every tensor has one shape and type,
//! and padding holds nothing.

use candle_core::{DType, Tensor};
use serde::{Deserialize, Serialize};

use crate::ObjectiveError;
use crate::tensor::{or_else, row_sums, spread};

/// A policy whose log-probabilities a batch can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyVersion {
    /// The proximal policy: the weights as they were before the updates from this batch.
    Old,
    /// The policy that wrote the tokens, as it said at the time.
    Behaviour,
    /// A frozen policy that is not to be left far behind.
    Reference,
    /// A better policy to learn from.
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

/// What the policy in training says of the tokens of a batch, with its graph.
#[derive(Debug, Clone)]
pub struct Current {
    /// Log-probability of each token, `[rows, tokens]`.
    pub logp: Tensor,
    /// Entropy of the distribution each token was drawn from in nats, `[rows, tokens]`; only where
    /// the objective has an entropy bonus.
    pub entropy: Option<Tensor>,
}

/// What is known of the tokens of a batch without the policy in training. No tensor here has a
/// graph.
///
/// A row is one completion. Tensors are padded to one width and of any float type; what they hold
/// where the mask is 0 is never read into the loss, not even if it is no number.
#[derive(Debug, Clone)]
pub struct Batch {
    /// 1 for tokens the policy wrote and learns from, 0 for padding, for texts of tools, and for
    /// rows that do not vote; `[rows, tokens]`.
    pub mask: Tensor,
    /// Advantages, `[rows]` or `[rows, tokens]`.
    pub advantages: Tensor,
    /// Log-probabilities by [`Policy::Old`], `[rows, tokens]`.
    pub old: Option<Tensor>,
    /// Log-probabilities by [`Policy::Behaviour`], `[rows, tokens]`.
    pub behaviour: Option<Tensor>,
    /// Log-probabilities by [`Policy::Reference`], `[rows, tokens]`.
    pub reference: Option<Tensor>,
    /// Log-probabilities by [`Policy::Teacher`], `[rows, tokens]`.
    pub teacher: Option<Tensor>,
    /// Entropies of the old policy in nats, `[rows, tokens]`: what the top-entropy mask looks at.
    pub entropy: Option<Tensor>,
    /// 1 for rows that are demonstrations by someone else, 0 for rollouts, `[rows]`.
    pub demonstrations: Option<Tensor>,
    /// Scores in \[0, 1\], `[rows]`: the labels of PACS.
    pub scores: Option<Tensor>,
    /// The group of each row: equal numbers are rollouts of one prompt. Empty where nothing
    /// compares the members of a group.
    pub groups: Vec<usize>,
}

impl Batch {
    /// A batch with nothing but mask and advantages.
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

    /// `count` rows from row `start`: a micro-batch.
    ///
    /// # Errors
    /// There are not so many rows.
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

/// A batch after cleaning: one float type, `[rows, tokens]` everywhere, 0 where the mask is 0.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    batch: &'a Batch,
    dtype: DType,
    shape: (usize, usize),
    /// The mask as `u8`.
    pub(crate) live: Tensor,
    /// The mask as numbers.
    pub(crate) mask: Tensor,
    /// Tokens of each row, at least 1, as a column.
    pub(crate) lengths: Tensor,
    /// Advantages of tokens.
    pub(crate) advantages: Tensor,
}

impl<'a> Tokens<'a> {
    /// Checks and cleans mask and advantages. Half types become `f32`.
    pub(crate) fn new(batch: &'a Batch, dtype: DType) -> Result<Self, ObjectiveError> {
        let dtype = if dtype == DType::F64 {
            DType::F64
        } else {
            DType::F32
        };
        let &[rows, width] = batch.mask.dims() else {
            return Err(ObjectiveError::Conflict(
                "`mask` is not of the shape `[rows, tokens]`",
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
            or_else(&tokens.live, &spread(&column, &tokens.mask)?, 0.0)?
        } else {
            tokens.clean("advantages", Some(&batch.advantages))?
        };
        Ok(tokens)
    }

    /// A tensor of the batch's shape, cleaned.
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

    /// One number a row, as a column.
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

    /// Log-probabilities by one of the recorded policies.
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

    /// The same batch with only the tokens of this mask of `u8`.
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

    /// The batch it was made of.
    pub(crate) fn batch(&self) -> &'a Batch {
        self.batch
    }

    /// Rows and width.
    pub(crate) fn shape(&self) -> (usize, usize) {
        self.shape
    }
}
