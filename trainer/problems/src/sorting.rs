//! Family `sorting`: sort a list of integers.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::form::document;
use crate::problem::Problem;
use crate::range::within;
use crate::rank::{Rank, size};
use crate::rule::Rule;
use crate::{FamilyError, Form};

/// The order of the sorted list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The smallest number first.
    #[default]
    Ascending,
    /// The largest number first.
    Descending,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Descending => "descending",
        }
    }

    fn sign(self) -> char {
        match self {
            Self::Ascending => '<',
            Self::Descending => '>',
        }
    }
}

/// `[31,4,15]<`: a fixed number of numbers, each from 0 to the largest number with the given number
/// of digits, in any order and possibly repeated. `>` requests the largest first. The answer is a
/// JSON array.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Options")]
pub struct Sorting {
    numbers: u64,
    below: u64,
    direction: Direction,
    form: Form,
    size: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    numbers: u64,
    digits: u64,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    form: Form,
}

impl TryFrom<Options> for Sorting {
    type Error = FamilyError;

    fn try_from(options: Options) -> Result<Self, FamilyError> {
        Self::new(
            options.numbers,
            options.digits,
            options.direction,
            options.form,
        )
    }
}

impl Sorting {
    /// Lists of 2 to 18 `numbers` with at most `digits` digits, 1 to 9.
    ///
    /// # Errors
    /// [`FamilyError`] for numbers out of range, for more than 2^62 problems, and for
    /// [`Form::Boxed`].
    pub fn new(
        numbers: u64,
        digits: u64,
        direction: Direction,
        form: Form,
    ) -> Result<Self, FamilyError> {
        within("numbers", numbers, 2, 18)?;
        within("digits", digits, 1, 9)?;
        let form = form.for_non_numeric_answers()?;
        let below = (0..digits).fold(1u64, |power, _| power * 10);
        let size = size((0..numbers).map(|_| below))?;
        Ok(Self {
            numbers,
            below,
            direction,
            form,
            size,
        })
    }

    fn list(&self, rank: u64) -> Vec<u64> {
        let mut rank = Rank::new(rank);
        (0..self.numbers).map(|_| rank.below(self.below)).collect()
    }
}

fn text(list: &[u64], separator: &str) -> String {
    list.iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(separator)
}

impl Rule for Sorting {
    fn size(&self) -> u64 {
        self.size
    }

    /// Equal for both directions and all orders of a list, because their answers follow from each
    /// other.
    fn canonical(&self, rank: u64) -> String {
        let mut list = self.list(rank);
        list.sort_unstable();
        format!("sorting/{}", text(&list, ","))
    }

    fn problem(&self, rank: u64) -> Problem {
        let list = self.list(rank);
        let mut sorted = list.clone();
        sorted.sort_unstable();
        if self.direction == Direction::Descending {
            sorted.reverse();
        }
        let (order, sign) = (self.direction.name(), self.direction.sign());
        let prompt = match self.form {
            Form::Plain | Form::Boxed => format!("[{}]{sign}", text(&list, ",")),
            Form::Words => format!(
                "Sort {} in {order} order. Answer with a JSON array alone.",
                text(&list, ", ")
            ),
        };
        let key = format!("sorting/{}/{}{sign}", self.form.name(), text(&list, ","));
        let solution = format!("[{}]", text(&sorted, ","));
        Problem {
            prompt,
            task: document(&sorted.into()),
            key,
            solution,
        }
    }

    fn alphabet(&self) -> BTreeSet<char> {
        let fixed = match self.form {
            Form::Plain | Form::Boxed => self.direction.sign().to_string(),
            Form::Words => format!(
                "Sort , in {} order. Answer with a JSON array alone.",
                self.direction.name()
            ),
        };
        fixed
            .chars()
            .chain("[,]".chars())
            .chain('0'..='9')
            .collect()
    }
}
