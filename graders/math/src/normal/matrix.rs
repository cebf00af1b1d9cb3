//! Arithmetic of small matrices with arbitrary entries. Returns `None` if the shapes do not match
//! or a matrix is too large.

use std::ops::Neg as _;

use crate::number::Rational;
use crate::tree::Expr;

/// Most products of entries in one product of matrices.
const MAX_PRODUCTS: usize = 4_000;

/// Largest power of a matrix that is multiplied out.
const MAX_POWER: i64 = 8;

/// Largest order of a determinant: expansion takes `n!` products.
const MAX_ORDER: usize = 5;

type Rows = Vec<Vec<Expr>>;

fn rows(expr: &Expr) -> Option<&Rows> {
    match expr {
        Expr::Matrix(rows) => Some(rows),
        _ => None,
    }
}

/// The sum, if all items are matrices of the same shape.
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
    if left.first()?.len() != inner || left.len() * width * inner > MAX_PRODUCTS {
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

/// The transpose.
pub(super) fn transposed(own: &Rows) -> Option<Expr> {
    let width = own.first()?.len();
    let column = |at: usize| {
        own.iter()
            .map(|row| row.get(at).cloned())
            .collect::<Option<Vec<Expr>>>()
    };
    Some(Expr::Matrix((0..width).map(column).collect::<Option<_>>()?))
}

/// The sum of tuples; `None` unless all items are tuples of the same length.
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

/// A tuple times scalars; `None` unless exactly one factor is a tuple and the others are scalars.
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

/// A small integer power of a square matrix, or the inverse of a matrix of order two.
pub(super) fn power(own: &Rows, exponent: &Rational) -> Option<Expr> {
    match exponent.to_i64()? {
        n @ 1..=MAX_POWER => {
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

/// The determinant by expansion along the first row, up to [`MAX_ORDER`].
pub(super) fn determinant(own: &Rows) -> Option<Expr> {
    let order = own.len();
    if order > MAX_ORDER || own.iter().any(|row| row.len() != order) {
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
