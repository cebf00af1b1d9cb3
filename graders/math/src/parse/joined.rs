//! Pieces of an answer as one: a list, a union of sets, a value with its condition, groups of
//! solutions.

use super::answer::Join;
use super::condition::{enumerates, is_restriction};
use crate::tree::{Condition, End, Expr, Function, Relation, SetOp};

fn with_condition(value: Expr, condition: Expr) -> Expr {
    Expr::Where(Box::new(value), Box::new(Condition::of(condition)))
}

/// The variable of a side of a condition: `x`, `|x|`.
fn variable(side: &Expr) -> Option<&Expr> {
    match side {
        Expr::Symbol(_) => Some(side),
        Expr::Call(Function::Abs, items) => items.iter().find_map(variable),
        _ => None,
    }
}

/// Whether a piece restricts a variable of the piece before it: `y = x^2 + 1, x > 0`, `x = 5, x >
/// 0`.
fn is_condition(first: &Expr, piece: &Expr) -> bool {
    let Expr::Chain(sides, relations) = piece else {
        return false;
    };
    let Some(subject) = sides.iter().find_map(variable) else {
        return false;
    };
    let is_set = |side: &Expr| matches!(side, Expr::Bracket(..) | Expr::SetOp(..));
    let restricts = relations.iter().all(|relation| is_restriction(*relation))
        && (!relations.contains(&Relation::In) || sides.last().is_some_and(is_set));
    // `x = x^2, x > 0` is an equation and an inequality.
    let defines_itself = match first {
        Expr::Chain(first, _) if first.first() == Some(subject) => {
            let [_, value] = first.as_slice() else {
                return false;
            };
            value.any(&|part| part == subject)
        }
        _ => false,
    };
    restricts && !defines_itself && first.any(&|part| part == subject)
}

/// Whether words say what kind of number a variable of a value is: `n is an odd integer`.
fn describes(value: &Expr, words: &str) -> bool {
    const KINDS: [&str; 14] = [
        "is",
        "an",
        "a",
        "any",
        "some",
        "odd",
        "even",
        "prime",
        "integer",
        "positive",
        "negative",
        "nonnegative",
        "natural",
        "number",
    ];
    let Some((name, rest)) = words.split_once(' ') else {
        return false;
    };
    rest.split(' ').all(|word| KINDS.contains(&word))
        && value.any(&|part| matches!(part, Expr::Symbol(own) if **own == *name))
}

