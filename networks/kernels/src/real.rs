//! The number types that the kernels support.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::exponential;

/// `f32`, in which models are computed, or `f64`, in which gradients are checked.
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
    /// Negative infinity, less than every other number.
    const LOWEST: Self;

    /// Rounds to the nearest number of this type.
    fn narrow(number: f64) -> Self;

    /// Converts to `f64` without rounding.
    fn widen(self) -> f64;

    /// The larger of two numbers.
    #[must_use]
    fn larger(self, other: Self) -> Self;

    /// The exponential. Inlined so that the compiler can vectorise a loop around it.
    #[must_use]
    fn exponential(self) -> Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::NEG_INFINITY;

    #[inline(always)]
    fn narrow(number: f64) -> Self {
        // Rounding is the purpose.
        number as Self
    }

    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn larger(self, other: Self) -> Self {
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
    fn larger(self, other: Self) -> Self {
        self.max(other)
    }

    #[inline(always)]
    fn exponential(self) -> Self {
        self.exp()
    }
}
