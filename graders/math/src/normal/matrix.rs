//! Arithmetic of small matrices with any entries. Refuses, by returning `None`, what does not fit
//! together or is too large.

use std::ops::Neg as _;

use crate::number::Rational;
use crate::tree::Expr;

/// Largest number of entries multiplied or added.
const MAX_CELLS: usize = 400;

type Rows = Vec<Vec<Expr>>;

fn rows(expr: &Expr) -> Option<&Rows> {
    match expr {
        Expr::Matrix(rows) => Some(rows),
        _ => None,
    }
}

/// The sum, if every item is a matrix of one shape.
pub(super) fn sum(items: &[Expr]) -> Option<Expr> {
    let first = rows(items.first()?)?;
    let shape = |rows: &Rows| (rows.len(), rows.first().map_or(0, Vec::len));
    let mut total = first.clone();
    for item in items.get(1..)? {
        let next = rows(item)?;
        if shape(next) != shape(first) {
            return None;
        }
        for (row, more) in total.iter_mut().zip(next) {
            for (cell, more) in row.iter_mut().zip(more) {
                *cell = Expr::Sum(vec![cell.clone(), more.clone()]);
            }
        }
    }
    Some(Expr::Matrix(total))
}

/// The product of scalars and matrices, in order.
pub(super) fn product(items: &[Expr]) -> Option<Expr> {
    let mut scalars = Vec::new();
    let mut total: Option<Rows> = None;
    for item in items {
        match (item, total) {
            (Expr::Matrix(rows), None) => total = Some(rows.clone()),
            (Expr::Matrix(rows), Some(left)) => total = Some(times(&left, rows)?),
            (scalar, so_far) => {
                scalars.push(scalar.clone());
                total = so_far;
            }
        }
    }
    let total = total?;
    if scalars.is_empty() {
        return Some(Expr::Matrix(total));
    }
    let scale = |cell: Expr| {
        let mut factors = scalars.clone();
        factors.push(cell);
        Expr::Product(factors)
    };
    Some(Expr::Matrix(
        total
            .into_iter()
            .map(|row| row.into_iter().map(scale).collect())
            .collect(),
    ))
}

fn times(left: &Rows, right: &Rows) -> Option<Rows> {
    let inner = right.len();
    let width = right.first()?.len();
    if left.first()?.len() != inner || left.len() * width * inner > MAX_CELLS * 10 {
        return None;
    }
    let cell = |row: &Vec<Expr>, column: usize| -> Option<Expr> {
        let terms: Option<Vec<Expr>> = row
            .iter()
            .zip(right)
            .map(|(a, other)| Some(Expr::Product(vec![a.clone(), other.get(column)?.clone()])))
            .collect();
        Some(Expr::Sum(terms?))
    };
    left.iter()
        .map(|row| (0..width).map(|column| cell(row, column)).collect())
        .collect()
}

/// Rows as columns.
pub(super) fn transposed(own: &Rows) -> Option<Expr> {
    let width = own.first()?.len();
    let column = |at: usize| {
        own.iter()
            .map(|row| row.get(at).cloned())
            .collect::<Option<Vec<Expr>>>()
    };
    Some(Expr::Matrix((0..width).map(column).collect::<Option<_>>()?))
}

/// Tuples added component by component; `None` unless all items are tuples of one length.
pub(super) fn tuple_sum(items: &[Expr]) -> Option<Expr> {
    let Some((Expr::Bracket(open, first, close), rest)) = items.split_first() else {
        return None;
    };
    let mut totals: Vec<Vec<Expr>> = first.iter().map(|item| vec![item.clone()]).collect();
    for item in rest {
        match item {
            Expr::Bracket(own_open, items, own_close)
                if items.len() == first.len() && own_open == open && own_close == close =>
            {
                for (total, item) in totals.iter_mut().zip(items) {
                    total.push(item.clone());
                }
            }
            _ => return None,
        }
    }
    (items.len() > 1)
        .then(|| Expr::Bracket(*open, totals.into_iter().map(Expr::Sum).collect(), *close))
}

/// A tuple times numbers; `None` unless exactly one factor is a tuple and the others are values.
pub(super) fn tuple_product(items: &[Expr]) -> Option<Expr> {
    let mut tuples = items
        .iter()
        .filter(|item| matches!(item, Expr::Bracket(..)));
    let (Some(Expr::Bracket(open, components, close)), None) = (tuples.next(), tuples.next())
    else {
        return None;
    };
    let scalars: Vec<Expr> = items
        .iter()
        .filter(|item| !matches!(item, Expr::Bracket(..)))
        .cloned()
        .collect();
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
    if open != close || scalars.is_empty() || !scalars.iter().all(scalar) {
        return None;
    }
    let scale =
        |component: &Expr| Expr::Product(scalars.iter().chain([component]).cloned().collect());
    Some(Expr::Bracket(
        *open,
        components.iter().map(scale).collect(),
        *close,
    ))
}

/// A small whole power of a square matrix; the inverse of one of order two.
pub(super) fn power(own: &Rows, exponent: &Rational) -> Option<Expr> {
    match exponent.to_i64()? {
        n @ 1..=8 => {
            let mut total = own.clone();
            for _ in 1..n {
                total = times(&total, own)?;
            }
            Some(Expr::Matrix(total))
        }
        -1 => {
            let [first, second] = own.as_slice() else {
                return None;
            };
            let ([a, b], [c, d]) = (first.as_slice(), second.as_slice()) else {
                return None;
            };
            let over = determinant(own)?.recip();
            let part = |cell: &Expr| Expr::Product(vec![over.clone(), cell.clone()]);
            Some(Expr::Matrix(vec![
                vec![part(d), part(b).neg()],
                vec![part(c).neg(), part(a)],
            ]))
        }
        _ => None,
    }
}

/// The determinant by expansion along the first row, up to order five.
pub(super) fn determinant(own: &Rows) -> Option<Expr> {
    let order = own.len();
    if order > 5 || own.iter().any(|row| row.len() != order) {
        return None;
    }
    let first = own.first()?;
    if order == 1 {
        return first.first().cloned();
    }
    let mut terms = Vec::with_capacity(order);
    for (column, cell) in first.iter().enumerate() {
        let minor: Rows = own
            .get(1..)?
            .iter()
            .map(|row| {
                row.iter()
                    .enumerate()
                    .filter(|(at, _)| *at != column)
                    .map(|(_, cell)| cell.clone())
                    .collect()
            })
            .collect();
        let term = Expr::Product(vec![cell.clone(), determinant(&minor)?]);
        terms.push(if column % 2 == 0 { term } else { term.neg() });
    }
    Some(Expr::Sum(terms))
}