/// Pieces as one answer.
pub(crate) fn joined(mut items: Vec<Expr>, joins: &[Join]) -> Option<Expr> {
    // Between statements logical operators are words; otherwise they form one formula.
    if joins
        .iter()
        .any(|join| matches!(join, Join::Wedge | Join::Vee))
    {
        if !items.iter().all(|item| matches!(item, Expr::Chain(..))) {
            let sign = joins.first().copied();
            let name = if sign == Some(Join::Wedge) {
                "and"
            } else {
                "or"
            };
            let one = joins.iter().all(|join| Some(*join) == sign);
            return one.then(|| Expr::Apply(name.into(), items));
        }
        let words: Vec<Join> = joins.iter().map(|join| join.as_word()).collect();
        return joined(items, &words);
    }
    if items.len() == 1 {
        return items.pop();
    }
    let joins = joins.get(..items.len() - 1).unwrap_or(joins);
    // `x = kπ, k ∈ ℤ`
    let domain = |item: &Expr| {
        matches!(item, Expr::Chain(sides, relations) if relations == &[Relation::In]
            && matches!(sides.last(), Some(Expr::Named(_))))
    };
    if items.last().is_some_and(domain)
        && !items.first().is_some_and(domain)
        && let Some(condition) = items.pop()
    {
        // `x = kπ, k ∈ ℤ or x = π/4 + kπ, k ∈ ℤ`
        let mut joins = joins.to_vec();
        while let Some(at) = items.iter().rposition(|item| *item == condition) {
            items.remove(at);
            let before = at.checked_sub(1).filter(|before| *before < joins.len());
            joins.remove(before?);
        }
        let rest = joined(items, &joins)?;
        return Some(with_condition(rest, condition));
    }
    // `a_n = 2n + 1 for n = 1, 2, 3, …`: only the first value is in the condition.
    if let [Expr::Where(inner, condition), rest @ ..] = items.as_slice()
        && joins.iter().all(|join| *join == Join::Comma)
        && let Some((name, value)) = condition.split_once(" Equal ")
        && let Ok(value) = value.parse()
    {
        let first = Expr::Chain(
            vec![Expr::symbol(name), Expr::int(value)],
            vec![Relation::Equal],
        );
        let range: Vec<Expr> = [first].into_iter().chain(rest.iter().cloned()).collect();
        if enumerates(&range) {
            return Some(with_condition((**inner).clone(), Expr::List(range)));
        }
    }
    // `x = kπ, k = 0, ±1, ±2, …`
    if let Some(at) = enumeration(&items)
        && joins.iter().skip(at).all(|join| *join == Join::Comma)
    {
        let range = Expr::List(items.split_off(at));
        let rest = joined(items, joins.get(..at - 1).unwrap_or_default())?;
        return Some(with_condition(rest, range));
    }
    // `y = x^2 + 1, x > 0, x ≠ 1`: conditions on a variable of the first piece.
    if let [first, conditions @ ..] = items.as_slice()
        && !conditions.is_empty()
        && joins.iter().all(|join| *join == Join::Comma)
        && !matches!(first, Expr::Chain(_, relations) if !relations.contains(&Relation::Equal))
        && conditions
            .iter()
            .all(|condition| is_condition(first, condition))
    {
        let mut conditions = items.split_off(1);
        let condition = match conditions.pop() {
            Some(only) if conditions.is_empty() => only,
            last => Expr::List(conditions.into_iter().chain(last).collect()),
        };
        return Some(with_condition(items.pop()?, condition));
    }
    // `2^n, n is an odd integer`
    if let [first, Expr::Text(words)] = items.as_slice()
        && joins == [Join::Comma]
        && describes(first, words)
        && let Some(Expr::Text(words)) = items.pop()
    {
        let condition = Box::new(Condition::in_words(words.into()));
        return Some(Expr::Where(Box::new(items.pop()?), condition));
    }
    // `a = 1 or b = 2` does not give either name a value.
    let name = |item: &Expr| match item {
        Expr::Chain(sides, _) => sides.first().cloned(),
        _ => None,
    };
    let first = items.first().and_then(name);
    if joins.iter().all(|join| *join == Join::Or)
        && first.is_some()
        && items.iter().all(is_equation)
        && !items.iter().all(|item| name(item) == first)
    {
        return Some(Expr::SetOp(SetOp::Union, items));
    }
    // `x \ne 0, 1`
    if let Some(Expr::Chain(sides, relations)) = items.first()
        && relations == &[Relation::NotEqual]
        && let Some(subject) = sides.first().cloned()
        && items
            .iter()
            .skip(1)
            .all(|item| matches!(item, Expr::Number(_) | Expr::Product(_)))
    {
        let unequal = |value: Expr| match value {
            chain @ Expr::Chain(..) => chain,
            value => Expr::Chain(vec![subject.clone(), value], vec![Relation::NotEqual]),
        };
        return Some(Expr::SetOp(
            SetOp::Intersection,
            items.into_iter().map(unequal).collect(),
        ));
    }
    // `n ≡ 1, 2 (mod 4)`: the modulus applies to all values.
    if let Some((Expr::Call(Function::Residue, parts), before)) = items.split_last()
        && let Some(modulus) = parts.get(1).cloned()
        && let Some(first) = before.first()
    {
        let class = |value: Expr| Expr::Call(Function::Residue, vec![value, modulus.clone()]);
        let subject = match first {
            Expr::Chain(sides, relations) if relations == &[Relation::Congruent] => {
                sides.first().cloned()
            }
            _ => None,
        };
        let stated = |value: Expr| match &subject {
            Some(subject) => Expr::Chain(vec![subject.clone(), value], vec![Relation::Congruent]),
            None => value,
        };
        let bare = |item: &Expr| {
            matches!(
                item,
                Expr::Number(_) | Expr::Product(_) | Expr::PlusMinus { .. }
            )
        };
        let rest = before.get(1..).unwrap_or_default();
        if rest.iter().all(bare) && (subject.is_some() || bare(first)) {
            let all = items.iter().map(|item| match item {
                Expr::Chain(sides, _) => {
                    stated(class(sides.last().cloned().unwrap_or(Expr::Ellipsis)))
                }
                Expr::Call(Function::Residue, _) => stated(item.clone()),
                value => stated(class(value.clone())),
            });
            return Some(Expr::List(all.collect()));
        }
    }
    let describes_set = |item: &Expr| match item {
        Expr::Chain(_, relations) => relations.iter().any(|relation| {
            relation.is_order() || matches!(relation, Relation::In | Relation::NotEqual)
        }),
        Expr::SetBuilder(..) | Expr::SetOp(..) => true,
        _ => false,
    };
    if items.iter().any(describes_set) && joins.contains(&Join::Or) {
        let mut sets: Vec<Expr> = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            let with = at.checked_sub(1).and_then(|at| joins.get(at));
            match (with, sets.pop()) {
                (
                    Some(Join::And | Join::Comma),
                    Some(Expr::SetOp(SetOp::Intersection, mut all)),
                ) => {
                    all.push(item);
                    sets.push(Expr::SetOp(SetOp::Intersection, all));
                }
                (Some(Join::And | Join::Comma), Some(last)) => {
                    sets.push(Expr::SetOp(SetOp::Intersection, vec![last, item]));
                }
                (_, last) => {
                    sets.extend(last);
                    sets.push(item);
                }
            }
        }
        return Some(Expr::SetOp(SetOp::Union, sets));
    }
    if items.iter().all(describes_set) && joins.iter().all(|join| *join == Join::And) {
        return Some(Expr::SetOp(SetOp::Intersection, items));
    }
    // `a = 1, b = 4; a = 6, b = 3`: commas within a group, a stronger separator between groups.
    let strong = |join: &Join| *join != Join::Comma;
    let equations = items.iter().all(is_equation);
    let grouped = equations
        || joins
            .iter()
            .all(|join| matches!(join, Join::Comma | Join::Semicolon));
    if joins.iter().any(strong) && !joins.iter().all(strong) && grouped {
        let mut groups: Vec<Vec<Expr>> = vec![Vec::new()];
        for (at, item) in items.iter().enumerate() {
            if at > 0 && joins.get(at - 1).is_some_and(strong) {
                groups.push(Vec::new());
            }
            if let Some(group) = groups.last_mut() {
                group.push(item.clone());
            }
        }
        let width = groups.first().map_or(0, Vec::len);
        if width > 1 && groups.iter().all(|group| group.len() == width) {
            let tuple = |group| {
                if equations {
                    Expr::List(group)
                } else {
                    Expr::Bracket(End::Round, group, End::Round)
                }
            };
            return Some(Expr::List(groups.into_iter().map(tuple).collect()));
        }
    }
    // `a = 4, -8, -10` are values of a; nested lists become one list.
    let mut flat = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Expr::List(inner) => flat.extend(inner),
            other => flat.push(other),
        }
    }
    Some(Expr::List(flat))
}

/// The index of the item from which on the items are the values of an index in those before it.
fn enumeration(items: &[Expr]) -> Option<usize> {
    let at = items
        .iter()
        .rposition(|item| matches!(item, Expr::Chain(..)))?;
    let (before, range) = items.split_at(at);
    let Some(Expr::Chain(sides, _)) = range.first() else {
        return None;
    };
    let index = sides.first()?;
    let is_indexed = |item: &Expr| match item {
        Expr::Chain(sides, _) => sides
            .last()
            .is_some_and(|side| side.any(&|part| part == index)),
        other => other.any(&|part| part == index),
    };
    (at > 0 && enumerates(range) && before.iter().all(is_indexed)).then_some(at)
}

fn is_equation(item: &Expr) -> bool {
    matches!(item, Expr::Chain(_, relations) if relations.contains(&Relation::Equal))
}
