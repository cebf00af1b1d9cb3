//! Penalties for repetition: loops at the end of a truncated text, and repeated n-grams. Both take
//! time linear in the length of any text.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::line::{Line, rounded};
use super::section::{Section, as_f64};
use super::shape::ramp;
use super::validate::{self, PolicyError, ValidationResult};
use crate::format::format_number;

/// The `repetition` section. Its functions can be combined.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repetition {
    /// Penalty for truncated texts that end in a [`tail_loop`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_loop: Option<TailLoop>,
    /// Penalty for the [`repeated_share`] of n-grams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ngrams: Option<NGrams>,
}

/// The units into which a text is split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Runs of characters without white space.
    #[default]
    Words,
    /// Unicode scalar values.
    Characters,
}

/// Settings of [`tail_loop`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TailLoop {
    /// Words or characters.
    #[serde(default)]
    pub unit: Unit,
    /// Minimum number of repetitions of a block at the end, at least 2.
    #[serde(default = "twice")]
    pub times: u32,
    /// The penalty applies if the loop fills more than this share of the text, in \[0, 1).
    #[serde(default)]
    pub above: f64,
    /// Penalty of a loop, in (0, 1].
    #[serde(default = "tenth")]
    pub penalty: f64,
}

/// Settings of [`repeated_share`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NGrams {
    /// Number of words in an n-gram, from 1 to 16.
    #[serde(default = "four")]
    pub n: usize,
    /// Share of repeated n-grams without a penalty, in \[0, 1).
    #[serde(default)]
    pub above: f64,
    /// Penalty for a share of 1, in (0, 1].
    #[serde(default = "tenth")]
    pub penalty: f64,
}

fn twice() -> u32 {
    2
}

fn four() -> usize {
    4
}

/// The value in the published code for the paper of [`tail_loop`].
fn tenth() -> f64 {
    0.1
}

/// Splits a text into units, each mapped to a number. Equal units have equal numbers.
#[must_use]
pub fn units(text: &str, unit: Unit) -> Vec<u32> {
    match unit {
        Unit::Characters => text.chars().map(u32::from).collect(),
        Unit::Words => {
            let mut known: HashMap<&str, u32> = HashMap::new();
            text.split_whitespace()
                .map(|word| {
                    // A text with more distinct words than u32::MAX does not fit into a request.
                    let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                    *known.entry(word).or_insert(next)
                })
                .collect()
        }
    }
}

/// Share of a text that is a loop at its end (CAMPO of MiroMind-M1, arXiv 2507.14683): the length
/// of the longest block that is repeated at least `times` times at the end, times the number of its
/// repetitions, divided by the length of the text. In \[0, 1\]; 0 without a loop.
///
/// For each block length, the Z-function of the reversed text is the length of the text before the
/// last block that agrees with the end of the text, which yields the number of repetitions. Time
/// and memory are linear.
#[must_use]
pub fn tail_loop(units: &[u32], times: u32) -> f64 {
    let n = units.len();
    let agreement = z_function(n, |at| units[n - 1 - at]);
    let times = usize::try_from(times.max(2)).unwrap_or(usize::MAX);
    // A block occurs 1 + agreement / block times at the end.
    let loops = (1..=n / 2)
        .rev()
        .map(|block| (block, 1 + agreement[block] / block))
        .find(|(_, repeats)| *repeats >= times);
    loops.map_or(0.0, |(block, repeats)| as_f64(block * repeats) / as_f64(n))
}

/// Z-function: for each position, the length of the longest common prefix of the sequence and its
/// suffix from there (Gusfield 1997, Algorithms on Strings, Trees and Sequences, section 1.4).
fn z_function(n: usize, unit: impl Fn(usize) -> u32) -> Vec<usize> {
    let mut z = vec![0; n];
    let (mut left, mut right) = (0, 0);
    for at in 1..n {
        let mut length = if at < right {
            z[at - left].min(right - at)
        } else {
            0
        };
        while at + length < n && unit(length) == unit(at + length) {
            length += 1;
        }
        z[at] = length;
        if at + length > right {
            (left, right) = (at, at + length);
        }
    }
    z
}

