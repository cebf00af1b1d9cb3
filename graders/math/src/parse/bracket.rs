//! Everything between an opening and a closing token: groups, tuples, intervals, sets, absolute
//! values, floors, environments.

use super::answer::{Join, connective};
use super::expression::{Parsed, deeper, expect, no_parse, statement, sum};
use super::piecewise;
use super::token::{Kind, Shape, Tokens};
use crate::tree::{End, Expr, Function, NamedSet};

/// Parses a bracketed expression.
pub(crate) fn bracket<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    match input.first() {
        Some(Kind::Open(Shape::End(end))) => delimited(input, end),
        // `]a, b[`: the French open interval.
        Some(Kind::Close(Shape::End(End::Square))) => delimited(input, End::Round),
        Some(Kind::Open(Shape::Set)) => set(input, Shape::Set),
        Some(Kind::Open(Shape::Group)) => set(input, Shape::Group),
        Some(Kind::Open(Shape::Floor)) => {
            enclosed(input, Kind::Close(Shape::Floor), Function::Floor)
        }
        Some(Kind::Open(Shape::Ceil)) => enclosed(input, Kind::Close(Shape::Ceil), Function::Ceil),
        Some(Kind::Open(Shape::Bar)) => enclosed(input, Kind::Close(Shape::Bar), Function::Abs),
        Some(Kind::Bar) => enclosed(input, Kind::Bar, Function::Abs),
        _ => no_parse(),
    }
}

fn enclosed<'t, 'a>(
    input: Tokens<'t, 'a>,
    close: Kind<'static>,
    function: Function,
) -> Parsed<'t, 'a> {
    let bars = close == Kind::Bar;
    let start = input.skip(1);
    // `||x||` is a norm, `||x| - 1|` is not.
    if bars && start.first() == Some(Kind::Bar) && !start.spaced() {
        let (rest, inner) = sum(deeper(start.skip(1), bars)?)?;
        if rest.first() == Some(close) && rest.kind(1) == Some(close) {
            return Ok((
                rest.skip(2).back_to(input),
                Expr::Call(function, vec![inner]),
            ));
        }
        let (mut rest, ()) = expect(rest, close)?;
        let mut terms = vec![Expr::Call(function, vec![inner])];
        if matches!(rest.first(), Some(Kind::Plus | Kind::Minus)) {
            let (after, more) = sum(rest)?;
            rest = after;
            terms.push(more);
        }
        let (rest, ()) = expect(rest, close)?;
        return Ok((
            rest.back_to(input),
            Expr::Call(function, vec![Expr::Sum(terms)]),
        ));
    }
    let (rest, inner) = sum(deeper(start, bars)?)?;
    let (rest, ()) = expect(rest, close)?;
    Ok((rest.back_to(input), Expr::Call(function, vec![inner])))
}

/// Whether the next `[` ends an interval, as in `]a, b[`: it is not followed by anything that it
/// could enclose.
pub(crate) fn closes_reversed(input: Tokens<'_, '_>) -> bool {
    input.first() == Some(Kind::Open(Shape::End(End::Square)))
        && matches!(
            input.kind(1),
            None | Some(
                Kind::Comma
                    | Kind::Semicolon
                    | Kind::Close(_)
                    | Kind::Command("cup" | "cap" | "setminus")
            )
        )
}

/// Statements with commas or semicolons between them.
pub(crate) fn listed<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a, Vec<Expr>> {
    let (mut rest, first) = statement(input)?;
    let mut items = vec![first];
    while matches!(rest.first(), Some(Kind::Comma | Kind::Semicolon)) {
        rest = rest.skip(1);
        // `\{1, 2, \}`
        if matches!(rest.first(), Some(Kind::Close(_))) {
            break;
        }
        let (after, next) = statement(rest)?;
        rest = after;
        items.push(next);
    }
    Ok((rest, items))
}

/// The items of the next brackets, as arguments of a function.
pub(crate) fn items<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a, Vec<Expr>> {
    let Some(Kind::Open(shape)) = input.first() else {
        return no_parse();
    };
    let (rest, items) = listed(deeper(input.skip(1), false)?)?;
    let (rest, ()) = expect(rest, Kind::Close(shape))?;
    Ok((rest.back_to(input), items))
}

/// The arguments of a name, then those after a `|`, and whether there was one.
pub(crate) fn conditional<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a, (Vec<Expr>, bool)> {
    let Some(Kind::Open(shape)) = input.first() else {
        return no_parse();
    };
    let (mut rest, mut items) = listed(deeper(input.skip(1), true)?)?;
    let given = rest.first() == Some(Kind::Bar);
    if given {
        let (after, conditions) = listed(deeper(rest.skip(1), false)?)?;
        rest = after;
        items.extend(conditions);
    }
    let (rest, ()) = expect(rest, Kind::Close(shape))?;
    Ok((rest.back_to(input), (items, given)))
}

