//! Tuples, sets, lists, matrices and systems, compared by components, in order or in any order.

use super::rule::Rule;
use super::{Context, as_solved, real_set, same as same_answers};
use crate::budget::Exhausted;
use crate::options::Order;
use crate::tree::charged::{all_copied, identical};
use crate::tree::{End, Expr, NamedSet};

/// Most components that are compared in any order: the comparison is quadratic.
const MAX_UNORDERED: usize = 300;

/// Whether two collections are equal. Answers of other kinds are different.
pub(crate) fn same(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    match (gold, answer) {
        (Expr::List(a), Expr::List(b)) => lists(gold, a, answer, b, cx),
        (Expr::List(a), Expr::Set(b)) | (Expr::Set(b), Expr::List(a)) => {
            // `x = 1, x = 2` are values of x.
            let a = if labels_of(a) == Labels::One {
                unlabelled(a)
            } else {
                a.iter().collect()
            };
            let b: Vec<&Expr> = b.iter().collect();
            if matches!(gold, Expr::List(_)) {
                values_in_any_order(&a, &b, cx)
            } else {
                values_in_any_order(&b, &a, cx)
            }
        }
        (Expr::Set(a), Expr::Set(b)) => {
            let (a, b): (Vec<&Expr>, Vec<&Expr>) = (a.iter().collect(), b.iter().collect());
            any_order(distinct(&a, cx)?, distinct(&b, cx)?, cx)
        }
        (Expr::Bracket(a_open, a, a_close), Expr::Bracket(b_open, b, b_close)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            // Two components may be an interval, of which the kinds of ends count.
            let square = [a_open, a_close, b_open, b_close].contains(&&End::Square);
            if a.len() == 2 && square && (a_open, a_close) != (b_open, b_close) {
                cx.set_rule(Rule::RealSet);
                return Ok(false);
            }
            if cx.options.order == Order::Unordered {
                return any_order(a, b, cx);
            }
            let equal = ordered(a, b, cx)?;
            set_rule_unless_tolerance(cx, equal, Rule::Tuple);
            Ok(equal)
        }
        (Expr::Bracket(open, items, close), Expr::List(other))
        | (Expr::List(other), Expr::Bracket(open, items, close)) => {
            // `[1, 2]` may be an interval, which two values are not.
            let interval = *open == End::Square || *close == End::Square;
            if items.len() == 2 && interval && items.iter().all(real_set::is_scalar) {
                return sets(gold, answer, cx);
            }
            // `x = 1, x = 2` are values of one name; the components of a point have several.
            if labels_of(other) == Labels::One {
                return Ok(false);
            }
            let other = in_tuple_order(other);
            let equal = if matches!(gold, Expr::List(_)) {
                ordered(other, items, cx)?
            } else {
                ordered(items, other, cx)?
            };
            set_rule_unless_tolerance(cx, equal, Rule::Tuple);
            if equal {
                Ok(true)
            } else {
                sets(gold, answer, cx)
            }
        }
        (Expr::Matrix(a), Expr::Matrix(b)) => {
            let shape = |rows: &[Vec<Expr>]| (rows.len(), rows.first().map_or(0, Vec::len));
            if shape(a) != shape(b) {
                cx.set_rule(Rule::Matrix);
                return Ok(false);
            }
            let equal = ordered(cells(a), cells(b), cx)?;
            set_rule_unless_tolerance(cx, equal, Rule::Matrix);
            Ok(equal)
        }
        // `[1, 2)` is an interval, not a vector.
        (Expr::Matrix(_), Expr::Bracket(open, _, close))
        | (Expr::Bracket(open, _, close), Expr::Matrix(_))
            if open != close =>
        {
            cx.set_rule(Rule::Kind);
            Ok(false)
        }
        (Expr::Matrix(rows), Expr::Bracket(_, items, _) | Expr::List(items)) => {
            vector(rows, items, true, cx)
        }
        (Expr::Bracket(_, items, _) | Expr::List(items), Expr::Matrix(rows)) => {
            vector(rows, items, false, cx)
        }
        (Expr::Cases(a), Expr::Cases(b)) => {
            let rows = |rows: &[Vec<Expr>]| -> Result<Vec<Expr>, Exhausted> {
                let tuple = |row: &Vec<Expr>| {
                    all_copied(row, cx.budget).map(|row| Expr::Bracket(End::Round, row, End::Round))
                };
                rows.iter().map(tuple).collect()
            };
            any_order(rows(a)?.iter(), rows(b)?.iter(), cx)
        }
        (Expr::Named(NamedSet::Empty), Expr::Text(text) | Expr::Word(text))
        | (Expr::Text(text) | Expr::Word(text), Expr::Named(NamedSet::Empty)) => {
            cx.set_rule(Rule::Text);
            Ok(matches!(
                super::text_answers::canonical(text).as_str(),
                "empty set" | "no solution" | "none" | "empty"
            ))
        }
        _ => sets(gold, answer, cx),
    }
}

