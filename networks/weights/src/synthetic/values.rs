//! Values of tensors.

use rayon::prelude::*;

/// Increment of the generator (splitmix64): 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Values of a tensor in row-major order: uniform around 0, or around 1 for norms, with a spread
/// that keeps hidden states bounded.
#[must_use]
pub fn values(name: &str, shape: &[usize]) -> Vec<f32> {
    // 24 random bits fit in an f32.
    let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let norm = name.to_lowercase().contains("norm") && name.ends_with(".weight");
    let (spread, middle) = match shape {
        [_] if norm => (0.4, 1.0),
        [_] => (0.2, 0.0),
        _ if name.contains("embed") => (1.0, 0.0),
        _ => (
            (12f64.sqrt() / (shape.last().copied().unwrap_or(1) as f64).sqrt()) as f32,
            0.0,
        ),
    };
    let count: usize = shape.iter().product();
    let value = |at: usize| {
        let mixed = mix(seed.wrapping_add((at as u64 + 1).wrapping_mul(GAMMA)));
        ((mixed >> 40) as f32 / 16_777_216.0 - 0.5) * spread + middle
    };
    (0..count).into_par_iter().map(value).collect()
}

/// The output function of splitmix64.
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
