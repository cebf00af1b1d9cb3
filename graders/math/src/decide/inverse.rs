//! Where functions of one elementary function may change their sign: `1 - |ln(x² + 1) - 8|` is a
//! function of `ln(x² + 1)`, so the roots are found for the logarithm, and then for `x² + 1`.

use super::evaluate::{NoValue, Point, ball};
use super::line::Line;
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::number::ball::Ball;
use crate::tree::charged::{charge_copy, charge_visit, identical};
use crate::tree::{Constant, Expr, Function, Name};

/// Precision of the values of inverse functions, in bits.
const PREC: u64 = 224;

impl<'a> Line<'a, '_> {
    /// The values of the variable at which a function has one of these values, if it depends on the
    /// variable by one elementary function. With a `sample`, absolute values are those near it.
    /// Roots of waves are those near `places`, and near 0.
    pub(super) fn inverse_roots(
        &self,
        expr: &Expr,
        levels: &[i64],
        sample: Option<&Rational>,
        places: &[Rational],
        budget: &Budget,
    ) -> Result<Option<Vec<Rational>>, Exhausted> {
        charge_visit(expr, 4, budget)?;
        let Some(part) = self.sole_part(expr, budget)? else {
            return Ok(None);
        };
        let sample = match sample {
            Some(sample) => match self.value_of(part, sample, budget)? {
                Some(value) => Some(value),
                None => return Ok(Some(Vec::new())),
            },
            None => None,
        };
        charge_copy(expr, budget)?;
        let variable = Expr::Symbol(Name::from(self.name()));
        let outer = with_part(expr, part, &variable, budget)?;
        let line: Line<'_, '_> = self.clone();
        let Some(roots) = line.roots(&outer, levels, false, sample.as_ref(), budget)? else {
            return Ok(None);
        };
        let mut found = Vec::new();
        for root in roots {
            let Some((inner, values)) = self.preimages(part, &root, places, budget)? else {
                return Ok(None);
            };
            for value in values {
                charge_copy(inner, budget)?;
                let shifted = Expr::Sum(vec![inner.clone(), Expr::Number(value.neg())]);
                let line: Line<'_, '_> = self.clone();
                let own = match line.roots(&shifted, &[0], false, None, budget)? {
                    Some(own) => Some(own),
                    None => self.inverse_roots(&shifted, &[0], None, places, budget)?,
                };
                let Some(own) = own else {
                    return Ok(None);
                };
                found.extend(own);
            }
        }
        Ok(Some(found))
    }

    /// The only elementary function of the variable in a function that contains the variable
    /// nowhere else.
    fn sole_part<'e>(
        &self,
        expr: &'e Expr,
        budget: &Budget,
    ) -> Result<Option<&'e Expr>, Exhausted> {
        let mut found = None;
        Ok(self
            .collect_part(expr, &mut found, budget)?
            .then_some(found)
            .flatten())
    }

    fn collect_part<'e>(
        &self,
        expr: &'e Expr,
        found: &mut Option<&'e Expr>,
        budget: &Budget,
    ) -> Result<bool, Exhausted> {
        budget.charge(4)?;
        if !self.varies(expr) {
            return Ok(true);
        }
        let is_outer = match expr {
            Expr::Sum(_) | Expr::Product(_) => true,
            Expr::Power(pair) => pair.1.as_number().is_some_and(Rational::is_integer),
            Expr::Call(function, _) => matches!(
                function,
                Function::Abs
                    | Function::Sign
                    | Function::Min
                    | Function::Max
                    | Function::Floor
                    | Function::Ceil
            ),
            _ => false,
        };
        if is_outer {
            for child in expr.children() {
                if !self.collect_part(child, found, budget)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        match found {
            Some(own) => identical(own, expr, budget),
            None => {
                *found = Some(expr);
                Ok(!matches!(expr, Expr::Symbol(_)))
            }
        }
    }

    /// The approximate value of a function where the variable has this value.
    fn value_of(
        &self,
        expr: &Expr,
        value: &Rational,
        budget: &Budget,
    ) -> Result<Option<Rational>, Exhausted> {
        let line: Line<'_, '_> = self.clone();
        midpoint(expr, &line.point(value, PREC + self.resolution), budget)
    }

    /// The argument of an elementary function, and the values of it at which the function has this
    /// value.
    fn preimages<'e>(
        &self,
        part: &'e Expr,
        root: &Rational,
        places: &[Rational],
        budget: &Budget,
    ) -> Result<Option<(&'e Expr, Vec<Rational>)>, Exhausted> {
        let number = |value: &Rational| Expr::Number(value.clone());
        let call = |function| Expr::Call(function, vec![number(root)]);
        let minus = |value: Expr| Expr::Product(vec![Expr::int(-1), value]);
        let both = |value: Expr| vec![value.clone(), minus(value)];
        let mut period = None;
        let (inner, solutions) = match part {
            Expr::Power(pair) => match (&pair.0, &pair.1) {
                (inner, Expr::Number(exponent)) => {
                    let Some(inverse) = exponent.recip() else {
                        return Ok(None);
                    };
                    let value = Expr::power(number(root), Expr::Number(inverse));
                    (
                        inner,
                        if exponent.num().bit(0) {
                            vec![value]
                        } else {
                            both(value)
                        },
                    )
                }
                (base, inner) if !self.varies(base) => {
                    charge_copy(base, budget)?;
                    let base = Expr::Call(Function::Ln, vec![base.clone()]);
                    (inner, vec![Expr::quotient(call(Function::Ln), base)])
                }
                _ => return Ok(None),
            },
            Expr::Call(function, items) => {
                let ([inner], Some(inverse)) = (items.as_slice(), inverse(*function)) else {
                    return Ok(None);
                };
                let value = match inverse {
                    Inverse::Exponential => Expr::power(Expr::Constant(Constant::E), number(root)),
                    Inverse::Call(function) => call(function),
                };
                let pi = || Expr::Constant(Constant::Pi);
                let solutions = match function {
                    Function::Sin => {
                        period = Some(2);
                        vec![value.clone(), Expr::Sum(vec![pi(), minus(value)])]
                    }
                    Function::Cos => {
                        period = Some(2);
                        both(value)
                    }
                    Function::Tan => {
                        period = Some(1);
                        vec![value]
                    }
                    Function::Cosh => both(value),
                    _ => vec![value],
                };
                (inner, solutions)
            }
            _ => return Ok(None),
        };
        let mut values = Vec::new();
        for solution in solutions {
            let point = Point::of_constant(false, PREC + self.resolution);
            let Some(value) = midpoint(&solution, &point, budget)? else {
                continue;
            };
            match period {
                Some(half_turns) => {
                    values.extend(self.shifted(inner, &value, half_turns, places, budget)?);
                }
                None => values.push(value),
            }
        }
        Ok(Some((inner, values)))
    }

    /// The values that differ from one by whole periods: next to 0, and next to the values of the
    /// argument of a wave at 0 and at some places.
    fn shifted(
        &self,
        argument: &Expr,
        value: &Rational,
        half_turns: i64,
        places: &[Rational],
        budget: &Budget,
    ) -> Result<Vec<Rational>, Exhausted> {
        let zero = Rational::small(0);
        let mut near = vec![(zero.clone(), true)];
        near.extend(
            self.value_of(argument, &zero, budget)?
                .map(|value| (value, true)),
        );
        for place in places {
            near.extend(
                self.value_of(argument, place, budget)?
                    .map(|value| (value, false)),
            );
        }
        let period = Expr::Product(vec![Expr::int(half_turns), Expr::Constant(Constant::Pi)]);
        let point = Point::of_constant(false, PREC + self.resolution);
        let Some(period) = midpoint(&period, &point, budget)? else {
            return Ok(Vec::new());
        };
        let mut counts = Vec::new();
        for (at, is_both) in near {
            budget.charge(40 + at.bits() / 8)?;
            let turns = at.sub(value).and_then(|distance| distance.div(&period));
            let Some(floor) = turns.map(|turns| Rational::integer(turns.floor())) else {
                continue;
            };
            if is_both {
                counts.extend(floor.add(&Rational::small(1)));
            }
            counts.push(floor);
        }
        super::line::sort(&mut counts);
        counts.dedup();
        let shifted = |count: Rational| count.mul(&period)?.add(value);
        Ok(counts.into_iter().filter_map(shifted).collect())
    }
}

