//! Conditions that only say from where on an index runs: `n ≥ 1`, `n ∈ ℕ`, `n = 1, 2, 3, …`. They
//! do not restrict the term of a sequence.

use super::statement;
use crate::tree::{Constant, Expr};

/// Names of an index.
const INDICES: [&str; 8] = ["n", "k", "m", "i", "j", "l", "r", "N"];

/// Where an index begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    Zero,
    One,
    /// `ℕ`, with or without 0.
    Either,
}

impl Start {
    /// Whether both may be the same numbers.
    pub(super) fn agrees(self, other: Self) -> bool {
        self == other || self == Self::Either || other == Self::Either
    }
}

/// The index that a condition is about and where it begins; `None` for other conditions.
pub(super) fn range(condition: &str) -> Option<(&str, Start)> {
    let (first, rest) = condition.split_once(' ')?;
    let start = match rest {
        "GreaterEqual 1" | "Greater 0" | "In PositiveIntegers" => Start::One,
        "GreaterEqual 0" | "Greater -1" | "In NonnegativeIntegers" => Start::Zero,
        "In Naturals" => Start::Either,
        _ => match (rest, first) {
            (rest, "1") => return index(rest.strip_prefix("LessEqual ")?, Start::One),
            (rest, "0") => {
                let (relation, name) = rest.split_once(' ')?;
                return match relation {
                    "Less" => index(name, Start::One),
                    "LessEqual" => index(name, Start::Zero),
                    _ => None,
                };
            }
            _ => return enumerated(first, rest).or_else(|| in_words(condition)),
        },
    };
    index(first, start)
}

/// Whether a name is usually an index.
pub(super) fn is_index(name: &str) -> bool {
    INDICES.contains(&name)
}

fn index(name: &str, start: Start) -> Option<(&str, Start)> {
    is_index(name).then_some((name, start))
}

/// `n = 1, 2, 3, …`
fn enumerated<'a>(name: &'a str, rest: &str) -> Option<(&'a str, Start)> {
    let values = rest.strip_prefix("Equal ")?.strip_suffix(", …")?;
    let mut values = values.split(", ");
    let first: i64 = values.next()?.parse().ok()?;
    let counts = (first + 1..)
        .zip(values)
        .all(|(next, value)| value.parse() == Ok(next));
    let start = match first {
        0 => Start::Zero,
        1 => Start::One,
        _ => return None,
    };
    counts.then(|| index(name, start)).flatten()
}

/// `n is a positive integer`, `all natural numbers n`
fn in_words(condition: &str) -> Option<(&str, Start)> {
    const NOISE: [&str; 14] = [
        "is", "are", "be", "any", "all", "every", "each", "for", "where", "with", "when", "an",
        "integer", "integers",
    ];
    let (mut name, mut start) = (None, None);
    let mut counts = false;
    for word in condition.split(' ') {
        let found = match word {
            "positive" => Some(Start::One),
            "nonnegative" | "non-negative" => Some(Start::Zero),
            "natural" => Some(Start::Either),
            "number" | "numbers" => {
                counts = true;
                None
            }
            word if is_index(word) && name.is_none() => {
                name = Some(word);
                None
            }
            word if NOISE.contains(&word) => {
                counts |= word.starts_with("integer");
                None
            }
            _ => return None,
        };
        if found.is_some() && start.replace(found?).is_some() {
            return None;
        }
    }
    Some((name.filter(|_| counts)?, start?))
}

/// Whether a value is the term of a sequence with this index: `a_n = 2n + 1`, `f(n) = 2n`,
/// `2n + 1`, but not `x = 2n` and `nπ`, which are all values of a family.
pub(super) fn is_term(value: &Expr, name: &str) -> bool {
    let mentions =
        |expr: &Expr| expr.any(&|part| matches!(part, Expr::Symbol(own) if **own == *name));
    match value {
        Expr::Chain(sides, relations) => {
            let solved = statement::solved(sides, relations);
            solved.is_some_and(|solved| match solved.names {
                [Expr::Symbol(label)] => label.split_once("_{").is_some_and(|(_, index)| {
                    index
                        .split(|c: char| !c.is_alphabetic())
                        .any(|part| part == name)
                }),
                [Expr::Apply(_, items)] => items.iter().any(mentions),
                _ => false,
            })
        }
        value => {
            super::real_set::is_scalar(value)
                && mentions(value)
                && !value.any(&|part| *part == Expr::Constant(Constant::Pi))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Start, range};

    #[test]
    fn reads_ranges_of_an_index() {
        let cases = [
            ("n GreaterEqual 1", Some(("n", Start::One))),
            ("1 LessEqual k", Some(("k", Start::One))),
            ("0 Less n", Some(("n", Start::One))),
            ("n In Naturals", Some(("n", Start::Either))),
            ("n Equal 0, 1, 2, …", Some(("n", Start::Zero))),
            ("n is positive integer", Some(("n", Start::One))),
            ("n GreaterEqual 2", None),
            ("n LessEqual 1", None),
            ("x GreaterEqual 0", None),
            ("n Equal 1, 3, …", None),
            ("n Equal 1, 2, 3", None),
            ("n is odd positive integer", None),
            ("n is positive", None),
        ];
        for (condition, expected) in cases {
            assert_eq!(range(condition), expected, "{condition}");
        }
    }
}