/// Share of n-grams that occur earlier in the text, 1 - distinct / all ("repetition-n" in the
/// literature). In \[0, 1); 0 for a text without n-grams.
#[must_use]
pub fn repeated_share(units: &[u32], n: usize) -> f64 {
    if n == 0 || units.len() < n {
        return 0.0;
    }
    let distinct = units.windows(n).collect::<HashSet<_>>().len();
    1.0 - as_f64(distinct) / as_f64(units.len() - n + 1)
}

/// -penalty max(share - above, 0) / (1 - above), in \[-penalty, 0\] (own derivation).
#[must_use]
pub fn repetition_penalty(share: f64, above: f64, penalty: f64) -> f64 {
    0.0 - penalty * ramp(share - above, 1.0 - above)
}

impl TailLoop {
    /// The penalty of a truncated text, 0 or negative, and the share of it that loops. `None` for a
    /// text that was not truncated, because a repetition at its end can be intended.
    #[must_use]
    pub fn of(&self, text: &str, truncated: bool) -> Option<(f64, f64)> {
        truncated.then(|| {
            let share = tail_loop(&units(text, self.unit), self.times);
            (
                if share > self.above {
                    -self.penalty
                } else {
                    0.0
                },
                share,
            )
        })
    }
}

impl NGrams {
    /// The penalty of a text, 0 or negative, and the share of its n-grams that are repeated.
    #[must_use]
    pub fn of(&self, text: &str) -> (f64, f64) {
        let share = repeated_share(&units(text, Unit::Words), self.n);
        (repetition_penalty(share, self.above, self.penalty), share)
    }
}

impl Section for Repetition {
    fn check(&self) -> ValidationResult {
        validate::check_not_empty(
            self.tail_loop.is_some() || self.ngrams.is_some(),
            "`tail_loop`, `ngrams`",
        )?;
        let share = |field: &str, above: f64| {
            if (0.0..1.0).contains(&above) {
                Ok(())
            } else {
                Err(PolicyError::at(
                    field,
                    format!(
                        "must be at least 0 and below 1; found {}",
                        format_number(above)
                    ),
                ))
            }
        };
        if let Some(of) = &self.tail_loop {
            if of.times < 2 {
                return Err(PolicyError::at("tail_loop/times", "must be at least 2"));
            }
            share("tail_loop/above", of.above)?;
            validate::check_positive("tail_loop/penalty", of.penalty)?;
            validate::check_range("tail_loop/penalty", of.penalty, 0.0, 1.0)?;
        }
        if let Some(of) = &self.ngrams {
            if !(1..=16).contains(&of.n) {
                return Err(PolicyError::at(
                    "ngrams/n",
                    format!("must be from 1 to 16; found {}", of.n),
                ));
            }
            share("ngrams/above", of.above)?;
            validate::check_positive("ngrams/penalty", of.penalty)?;
            validate::check_range("ngrams/penalty", of.penalty, 0.0, 1.0)?;
        }
        Ok(())
    }

