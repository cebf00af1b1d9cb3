//! Permutations as products of disjoint cycles: `(1 2 3)(4 5)`.

use crate::tree::{End, Expr};

/// Longest text that is read as cycles, in bytes.
const MAX_BYTES: usize = 400;

/// A permutation in its usual form: cycles of at least two numbers, each with its smallest number
/// first, in the order of these. `None` if a number occurs twice.
pub(super) fn permutation(text: &str) -> Option<Expr> {
    if text.len() > MAX_BYTES || !text.contains('(') {
        return None;
    }
    let mut plain = text.replace(['$', '\u{200b}'], "");
    for (layout, blank) in [
        ("\\left", ""),
        ("\\right", ""),
        ("\\ ", " "),
        ("\\,", " "),
        ("\\;", " "),
        ("~", " "),
    ] {
        plain = plain.replace(layout, blank);
    }
    let mut rest = plain.trim().trim_end_matches('.');
    let mut seen: Vec<u32> = Vec::new();
    let mut cycles: Vec<Vec<u32>> = Vec::new();
    while !rest.is_empty() {
        let (inner, after) = rest.strip_prefix('(')?.split_once(')')?;
        let mut cycle: Vec<u32> = inner
            .split_whitespace()
            .map(|number| number.parse().ok())
            .collect::<Option<_>>()?;
        seen.extend(&cycle);
        let least = cycle
            .iter()
            .enumerate()
            .min_by_key(|(_, number)| **number)?
            .0;
        cycle.rotate_left(least);
        cycles.push(cycle);
        rest = after.trim_start();
    }
    let moved = cycles.iter().any(|cycle| cycle.len() > 1);
    let given = seen.len();
    seen.sort_unstable();
    seen.dedup();
    if !moved || seen.len() != given {
        return None;
    }
    cycles.retain(|cycle| cycle.len() > 1);
    cycles.sort_unstable();
    let cycle = |numbers: Vec<u32>| {
        let numbers = numbers.into_iter().map(|number| Expr::int(number.into()));
        Expr::Bracket(End::Round, numbers.collect(), End::Round)
    };
    let cycles = cycles.into_iter().map(cycle).collect();
    Some(Expr::Apply("permutation".into(), cycles))
}