/// Sets the rule of a collection, unless the tolerance of the task decided for a component.
fn set_rule_unless_tolerance(cx: &Context<'_>, equal: bool, rule: Rule) {
    if !equal || cx.rule() != Rule::Tolerance {
        cx.set_rule(rule);
    }
}

/// Compares unions of intervals, if both sides are such sets, then other set operations.
fn sets(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let continuous = |expr: &Expr| !matches!(expr, Expr::Set(_));
    if let (Some(a), Some(b)) = (real_set::of(gold, cx)?, real_set::of(answer, cx)?)
        && (continuous(gold) || continuous(answer))
    {
        let equal = real_set::same(&a, &b, cx)?;
        cx.set_rule(Rule::RealSet);
        if equal {
            return Ok(true);
        }
    }
    if let (Expr::SetOp(a_op, a), Expr::SetOp(b_op, b)) = (gold, answer)
        && a_op == b_op
    {
        return match a_op {
            crate::tree::SetOp::Difference => {
                let equal = a.len() == b.len() && ordered(a, b, cx)?;
                set_rule_unless_tolerance(cx, equal, Rule::Tuple);
                Ok(equal)
            }
            _ => any_order(a, b, cx),
        };
    }
    if let (Expr::SetBuilder(a, a_conditions), Expr::SetBuilder(b, b_conditions)) = (gold, answer) {
        let equal = same_answers(a, b, cx)? && any_order(a_conditions, b_conditions, cx)?;
        cx.set_rule(Rule::RealSet);
        return Ok(equal);
    }
    if cx.rule() != Rule::RealSet {
        cx.set_rule(Rule::Kind);
    }
    Ok(false)
}

/// Compares component by component, in order.
pub(crate) fn ordered<'a, 'b, A, B>(gold: A, answer: B, cx: &Context<'_>) -> Result<bool, Exhausted>
where
    A: IntoIterator<Item = &'a Expr>,
    B: IntoIterator<Item = &'b Expr>,
{
    let gold: Vec<&Expr> = gold.into_iter().collect();
    let answer: Vec<&Expr> = answer.into_iter().collect();
    if gold.len() != answer.len() {
        return Ok(false);
    }
    let mut tolerant = false;
    for (a, b) in gold.into_iter().zip(answer) {
        if !same_answers(a, b, cx)? {
            return Ok(false);
        }
        tolerant |= cx.rule() == Rule::Tolerance;
    }
    if tolerant {
        cx.set_rule(Rule::Tolerance);
    }
    Ok(true)
}

/// Compares components in any order. Each component of the gold takes the first equal component of
/// the answer that is not taken yet. This is exact because equality is transitive.
fn any_order<'a, 'b, A, B>(gold: A, answer: B, cx: &Context<'_>) -> Result<bool, Exhausted>
where
    A: IntoIterator<Item = &'a Expr>,
    B: IntoIterator<Item = &'b Expr>,
{
    cx.set_rule(Rule::Unordered);
    let gold: Vec<&Expr> = gold.into_iter().collect();
    let mut free: Vec<&Expr> = answer.into_iter().collect();
    if gold.len() != free.len() || gold.len() > MAX_UNORDERED {
        return Ok(false);
    }
    let mut tolerant = false;
    for a in gold {
        // The identical tree is nearly always among them, and finding it is cheap.
        let mut found = None;
        for (at, b) in free.iter().enumerate() {
            if identical(a, b, cx.budget)? {
                found = Some(at);
                break;
            }
        }
        if found.is_none() {
            for (at, b) in free.iter().enumerate() {
                if same_answers(a, b, cx)? {
                    tolerant |= cx.rule() == Rule::Tolerance;
                    found = Some(at);
                    break;
                }
            }
        }
        match found {
            Some(at) => {
                free.swap_remove(at);
            }
            None => {
                cx.set_rule(Rule::Unordered);
                return Ok(false);
            }
        }
    }
    cx.set_rule(if tolerant {
        Rule::Tolerance
    } else {
        Rule::Unordered
    });
    Ok(true)
}

fn distinct<'a>(items: &[&'a Expr], cx: &Context<'_>) -> Result<Vec<&'a Expr>, Exhausted> {
    let mut unique: Vec<&Expr> = Vec::with_capacity(items.len());
    if items.len() > MAX_UNORDERED {
        return Ok(items.to_vec());
    }
    'items: for item in items {
        for own in &unique {
            if same_answers(own, item, cx)? {
                continue 'items;
            }
        }
        unique.push(item);
    }
    Ok(unique)
}

