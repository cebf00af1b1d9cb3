//! Sums and products of integers: their value, their text, and a canonical text that does not
//! depend on the order of terms and factors.

use serde::{Deserialize, Serialize};

use crate::FamilyError;
use crate::rank::Rank;

/// An operator between two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum Operator {
    /// Plus.
    #[serde(rename = "+")]
    Add,
    /// Minus.
    #[serde(rename = "-")]
    Subtract,
    /// Times.
    #[serde(rename = "*")]
    Multiply,
}

impl Operator {
    pub(crate) fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
        }
    }
}

/// At least one operator, each at most once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operators(Vec<Operator>);

impl Operators {
    /// # Errors
    /// [`FamilyError::Operators`] if the list is empty or an operator is repeated.
    pub(crate) fn new(operators: &[Operator]) -> Result<Self, FamilyError> {
        let repeated = operators
            .iter()
            .enumerate()
            .any(|(index, operator)| operators[..index].contains(operator));
        if operators.is_empty() || repeated {
            Err(FamilyError::Operators)
        } else {
            Ok(Self(operators.to_vec()))
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub(crate) fn signs(&self) -> impl Iterator<Item = char> {
        self.0.iter().copied().map(Operator::sign)
    }

    fn choose(&self, rank: &mut Rank) -> Operator {
        self.0[usize::try_from(rank.below(self.len())).unwrap_or_default()]
    }
}

/// Non-negative operands with operators between them. Products bind more tightly than sums; there
/// are no parentheses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    first: i64,
    rest: Vec<(Operator, i64)>,
}

/// A product, added or subtracted.
struct Term {
    negative: bool,
    factors: Vec<i64>,
}

impl Expression {
    /// The expression selected by the next choices of a rank.
    pub(crate) fn choose(
        rank: &mut Rank,
        operands: u64,
        below: u64,
        operators: &Operators,
    ) -> Self {
        let first = rank.number(below);
        let rest = (1..operands)
            .map(|_| (operators.choose(rank), rank.number(below)))
            .collect();
        Self { first, rest }
    }

    fn terms(&self) -> Vec<Term> {
        let mut terms = Vec::new();
        let mut term = Term {
            negative: false,
            factors: vec![self.first],
        };
        for (operator, operand) in &self.rest {
            if *operator == Operator::Multiply {
                term.factors.push(*operand);
            } else {
                let next = Term {
                    negative: *operator == Operator::Subtract,
                    factors: vec![*operand],
                };
                terms.push(std::mem::replace(&mut term, next));
            }
        }
        terms.push(term);
        terms
    }

    /// The value; exact if the product of all operands is below 2^63.
    pub(crate) fn value(&self) -> i64 {
        let value = |term: &Term| {
            let product = term
                .factors
                .iter()
                .fold(1i64, |product, factor| product.saturating_mul(*factor));
            if term.negative { -product } else { product }
        };
        self.terms().iter().map(value).fold(0, i64::saturating_add)
    }

    /// The text of the expression, with `space` around each operator.
    pub(crate) fn text(&self, space: &str) -> String {
        let mut text = self.first.to_string();
        for (operator, operand) in &self.rest {
            text += &format!("{space}{}{space}{operand}", operator.sign());
        }
        text
    }

    /// A text that is equal for expressions that differ only in the order of terms and of factors.
    pub(crate) fn canonical(&self) -> String {
        let text = |mut term: Term| {
            term.factors.sort_unstable();
            let factors: Vec<_> = term.factors.iter().map(i64::to_string).collect();
            format!(
                "{}{}",
                if term.negative { '-' } else { '+' },
                factors.join("*")
            )
        };
        let mut terms: Vec<_> = self.terms().into_iter().map(text).collect();
        terms.sort_unstable();
        terms.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(first: i64, rest: &[(Operator, i64)]) -> Expression {
        Expression {
            first,
            rest: rest.to_vec(),
        }
    }

    #[test]
    fn products_bind_more_tightly() {
        use Operator::{Add, Multiply, Subtract};
        let expression = expression(2, &[(Add, 3), (Multiply, 4), (Subtract, 5), (Multiply, 6)]);
        assert_eq!(
            (expression.text(""), expression.value()),
            ("2+3*4-5*6".to_owned(), -16)
        );
        assert_eq!(expression.text(" "), "2 + 3 * 4 - 5 * 6");
    }

    #[test]
    fn canonical_text_ignores_the_order_of_terms_and_factors() {
        use Operator::{Add, Multiply, Subtract};
        let canonical = expression(2, &[(Add, 3), (Multiply, 4), (Subtract, 5)]).canonical();
        assert_eq!(
            canonical,
            expression(4, &[(Multiply, 3), (Subtract, 5), (Add, 2)]).canonical()
        );
        assert_eq!(canonical, "+2+3*4-5");
        assert_ne!(
            expression(2, &[(Subtract, 5)]).canonical(),
            expression(5, &[(Subtract, 2)]).canonical()
        );
    }
}
