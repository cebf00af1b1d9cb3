//! Arithmetic of small matrices with any entries. Refuses, by returning `None`, what does not fit together or is too large.

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
    Some(Expr::Matrix(total.into_iter().map(|row| row.into_iter().map(scale).collect()).collect()))
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
    left.iter().map(|row| (0..width).map(|column| cell(row, column)).collect()).collect()
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
            Some(Expr::Matrix(vec![vec![part(d), part(b).neg()], vec![part(c).neg(), part(a)]]))
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
            .map(|row| row.iter().enumerate().filter(|(at, _)| *at != column).map(|(_, cell)| cell.clone()).collect())
            .collect();
        let term = Expr::Product(vec![cell.clone(), determinant(&minor)?]);
        terms.push(if column % 2 == 0 { term } else { term.neg() });
    }
    Some(Expr::Sum(terms))
}
