//! Compares a value with the expected one, with a limit on the work of the comparison.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

use assay_documents::Json;
use num_bigint::BigInt;
use num_traits::{FromPrimitive, ToPrimitive, Zero};

use super::notation::{is_mapping, number_containers, shown, tagged};
use super::numbers::{
    Decimal, MAX_DIGITS, Number, any_number, fraction_is_float, is_float, number, plain_digits,
    tagged_number, text_bytes, within,
};

/// Most work of one comparison of values. The unit is a comparison of two parts. Without an order,
/// an element is compared with several others.
const MAX_WORK: usize = 10_000_000;

/// Bytes of a number or text that can be read in one unit of work.
pub(super) const BYTES_PER_UNIT: usize = 16;

/// Reading n decimal digits takes time proportional to n²: the n² that takes one unit of work.
const SQUARED_DIGITS_PER_UNIT: usize = 10_000;

/// Digits of the largest finite float.
const FLOAT_DIGITS: usize = 310;

/// Units of work of writing out a float in full.
const EXACT_FLOAT_WORK: usize = 50;

/// Longest integer that may be a key, in bytes of the driver's notation.
const MAX_KEY: usize = 1_000;

/// How the values of a test are compared.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rule {
    /// Largest difference, absolute or relative, of two equal numbers of which one is a float.
    pub(crate) tolerance: Option<f64>,
    /// Whether the order of the outermost elements is ignored, and sets equal arrays.
    pub(crate) unordered: bool,
}

/// Whether `got`, in the driver's notation, equals the value `expected`.
pub(crate) fn equal(got: &Json, expected: &Json, rule: Rule) -> bool {
    let comparison = Comparison::new(got, rule);
    match (elements(got), expected) {
        (Some(got), Json::Array(expected)) if rule.unordered => {
            comparison.in_any_order(got, expected)
        }
        _ => comparison.equal(got, expected),
    }
}

/// The elements of a list, a tuple or a set.
fn elements(got: &Json) -> Option<&[Json]> {
    match got {
        Json::Array(elements) => Some(elements),
        Json::Object(pairs) => match tagged(pairs) {
            Some(("tuple" | "set" | "frozenset", Json::Array(elements))) => Some(elements),
            _ => None,
        },
        _ => None,
    }
}

