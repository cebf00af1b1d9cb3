//! The few steps that every part of the loss takes with tensors. Each has a backward; masks are
//! `u8` tensors of 0 and 1.

use candle_core::{D, Result, Tensor};

/// Log-ratios are held within this many nats before they are raised to the exponent: e^20 is far
/// beyond any bound in use, and nothing overflows in 32 bits. Beyond it a token has no gradient
/// through its ratio.
pub(crate) const MOST_NATS: f64 = 20.0;

/// A constant of the shape and type of `like`.
pub(crate) fn constant(like: &Tensor, value: f64) -> Result<Tensor> {
    like.zeros_like()?.affine(1.0, value)
}

/// `yes` where the mask is 1, the number `no` elsewhere.
pub(crate) fn or_else(mask: &Tensor, yes: &Tensor, no: f64) -> Result<Tensor> {
    mask.where_cond(yes, &constant(yes, no)?)
}

/// Both masks.
pub(crate) fn both(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.mul(b)
}

/// Either mask.
pub(crate) fn either(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.maximum(b)
}

/// A column `[rows, 1]` repeated over the tokens of `like`.
pub(crate) fn spread(column: &Tensor, like: &Tensor) -> Result<Tensor> {
    column.broadcast_as(like.shape())?.contiguous()
}

/// e^x with x held within [`MOST_NATS`].
pub(crate) fn bounded_exp(log: &Tensor) -> Result<Tensor> {
    log.clamp(-MOST_NATS, MOST_NATS)?.exp()
}

/// Sum over the tokens of each row, as a column.
pub(crate) fn row_sums(x: &Tensor) -> Result<Tensor> {
    x.sum_keepdim(D::Minus1)
}

/// The number in a tensor of one element.
pub(crate) fn number(x: &Tensor) -> Result<f64> {
    x.to_dtype(candle_core::DType::F64)?.to_scalar()
}
