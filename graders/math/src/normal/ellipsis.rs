//! Lists, sums and products that an ellipsis shortens: `1, 2, \ldots, 9` is a list of nine numbers,
//! `1 + 2 + \cdots + n` is `n(n+1)/2`. Others stay as they are written.

use super::fold;
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::tree::charged::charge_visit;
use crate::tree::{Binder, Expr, Function};

/// Maximum number of items of a list that is written out.
const MAX_ITEMS: i64 = 200;

/// Terms that determine how a sequence of numbers goes on.
const ENOUGH: usize = 3;

/// The tree without the ellipses that have one meaning; `None` if it has none.
pub(crate) fn completed(expr: &Expr, budget: &Budget) -> Result<Option<Expr>, Exhausted> {
    // Like reading, a single search that allocates nothing is not charged.
    if !expr.any(&|part| matches!(part, Expr::Ellipsis)) {
        return Ok(None);
    }
    charge_visit(expr, 1, budget)?;
    complete(expr, budget).map(Some)
}

fn complete(expr: &Expr, budget: &Budget) -> Result<Expr, Exhausted> {
    let inside = |expr: &Expr| expr.try_map_children(&mut |child| complete(child, budget));
    let (Expr::List(items)
    | Expr::Set(items)
    | Expr::Bracket(_, items, _)
    | Expr::Sum(items)
    | Expr::Product(items)) = expr
    else {
        return inside(expr);
    };
    let Some(at) = items.iter().position(|item| *item == Expr::Ellipsis) else {
        return inside(expr);
    };
    let (before, after) = (
        items.get(..at).unwrap_or_default(),
        items.get(at + 1..).unwrap_or_default(),
    );
    let whole = match expr {
        Expr::Sum(_) => match indexed(before, after) {
            Some(sum) => Some(sum),
            None => total(before, after, budget)?,
        },
        Expr::Product(_) => product(before, after, budget)?,
        _ => None,
    };
    if let Some(whole) = whole {
        return Ok(whole);
    }
    Ok(match expr {
        Expr::List(_) => Expr::List(written_out(items, before, after, budget)?),
        Expr::Set(_) => Expr::Set(written_out(items, before, after, budget)?),
        Expr::Bracket(open, _, close) => {
            Expr::Bracket(*open, written_out(items, before, after, budget)?, *close)
        }
        // As written: the factors on both sides must not be multiplied.
        Expr::Product(_) => Expr::Apply("…".into(), items.clone()),
        other => inside(other)?,
    })
}

/// How the terms before an ellipsis go on.
enum Step {
    /// By adding this number.
    Plus(Rational),
    /// By multiplying with this number.
    Times(Rational),
}

/// A literal: a number, its negative or a quotient of two.
fn literal(term: &Expr, budget: &Budget) -> Result<Option<Rational>, Exhausted> {
    let plain = |part: &Expr| match part {
        Expr::Number(_) => true,
        Expr::Power(pair) => matches!(pair.0, Expr::Number(_)) && pair.1.is_int(-1),
        _ => false,
    };
    let is_literal = match term {
        Expr::Product(factors) => factors.iter().all(plain),
        other => plain(other),
    };
    if !is_literal {
        return Ok(None);
    }
    Ok(fold(term, budget)?.as_number().cloned())
}

/// The first term and the step of a sequence. One term alone goes on by ones.
fn sequence(before: &[Expr], budget: &Budget) -> Result<Option<(Rational, Step)>, Exhausted> {
    let mut terms = Vec::new();
    for term in before {
        match literal(term, budget)? {
            Some(value) => terms.push(value),
            None => return Ok(None),
        }
    }
    let step = || {
        let first = terms.first()?.clone();
        let pairs = || {
            terms
                .windows(2)
                .filter_map(|pair| pair.first().zip(pair.get(1)))
        };
        let Some(second) = terms.get(1) else {
            return first
                .is_integer()
                .then(|| (first, Step::Plus(Rational::small(1))));
        };
        let difference = second.sub(&first)?;
        let added = |(a, b): (&Rational, &Rational)| b.sub(a).as_ref() == Some(&difference);
        if !difference.is_zero() && pairs().all(added) {
            return Some((first, Step::Plus(difference)));
        }
        let ratio = second.div(&first)?;
        let multiplied = |(a, b): (&Rational, &Rational)| b.div(a).as_ref() == Some(&ratio);
        (terms.len() > 2 && pairs().all(multiplied)).then_some((first, Step::Times(ratio)))
    };
    Ok(step())
}

/// The items of a list with those that the ellipsis stands for.
fn written_out(
    items: &[Expr],
    before: &[Expr],
    after: &[Expr],
    budget: &Budget,
) -> Result<Vec<Expr>, Exhausted> {
    let as_written = || items.iter().map(|item| complete(item, budget)).collect();
    // `1, 3, 5, 7, …` is `1, 3, 5, …`
    if after.is_empty() && before.len() > ENOUGH && sequence(before, budget)?.is_some() {
        let mut first: Vec<Expr> = before.iter().take(ENOUGH).cloned().collect();
        first.push(Expr::Ellipsis);
        return Ok(first);
    }
    let [last] = after else {
        return as_written();
    };
    let (Some((first, step)), Some(last)) = (sequence(before, budget)?, literal(last, budget)?)
    else {
        return as_written();
    };
    let mut all = vec![first.clone()];
    let mut next = first;
    for _ in 0..MAX_ITEMS {
        budget.charge(20)?;
        let sum = match &step {
            Step::Plus(difference) => next.add(difference),
            Step::Times(ratio) => next.mul(ratio),
        };
        let Some(sum) = sum else {
            return as_written();
        };
        all.push(sum.clone());
        if sum == last {
            let complete = all.len() > before.len();
            return if complete {
                Ok(all.into_iter().map(Expr::Number).collect())
            } else {
                as_written()
            };
        }
        next = sum;
    }
    as_written()
}