pub(super) struct Comparison<'a> {
    pub(super) containers: Vec<&'a Json>,
    pub(super) rule: Rule,
    /// Whether the value contains sets. The order of their elements differs from that of the
    /// expected arrays.
    pub(super) has_sets: bool,
    /// Work left. If none is left, values differ.
    pub(super) left: Cell<usize>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(got: &'a Json, rule: Rule) -> Self {
        let mut containers = Vec::new();
        number_containers(got, &mut containers);
        let has_sets = rule.unordered && contains_set(got);
        Self {
            containers,
            rule,
            has_sets,
            left: Cell::new(MAX_WORK),
        }
    }

    /// Recurses along `expected`, which is finite, so comparing a value that contains itself
    /// terminates.
    pub(super) fn equal(&self, got: &Json, expected: &Json) -> bool {
        if !self.charge(1) {
            return false;
        }
        match (got, expected) {
            (Json::Null, Json::Null) => true,
            (Json::Text(got), Json::Text(expected)) => got == expected,
            (Json::Array(got), Json::Array(expected)) => self.sequences(got, expected),
            (Json::Object(pairs), _) => match tagged(pairs) {
                Some((kind, inside)) => self.tagged(kind, inside, expected),
                None => false,
            },
            _ => self.same_number(plain_digits(got), || number(got), expected),
        }
    }

    /// Uses up work. Returns whether enough was left.
    pub(super) fn charge(&self, work: usize) -> bool {
        let left = self.left.get().checked_sub(work);
        self.left.set(left.unwrap_or_default());
        left.is_some()
    }

    /// Compares a number of at least `digits` decimal digits, and at most twice as many, with the
    /// expected value. Lengths are compared first, because long numbers take long to read.
    fn same_number(
        &self,
        digits: usize,
        got: impl FnOnce() -> Option<Number>,
        expected: &Json,
    ) -> bool {
        let expected_digits = plain_digits(expected);
        let is_longer = digits > expected_digits + 1 && digits > FLOAT_DIGITS + 1;
        if is_longer || expected_digits > 2 * digits + FLOAT_DIGITS {
            return false;
        }
        let longest = digits.max(expected_digits).min(MAX_DIGITS);
        if !self.charge(longest / BYTES_PER_UNIT + longest * longest / SQUARED_DIGITS_PER_UNIT) {
            return false;
        }
        match (got(), number(expected)) {
            (Some(got), Some(expected)) => self.numbers(&got, &expected),
            _ => false,
        }
    }

    fn tagged(&self, kind: &str, inside: &Json, expected: &Json) -> bool {
        match (kind, inside, expected) {
            ("same", Json::Number(number), _) => {
                let container = number
                    .parse()
                    .ok()
                    .and_then(|number: usize| self.containers.get(number));
                container.is_some_and(|container| self.equal(container, expected))
            }
            ("tuple", Json::Array(got), Json::Array(expected)) => self.sequences(got, expected),
            ("set" | "frozenset", Json::Array(got), Json::Array(expected)) => {
                self.rule.unordered && self.in_any_order(got, expected)
            }
            (kind, Json::Array(got), Json::Object(expected)) if is_mapping(kind) => {
                self.mappings(got, expected)
            }
            ("made", Json::Array(parts), _) => self.made(parts, expected),
            ("complex", Json::Array(parts), _) => self.complex(parts, expected),
            ("int" | "float", Json::Text(text), _) => {
                // A hexadecimal digit corresponds to between one and two decimal digits.
                let digits = if kind == "int" {
                    text.len().saturating_sub(3)
                } else {
                    1
                };
                self.same_number(digits, || tagged_number(kind, inside), expected)
            }
            _ => false,
        }
    }

    /// Compares an object of a standard class that Python compares with plain numbers.
    fn made(&self, parts: &[Json], expected: &Json) -> bool {
        let [Json::Text(class), Json::Object(arguments)] = parts else {
            return false;
        };
        let Some(("tuple", Json::Array(arguments))) = tagged(arguments) else {
            return false;
        };
        match (class.as_str(), arguments.as_slice()) {
            ("decimal.Decimal", [Json::Text(text)]) => self.decimal(text, expected),
            ("fractions.Fraction", [numerator, denominator]) => {
                self.fraction(numerator, denominator, expected)
            }
            _ => false,
        }
    }

    /// Compares a `Decimal`. It equals a number of exactly the same value: `Decimal("0.1")` does
    /// not equal the float 0.1.
    fn decimal(&self, text: &str, expected: &Json) -> bool {
        let written = match expected {
            Json::Number(written) => written.as_str(),
            Json::Bool(true) => "1",
            Json::Bool(false) => "0",
            _ => return false,
        };
        if !self.charge((text.len() + written.len()) / BYTES_PER_UNIT + EXACT_FLOAT_WORK) {
            return false;
        }
        let float = if is_float(written) {
            written.parse::<f64>().ok()
        } else {
            None
        };
        let is_equal = match (Decimal::read(text), float) {
            (Some(got), Some(float)) => Decimal::of_float(float).is_some_and(|float| got == float),
            (Some(got), None) => Decimal::read(written).is_some_and(|expected| got == expected),
            (None, float) => match text {
                "Infinity" => float == Some(f64::INFINITY),
                "-Infinity" => float == Some(f64::NEG_INFINITY),
                _ => false,
            },
        };
        let has_point = is_float(text) || float.is_some();
        is_equal
            || has_point
                && text.parse::<f64>().is_ok_and(|got| {
                    let expected = float.or_else(|| written.parse().ok());
                    expected.is_some_and(|expected| self.close(got, expected))
                })
    }

    /// Compares a `Fraction`. It equals a number of exactly the same value.
    fn fraction(&self, numerator: &Json, denominator: &Json, expected: &Json) -> bool {
        if !self.charge((text_bytes(numerator) + text_bytes(denominator)) / BYTES_PER_UNIT) {
            return false;
        }
        let (Some(Number::Int(numerator)), Some(Number::Int(denominator))) =
            (any_number(numerator), any_number(denominator))
        else {
            return false;
        };
        // A forged 0/0 would equal everything.
        if denominator <= BigInt::zero() {
            return false;
        }
        let longest = plain_digits(expected).min(MAX_DIGITS);
        if !self.charge(longest / BYTES_PER_UNIT + longest * longest / SQUARED_DIGITS_PER_UNIT) {
            return false;
        }
        match number(expected) {
            Some(Number::Int(expected)) => numerator == expected * denominator,
            Some(Number::Float(expected)) => {
                let value = numerator
                    .to_f64()
                    .zip(denominator.to_f64())
                    .map(|(numerator, denominator)| numerator / denominator);
                fraction_is_float(&numerator, &denominator, expected)
                    || value.is_some_and(|value| self.close(value, expected))
            }
            None => false,
        }
    }

    /// Compares a complex number. It equals a real one if its imaginary part is zero.
    fn complex(&self, parts: &[Json], expected: &Json) -> bool {
        let [real, imaginary] = parts else {
            return false;
        };
        let (Some(real), Some(Number::Float(imaginary))) =
            (any_number(real), any_number(imaginary))
        else {
            return false;
        };
        let longest = plain_digits(expected).min(MAX_DIGITS);
        imaginary.is_zero()
            && self.charge(longest / BYTES_PER_UNIT + longest * longest / SQUARED_DIGITS_PER_UNIT)
            && number(expected).is_some_and(|expected| self.numbers(&real, &expected))
    }

    fn sequences(&self, got: &[Json], expected: &[Json]) -> bool {
        got.len() == expected.len()
            && got
                .iter()
                .zip(expected)
                .all(|(got, expected)| self.equal(got, expected))
    }

    fn mappings(&self, got: &[Json], expected: &[(String, Json)]) -> bool {
        let mut open: BTreeMap<&str, &Json> = expected
            .iter()
            .map(|(key, value)| (key.as_str(), value))
            .collect();
        got.len() == open.len()
            && got.iter().all(|pair| {
                let Json::Array(pair) = pair else {
                    return false;
                };
                let [key, value] = pair.as_slice() else {
                    return false;
                };
                let expected = written_key(key).and_then(|key| open.remove(&*key));
                expected.is_some_and(|expected| self.equal(value, expected))
            })
    }

    fn numbers(&self, got: &Number, expected: &Number) -> bool {
        match (got, expected) {
            (Number::Int(got), Number::Int(expected)) => got == expected,
            (Number::Float(got), Number::Float(expected)) => {
                got == expected || self.close(*got, *expected)
            }
            (Number::Int(int), Number::Float(float)) | (Number::Float(float), Number::Int(int)) => {
                let exact =
                    float.fract().is_zero() && BigInt::from_f64(*float).as_ref() == Some(int);
                exact || self.close(got.to_f64(), expected.to_f64())
            }
        }
    }

    fn close(&self, got: f64, expected: f64) -> bool {
        self.rule
            .tolerance
            .is_some_and(|tolerance| within(got, expected, tolerance))
    }
}