/// The cells of a matrix, row by row.
fn cells(rows: &[Vec<Expr>]) -> impl Iterator<Item = &Expr> {
    rows.iter().flatten()
}

/// The names of a list, if every item is a solved equation of one name.
fn labels(items: &[Expr]) -> Option<Vec<&Expr>> {
    items
        .iter()
        .map(|item| match as_solved(item)?.names {
            [name] => Some(name),
            _ => None,
        })
        .collect()
}

/// The values of a list with different variables, in the order of a tuple: that of the alphabet if
/// the names are neighbours in it, as `x, y` and `a, b, c`, or of their indices, else as written.
fn in_tuple_order(items: &[Expr]) -> Vec<&Expr> {
    let position = |name: &Expr| match name {
        Expr::Symbol(name) => match name.as_bytes() {
            [letter] => Some((String::new(), u32::from(*letter))),
            _ => {
                let (stem, index) = name.strip_suffix('}')?.split_once("_{")?;
                Some((stem.to_owned(), index.parse().ok()?))
            }
        },
        _ => None,
    };
    let positions: Option<Vec<(String, u32)>> =
        labels(items).and_then(|names| names.into_iter().map(position).collect());
    let values = unlabelled(items);
    let Some(positions) = positions else {
        return values;
    };
    let mut ranked: Vec<(&(String, u32), &Expr)> =
        positions.iter().zip(values.iter().copied()).collect();
    ranked.sort_by_key(|(position, _)| *position);
    let neighbours = ranked.windows(2).all(|pair| match pair {
        [((a_stem, a), _), ((b_stem, b), _)] => a_stem == b_stem && a + 1 == *b,
        _ => false,
    });
    if neighbours {
        ranked.into_iter().map(|(_, value)| value).collect()
    } else {
        values
    }
}

/// The values without their names. Items without names stay as they are.
fn unlabelled(items: &[Expr]) -> Vec<&Expr> {
    items
        .iter()
        .map(|item| as_solved(item).map_or(item, |solved| solved.value))
        .collect()
}

/// How the names of a list affect the order of its values.
#[derive(Clone, Copy, PartialEq)]
enum Labels {
    /// No names.
    Absent,
    /// The same name for all values.
    One,
    /// Words as names, as in `Width = 9, Height = 4`.
    Words,
    /// Different variables.
    Variables,
}

/// The name of the first value of a list, without its index.
fn stem(items: &[Expr]) -> Option<String> {
    match labels(items)?.first()? {
        Expr::Symbol(name) => Some(name.split("_{").next().unwrap_or(name).to_owned()),
        _ => None,
    }
}

/// Whether the name of the first value has no index.
fn is_plain(items: &[Expr]) -> bool {
    matches!(labels(items).as_deref(), Some([Expr::Symbol(name), ..]) if !name.contains('{'))
}

