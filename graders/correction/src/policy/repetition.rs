//! What repeating oneself costs: loops at the end of a cut text, and n-grams that come again. Both
//! take time linear in the text, whatever is written in it. Neither asks what is repeated.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::Section;
use super::as_f64;
use super::explain::{Line, tidy};
use super::read::{self, Checked, PolicyError};
use super::shape::ramp;

/// What repetition costs. The functions may be used together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repetition {
    /// A penalty on cut texts that end in a [`tail_loop`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_loop: Option<TailLoop>,
    /// A penalty on the [`repeated_share`] of n-grams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ngrams: Option<NGrams>,
}

/// What a text is cut into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Runs of characters without white space.
    #[default]
    Words,
    /// Unicode scalar values.
    Characters,
}

/// Settings of the tail loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TailLoop {
    /// Words or characters.
    #[serde(default)]
    pub unit: Unit,
    /// How often a block has to stand at the end, at least 2.
    #[serde(default = "twice")]
    pub times: u32,
    /// Loops cost when they fill more than this share of the text, in \[0, 1).
    #[serde(default)]
    pub above: f64,
    /// What a loop costs, in (0, 1].
    #[serde(default = "tenth")]
    pub penalty: f64,
}

/// Settings of the n-grams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NGrams {
    /// Words in an n-gram, 1 to 16.
    #[serde(default = "four")]
    pub n: usize,
    /// Share of repeated n-grams that costs nothing, in \[0, 1).
    #[serde(default)]
    pub above: f64,
    /// What a share of 1 costs, in (0, 1].
    #[serde(default = "tenth")]
    pub penalty: f64,
}

fn twice() -> u32 {
    2
}

fn four() -> usize {
    4
}

/// The value in the code that was read beside the paper of [`tail_loop`].
fn tenth() -> f64 {
    0.1
}

/// A number for each unit of a text; equal units have equal numbers.
#[must_use]
pub fn units(text: &str, unit: Unit) -> Vec<u32> {
    match unit {
        Unit::Characters => text.chars().map(u32::from).collect(),
        Unit::Words => {
            let mut known: HashMap<&str, u32> = HashMap::new();
            text.split_whitespace()
                .map(|word| {
                    // A text of more words than u32 counts would not fit a request.
                    let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                    *known.entry(word).or_insert(next)
                })
                .collect()
        }
    }
}

/// Share of a text that is a loop at its end (CAMPO, MiroMind-M1, arXiv 2507.14683): the longest
/// block that stands at least `times` times in a row at the end, times the number of its repeats,
/// by the length of the text. In \[0, 1\]; 0 without a loop.
///
/// The Z-function of the reversed text gives, for each block length, how far the text before the
/// last block agrees with the end of the text, hence the number of repeats of every block at once:
/// linear time and memory.
#[must_use]
pub fn tail_loop(units: &[u32], times: u32) -> f64 {
    let n = units.len();
    let reach = z_function(n, |at| units[n - 1 - at]);
    let times = usize::try_from(times.max(2)).unwrap_or(usize::MAX);
    // 1 + reach / block repeats stand at the end.
    let loops = (1..=n / 2)
        .rev()
        .map(|block| (block, 1 + reach[block] / block))
        .find(|(_, repeats)| *repeats >= times);
    loops.map_or(0.0, |(block, repeats)| as_f64(block * repeats) / as_f64(n))
}

/// For each position the length of the longest common prefix of the sequence and its rest from
/// there (Gusfield 1997, section 1.4).
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

/// Share of n-grams that stand earlier in the text too: 1 - distinct / all (own choice of the usual
/// "repetition-n"). In \[0, 1); 0 for a text without an n-gram.
#[must_use]
pub fn repeated_share(units: &[u32], n: usize) -> f64 {
    if n == 0 || units.len() < n {
        return 0.0;
    }
    let distinct = units.windows(n).collect::<HashSet<_>>().len();
    1.0 - as_f64(distinct) / as_f64(units.len() - n + 1)
}