/// How the inverse of a function is written.
enum Inverse {
    Exponential,
    Call(Function),
}

fn inverse(function: Function) -> Option<Inverse> {
    use Function as F;
    Some(Inverse::Call(match function {
        F::Ln => return Some(Inverse::Exponential),
        F::Sin => F::Arcsin,
        F::Cos => F::Arccos,
        F::Tan => F::Arctan,
        F::Arcsin => F::Sin,
        F::Arccos => F::Cos,
        F::Arctan => F::Tan,
        F::Sinh => F::Arsinh,
        F::Cosh => F::Arcosh,
        F::Tanh => F::Artanh,
        _ => return None,
    }))
}

/// The same tree with every copy of a part replaced.
fn with_part(expr: &Expr, part: &Expr, value: &Expr, budget: &Budget) -> Result<Expr, Exhausted> {
    if identical(expr, part, budget)? {
        return Ok(value.clone());
    }
    expr.try_map_children(&mut |child| with_part(child, part, value, budget))
}

fn midpoint<'e>(
    expr: &'e Expr,
    point: &Point<'e>,
    budget: &Budget,
) -> Result<Option<Rational>, Exhausted> {
    match ball(expr, point, budget) {
        Ok(value) => Ok(value.real().ok().and_then(Ball::exact_midpoint)),
        Err(NoValue::Exhausted) => Err(Exhausted),
        Err(_) => Ok(None),
    }
}