fn delimited<'t, 'a>(input: Tokens<'t, 'a>, open: End) -> Parsed<'t, 'a> {
    let reversed = matches!(input.first(), Some(Kind::Close(_)));
    let inside = deeper(input.skip(1), false)?;
    let inside = if open == End::Round && calculates(inside) {
        inside.dividing()
    } else {
        inside
    };
    let (rest, mut items) = listed(inside)?;
    // A stray point before the closing bracket is ignored.
    let rest = match rest.first() {
        Some(Kind::Stray('.')) => rest.skip(1),
        _ => rest,
    };
    let close = match rest.first() {
        Some(Kind::Close(Shape::End(End::Angle))) => End::Angle,
        Some(Kind::Close(Shape::End(close))) => close,
        // `[a, b[`
        Some(Kind::Open(Shape::End(End::Square))) if items.len() == 2 => End::Round,
        _ => return no_parse(),
    };
    if (open == End::Angle) != (close == End::Angle) || reversed && items.len() != 2 {
        return no_parse();
    }
    let rest = rest.skip(1).back_to(input);
    if items.len() == 1 {
        if open != close {
            return no_parse();
        }
        return Ok((rest, items.pop().unwrap_or(Expr::Ellipsis)));
    }
    Ok((rest, Expr::Bracket(open, items, close)))
}

/// Whether the open brackets contain a sum with a `:`: a calculation, in which a colon divides, not
/// a ratio.
fn calculates(input: Tokens<'_, '_>) -> bool {
    /// Most tokens that are searched.
    const MAX_TOKENS: usize = 80;
    let (mut depth, mut colon, mut sum) = (0usize, false, false);
    for at in 0..MAX_TOKENS {
        match input.kind(at) {
            Some(Kind::Open(_)) => depth += 1,
            Some(Kind::Close(_)) if depth == 0 => return colon && sum,
            Some(Kind::Close(_)) => depth -= 1,
            Some(Kind::Colon) if depth == 0 => colon = true,
            Some(Kind::Plus | Kind::Minus) if depth == 0 => sum |= at > 0,
            Some(Kind::Comma | Kind::Semicolon | Kind::Relation(_)) | None => return false,
            _ => {}
        }
    }
    false
}

fn set<'t, 'a>(input: Tokens<'t, 'a>, shape: Shape) -> Parsed<'t, 'a> {
    let close = Kind::Close(shape);
    let inside = input.skip(1);
    if inside.first() == Some(close) {
        return match shape {
            Shape::Set => Ok((inside.skip(1), Expr::Named(NamedSet::Empty))),
            // `{}` prints nothing: the next token counts.
            _ => super::factor::atom(deeper(inside.skip(1), input.bars)?)
                .map(|(rest, value)| (rest.back_to(input), value)),
        };
    }
    let divided = is_divided(inside, shape);
    let (rest, first) = statement(deeper(inside, divided)?)?;
    match rest.first() {
        Some(Kind::Bar | Kind::Colon) if divided => {
            let (rest, conditions) = conditions(deeper(rest.skip(1), false)?)?;
            let (rest, ()) = expect(rest, close)?;
            Ok((
                rest.back_to(input),
                Expr::SetBuilder(Box::new(first), conditions),
            ))
        }
        Some(Kind::Command("choose")) => {
            let (rest, second) = statement(deeper(rest.skip(1), false)?)?;
            let (rest, ()) = expect(rest, close)?;
            Ok((
                rest.back_to(input),
                Expr::Call(Function::Binomial, vec![first, second]),
            ))
        }
        _ => {
            let mut items = vec![first];
            let mut rest = rest;
            if matches!(rest.first(), Some(Kind::Comma | Kind::Semicolon)) {
                let (after, more) = listed(deeper(rest.skip(1), false)?)?;
                rest = after;
                items.extend(more);
            }
            let (rest, ()) = expect(rest, close)?;
            let rest = rest.back_to(input);
            Ok((
                rest,
                match shape {
                    Shape::Set => Expr::Set(items),
                    _ if items.len() == 1 => items.pop().unwrap_or(Expr::Ellipsis),
                    _ => Expr::List(items),
                },
            ))
        }
    }
}

