//! Costs of arithmetic on balls in steps, by the number of 64-bit limbs of the precision. Fitted to
//! times measured at 3 to 65 limbs. Costs that depend on values are charged by the caller.

use crate::number::elementary::CACHED_BITS;

/// Limbs of a number of `prec` bits.
pub(crate) fn limbs(prec: u64) -> u64 {
    prec / 64 + 1
}

/// A leaf, or the operation that adds one to a sum or a product.
pub(crate) fn node(prec: u64) -> u64 {
    30 + limbs(prec).saturating_pow(2) / 10
}

/// An integer power, by repeated squaring.
pub(crate) fn power(exponent_bits: u64, prec: u64) -> u64 {
    exponent_bits.saturating_mul(35 + limbs(prec).saturating_pow(2) / 6)
}

/// A root. The radicand is lengthened to `index` times the precision.
pub(crate) fn root(index: u64, prec: u64) -> u64 {
    let long = index.saturating_mul(limbs(prec));
    250 + long
        .saturating_mul(10)
        .saturating_add(long.saturating_mul(long) / 3)
}

/// Pi, e or ln 2. Values beyond the cached bits are computed each time. 64 bits allow for the guard
/// bits of the functions.
pub(crate) fn constant(prec: u64) -> u64 {
    if prec > CACHED_BITS - 64 {
        prec.saturating_mul(prec) / 300
    } else {
        10
    }
}

/// An exponential, or a sine with its cosine.
pub(crate) fn exponential(prec: u64) -> u64 {
    let limbs = limbs(prec);
    limbs
        .saturating_mul(60)
        .saturating_add(limbs.saturating_pow(2).saturating_mul(8))
        .saturating_add(150 + constant(prec))
}

/// A logarithm, or an arctangent.
pub(crate) fn logarithm(prec: u64) -> u64 {
    2 * exponential(prec)
}
