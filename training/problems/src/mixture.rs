//! Several families drawn from in fixed shares.

use std::collections::BTreeSet;

use assay_core::Random;
use serde::Deserialize;

use crate::family::Problems;
use crate::range::within;
use crate::{Family, FamilyError, Problem, Split};

/// Streams of random numbers, so that the order of the families is not that of their problems.
const SHARES: u64 = 1;
const PROBLEMS: u64 = 2;

/// A family and how often it is drawn from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Share {
    /// Of as many problems in a row as all weights together so many are of this family: 1 to 1,000,
    /// and 1 unless given.
    #[serde(default = "one")]
    pub weight: u32,
    /// The family; its options stand beside the weight.
    #[serde(flatten)]
    pub family: Family,
}

fn one() -> u32 {
    1
}

/// At least one family with its share; in a configuration, an array of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Vec<Share>")]
pub struct Mixture {
    shares: Vec<Share>,
}

impl TryFrom<Vec<Share>> for Mixture {
    type Error = FamilyError;

    fn try_from(shares: Vec<Share>) -> Result<Self, FamilyError> {
        if shares.is_empty() {
            return Err(FamilyError::Empty);
        }
        for share in &shares {
            within("weight", share.weight.into(), 1, 1_000)?;
        }
        Ok(Self { shares })
    }
}

impl Mixture {
    /// The families with their shares.
    #[must_use]
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// Every character that prompts and solutions of any family can have.
    #[must_use]
    pub fn alphabet(&self) -> BTreeSet<char> {
        self.shares
            .iter()
            .flat_map(|share| share.family.alphabet())
            .collect()
    }

    /// Problems of one side without an end: a family that has given all of its own begins again, in
    /// another order. The n-th is always the same. It ends only where no family has a problem on
    /// that side.
    #[must_use]
    pub fn endless(&self, split: Split, seed: u64) -> Drawn {
        Drawn::new(self, split, seed, true)
    }

    /// Problems of one side, none of them twice: what is endless, without the families that have
    /// given all of their own. Two families that are configured alike may share some.
    #[must_use]
    pub fn once(&self, split: Split, seed: u64) -> Drawn {
        Drawn::new(self, split, seed, false)
    }
}

/// Problems drawn from a mixture.
#[derive(Debug, Clone)]
pub struct Drawn {
    sources: Vec<Source>,
    split: Split,
    again: bool,
    order: Random,
    /// What is left of the last block: of each source its weight.
    block: Vec<usize>,
}

/// A family of the mixture, in one of its rounds.
#[derive(Debug, Clone)]
struct Source {
    weight: usize,
    family: Family,
    seed: u64,
    round: u64,
    problems: Problems,
}

impl Drawn {
    fn new(mixture: &Mixture, split: Split, seed: u64, again: bool) -> Self {
        let source = |(at, share): (u64, &Share)| {
            let seed = Random::stream(&[PROBLEMS, seed, at]).bits();
            let problems = share.family.problems(split, seed, 0);
            Source {
                weight: share.weight as usize,
                family: share.family.clone(),
                seed,
                round: 0,
                problems,
            }
        };
        let sources = (0..).zip(&mixture.shares).map(source).collect();
        Self {
            sources,
            split,
            again,
            order: Random::stream(&[SHARES, seed]),
            block: Vec::new(),
        }
    }

    /// The source of the next problem, and its rank there.
    fn draw(&mut self) -> Option<(usize, u64)> {
        loop {
            let Some(at) = self.block.pop() else {
                self.block = self
                    .sources
                    .iter()
                    .enumerate()
                    .flat_map(|(at, source)| std::iter::repeat_n(at, source.weight))
                    .collect();
                self.order.shuffle(&mut self.block);
                if self.block.is_empty() {
                    return None;
                }
                continue;
            };
            let source = self.sources.get_mut(at)?;
            if let Some(rank) = source.problems.next_rank() {
                return Some((at, rank));
            }
            if self.again {
                source.round += 1;
                source.problems = source
                    .family
                    .problems(self.split, source.seed, source.round);
                if let Some(rank) = source.problems.next_rank() {
                    return Some((at, rank));
                }
            }
            source.weight = 0;
        }
    }
}

impl Iterator for Drawn {
    type Item = Problem;

    fn next(&mut self) -> Option<Problem> {
        let (at, rank) = self.draw()?;
        self.sources
            .get(at)
            .map(|source| source.problems.problem(rank))
    }

    fn nth(&mut self, n: usize) -> Option<Problem> {
        for _ in 0..n {
            self.draw()?;
        }
        self.next()
    }
}
