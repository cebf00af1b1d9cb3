//! Family `arithmetic`: the value of a short expression of integers.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::expression::{Expression, Operator, Operators};
use crate::problem::Problem;
use crate::range::within;
use crate::rank::{Rank, size};
use crate::rule::Rule;
use crate::{FamilyError, Form};

/// `47+85=`: an expression with a fixed number of operands, each from 0 to the largest number with
/// the given number of digits. Answers can be negative if `-` is among the operators.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Options")]
pub struct Arithmetic {
    operands: u64,
    below: u64,
    operators: Operators,
    form: Form,
    size: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    operands: u64,
    digits: u64,
    operators: Vec<Operator>,
    #[serde(default)]
    form: Form,
}

impl TryFrom<Options> for Arithmetic {
    type Error = FamilyError;

    fn try_from(options: Options) -> Result<Self, FamilyError> {
        Self::new(
            options.operands,
            options.digits,
            &options.operators,
            options.form,
        )
    }
}

impl Arithmetic {
    /// Expressions of 2 to 16 `operands` with at most `digits` digits, 1 to 9.
    ///
    /// # Errors
    /// [`FamilyError`] for numbers out of range, for missing or repeated operators, and for more
    /// than 2^62 problems.
    pub fn new(
        operands: u64,
        digits: u64,
        operators: &[Operator],
        form: Form,
    ) -> Result<Self, FamilyError> {
        within("operands", operands, 2, 16)?;
        within("digits", digits, 1, 9)?;
        let operators = Operators::new(operators)?;
        let below = (0..digits).fold(1, |power, _| power * 10);
        let size = size(
            [below]
                .into_iter()
                .chain((1..operands).flat_map(|_| [operators.len(), below])),
        )?;
        Ok(Self {
            operands,
            below,
            operators,
            form,
            size,
        })
    }

    fn expression(&self, rank: u64) -> Expression {
        Expression::choose(
            &mut Rank::new(rank),
            self.operands,
            self.below,
            &self.operators,
        )
    }
}

impl Rule for Arithmetic {
    fn size(&self) -> u64 {
        self.size
    }

    fn canonical(&self, rank: u64) -> String {
        format!("arithmetic/{}", self.expression(rank).canonical())
    }

    fn problem(&self, rank: u64) -> Problem {
        let expression = self.expression(rank);
        let prompt = match self.form {
            Form::Plain | Form::Boxed => format!("{}=", expression.text("")),
            Form::Words => format!(
                "What is {}? Answer with the number alone.",
                expression.text(" ")
            ),
        };
        let (task, solution) = self.form.number(expression.value());
        Problem {
            prompt,
            task,
            key: format!("arithmetic/{}/{}", self.form.name(), expression.text("")),
            solution,
        }
    }

    fn alphabet(&self) -> BTreeSet<char> {
        let fixed = match self.form {
            Form::Plain | Form::Boxed => "=",
            Form::Words => "What is ? Answer with the number alone.",
        };
        fixed
            .chars()
            .chain(self.form.characters().chars())
            .chain('0'..='9')
            .chain(self.operators.signs())
            .collect()
    }
}
