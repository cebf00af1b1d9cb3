//! Runtime dispatch to the widest SIMD registers of the processor.

/// Runs `work` compiled for the widest registers of this processor. Products and sums are not
/// contracted into fused operations, so the results are identical to the bit on every processor.
///
/// A function that `work` calls is compiled this way only if it is inlined.
#[inline(always)]
pub fn wide<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}
