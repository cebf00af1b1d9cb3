//! The two types of numbers kernels are written for.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::exponential;

/// `f32`, which models are computed in, or `f64`, which gradients are checked in.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + Sum
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + SubAssign
    + Mul<Output = Self>
    + MulAssign
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Less than every number.
    const LOWEST: Self;

    /// The nearest number of this type.
    fn narrow(number: f64) -> Self;

    /// The same number, exactly.
    fn widen(self) -> f64;

    /// The larger of two.
    #[must_use]
    fn most(self, other: Self) -> Self;

    /// Its exponential. Inlined, so that a loop around it works on many at once.
    #[must_use]
    fn exponential(self) -> Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::NEG_INFINITY;

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding is what it is for"
    )]
    fn narrow(number: f64) -> Self {
        number as Self
    }

    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn most(self, other: Self) -> Self {
        self.max(other)
    }

    #[inline(always)]
    fn exponential(self) -> Self {
        exponential::exponential(self)
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::NEG_INFINITY;

    #[inline(always)]
    fn narrow(number: f64) -> Self {
        number
    }

    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }

    #[inline(always)]
    fn most(self, other: Self) -> Self {
        self.max(other)
    }

    #[inline(always)]
    fn exponential(self) -> Self {
        self.exp()
    }
}