/// The conditions of a set: all of them, or the union of those that `or` joins.
fn conditions<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a, Vec<Expr>> {
    let (mut rest, first) = statement(input)?;
    let mut alternatives = vec![vec![first]];
    while let Some(mut join) = rest.run().first().and_then(connective) {
        rest = rest.skip(1);
        // `, or`
        while let Some(more) = rest.run().first().and_then(connective) {
            join = more;
            rest = rest.skip(1);
        }
        let (after, next) = statement(rest)?;
        rest = after;
        if join.as_word() == Join::Or {
            alternatives.push(vec![next]);
        } else if let Some(alternative) = alternatives.last_mut() {
            alternative.push(next);
        }
    }
    if alternatives.len() == 1 {
        return Ok((rest, alternatives.pop().unwrap_or_default()));
    }
    Ok((rest, vec![piecewise::united(alternatives)]))
}

/// Whether a `|` or `:` divides the group that starts here, as in `{x | x > 0}`. Bars of absolute
/// values are in pairs.
fn is_divided(input: Tokens<'_, '_>, shape: Shape) -> bool {
    let (mut bars, mut colon, mut depth) = (0, false, 0);
    // Few tokens are searched, so that nested groups stay linear.
    for at in 0..64 {
        match input.kind(at) {
            Some(Kind::Bar) if depth == 0 => bars += 1,
            Some(Kind::Colon) if depth == 0 => colon = true,
            Some(Kind::Open(_)) => depth += 1,
            Some(Kind::Close(_)) if depth > 0 => depth -= 1,
            Some(Kind::Close(_)) | None => break,
            _ => {}
        }
    }
    bars % 2 == 1 || colon && (bars > 0 || shape == Shape::Set)
}

/// `\begin{…} … \end{…}`.
pub(crate) fn environment<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let Some(Kind::Text(name)) = input.kind(1) else {
        return no_parse();
    };
    let piecewise = matches!(name, "cases" | "dcases" | "rcases");
    let mut rest = deeper(input.skip(2), false)?;
    let mut rows: Vec<Vec<piecewise::Cell>> = vec![Vec::new()];
    let mut join = None;
    loop {
        if piecewise
            && rows.last().is_some_and(|row| row.len() > 1)
            && let Some(next) = rest.run().first().and_then(connective)
        {
            // `, or` has one separator.
            if join.is_none() || next != Join::Comma {
                join = Some(next);
            }
            rest = rest.skip(1);
            continue;
        }
        match rest.first() {
            Some(Kind::Command("end")) => {
                rest = rest.skip(2);
                break;
            }
            Some(Kind::Row) => {
                rows.push(Vec::new());
                join = None;
                rest = rest.skip(1);
            }
            Some(Kind::Ampersand | Kind::Comma | Kind::Semicolon | Kind::Stray('.')) => {
                rest = rest.skip(1);
            }
            None => return no_parse(),
            Some(_) => {
                let (after, cell) = cell(rest)?;
                rest = after;
                if let Some(row) = rows.last_mut() {
                    row.push((join.take(), cell));
                }
            }
        }
    }
    rows.retain(|row| !row.is_empty());
    if rows.is_empty() {
        return no_parse();
    }
    let plain = |row: Vec<piecewise::Cell>| row.into_iter().map(|(_, cell)| cell).collect();
    let mut rows: Vec<Vec<Expr>> = if piecewise {
        rows.into_iter().map(piecewise::row).collect()
    } else {
        rows.into_iter().map(plain).collect()
    };
    let rest = rest.back_to(input);
    let width = rows.first().map_or(0, Vec::len);
    let even = rows.iter().all(|row| row.len() == width);
    match name {
        "vmatrix" | "Vmatrix" if even => {
            Ok((rest, Expr::Call(Function::Det, vec![Expr::Matrix(rows)])))
        }
        _ if piecewise => Ok((rest, Expr::Cases(rows))),
        _ if name.contains("matrix")
            || name.starts_with("array")
            || name.starts_with("tabular") =>
        {
            if !name.contains("matrix")
                && let [row] = rows.as_mut_slice()
                && row.len() == 1
                && let Some(cell) = row.pop()
            {
                // An array of one cell is layout.
                Ok((rest, cell))
            } else if even {
                Ok((rest, Expr::Matrix(rows)))
            } else {
                Ok((rest, Expr::Cases(rows)))
            }
        }
        _ => no_parse(),
    }
}

/// One cell: a statement, in piecewise definitions with words before it.
fn cell<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let mut rest = input;
    // `\text{if } x > 0`
    if let Some(Kind::Text(text)) = rest.first()
        && matches!(
            text.to_lowercase().as_str(),
            "if" | "for" | "when" | "where"
        )
    {
        rest = rest.skip(1);
    } else if let Some(Kind::Word("if" | "for" | "when" | "where")) = rest.first() {
        rest = rest.skip(1);
    }
    statement(rest)
}
