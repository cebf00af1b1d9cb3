//! The first difference of two trees, for evidence. Does not decide equality.

use crate::budget::{Budget, Exhausted};
use crate::tree::Expr;
use crate::tree::charged::{identical, same_head};

/// Steps of the search; without a result the evidence has no difference.
const STEPS: u64 = 20_000;

/// Approximate length of each side, in bytes.
const MAX_SHOWN: usize = 100;

/// Maximum number of steps of a path.
const MAX_PATH: usize = 12;

/// A part in which two answers differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The way to the part from the whole, such as `component 2, exponent`.
    pub(crate) path: String,
    /// What the gold has there; empty if it has nothing.
    pub(crate) gold: String,
    /// What the answer has there; empty if it has nothing.
    pub(crate) answer: String,
}

/// The first part in which two normal forms differ; `None` if they differ as a whole or not at all.
/// Terms, factors and members are compared in any order.
pub(crate) fn first(gold: &Expr, answer: &Expr) -> Option<Difference> {
    if matches!(gold, Expr::Number(_)) || matches!(answer, Expr::Number(_)) {
        return None;
    }
    let budget = Budget::new(STEPS);
    let mut path = Vec::new();
    let found = descended(gold, answer, &mut path, &budget);
    let (gold, answer) = found.ok().filter(|_| !path.is_empty())?;
    Some(Difference {
        path: path.join(", "),
        gold,
        answer,
    })
}

/// The texts of the first different parts; `path` is extended by the way to them.
fn descended(
    gold: &Expr,
    answer: &Expr,
    path: &mut Vec<String>,
    budget: &Budget,
) -> Result<(String, String), Exhausted> {
    let here = || (gold.shown(MAX_SHOWN), answer.shown(MAX_SHOWN));
    if path.len() == MAX_PATH {
        return Ok(here());
    }
    match (gold, answer) {
        (Expr::Chain(a, a_relations), Expr::Chain(b, b_relations)) if a.len() == b.len() => {
            let relations = a_relations.iter().zip(b_relations);
            if let Some((at, (a, b))) = relations.enumerate().find(|(_, (a, b))| a != b) {
                path.push(format!("relation {}", at + 1));
                return Ok((format!("{a:?}"), format!("{b:?}")));
            }
        }
        (Expr::Quantity(a, a_unit), Expr::Quantity(b, b_unit)) if a_unit != b_unit => {
            // With different values the whole quantity differs.
            if !identical(a, b, budget)? {
                return Ok(here());
            }
            path.push("unit".to_owned());
            return Ok((cut(a_unit), cut(b_unit)));
        }
        (Expr::Where(a, a_condition), Expr::Where(b, b_condition))
            if a_condition != b_condition && identical(a, b, budget)? =>
        {
            path.push("condition".to_owned());
            return Ok((cut(a_condition), cut(b_condition)));
        }
        (Expr::Where(a, condition), b) if identical(a, b, budget)? => {
            path.push("condition".to_owned());
            return Ok((cut(condition), String::new()));
        }
        (a, Expr::Where(b, condition)) if identical(a, b, budget)? => {
            path.push("condition".to_owned());
            return Ok((String::new(), cut(condition)));
        }
        _ if !same_head(gold, answer) => return Ok(here()),
        _ => {}
    }
    let any_order = matches!(
        gold,
        Expr::Sum(_) | Expr::Product(_) | Expr::Set(_) | Expr::List(_) | Expr::SetOp(..)
    );
    if any_order {
        return unmatched(gold, answer, path, budget);
    }
    let both = gold.children().zip(answer.children());
    for (at, (a, b)) in both.enumerate() {
        if !identical(a, b, budget)? {
            path.push(label(gold, at));
            return descended(a, b, path, budget);
        }
    }
    let counts = (gold.children().count(), answer.children().count());
    if counts.0 != counts.1 {
        path.push("count".to_owned());
        return Ok((counts.0.to_string(), counts.1.to_string()));
    }
    Ok(here())
}

