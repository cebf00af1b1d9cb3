//! Mixtures of families in fixed shares.

use std::collections::BTreeSet;

use assay_base::Random;
use serde::Deserialize;

use crate::family::Problems;
use crate::problem::Problem;
use crate::range::within;
use crate::{Family, FamilyError, Split};

/// Random streams of the order of families and of the order of problems in a family.
const SHARES: u64 = 1;
const PROBLEMS: u64 = 2;

/// A family and its share of the mixture.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Share {
    /// Number of problems of this family in each block, where the size of a block is the sum of all
    /// weights: 1 to 1,000. Default: 1.
    #[serde(default = "one")]
    pub weight: u32,
    /// The family; its options are at the same level as the weight.
    #[serde(flatten)]
    pub family: Family,
}

fn one() -> u32 {
    1
}

/// One or more families with their shares; an array in a configuration.
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

    /// All characters that prompts and solutions of the families can contain.
    #[must_use]
    pub fn alphabet(&self) -> BTreeSet<char> {
        self.shares
            .iter()
            .flat_map(|share| share.family.alphabet())
            .collect()
    }

    /// An endless sequence of problems of one part: an exhausted family starts again in another
    /// order. The sequence depends only on the seed. It is empty only if no family has a problem in
    /// that part.
    #[must_use]
    pub fn endless(&self, split: Split, seed: u64) -> Drawn {
        Drawn::new(self, split, seed, true)
    }

    /// Problems of one part without repetition: like [`endless`](Self::endless), but exhausted
    /// families are dropped. Two families with equal options can yield the same problems.
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
    repeat: bool,
    order: Random,
    /// The rest of the current block: indices of sources, each as often as its weight.
    block: Vec<usize>,
}

/// A family of the mixture and the state of its current round.
#[derive(Debug, Clone)]
struct Source {
    weight: usize,
    family: Family,
    seed: u64,
    round: u64,
    problems: Problems,
}

impl Drawn {
    fn new(mixture: &Mixture, split: Split, seed: u64, repeat: bool) -> Self {
        let source = |(index, share): (u64, &Share)| {
            let seed = Random::stream(&[PROBLEMS, seed, index]).bits();
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
            repeat,
            order: Random::stream(&[SHARES, seed]),
            block: Vec::new(),
        }
    }

    /// The source of the next problem, and its rank in the family.
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
            if self.repeat {
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
