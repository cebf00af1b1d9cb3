//! The families there are, and their problems in an order.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::permutation::Permutation;
use crate::{Arithmetic, Modular, Problem, Python, Sorting, Split, Sql};

/// What a family knows. Its problems are numbered by ranks from 0 up to its size.
pub(crate) trait Rule {
    /// How many different problems there are.
    fn size(&self) -> u64;

    /// A text shared by the problems that must stand on one side of the split.
    fn canonical(&self, rank: u64) -> String;

    /// The problem of a rank.
    fn problem(&self, rank: u64) -> Problem;

    /// Every character of prompts and solutions.
    fn alphabet(&self) -> BTreeSet<char>;
}

/// A rule that makes problems, with its difficulty. In a configuration `family` names it, beside
/// its options.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "family", rename_all = "snake_case")]
pub enum Family {
    /// The value of a short expression.
    Arithmetic(Arithmetic),
    /// Arithmetic on the remainders of a modulus.
    Modular(Modular),
    /// A list put into order.
    Sorting(Sorting),
    /// A query over a small table.
    Sql(Sql),
    /// A small function.
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

    /// How many different problems there are, on both sides of the split together.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.rule().size()
    }

    /// Every character that prompts and solutions can have.
    #[must_use]
    pub fn alphabet(&self) -> BTreeSet<char> {
        self.rule().alphabet()
    }

    /// All problems of one side, each once, in the order that a seed and the number of a round
    /// name. The n-th is always the same.
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

/// The problems of one side of a family, from [`Family::problems`]. To skip some takes as long as
/// to find them, without making them: one or two microseconds each for expressions of two operands.
#[derive(Debug, Clone)]
pub struct Problems {
    family: Family,
    split: Split,
    order: Permutation,
    place: u64,
}

impl Problems {
    /// The rank of the next one.
    pub(crate) fn next_rank(&mut self) -> Option<u64> {
        loop {
            let rank = self.order.get(self.place)?;
            self.place += 1;
            if Split::of(&self.family.rule().canonical(rank)) == self.split {
                return Some(rank);
            }
        }
    }

    /// The problem of a rank that [`Problems::next_rank`] gave.
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
