//! Which value of a clause is its point, and which part of that value: the main clause before a
//! subordinate one, the right side of a chain of numbers. Finds no values.

use super::runs::{self, Run};
use super::tokens::{Kind, Line};

/// The last value of the last sentence that stands before a subordinate clause about it.
pub(super) fn in_main_clause(line: &Line<'_>, runs: &[Run]) -> Option<Run> {
    let last = runs.last()?;
    let start = (0..last.first)
        .rev()
        .find(|at| line.tokens[*at].kind == Kind::Stop)
        .map_or(0, |stop| stop + 1);
    let word = |at: &usize| line.tokens[*at].kind == Kind::Word;
    let start = (start..last.first)
        .rev()
        .filter(word)
        .find(|at| line.roles(*at).conclusion())
        .unwrap_or(start);
    let first = runs.iter().find(|run| run.first >= start)?;
    let clause = (first.end..last.first)
        .filter(word)
        .find(|at| line.roles(*at).subordinate())?;
    runs.iter().rfind(|run| run.end <= clause).copied()
}

/// What of a run in prose is the answer: the right side of a chain of numbers, the last of two
/// values a comma happens to part.
pub(super) fn settled(line: &Line<'_>, run: Run) -> (usize, usize) {
    let (mut first, end) = (run.first, run.end);
    let mut depth = 0usize;
    let mut relations = Vec::new();
    let mut commas = Vec::new();
    let mut joined = false;
    for at in first..end {
        match line.tokens[at].kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            Kind::Relation if depth == 0 => relations.push(at),
            Kind::Separator if depth == 0 => commas.push(at),
            Kind::Word | Kind::Name if depth == 0 => {
                joined |= runs::joined(line, first, at).is_some()
            }
            _ => {}
        }
    }
    if !joined
        && let [comma] = commas.as_slice()
        && !introduces_list(line, first)
        && (line.tokens[*comma + 1..end]
            .iter()
            .any(|token| token.kind == Kind::Word)
            || follows_prose(line, end))
    {
        first = comma + 1;
        relations.retain(|at| *at > first);
        commas.clear();
    }
    if joined || !commas.is_empty() {
        return (first, end);
    }
    let equalities = relations
        .iter()
        .all(|at| matches!(line.str(*at), "=" | "≈" | "\\approx" | "＝" | "=="));
    let Some(last) = relations.last().filter(|_| equalities) else {
        return (first, end);
    };
    let symbolic = line.tokens[first..relations[0]]
        .iter()
        .any(|token| matches!(token.kind, Kind::Name | Kind::Maths | Kind::Command));
    if relations.len() == 1 && symbolic {
        (first, end)
    } else {
        (last + 1, end)
    }
}

/// Whether the word or mark before a run announces a list: "the roots are 2, 3".
fn introduces_list(line: &Line<'_>, first: usize) -> bool {
    first
        .checked_sub(1)
        .is_none_or(|before| match line.tokens[before].kind {
            Kind::Word => line.roles(before).verb(),
            Kind::Relation | Kind::Stop => true,
            Kind::Other => line.str(before) == ":",
            _ => false,
        })
}

/// Whether the sentence goes on after a run.
fn follows_prose(line: &Line<'_>, end: usize) -> bool {
    line.kind(end) == Some(Kind::Word)
}
