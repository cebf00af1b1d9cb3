//! Reads arrays of the document as tensors.

use std::collections::BTreeMap;

use candle_core::{Device, Result, Tensor};
use serde_json::Value;

/// The named inputs.
pub(crate) struct Inputs(BTreeMap<String, Value>);

impl Inputs {
    pub(crate) fn read(inputs: &Value) -> std::result::Result<Self, serde_json::Error> {
        serde_json::from_value(inputs.clone()).map(Self)
    }

    /// An array with one row of numbers per completion.
    pub(crate) fn rows(&self, name: &str) -> Vec<Vec<f64>> {
        self.0.get(name).map(rows).unwrap_or_default()
    }

    /// An array with one number per completion.
    pub(crate) fn column(&self, name: &str) -> Vec<f64> {
        self.0.get(name).map(numbers).unwrap_or_default()
    }

    /// `[rows, tokens]`.
    pub(crate) fn tensor(&self, name: &str) -> Result<Tensor> {
        tensor(self.rows(name))
    }

    /// `[rows]`.
    pub(crate) fn vector(&self, name: &str) -> Result<Tensor> {
        Tensor::new(self.column(name), &Device::Cpu)
    }
}

pub(crate) fn tensor(rows: Vec<Vec<f64>>) -> Result<Tensor> {
    Tensor::new(rows, &Device::Cpu)
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .map(|number| number.as_f64().unwrap_or(f64::NAN))
        .collect()
}

pub(crate) fn rows(value: &Value) -> Vec<Vec<f64>> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .map(numbers)
        .collect()
}

/// Largest difference of two arrays where the mask is 1; infinite if their shapes differ.
pub(crate) fn distance(got: &[Vec<f64>], expected: &[Vec<f64>], mask: &[Vec<f64>]) -> f64 {
    let shape = |rows: &[Vec<f64>]| rows.iter().map(Vec::len).collect::<Vec<_>>();
    if shape(got) != shape(expected) || shape(got) != shape(mask) {
        return f64::INFINITY;
    }
    let flat = |rows: &[Vec<f64>]| rows.concat();
    let pairs = flat(got).into_iter().zip(flat(expected)).zip(flat(mask));
    let differences = pairs
        .filter(|(_, mask)| *mask > 0.0)
        .map(|((got, expected), _)| (got - expected).abs());
    differences.fold(0.0, |worst, difference| {
        if difference.is_nan() {
            f64::INFINITY
        } else {
            worst.max(difference)
        }
    })
}
