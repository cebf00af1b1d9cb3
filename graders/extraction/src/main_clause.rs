//! Selects the answer among the values of a sentence: the value before a subordinate clause, and
//! the right side of a chain of equalities. Does not find values.

use crate::asides;
use crate::tokens::{Lexed, TokenKind};
use crate::value_runs::{self, ValueRun};
use crate::word_roles::Joiner;

/// The last value before a subordinate clause in the last sentence: 12 in "there are 12, because 3
/// times 4 is 12". `None` if there is no subordinate clause.
pub(super) fn last_before_subordinate(lexed: &Lexed<'_>, runs: &[ValueRun]) -> Option<ValueRun> {
    let last = runs.last()?;
    let start = (0..last.first)
        .rev()
        .find(|at| lexed.tokens[*at].kind == TokenKind::Stop)
        .map_or(0, |stop| stop + 1);
    // A word such as "therefore" starts a new clause, so "because" before it does not matter.
    let word = |at: &usize| lexed.tokens[*at].kind == TokenKind::Word;
    let start = (start..last.first)
        .rev()
        .filter(word)
        .find(|at| lexed.roles(*at).conclusion())
        .unwrap_or(start);
    let first = runs.iter().find(|run| run.first >= start)?;
    let clause = (first.end..last.first)
        .filter(word)
        .find(|at| lexed.roles(*at).subordinate() || asides::checks(lexed, *at))?;
    runs.iter().rfind(|run| run.end <= clause).copied()
}

/// The part of a run that is the answer, as a token range: the right side of a chain of equalities,
/// or the last of two values that are separated by a comma but not listed.
pub(super) fn answer_part(lexed: &Lexed<'_>, run: ValueRun) -> (usize, usize) {
    if let Some(last) = named_sum(lexed, run) {
        return (last, run.end);
    }
    let (mut first, end) = (run.first, run.end);
    let mut depth = 0usize;
    let mut relations = Vec::new();
    let mut commas = Vec::new();
    let mut joined = false;
    for at in first..end {
        match lexed.tokens[at].kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            TokenKind::Relation if depth == 0 => relations.push(at),
            TokenKind::Separator if depth == 0 => commas.push(at),
            TokenKind::Word | TokenKind::Name if depth == 0 => {
                joined |= value_runs::joiner_at(lexed, first, at).is_some();
            }
            _ => {}
        }
    }
    // "In 2020, 5 people came": one comma without a conjunction, in prose that announces no list,
    // separates two clauses. The second one has the answer.
    if !joined
        && let [comma] = commas.as_slice()
        && !introduces_list(lexed, first)
        && (lexed.tokens[*comma + 1..end]
            .iter()
            .any(|token| token.kind == TokenKind::Word)
            || follows_prose(lexed, end))
    {
        first = comma + 1;
        relations.retain(|at| *at > first);
        commas.clear();
    }
    // A list is returned as a whole.
    if joined || !commas.is_empty() {
        return (first, end);
    }
    let equalities = relations
        .iter()
        .all(|at| matches!(lexed.str(*at), "=" | "≈" | "\\approx" | "＝" | "=="));
    let Some(last) = relations.last().filter(|_| equalities) else {
        return (first, end);
    };
    // "95 - 18 = 77" is 77, but "x = 5" keeps its name. An inequality is returned as a whole.
    let symbolic = lexed.tokens[first..relations[0]].iter().any(|token| {
        matches!(
            token.kind,
            TokenKind::Name | TokenKind::Maths | TokenKind::Command
        )
    });
    if relations.len() == 1 && symbolic {
        (first, end)
    } else {
        (last + 1, end)
    }
}

/// The last equation of a run, if it names a sum of letters whose values the equations before it
/// give: `m + n = 42` after `m/n = 25/17` and "and".
fn named_sum(lexed: &Lexed<'_>, run: ValueRun) -> Option<usize> {
    let last = run
        .end
        .checked_sub(1)
        .filter(|last| *last > run.first + 1)?;
    let is_maths = |at: usize| lexed.kind(at) == Some(TokenKind::Maths);
    if !is_maths(last) || value_runs::joiner_at(lexed, run.first, last - 1) != Some(Joiner::And) {
        return None;
    }
    let (sum, _) = lexed.inner(last).split_once('=')?;
    let known = |name: &str| {
        let letter = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
        letter
            && (run.first..last).any(|at| {
                is_maths(at) && lexed.inner(at).contains('=') && lexed.inner(at).contains(name)
            })
    };
    let mut names = sum.split(['+', '-']).map(str::trim);
    (sum.contains('+') && names.all(known)).then_some(last)
}

/// Whether the token before a run introduces a list: "the roots are 2, 3".
fn introduces_list(lexed: &Lexed<'_>, first: usize) -> bool {
    first
        .checked_sub(1)
        .is_none_or(|before| match lexed.tokens[before].kind {
            TokenKind::Word => lexed.roles(before).verb(),
            TokenKind::Relation | TokenKind::Stop => true,
            TokenKind::Other => lexed.str(before) == ":",
            _ => false,
        })
}

/// Whether the sentence continues with a word after a run.
fn follows_prose(lexed: &Lexed<'_>, end: usize) -> bool {
    lexed.kind(end) == Some(TokenKind::Word)
}
