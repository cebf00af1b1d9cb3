//! Tensor operations used by every part of the loss. All are differentiable. Masks are `u8`
//! tensors of 0 and 1.

use candle_core::{D, Result, Tensor};

/// Log-ratios are clamped to ± this many nats before exponentiation: e^20 is far above any bound
/// in use and does not overflow in `f32`. Beyond it, no gradient flows through a token's ratio.
pub(crate) const MAX_NATS: f64 = 20.0;

/// A constant tensor with the shape and type of `like`.
pub(crate) fn constant(like: &Tensor, value: f64) -> Result<Tensor> {
    like.zeros_like()?.affine(1.0, value)
}

/// `yes` where the mask is 1, the number `no` elsewhere.
pub(crate) fn or_else(mask: &Tensor, yes: &Tensor, no: f64) -> Result<Tensor> {
    mask.where_cond(yes, &constant(yes, no)?)
}

/// 1 where both masks are 1.
pub(crate) fn both(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.mul(b)
}

/// 1 where either mask is 1.
pub(crate) fn either(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.maximum(b)
}

/// A column `[rows, 1]` repeated over the tokens of `like`.
pub(crate) fn broadcast_column(column: &Tensor, like: &Tensor) -> Result<Tensor> {
    column.broadcast_as(like.shape())?.contiguous()
}

/// e^x with x clamped to ±[`MAX_NATS`].
pub(crate) fn bounded_exp(log: &Tensor) -> Result<Tensor> {
    log.clamp(-MAX_NATS, MAX_NATS)?.exp()
}

/// Sum over the tokens of each row, as a column.
pub(crate) fn row_sums(x: &Tensor) -> Result<Tensor> {
    x.sum_keepdim(D::Minus1)
}

/// The value of a scalar tensor.
pub(crate) fn number(x: &Tensor) -> Result<f64> {
    x.to_dtype(candle_core::DType::F64)?.to_scalar()
}
