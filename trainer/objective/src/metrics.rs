//! Metrics of a loss, in a form in which those of micro-batches merge to those of the batch.

use std::collections::BTreeMap;

use candle_core::{DType, Result, Tensor};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Entry {
    Mean { sum: f64, weight: f64 },
    Sum(f64),
    Min(f64),
    Max(f64),
}

/// Metrics by their usual names in trainers, sorted by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics(BTreeMap<&'static str, Entry>);

impl Metrics {
    /// The value of a metric; `None` if it was not measured, or not for any token.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        let number = match *self.0.get(name)? {
            Entry::Mean { sum, weight } => sum / weight,
            Entry::Sum(number) | Entry::Min(number) | Entry::Max(number) => number,
        };
        Some(number).filter(|number| number.is_finite())
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.0
            .keys()
            .filter_map(|name| Some((*name, self.get(name)?)))
    }

    /// Merges the metrics of another micro-batch: means are taken over the tokens or rows of both,
    /// losses are added.
    pub fn merge(&mut self, other: &Self) {
        for (name, more) in &other.0 {
            let merged = match (self.0.get(name), *more) {
                (
                    Some(Entry::Mean { sum, weight }),
                    Entry::Mean {
                        sum: more,
                        weight: heavier,
                    },
                ) => Entry::Mean {
                    sum: sum + more,
                    weight: weight + heavier,
                },
                (Some(Entry::Sum(sum)), Entry::Sum(more)) => Entry::Sum(sum + more),
                (Some(Entry::Min(least)), Entry::Min(more)) => Entry::Min(least.min(more)),
                (Some(Entry::Max(most)), Entry::Max(more)) => Entry::Max(most.max(more)),
                (_, more) => more,
            };
            self.0.insert(name, merged);
        }
    }
}

/// Measurements of one loss, still on the device, so that one synchronisation reads all of them.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    entries: Vec<(&'static str, Entry)>,
    numbers: Vec<Tensor>,
}

impl Gauges {
    fn push(&mut self, number: &Tensor) -> Result<()> {
        self.numbers
            .push(number.detach().to_dtype(DType::F64)?.reshape(())?);
        Ok(())
    }

    /// Records the mean of `x`, weighted by `weights`.
    pub(crate) fn mean(&mut self, name: &'static str, x: &Tensor, weights: &Tensor) -> Result<()> {
        self.entries.push((
            name,
            Entry::Mean {
                sum: 0.0,
                weight: 0.0,
            },
        ));
        self.push(
            &x.detach()
                .to_dtype(weights.dtype())?
                .mul(weights)?
                .sum_all()?,
        )?;
        self.push(&weights.sum_all()?)
    }

    /// Records a number that is added over micro-batches.
    pub(crate) fn sum(&mut self, name: &'static str, x: &Tensor) -> Result<()> {
        self.entries.push((name, Entry::Sum(0.0)));
        self.push(x)
    }

    /// Records minimum and maximum of `x` where the `u8` mask is 1.
    pub(crate) fn range(
        &mut self,
        names: [&'static str; 2],
        x: &Tensor,
        live: &Tensor,
    ) -> Result<()> {
        let x = x.detach();
        self.entries.push((names[0], Entry::Min(0.0)));
        self.push(&crate::tensor::or_else(live, &x, f64::INFINITY)?.min_all()?)?;
        self.entries.push((names[1], Entry::Max(0.0)));
        self.push(&crate::tensor::or_else(live, &x, f64::NEG_INFINITY)?.max_all()?)
    }

    /// Copies all values from the device.
    pub(crate) fn read(self) -> Result<Metrics> {
        let mut numbers = Tensor::stack(&self.numbers, 0)?
            .to_vec1::<f64>()?
            .into_iter();
        let mut next = || numbers.next().unwrap_or(f64::NAN);
        let mut metrics = Metrics::default();
        for (name, entry) in self.entries {
            let entry = match entry {
                Entry::Mean { .. } => {
                    let sum = next();
                    Entry::Mean {
                        sum,
                        weight: next(),
                    }
                }
                Entry::Sum(_) => Entry::Sum(next()),
                Entry::Min(_) => Entry::Min(next()),
                Entry::Max(_) => Entry::Max(next()),
            };
            metrics.0.insert(name, entry);
        }
        Ok(metrics)
    }
}