/// A key of a dictionary as `json.dumps` writes it; `None` for keys that it rejects, such as a
/// tuple.
pub(super) fn written_key(key: &Json) -> Option<Cow<'_, str>> {
    match key {
        Json::Text(key) | Json::Number(key) => Some(Cow::Borrowed(key)),
        Json::Null | Json::Bool(_) => Some(Cow::Owned(shown(key))),
        Json::Object(pairs) => match tagged(pairs)? {
            ("int", inside @ Json::Text(text)) if text.len() <= MAX_KEY => {
                match tagged_number("int", inside)? {
                    Number::Int(int) => Some(Cow::Owned(int.to_string())),
                    Number::Float(_) => None,
                }
            }
            ("float", Json::Text(text)) => match text.as_str() {
                "inf" => Some(Cow::Borrowed("Infinity")),
                "-inf" => Some(Cow::Borrowed("-Infinity")),
                _ => Some(Cow::Borrowed("NaN")),
            },
            _ => None,
        },
        Json::Array(_) => None,
    }
}

fn contains_set(value: &Json) -> bool {
    match value {
        Json::Array(elements) => elements.iter().any(contains_set),
        Json::Object(pairs) => match tagged(pairs) {
            Some(("set" | "frozenset", _)) => true,
            Some((_, inside)) => contains_set(inside),
            None => false,
        },
        _ => false,
    }
}
