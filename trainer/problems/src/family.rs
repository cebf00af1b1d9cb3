//! The families of problems, and iteration over their problems in a seeded order.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::permutation::Permutation;
use crate::problem::Problem;
use crate::rule::Rule;
use crate::{Arithmetic, Modular, Python, Sorting, Split, Sql};

/// A family of generated problems with its difficulty. In a configuration, the key `family` has its
/// name, and the other keys are its options.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "family", rename_all = "snake_case")]
pub enum Family {
    /// Compute the value of a short expression.
    Arithmetic(Arithmetic),
    /// Compute an expression modulo a number.
    Modular(Modular),
    /// Sort a list.
    Sorting(Sorting),
    /// Write a query over a small table.
    Sql(Sql),
    /// Write a small function.
    Python(Python),
}

impl Family {
    fn rule(&self) -> &dyn Rule {
        match self {
            Self::Arithmetic(rule) => rule,
            Self::Modular(rule) => rule,
            Self::Sorting(rule) => rule,
            Self::Sql(rule) => rule,
            Self::Python(rule) => rule,
        }
    }

    /// The number of distinct problems, in both parts of the split.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.rule().size()
    }

    /// All characters that prompts and solutions can contain.
    #[must_use]
    pub fn alphabet(&self) -> BTreeSet<char> {
        self.rule().alphabet()
    }

    /// All problems of one part, each once, in an order that depends only on the seed and the
    /// number of the round.
    #[must_use]
    pub fn problems(&self, split: Split, seed: u64, round: u64) -> Problems {
        Problems {
            order: Permutation::new(self.size(), &[seed, round]),
            family: self.clone(),
            split,
            place: 0,
        }
    }
}

/// Iterator over the problems of one part of a family, from [`Family::problems`]. Skipping a
/// problem finds it without building it, which takes one or two microseconds for expressions of
/// two operands.
#[derive(Debug, Clone)]
pub struct Problems {
    family: Family,
    split: Split,
    order: Permutation,
    place: u64,
}

impl Problems {
    /// The rank of the next problem.
    pub(crate) fn next_rank(&mut self) -> Option<u64> {
        loop {
            let rank = self.order.get(self.place)?;
            self.place += 1;
            if Split::of(&self.family.rule().canonical(rank)) == self.split {
                return Some(rank);
            }
        }
    }

    /// The problem of a rank returned by [`Problems::next_rank`].
    pub(crate) fn problem(&self, rank: u64) -> Problem {
        self.family.rule().problem(rank)
    }
}

impl Iterator for Problems {
    type Item = Problem;

    fn next(&mut self) -> Option<Problem> {
        self.next_rank().map(|rank| self.problem(rank))
    }

    fn nth(&mut self, n: usize) -> Option<Problem> {
        for _ in 0..n {
            self.next_rank()?;
        }
        self.next()
    }
}