    fn explain(&self) -> Vec<Line> {
        let tail = self.tail_loop.as_ref().map(|of| {
            let unit = if of.unit == Unit::Words {
                "words"
            } else {
                "characters"
            };
            let formula = format!(
                "R - {} if truncated and a block of {unit} is repeated at least {} times at the \
                 end and fills more than {} of the text",
                of.penalty, of.times, of.above
            );
            Line::new(
                "tail_loop",
                "tail_loop",
                formula,
                "penalty for truncated texts that end in a loop",
            )
        });
        let ngrams = self.ngrams.as_ref().map(|of| {
            let NGrams { n, above, penalty } = of;
            let formula = format!(
                "R - {penalty} max(share - {above}, 0) / {}, share of repeated {n}-grams",
                rounded(1.0 - above)
            );
            Line::new(
                "ngrams",
                "ngrams",
                formula,
                "penalty for the share of repeated n-grams",
            )
        });
        [tail, ngrams].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn share(text: &str) -> f64 {
        tail_loop(&units(text, Unit::Words), 2)
    }

    /// [`tail_loop`] by its definition, in quadratic time.
    fn by_definition(units: &[u32], times: usize) -> f64 {
        let n = units.len();
        for block in (1..=n / 2).rev() {
            let tail = &units[n - block..];
            let repeats = units
                .rchunks_exact(block)
                .take_while(|chunk| *chunk == tail)
                .count();
            if repeats >= times {
                return as_f64(block * repeats) / as_f64(n);
            }
        }
        0.0
    }

    #[test]
    fn detects_loops_at_the_end_only() {
        // "wait no" occurs 3 times at the end of 8 words and is the longest block that is repeated:
        // 6 / 8.
        assert!((share("so then wait no wait no wait no") - 0.75).abs() < 1e-12);
        // The block "a a" twice is longer than "a" four times and covers as much.
        assert!((share("x a a a a") - 0.8).abs() < 1e-12);
        assert!(share("wait no wait no the end").abs() < 1e-15);
        assert!(share("").abs() < 1e-15 && share("one").abs() < 1e-15);
        assert!((tail_loop(&units("xabab", Unit::Characters), 2) - 0.8).abs() < 1e-12);
        assert!(tail_loop(&units("xabab", Unit::Characters), 3).abs() < 1e-15);
    }

    #[test]
    fn tail_loop_applies_to_truncated_texts_only() {
        let tail = TailLoop {
            unit: Unit::Words,
            times: 2,
            above: 0.0,
            penalty: 0.1,
        };
        assert_eq!(tail.of("a b a b", false), None);
        assert_eq!(tail.of("a b a b", true), Some((-0.1, 1.0)));
        assert_eq!(tail.of("a b c", true), Some((0.0, 0.0)));
        assert_eq!(
            TailLoop { above: 0.5, ..tail }.of("a b c d d", true),
            Some((0.0, 0.4))
        );
    }

    #[test]
    fn ngram_penalty_matches_the_formula() {
        // a b, b a, a b, b a: 2 distinct of 4.
        assert!((repeated_share(&units("a b a b a", Unit::Words), 2) - 0.5).abs() < 1e-12);
        assert!(repeated_share(&units("a b", Unit::Words), 3).abs() < 1e-15);
        // 0.2 * (0.5 - 0.2) / 0.8
        assert!((repetition_penalty(0.5, 0.2, 0.2) + 0.075).abs() < 1e-12);
        assert!(repetition_penalty(0.1, 0.2, 0.2).abs() < 1e-15);
        let (term, of) = NGrams {
            n: 2,
            above: 0.0,
            penalty: 0.2,
        }
        .of("a b a b a");
        assert!((term + 0.1).abs() < 1e-12 && (of - 0.5).abs() < 1e-12);
    }

    #[test]
    fn repetition_takes_linear_time() {
        // In quadratic time each text would take 2^40 comparisons, and the test would not finish.
        let texts = [
            "a".repeat(1 << 20),
            "ab".repeat(1 << 19) + "c",
            "a".repeat(1 << 19) + &"b".repeat(1 << 19),
        ];
        let shares = texts.map(|text| tail_loop(&units(&text, Unit::Characters), 2));
        assert!(
            (shares[0] - 1.0).abs() < 1e-12
                && shares[1].abs() < 1e-15
                && (shares[2] - 0.5).abs() < 1e-12
        );
        assert!(repeated_share(&units(&"a ".repeat(1 << 19), Unit::Words), 16) > 0.99);
    }

    proptest! {
        #[test]
        fn tail_loop_matches_its_definition(
            units in prop::collection::vec(0..2u32, 0..24),
            times in 2..4u32,
        ) {
            let expected = by_definition(&units, usize::try_from(times).unwrap());
            prop_assert!((tail_loop(&units, times) - expected).abs() < 1e-12);
        }
    }
}
