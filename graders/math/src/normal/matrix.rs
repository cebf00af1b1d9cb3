//! Arithmetic of small matrices and tuples with folded entries. A result is `None` if the shapes do
//! not match or a matrix is too large.
//!
//! Every entry is folded when it is made. An entry of a product of `n` matrices of numbers is then
//! one number, although as a tree it would have `2^n` terms.

use super::fold::{as_factor, power as power_of, product as product_of, sum as sum_of};
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::tree::Expr;
use crate::tree::charged::{all_copied, copied};

/// Most products of entries in one product of matrices.
const MAX_PRODUCTS: usize = 4_000;

/// Largest power of a matrix that is multiplied out.
const MAX_POWER: i64 = 8;

/// Largest order of a determinant: expansion takes `n!` products.
const MAX_ORDER: usize = 5;

/// Steps of an entry beyond those of its copies and its arithmetic.
const ENTRY_STEPS: u64 = 12;

type Rows = Vec<Vec<Expr>>;

/// `None` if there is no result, an error if the budget is exhausted.
type Attempt<T> = Result<Option<T>, Exhausted>;

/// A copy of an entry that may be a factor or a term.
fn entry(cell: &Expr, budget: &Budget) -> Result<Expr, Exhausted> {
    budget.charge(ENTRY_STEPS)?;
    as_factor(copied(cell, budget)?, budget)
}

fn copied_rows(rows: &Rows, budget: &Budget) -> Result<Rows, Exhausted> {
    rows.iter().map(|row| all_copied(row, budget)).collect()
}

/// The sum, if all items are matrices of the same shape.
pub(super) fn sum(items: &[Expr], budget: &Budget) -> Attempt<Expr> {
    let mut all: Vec<&Rows> = Vec::new();
    for item in items {
        match item {
            Expr::Matrix(rows) => all.push(rows),
            _ => return Ok(None),
        }
    }
    let Some(first) = all.first() else {
        return Ok(None);
    };
    let same_shape = |rows: &&Rows| {
        rows.len() == first.len() && rows.iter().zip(*first).all(|(a, b)| a.len() == b.len())
    };
    if !all.iter().all(same_shape) {
        return Ok(None);
    }
    let mut total = Vec::with_capacity(first.len());
    for (at, row) in first.iter().enumerate() {
        let mut cells = Vec::with_capacity(row.len());
        for column in 0..row.len() {
            let terms = all
                .iter()
                .filter_map(|rows| rows.get(at)?.get(column))
                .map(|cell| entry(cell, budget))
                .collect::<Result<_, _>>()?;
            cells.push(sum_of(terms, budget)?);
        }
        total.push(cells);
    }
    Ok(Some(Expr::Matrix(total)))
}

/// The product of scalars and matrices, in order.
pub(super) fn product(items: &[Expr], budget: &Budget) -> Attempt<Expr> {
    let mut scalars = Vec::new();
    let mut total: Option<Rows> = None;
    for item in items {
        match (item, total) {
            (Expr::Matrix(rows), None) => total = Some(copied_rows(rows, budget)?),
            (Expr::Matrix(rows), Some(left)) => match times(&left, rows, budget)? {
                Some(product) => total = Some(product),
                None => return Ok(None),
            },
            (scalar, so_far) => {
                scalars.push(copied(scalar, budget)?);
                total = so_far;
            }
        }
    }
    let Some(mut total) = total else {
        return Ok(None);
    };
    if !scalars.is_empty() {
        let scalar = product_of(scalars, budget)?;
        for cell in total.iter_mut().flatten() {
            *cell = scaled(&scalar, cell, budget)?;
        }
    }
    Ok(Some(Expr::Matrix(total)))
}

fn scaled(scalar: &Expr, cell: &Expr, budget: &Budget) -> Result<Expr, Exhausted> {
    product_of(vec![copied(scalar, budget)?, entry(cell, budget)?], budget)
}

fn times(left: &Rows, right: &Rows, budget: &Budget) -> Attempt<Rows> {
    let inner = right.len();
    let width = right.first().map_or(0, Vec::len);
    let regular =
        left.iter().all(|row| row.len() == inner) && right.iter().all(|row| row.len() == width);
    if !regular || inner == 0 || left.len() * width * inner > MAX_PRODUCTS {
        return Ok(None);
    }
    let mut total = Vec::with_capacity(left.len());
    for row in left {
        let mut cells = Vec::with_capacity(width);
        for column in 0..width {
            let mut terms = Vec::with_capacity(inner);
            for (a, others) in row.iter().zip(right) {
                let Some(b) = others.get(column) else {
                    return Ok(None);
                };
                terms.push(product_of(
                    vec![entry(a, budget)?, entry(b, budget)?],
                    budget,
                )?);
            }
            cells.push(sum_of(terms, budget)?);
        }
        total.push(cells);
    }
    Ok(Some(total))
}

/// The transpose.
pub(super) fn transposed(own: &Rows, budget: &Budget) -> Attempt<Expr> {
    let width = own.first().map_or(0, Vec::len);
    if width == 0 || own.iter().any(|row| row.len() < width) {
        return Ok(None);
    }
    let mut total = Vec::with_capacity(width);
    for column in 0..width {
        let cells = own.iter().filter_map(|row| row.get(column));
        total.push(
            cells
                .map(|cell| copied(cell, budget))
                .collect::<Result<_, _>>()?,
        );
    }
    Ok(Some(Expr::Matrix(total)))
}