/// Whether an expression is linear in one variable, or a number.
fn is_linear(expr: &Expr) -> bool {
    let term = |term: &Expr| match term {
        Expr::Number(_) | Expr::Symbol(_) => true,
        Expr::Product(factors) => {
            matches!(factors.as_slice(), [Expr::Number(_), Expr::Symbol(_)])
        }
        _ => false,
    };
    match expr {
        Expr::Sum(terms) => {
            let open = |item: &&Expr| !matches!(item, Expr::Number(_));
            terms.iter().all(term) && terms.iter().filter(open).count() < 2
        }
        other => term(other),
    }
}

/// Whether `last` can be reached from `first` in at least as many steps as there are terms before
/// it: always if it has a variable.
fn is_reached(first: &Rational, difference: &Rational, last: &Expr, terms: usize) -> bool {
    match last {
        Expr::Number(last) => last
            .sub(first)
            .and_then(|distance| distance.div(difference))
            .filter(Rational::is_integer)
            .and_then(|steps| steps.to_i64())
            .is_some_and(|steps| usize::try_from(steps).is_ok_and(|steps| steps >= terms)),
        _ => true,
    }
}

/// The sum of an arithmetic or geometric progression.
fn total(before: &[Expr], after: &[Expr], budget: &Budget) -> Result<Option<Expr>, Exhausted> {
    let [last] = after else {
        return Ok(None);
    };
    let Some((first, step)) = sequence(before, budget)? else {
        return Ok(None);
    };
    let is_literal = literal(last, budget)?.is_some();
    let last = fold(last, budget)?;
    let number = |value: Rational| Expr::Number(value);
    let total = match step {
        Step::Plus(difference) => {
            let fits = is_literal || last.any(&|part| matches!(part, Expr::Symbol(_)));
            if !fits || !is_linear(&last) || !is_reached(&first, &difference, &last, before.len()) {
                return Ok(None);
            }
            // (first + last)/2 · ((last - first)/difference + 1)
            let ends = Expr::Sum(vec![number(first.clone()), last.clone()]);
            let distance = Expr::Sum(vec![last, number(first.neg())]);
            let count = Expr::Sum(vec![
                Expr::quotient(distance, number(difference)),
                Expr::int(1),
            ]);
            Expr::Product(vec![ends, count, number(Rational::ratio(1, 2))])
        }
        Step::Times(ratio) => {
            let inverse = Rational::small(1).div(&ratio);
            let raised = |part: &Expr| {
                matches!(part, Expr::Power(pair)
                    if pair.0.as_number().is_some_and(|base| *base == ratio || Some(base) == inverse.as_ref()))
            };
            if !is_literal && !last.any(&raised) {
                return Ok(None);
            }
            // (last · ratio - first)/(ratio - 1)
            let beyond = Expr::Product(vec![last, number(ratio.clone())]);
            let distance = Expr::Sum(vec![beyond, number(first.neg())]);
            let Some(rate) = ratio.sub(&Rational::small(1)) else {
                return Ok(None);
            };
            Expr::quotient(distance, number(rate))
        }
    };
    Ok(Some(total))
}

/// The product of an arithmetic progression as factorials: `2 · 4 · 6 ⋯ 2n` is `2^n n!`.
fn product(before: &[Expr], after: &[Expr], budget: &Budget) -> Result<Option<Expr>, Exhausted> {
    let last = match after {
        [last] => last.clone(),
        [Expr::Number(_), Expr::Symbol(_)] => Expr::Product(after.to_vec()),
        _ => return Ok(None),
    };
    let Some((first, Step::Plus(difference))) = sequence(before, budget)? else {
        return Ok(None);
    };
    let last = fold(&last, budget)?;
    if !is_linear(&last)
        || !is_reached(&first, &difference, &last, before.len())
        || first.is_negative()
    {
        return Ok(None);
    }
    let factorial = |of: Expr| Expr::Call(Function::Factorial, vec![of]);
    let one = Rational::small(1);
    Ok(
        if difference == one && first.is_integer() && !first.is_zero() {
            let below = first.sub(&one).map(Expr::Number);
            below.map(|below| Expr::quotient(factorial(last), factorial(below)))
        } else if first == difference {
            let count = Expr::quotient(last, Expr::Number(difference.clone()));
            let power = Expr::power(Expr::Number(difference), count.clone());
            Some(Expr::Product(vec![power, factorial(count)]))
        } else if first == one && difference == Rational::small(2) {
            Some(Expr::Call(Function::DoubleFactorial, vec![last]))
        } else {
            None
        },
    )
}

/// `x_1 + x_2 + \cdots + x_n` as a sum over an index.
fn indexed(before: &[Expr], after: &[Expr]) -> Option<Expr> {
    fn parts(term: &Expr) -> Option<(&str, &str)> {
        match term {
            Expr::Symbol(name) => name.strip_suffix('}')?.split_once("_{"),
            _ => None,
        }
    }
    let [last] = after else {
        return None;
    };
    let (stem, end) = parts(last)?;
    let start: i64 = parts(before.first()?)?.1.parse().ok()?;
    for (term, index) in before.iter().zip(start..) {
        if parts(term)? != (stem, index.to_string().as_str()) {
            return None;
        }
    }
    let end = match end.parse::<i64>() {
        Ok(end) => Expr::int(end),
        Err(_) if end.len() == 1 && end != "i" => Expr::symbol(end),
        Err(_) => return None,
    };
    let body = Expr::Symbol(format!("{stem}_{{i}}").into());
    Some(Expr::Bound(
        Binder::Sum,
        "i".into(),
        vec![Expr::int(start), end, body],
    ))
}
