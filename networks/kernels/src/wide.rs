//! Wider registers where the processor has them.

/// Runs a loop over numbers compiled for the widest registers of this processor. Products and sums
/// are not contracted, so what it computes is the same to the bit on all.
///
/// What `work` calls is compiled so only where it is inlined.
#[inline(always)]
pub fn wide<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}
