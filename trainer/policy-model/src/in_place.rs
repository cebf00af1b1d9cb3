//! Writing to tensors in place, so that long-lived ones never move.

use std::cell::Cell;

use candle_core::{CpuStorage, InplaceOp1, InplaceOp2, Layout, Result, Tensor, bail};

use crate::ops::Number;

/// Numbers that are computed at a time on devices other than the CPU: temporary tensors have at
/// most this length.
pub(crate) const PIECE: usize = 1 << 24;

/// Calls `work` with mutable access to the numbers of a contiguous CPU tensor.
pub(crate) fn write<T: Number>(
    tensor: &Tensor,
    work: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<()> {
    tensor.inplace_op1(&WithNumbers(Cell::new(Some(
        |storage: &mut CpuStorage, layout: &Layout| work(numbers_mut(storage, layout)?),
    ))))
}

/// Calls `work` with mutable access to the numbers of a contiguous CPU tensor and access to those
/// of another one, which must not share its storage.
pub(crate) fn write_from<T: Number>(
    tensor: &Tensor,
    from: &Tensor,
    work: impl FnOnce(&mut [T], &[T]),
) -> Result<()> {
    let op = |storage: &mut CpuStorage, layout: &Layout, from: &CpuStorage, of: &Layout| {
        let Some((start, end)) = of.contiguous_offsets() else {
            bail!("tensors that are read by an operation in place must be contiguous")
        };
        let from = &T::cpu_storage_as_slice(from)?[start..end];
        work(numbers_mut(storage, layout)?, from);
        Ok(())
    };
    tensor.inplace_op2(from, &WithNumbers(Cell::new(Some(op))))
}

fn numbers_mut<'a, T: Number>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [T]> {
    let Some((start, end)) = layout.contiguous_offsets() else {
        bail!("tensors that are written in place must be contiguous")
    };
    match T::numbers_mut(storage) {
        Some(numbers) => Ok(&mut numbers[start..end]),
        None => bail!("a tensor that is written in place has another type"),
    }
}

/// An in-place operation that calls a closure once with the storage.
struct WithNumbers<F>(Cell<Option<F>>);

impl<F: FnOnce(&mut CpuStorage, &Layout) -> Result<()>> InplaceOp1 for WithNumbers<F> {
    fn name(&self) -> &'static str {
        "write"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        self.0.take().map_or(Ok(()), |work| work(storage, layout))
    }
}

impl<F: FnOnce(&mut CpuStorage, &Layout, &CpuStorage, &Layout) -> Result<()>> InplaceOp2
    for WithNumbers<F>
{
    fn name(&self) -> &'static str {
        "write-from"
    }

    fn cpu_fwd(
        &self,
        storage: &mut CpuStorage,
        layout: &Layout,
        from: &CpuStorage,
        of: &Layout,
    ) -> Result<()> {
        self.0
            .take()
            .map_or(Ok(()), |work| work(storage, layout, from, of))
    }
}

/// Replaces the numbers of a contiguous tensor piece by piece on any device. `compute` gets the
/// range of a piece and returns its new numbers, a vector of the tensor's type.
pub(crate) fn replace(
    tensor: &Tensor,
    mut compute: impl FnMut(&Piece) -> Result<Tensor>,
) -> Result<()> {
    let flat = tensor.detach().flatten_all()?;
    for piece in pieces(tensor) {
        flat.slice_set(&compute(&piece)?.contiguous()?, 0, piece.start)?;
    }
    Ok(())
}

/// The pieces of a tensor, in order.
pub(crate) fn pieces(tensor: &Tensor) -> impl Iterator<Item = Piece> {
    let count = tensor.elem_count();
    (0..count).step_by(PIECE).map(move |start| Piece {
        start,
        len: PIECE.min(count - start),
    })
}

/// A range of the numbers of a tensor.
pub(crate) struct Piece {
    start: usize,
    len: usize,
}

impl Piece {
    /// This range of a contiguous tensor, as a vector.
    pub(crate) fn of(&self, tensor: &Tensor) -> Result<Tensor> {
        tensor
            .detach()
            .flatten_all()?
            .narrow(0, self.start, self.len)
    }
}

/// Copies the numbers of `from`, of the same shape and type, to a contiguous tensor.
pub(crate) fn overwrite(tensor: &Tensor, from: &Tensor) -> Result<()> {
    if tensor.shape() != from.shape() {
        bail!(
            "cannot write numbers of shape {:?} to a tensor of shape {:?}",
            from.shape(),
            tensor.shape()
        )
    }
    let from = from.to_device(tensor.device())?.contiguous()?;
    if tensor.rank() == 0 {
        return tensor
            .detach()
            .reshape(1)?
            .slice_set(&from.reshape(1)?, 0, 0);
    }
    tensor.detach().slice_set(&from, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{DType, Device};

    #[test]
    fn writes_to_the_given_numbers_only() {
        let all = Tensor::zeros(6, DType::F32, &Device::Cpu).unwrap();
        let part = all.narrow(0, 2, 3).unwrap();
        write::<f32>(&part, |numbers| {
            numbers.fill(1.0);
            Ok(())
        })
        .unwrap();
        assert_eq!(all.to_vec1::<f32>().unwrap(), [0., 0., 1., 1., 1., 0.]);
        assert!(write::<f64>(&all, |_| Ok(())).is_err());
    }

    #[test]
    fn replaces_every_piece() {
        let tensor = Tensor::zeros((3, PIECE / 2), DType::F32, &Device::Cpu).unwrap();
        let from = Tensor::rand(0f32, 1.0, (3, PIECE / 2), &Device::Cpu).unwrap();
        replace(&tensor, |piece| piece.of(&from)? * 2.0).unwrap();
        let twice = (from * 2.0).unwrap();
        let difference = (tensor - twice).unwrap().abs().unwrap().max_all().unwrap();
        assert_eq!(difference.to_scalar::<f32>().unwrap(), 0.0);
    }

    #[test]
    fn overwrites_tensors_of_the_same_shape_only() {
        let [one, other] =
            [0f32, 1.0].map(|value| Tensor::full(value, (2, 3), &Device::Cpu).unwrap());
        overwrite(&one, &other).unwrap();
        assert_eq!(one.sum_all().unwrap().to_scalar::<f32>().unwrap(), 6.0);
        assert!(overwrite(&one, &other.t().unwrap()).is_err());
    }
}