/// -penalty (share - above) / (1 - above) for a share above the bound, else 0. In \[-penalty, 0\].
#[must_use]
pub fn repetition_penalty(share: f64, above: f64, penalty: f64) -> f64 {
    0.0 - penalty * ramp(share - above, 1.0 - above)
}

impl TailLoop {
    /// The term of a text, and the share of it that loops: (-penalty, share) for a text that was
    /// cut and loops, else (0, share). `None` for a text that was not cut: it may well end in a
    /// repetition that is meant.
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
    /// The term of a text, and the share of its n-grams that are repeated.
    #[must_use]
    pub fn of(&self, text: &str) -> (f64, f64) {
        let share = repeated_share(&units(text, Unit::Words), self.n);
        (repetition_penalty(share, self.above, self.penalty), share)
    }
}

impl Section for Repetition {
    fn check(&self) -> Checked {
        read::some_function(
            self.tail_loop.is_some() || self.ngrams.is_some(),
            "`tail_loop`, `ngrams`",
        )?;
        let share = |field: &str, above: f64| {
            if (0.0..1.0).contains(&above) {
                Ok(())
            } else {
                Err(PolicyError::at(
                    field,
                    format!("{} is not from 0 to below 1", read::number(above)),
                ))
            }
        };
        if let Some(of) = &self.tail_loop {
            if of.times < 2 {
                return Err(PolicyError::at(
                    "tail_loop/times",
                    "a block that stands once is no loop; ask for 2 or more",
                ));
            }
            share("tail_loop/above", of.above)?;
            read::positive("tail_loop/penalty", of.penalty)?;
            read::within("tail_loop/penalty", of.penalty, 0.0, 1.0)?;
        }
        if let Some(of) = &self.ngrams {
            if !(1..=16).contains(&of.n) {
                return Err(PolicyError::at(
                    "ngrams/n",
                    format!("{} is not from 1 to 16", of.n),
                ));
            }
            share("ngrams/above", of.above)?;
            read::positive("ngrams/penalty", of.penalty)?;
            read::within("ngrams/penalty", of.penalty, 0.0, 1.0)?;
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
                "R - {} if cut and a block of {unit} stands {} or more times at the end and fills \
                 more than {} of the text",
                of.penalty, of.times, of.above
            );
            Line::new(
                "tail_loop",
                "tail_loop",
                formula,
                "a text that was cut while it went round \
                in circles loses a little",
            )
        });
        let ngrams = self.ngrams.as_ref().map(|of| {
            let NGrams { n, above, penalty } = of;
            let formula = format!(
                "R - {penalty} max(share - {above}, 0) / {}, share of repeated {n}-grams",
                tidy(1.0 - above)
            );
            Line::new(
                "ngrams",
                "ngrams",
                formula,
                "text that says the same again loses by how much of it does",
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

    /// The definition, without any cleverness.
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
    fn a_loop_is_found_at_the_end_only() {
        // "wait no" stands 3 times at the end of 8 words: 6 / 8, but the longest block is what
        // counts: "wait no" itself.
        assert!((share("so then wait no wait no wait no") - 0.75).abs() < 1e-12);
        // A block of 2 twice is longer than a block of 1 four times and covers as much.
        assert!((share("x a a a a") - 0.8).abs() < 1e-12);
        assert!(share("wait no wait no the end").abs() < 1e-15);
        assert!(share("").abs() < 1e-15 && share("one").abs() < 1e-15);
        assert!((tail_loop(&units("xabab", Unit::Characters), 2) - 0.8).abs() < 1e-12);
        assert!(tail_loop(&units("xabab", Unit::Characters), 3).abs() < 1e-15);
    }

    #[test]
    fn only_a_cut_text_can_be_caught_in_a_loop() {
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
    fn repeated_ngrams_are_counted() {
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
    fn a_megabyte_of_anything_is_linear_work() {
        // The quadratic way would take 2^40 comparisons for each of these, and the test would not
        // end.
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
        fn the_loop_is_that_of_the_definition(units in prop::collection::vec(0..2u32, 0..24), times in 2..4u32) {
            let expected = by_definition(&units, usize::try_from(times).unwrap());
            prop_assert!((tail_loop(&units, times) - expected).abs() < 1e-12);
        }
    }
}
