//! The global norm of gradients.

use candle_core::{Storage, Tensor};
use rayon::prelude::*;

use super::OptimiserError;
use super::update::CHUNK;
use crate::in_place::pieces;

/// Number of parallel sums, for vector instructions.
const LANES: usize = 8;

/// Euclidean norm of all numbers of contiguous `f32` tensors; not finite if one of the numbers is
/// not.
///
/// On the CPU, squares are summed in `f64`, in an order fixed by the shapes. On other devices, the
/// squares of each piece are summed in `f32`, so that a norm above 1.8e19 becomes infinite.
pub(super) fn norm(gradients: &[Tensor]) -> Result<f64, OptimiserError> {
    let mut squares = 0.0;
    let mut other_devices = Vec::new();
    for gradient in gradients {
        let (storage, layout) = gradient.storage_and_layout();
        match (&*storage, layout.contiguous_offsets()) {
            (Storage::Cpu(storage), Some((start, end))) => {
                squares += sum_of_squares(&storage.as_slice::<f32>()?[start..end]);
            }
            _ => {
                for piece in pieces(gradient) {
                    other_devices.push(piece.of(gradient)?.sqr()?.sum_all()?);
                }
            }
        }
    }
    if !other_devices.is_empty() {
        // One synchronisation for all tensors.
        let sums = Tensor::stack(&other_devices, 0)?.to_vec1::<f32>()?;
        squares += sums.into_iter().map(f64::from).sum::<f64>();
    }
    Ok(squares.sqrt())
}

/// Sums chunks in parallel, and their sums in order.
fn sum_of_squares(values: &[f32]) -> f64 {
    if values.len() <= CHUNK {
        return chunk(values);
    }
    let sums: Vec<f64> = values.par_chunks(CHUNK).map(chunk).collect();
    sums.into_iter().sum()
}

fn chunk(values: &[f32]) -> f64 {
    let mut sums = [0.0; LANES];
    let (rows, rest) = values.as_chunks::<LANES>();
    for row in rows {
        for (sum, value) in sums.iter_mut().zip(row) {
            let value = f64::from(*value);
            *sum += value * value;
        }
    }
    let rest: f64 = rest.iter().map(|value| f64::from(*value).powi(2)).sum();
    sums.into_iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn norm_covers_all_tensors() {
        let one = Tensor::new(&[3f32, 0.0, -4.0], &Device::Cpu).unwrap();
        let many = Tensor::full(0.5f32, (3, CHUNK + 5), &Device::Cpu).unwrap();
        let expected = (25.0 + 0.25 * 3.0 * (CHUNK + 5) as f64).sqrt();
        assert_eq!(norm(&[one, many]).unwrap(), expected);
        assert_eq!(norm(&[]).unwrap(), 0.0);
    }

    #[test]
    fn norm_of_a_view_covers_only_its_numbers() {
        let all = Tensor::arange(0f32, 10.0, &Device::Cpu).unwrap();
        assert_eq!(norm(&[all.narrow(0, 3, 2).unwrap()]).unwrap(), 5.0);
    }

    #[test]
    fn norm_is_finite_for_large_and_not_for_non_finite_numbers() {
        let of = |value: f32| norm(&[Tensor::new(&[1f32, value], &Device::Cpu).unwrap()]).unwrap();
        assert!(of(1e30).is_finite());
        assert!(!of(f32::NAN).is_finite() && !of(f32::NEG_INFINITY).is_finite());
    }
}
