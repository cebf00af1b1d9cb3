//! What arithmetic on balls costs in steps, by the words of their precision; fitted to times
//! measured at 3 to 65 words. Knows nothing of values: what depends on them, the caller charges
//! for.

use crate::number::elementary::KEPT;

/// Words of a number of `prec` bits.
pub(crate) fn words(prec: u64) -> u64 {
    prec / 64 + 1
}

/// A leaf, or what joins one to a sum or a product.
pub(crate) fn node(prec: u64) -> u64 {
    30 + words(prec).pow(2) / 10
}

/// A whole power, by squaring.
pub(crate) fn power(exponent_bits: u64, prec: u64) -> u64 {
    exponent_bits.saturating_mul(35 + words(prec).pow(2) / 6)
}

/// A root, which is taken of a number `index` times as long.
pub(crate) fn root(index: u64, prec: u64) -> u64 {
    let long = index.saturating_mul(words(prec));
    250 + long
        .saturating_mul(10)
        .saturating_add(long.saturating_mul(long) / 3)
}

/// Pi, e or the logarithm of 2: beyond the digits kept, all are computed anew.
pub(crate) fn constant(prec: u64) -> u64 {
    if prec > KEPT - 64 {
        prec * prec / 300
    } else {
        10
    }
}

/// An exponential, a sine and its cosine.
pub(crate) fn exponential(prec: u64) -> u64 {
    150 + 60 * words(prec) + 8 * words(prec).pow(2) + constant(prec)
}

/// A logarithm, or an arctangent.
pub(crate) fn logarithm(prec: u64) -> u64 {
    2 * exponential(prec)
}