/// The sum of tuples; `None` unless all items are tuples of the same length.
pub(super) fn tuple_sum(items: &[Expr], budget: &Budget) -> Attempt<Expr> {
    let Some((Expr::Bracket(open, first, close), rest)) = items.split_first() else {
        return Ok(None);
    };
    let mut tuples = vec![first];
    for item in rest {
        match item {
            Expr::Bracket(own_open, items, own_close)
                if items.len() == first.len() && own_open == open && own_close == close =>
            {
                tuples.push(items);
            }
            _ => return Ok(None),
        }
    }
    if tuples.len() < 2 {
        return Ok(None);
    }
    let mut totals = Vec::with_capacity(first.len());
    for at in 0..first.len() {
        let terms = tuples
            .iter()
            .filter_map(|tuple| tuple.get(at))
            .map(|term| entry(term, budget))
            .collect::<Result<_, _>>()?;
        totals.push(sum_of(terms, budget)?);
    }
    Ok(Some(Expr::Bracket(*open, totals, *close)))
}

/// A tuple times scalars; `None` unless exactly one factor is a tuple and the others are scalars.
pub(super) fn tuple_product(items: &[Expr], budget: &Budget) -> Attempt<Expr> {
    let mut tuples = items
        .iter()
        .filter(|item| matches!(item, Expr::Bracket(..)));
    let (Some(Expr::Bracket(open, components, close)), None) = (tuples.next(), tuples.next())
    else {
        return Ok(None);
    };
    let scalars = items
        .iter()
        .filter(|item| !matches!(item, Expr::Bracket(..)));
    let scalar = |item: &Expr| {
        matches!(
            item,
            Expr::Number(_)
                | Expr::Constant(_)
                | Expr::Symbol(_)
                | Expr::Power(_)
                | Expr::Product(_)
                | Expr::Call(..)
                | Expr::Sum(_)
        )
    };
    if open != close || items.len() < 2 || !scalars.clone().all(scalar) {
        return Ok(None);
    }
    let scalars = scalars
        .map(|scalar| copied(scalar, budget))
        .collect::<Result<_, _>>()?;
    let scalar = product_of(scalars, budget)?;
    let components = components
        .iter()
        .map(|component| scaled(&scalar, component, budget))
        .collect::<Result<_, _>>()?;
    Ok(Some(Expr::Bracket(*open, components, *close)))
}

/// A small integer power of a square matrix, or the inverse of a matrix of order two.
pub(super) fn power(own: &Rows, exponent: &Rational, budget: &Budget) -> Attempt<Expr> {
    match exponent.to_i64() {
        Some(n @ 1..=MAX_POWER) => {
            let mut total = copied_rows(own, budget)?;
            for _ in 1..n {
                match times(&total, own, budget)? {
                    Some(next) => total = next,
                    None => return Ok(None),
                }
            }
            Ok(Some(Expr::Matrix(total)))
        }
        Some(-1) => inverse(own, budget),
        _ => Ok(None),
    }
}

fn inverse(own: &Rows, budget: &Budget) -> Attempt<Expr> {
    let [first, second] = own.as_slice() else {
        return Ok(None);
    };
    let ([a, b], [c, d]) = (first.as_slice(), second.as_slice()) else {
        return Ok(None);
    };
    let Some(determinant) = determinant(own, budget)? else {
        return Ok(None);
    };
    let over = power_of(determinant, Expr::int(-1), budget)?;
    let minus = |cell: &Expr| {
        let negative = product_of(vec![Expr::int(-1), entry(cell, budget)?], budget)?;
        scaled(&over, &negative, budget)
    };
    Ok(Some(Expr::Matrix(vec![
        vec![scaled(&over, d, budget)?, minus(b)?],
        vec![minus(c)?, scaled(&over, a, budget)?],
    ])))
}

/// The determinant by expansion along the first row, up to [`MAX_ORDER`].
pub(super) fn determinant(own: &Rows, budget: &Budget) -> Attempt<Expr> {
    let order = own.len();
    if order == 0 || order > MAX_ORDER || own.iter().any(|row| row.len() != order) {
        return Ok(None);
    }
    let columns: Vec<usize> = (0..order).collect();
    minor(own, &columns, budget)
}

/// The determinant of the columns, in the last as many rows.
fn minor(own: &[Vec<Expr>], columns: &[usize], budget: &Budget) -> Attempt<Expr> {
    let Some((first, rest)) = own.split_first() else {
        return Ok(None);
    };
    let mut terms = Vec::with_capacity(columns.len());
    for (at, column) in columns.iter().enumerate() {
        let Some(cell) = first.get(*column) else {
            return Ok(None);
        };
        let cell = entry(cell, budget)?;
        if rest.is_empty() {
            return Ok(Some(cell));
        }
        let others: Vec<usize> = columns
            .iter()
            .copied()
            .filter(|other| other != column)
            .collect();
        let Some(minor) = minor(rest, &others, budget)? else {
            return Ok(None);
        };
        let mut factors = vec![cell, minor];
        if at % 2 == 1 {
            factors.insert(0, Expr::int(-1));
        }
        terms.push(product_of(factors, budget)?);
    }
    sum_of(terms, budget).map(Some)
}