fn labels_of(items: &[Expr]) -> Labels {
    let Some(names) = labels(items) else {
        return Labels::Absent;
    };
    let first = names.first();
    if names.iter().all(|name| Some(name) == first) {
        return Labels::One;
    }
    let word = |name: &&Expr| matches!(name, Expr::Symbol(name) if name.len() > 3 && name.bytes().all(|b| b.is_ascii_alphabetic()) && name.bytes().any(|b| b.is_ascii_lowercase()));
    if names.iter().all(word) {
        return Labels::Words;
    }
    // `x_1 = 2, x_2 = 3` are values of x, as roots are written.
    let stem = |name: &&Expr| match name {
        Expr::Symbol(name) => name.split_once("_{").map(|(stem, _)| stem.to_owned()),
        _ => None,
    };
    let stems: Option<Vec<String>> = names.iter().map(stem).collect();
    match stems {
        Some(stems) if stems.iter().all(|stem| stem == "x") => Labels::One,
        _ => Labels::Variables,
    }
}

fn lists(
    gold: &Expr,
    a: &[Expr],
    answer: &Expr,
    b: &[Expr],
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    if cx.options.order == Order::Ordered {
        let equal = ordered(unlabelled(a), unlabelled(b), cx)?;
        set_rule_unless_tolerance(cx, equal, Rule::Tuple);
        return Ok(equal);
    }
    let (a_labels, b_labels) = (labels_of(a), labels_of(b));
    let equal = match (a_labels, b_labels) {
        (Labels::Absent, Labels::Absent) => {
            let (a, b): (Vec<&Expr>, Vec<&Expr>) = (a.iter().collect(), b.iter().collect());
            values_in_any_order(&a, &b, cx)?
        }
        // Names on one side only: different variables fix the order,
        // one name or words do not.
        (Labels::Absent, Labels::Variables) | (Labels::Variables, Labels::Absent) => {
            let equal = ordered(in_tuple_order(a), in_tuple_order(b), cx)?;
            set_rule_unless_tolerance(cx, equal, Rule::Tuple);
            equal
        }
        (Labels::Absent, _) | (_, Labels::Absent) => any_order(unlabelled(a), unlabelled(b), cx)?,
        // `x_1 = 2, x_2 = 3` and `x = 2, x = 3`
        (Labels::One, Labels::One)
            if stem(a) == stem(b) && labels(a) != labels(b) && (is_plain(a) || is_plain(b)) =>
        {
            any_order(unlabelled(a), unlabelled(b), cx)?
        }
        _ => any_order(a, b, cx)?,
    };
    if equal {
        return Ok(true);
    }
    // `x > 0, x < 3`
    sets(gold, answer, cx)
}

/// Compares values in any order. Tuples are solutions, so repeated ones count once. Numbers count
/// as often as they occur.
fn values_in_any_order(a: &[&Expr], b: &[&Expr], cx: &Context<'_>) -> Result<bool, Exhausted> {
    let tuples = |items: &[&Expr]| items.iter().all(|item| matches!(item, Expr::Bracket(..)));
    if a.len() != b.len() && tuples(a) && tuples(b) {
        return any_order(distinct(a, cx)?, distinct(b, cx)?, cx);
    }
    any_order(a.iter().copied(), b.iter().copied(), cx)
}

/// Compares a column, a row or a matrix with a tuple.
fn vector(
    rows: &[Vec<Expr>],
    items: &[Expr],
    matrix_is_gold: bool,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    let single = rows.len() == 1 || rows.iter().all(|row| row.len() == 1);
    if !single {
        // `[[1, 2], [3, 4]]`
        if rows.len() != items.len() {
            return Ok(false);
        }
        for (row, item) in rows.iter().zip(items) {
            let Expr::Bracket(_, cells, _) = item else {
                return Ok(false);
            };
            let equal = if matrix_is_gold {
                ordered(row, cells, cx)?
            } else {
                ordered(cells, row, cx)?
            };
            if !equal {
                return Ok(false);
            }
        }
        cx.set_rule(Rule::Matrix);
        return Ok(true);
    }
    let equal = if matrix_is_gold {
        ordered(cells(rows), items, cx)?
    } else {
        ordered(items, cells(rows), cx)?
    };
    set_rule_unless_tolerance(cx, equal, Rule::Matrix);
    Ok(equal)
}