/// The parts that only one side has.
fn unmatched(
    gold: &Expr,
    answer: &Expr,
    path: &mut Vec<String>,
    budget: &Budget,
) -> Result<(String, String), Exhausted> {
    let mut missing: Vec<&Expr> = Vec::new();
    let mut extra: Vec<&Expr> = answer.children().collect();
    let all = gold.children().count();
    for part in gold.children() {
        let mut found = None;
        for (at, other) in extra.iter().enumerate() {
            if identical(part, other, budget)? {
                found = Some(at);
                break;
            }
        }
        match found {
            Some(at) => drop(extra.remove(at)),
            None => missing.push(part),
        }
    }
    if missing.len() == all {
        return Ok((gold.shown(MAX_SHOWN), answer.shown(MAX_SHOWN)));
    }
    path.push(label(gold, 0));
    if let ([a], [b]) = (missing.as_slice(), extra.as_slice()) {
        return descended(a, b, path, budget);
    }
    let joined = |parts: &[&Expr]| {
        let shown: Vec<String> = parts
            .iter()
            .take(4)
            .map(|part| part.shown(MAX_SHOWN))
            .collect();
        cut(&shown.join(", "))
    };
    Ok((joined(&missing), joined(&extra)))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The name of a child, which has a number where the order of children matters.
fn label(parent: &Expr, at: usize) -> String {
    let number = at + 1;
    match parent {
        Expr::Sum(_) => "term".to_owned(),
        Expr::Product(_) => "factor".to_owned(),
        Expr::Set(_) => "member".to_owned(),
        Expr::List(_) => "item".to_owned(),
        Expr::SetOp(..) => "set".to_owned(),
        Expr::Power(_) if at == 0 => "base".to_owned(),
        Expr::Power(_) => "exponent".to_owned(),
        Expr::Quantity(..) | Expr::Where(..) => "value".to_owned(),
        Expr::Chain(..) => format!("side {number}"),
        Expr::Call(..) | Expr::Apply(..) => format!("argument {number}"),
        Expr::Matrix(rows) | Expr::Cases(rows) => {
            let width = rows.first().map_or(1, Vec::len).max(1);
            format!("row {}, column {}", at / width + 1, at % width + 1)
        }
        _ => format!("component {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::fold;
    use crate::parse::read;

    fn between(gold: &str, answer: &str) -> Option<[String; 3]> {
        let tree = |text: &str| fold(&read(text).unwrap().expr, &Budget::default()).unwrap();
        let found = first(&tree(gold), &tree(answer))?;
        Some([found.path, found.gold, found.answer])
    }

    fn parts(path: &str, gold: &str, answer: &str) -> Option<[String; 3]> {
        Some([path, gold, answer].map(str::to_owned))
    }

    #[test]
    fn finds_the_first_part_that_differs() {
        assert_eq!(
            between("(1, 2, 3)", "(1, 5, 4)"),
            parts("component 2", "2", "5")
        );
        assert_eq!(
            between(r"\{1,2,3\}", r"\{3,1,4\}"),
            parts("member", "2", "4")
        );
        assert_eq!(
            between("x^2 + 3y", "3y + x^3"),
            parts("term, exponent", "2", "3")
        );
        assert_eq!(
            between(r"x \le 3", "x < 3"),
            parts("relation 1", "LessEqual", "Less")
        );
        assert_eq!(
            between(r"5\text{ cm}", r"5\text{ m}"),
            parts("unit", "cm", "m")
        );
        assert_eq!(between(r"\{1,2\}", r"\{1,2,3\}"), parts("member", "", "3"));
        let condition = "x NotEqual 3";
        assert_eq!(
            between(r"x+1, x\neq 3", "x+1"),
            parts("condition", condition, "")
        );
        assert_eq!(
            between(r"x+1, x\neq 3", r"x+1, x\neq 4"),
            parts("condition", condition, "x NotEqual 4")
        );
        let matrix = [
            r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
            r"\begin{pmatrix}1&2\\5&4\end{pmatrix}",
        ];
        assert_eq!(
            between(matrix[0], matrix[1]),
            parts("row 2, column 1", "3", "5")
        );
    }

    #[test]
    fn different_wholes_have_no_part() {
        assert_eq!(between("7", "8"), None);
        assert_eq!(between("x+1", "(1,2)"), None);
        assert_eq!(between("x+1", "y+2"), None);
    }
}
