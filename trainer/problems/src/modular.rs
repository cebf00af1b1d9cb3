//! Family `modular`: arithmetic modulo a number.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::expression::{Expression, Operator, Operators};
use crate::problem::Problem;
use crate::range::within;
use crate::rank::Rank;
use crate::rule::Rule;
use crate::{FamilyError, Form};

/// `(47+85)%97=`: two operands and an answer, each from 0 to the modulus - 1.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Options")]
pub struct Modular {
    modulus: u64,
    operators: Operators,
    form: Form,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    modulus: u64,
    operators: Vec<Operator>,
    #[serde(default)]
    form: Form,
}

impl TryFrom<Options> for Modular {
    type Error = FamilyError;

    fn try_from(options: Options) -> Result<Self, FamilyError> {
        Self::new(options.modulus, &options.operators, options.form)
    }
}

impl Modular {
    /// Arithmetic with a `modulus` from 2 to a million.
    ///
    /// # Errors
    /// [`FamilyError`] for a modulus out of range, and for missing or repeated operators.
    pub fn new(modulus: u64, operators: &[Operator], form: Form) -> Result<Self, FamilyError> {
        within("modulus", modulus, 2, 1_000_000)?;
        Ok(Self {
            modulus,
            operators: Operators::new(operators)?,
            form,
        })
    }

    fn expression(&self, rank: u64) -> Expression {
        Expression::choose(&mut Rank::new(rank), 2, self.modulus, &self.operators)
    }
}

impl Rule for Modular {
    fn size(&self) -> u64 {
        self.modulus * self.modulus * self.operators.len()
    }

    fn canonical(&self, rank: u64) -> String {
        format!(
            "modular/{}%{}",
            self.expression(rank).canonical(),
            self.modulus
        )
    }

    fn problem(&self, rank: u64) -> Problem {
        let (expression, modulus) = (self.expression(rank), self.modulus);
        let prompt = match self.form {
            Form::Plain | Form::Boxed => format!("({})%{modulus}=", expression.text("")),
            Form::Words => {
                let last = modulus - 1;
                format!(
                    "What is ({}) modulo {modulus}? Answer with one number from 0 to {last}.",
                    expression.text(" ")
                )
            }
        };
        let (task, solution) = self.form.number(
            expression
                .value()
                .rem_euclid(i64::try_from(modulus).unwrap_or(i64::MAX)),
        );
        Problem {
            prompt,
            task,
            key: format!(
                "modular/{}/({})%{modulus}",
                self.form.name(),
                expression.text("")
            ),
            solution,
        }
    }

    fn alphabet(&self) -> BTreeSet<char> {
        let fixed = match self.form {
            Form::Plain | Form::Boxed => "()%=",
            Form::Words => "What is () modulo ? Answer with one number from 0 to .",
        };
        fixed
            .chars()
            .chain(self.form.characters().chars())
            .chain('0'..='9')
            .chain(self.operators.signs())
            .collect()
    }
}
