//! Runs: stretches of prose that are one value, an expression, or a list of values joined by words.
//! Chooses none of them.

use std::borrow::Cow;

use super::quantity;
use super::tokens::{Kind, Line};
use super::trim::tidy;
use super::words::Joiner;

/// Tokens `first..end` of a line that belong together as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: usize,
    pub(super) end: usize,
    /// It says a value, rather than only naming a variable or a point.
    pub(super) strong: bool,
}

/// Operators, brackets and joiners that may wait for an operand before a run gives up on them.
const MOST_WAITING: usize = 6;

/// All runs of `line`, in order.
pub(super) fn runs(line: &Line<'_>) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < line.tokens.len() {
        if !starts_value(line, at) {
            at += 1;
            continue;
        }
        match run_at(line, at) {
            Ok(run) => {
                at = run.end;
                runs.push(run);
            }
            Err(read) => at = read.max(at + 1),
        }
    }
    runs
}

/// Whether a run may start at a token.
pub(super) fn starts_value(line: &Line<'_>, at: usize) -> bool {
    let next = line.kind(at + 1);
    match line.kind(at) {
        Some(Kind::Number | Kind::Maths | Kind::Command | Kind::Open) => true,
        Some(Kind::Currency) => next == Some(Kind::Number),
        Some(Kind::Operator) => {
            matches!(line.str(at), "-" | "−" | "–" | "+" | "±" | "\\pm")
                && line.is_glued(at + 1)
                && matches!(
                    next,
                    Some(Kind::Number | Kind::Name | Kind::Command | Kind::Open | Kind::Currency)
                )
        }
        Some(Kind::Name) => {
            let name = line.str(at);
            let glued = line.is_glued(at + 1);
            is_constant(name)
                || match next {
                    Some(Kind::Operator | Kind::Relation) => true,
                    Some(Kind::Open | Kind::Number | Kind::Suffix) => glued,
                    _ => false,
                }
        }
        _ => false,
    }
}

/// The run that starts at a token, or how far was read in vain.
pub(super) fn run_at(line: &Line<'_>, first: usize) -> Result<Run, usize> {
    let mut walk = Walk {
        line,
        end: first,
        depth: 0,
        operand: false,
        unit: false,
        waiting: 0,
        joining: false,
    };
    let mut at = first;
    while at < line.tokens.len() && walk.takes(at) {
        at += 1;
    }
    let end = walk.end;
    if end == first {
        return Err(at);
    }
    let first = after_unmatched(line, first, end);
    if first >= end {
        return Err(at);
    }
    let end = without_count(line, first, end);
    Ok(Run {
        first,
        end,
        strong: is_strong(line, first, end),
    })
}

/// The end of a single value without the word for what it counts: "12 distinct" is 12, "12 feet"
/// and a list of things stay.
pub(super) fn without_count(line: &Line<'_>, first: usize, end: usize) -> usize {
    let list = lists(line, first, end);
    let words = (first..end)
        .rev()
        .take_while(|at| line.tokens[*at].kind == Kind::Word)
        .last()
        .unwrap_or(end);
    if list || words == first || words == end || line.roles(words).unit() {
        end
    } else {
        words
    }
}

/// Whether a separator or a joiner stands outside brackets.
fn lists(line: &Line<'_>, first: usize, end: usize) -> bool {
    let mut depth = 0usize;
    (first..end).any(|at| {
        match line.tokens[at].kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (line.tokens[at].kind == Kind::Separator || joined(line, first, at).is_some())
    })
}

/// Tokens `first..end` without round or square brackets around one value, which group nothing: "(35
/// + 70 = 105)", "\[90\]".
pub(super) fn without_brackets(line: &Line<'_>, first: usize, end: usize) -> (usize, usize) {
    let outer = end - first >= 3
        && line.kind(first) == Some(Kind::Open)
        && line.kind(end - 1) == Some(Kind::Close)
        && matches!(
            (line.str(first), line.str(end - 1)),
            ("(", ")") | ("[", "]")
        );
    let inside = first + 1..end.saturating_sub(1);
    let single = outer
        && !line.tokens[inside]
            .iter()
            .any(|token| matches!(token.kind, Kind::Open | Kind::Close | Kind::Separator));
    if single {
        (first + 1, end - 1)
    } else {
        (first, end)
    }
}

struct Walk<'a, 'b> {
    line: &'b Line<'a>,
    /// First token that is not part of the run yet.
    end: usize,
    depth: usize,
    /// The last token taken completes an operand.
    operand: bool,
    /// The operand has its unit.
    unit: bool,
    /// Tokens since `end` that need an operand to count.
    waiting: usize,
    /// A joiner is among them.
    joining: bool,
}

impl Walk<'_, '_> {
    fn commit(&mut self, at: usize, unit: bool) -> bool {
        self.end = at + 1;
        self.operand = true;
        self.unit = unit;
        self.waiting = 0;
        self.joining = false;
        true
    }

    fn wait(&mut self) -> bool {
        self.operand = false;
        self.unit = false;
        self.waiting += 1;
        self.waiting <= MOST_WAITING
    }

    /// Whether the run goes on with this token.
    fn takes(&mut self, at: usize) -> bool {
        let line = self.line;
        let glued = line.is_glued(at);
        match line.tokens[at].kind {
            Kind::Number => {
                let after = at.checked_sub(1).and_then(|before| line.kind(before));
                let juxtaposed =
                    self.operand && (self.unit || matches!(after, Some(Kind::Close | Kind::Maths)));
                !juxtaposed && self.commit(at, false)
            }
            Kind::Maths => !self.operand && self.commit(at, false),
            Kind::Command => !(self.operand && self.unit) && self.commit(at, false),
            Kind::Name => self.takes_name(at, glued),
            Kind::Word => self.takes_word(at),
            Kind::Operator | Kind::Relation => self.wait(),
            Kind::Separator => self.operand && self.wait(),
            Kind::Open => {
                let applied = at > 0 && line.kind(at - 1) == Some(Kind::Name);
                if self.operand && !glued && !applied {
                    return false;
                }
                self.depth += 1;
                self.operand = false;
                self.unit = false;
                true
            }
            Kind::Close if self.depth > 0 && self.operand => {
                self.depth -= 1;
                self.commit(at, false)
            }
            Kind::Currency if self.operand => {
                let prefixes = line.kind(at + 1) == Some(Kind::Number) && line.is_glued(at + 1);
                !prefixes && self.commit(at, true)
            }
            Kind::Currency => self.wait(),
            Kind::Suffix => self.operand && self.commit(at, self.unit),
            Kind::Close | Kind::Stop | Kind::Other => false,
        }
    }

    fn takes_name(&mut self, at: usize, glued: bool) -> bool {
        let line = self.line;
        let name = line.str(at);
        let roles = line.roles(at);
        if !self.operand || glued || is_constant(name) || roles.function() {
            return !(self.operand && self.unit) && self.commit(at, false);
        }
        // A lone letter after a value: "5 y 6" joins, "5 m" is a unit, "5 a day" goes on as prose.
        if roles.joiner().is_some() && starts_value(line, at + 1) {
            self.joining = true;
            return self.wait();
        }
        let unit = !self.unit && line.kind(at - 1) == Some(Kind::Number) && roles.unit();
        unit && self.commit(at, true)
    }

    fn takes_word(&mut self, at: usize) -> bool {
        let line = self.line;
        let word = line.str(at);
        let roles = line.roles(at);
        if roles.joiner().is_some() {
            // "5, or 6": a separator before a joiner says nothing more.
            let joins = self.operand
                || self.joining
                || at > 0 && line.kind(at - 1) == Some(Kind::Separator);
            self.joining = true;
            return joins && self.wait();
        }
        let parted = at > 0 && line.kind(at - 1) == Some(Kind::Separator);
        if roles.hedge() && self.joining || roles.guesses() && parted && self.waiting > 0 {
            self.joining = true;
            return self.wait();
        }
        let per = word == "per";
        let after_per = at > 0 && line.str(at - 1) == "per";
        if per && self.unit {
            return self.wait() && {
                // Waits for the word of "miles per hour" with its operand kept.
                self.operand = true;
                true
            };
        }
        let latin = word.chars().all(|c| c < '\u{250}');
        if !self.operand || !latin || roles.no_unit() || roles.verb() {
            return false;
        }
        let prefixed = self.unit && at > 0 && line.roles(at - 1).unit_prefix();
        if self.unit && !prefixed && !after_per {
            return false;
        }
        let before = at.checked_sub(1).and_then(|before| line.kind(before));
        let counted = matches!(
            before,
            Some(
                Kind::Number
                    | Kind::Suffix
                    | Kind::Maths
                    | Kind::Currency
                    | Kind::Command
                    | Kind::Close
            )
        );
        (counted || prefixed || after_per) && self.commit(at, true)
    }
}

/// First token after the last bracket in `first..end` that is never closed.
fn after_unmatched(line: &Line<'_>, first: usize, end: usize) -> usize {
    let mut open = Vec::new();
    for at in first..end {
        match line.tokens[at].kind {
            Kind::Open => open.push(at),
            Kind::Close => drop(open.pop()),
            _ => {}
        }
    }
    open.last().map_or(first, |at| at + 1)
}

fn is_constant(name: &str) -> bool {
    matches!(
        name,
        "π" | "∞"
            | "∅"
            | "√"
            | "∛"
            | "ℝ"
            | "ℤ"
            | "ℚ"
            | "ℕ"
            | "ℂ"
            | "φ"
            | "pi"
            | "infinity"
            | "sqrt"
            | "cbrt"
    )
}

fn is_strong(line: &Line<'_>, first: usize, end: usize) -> bool {
    let mut operands = 0;
    let mut operators = 0;
    for at in first..end {
        match line.tokens[at].kind {
            Kind::Number => return true,
            Kind::Maths | Kind::Command if says_value(line.inner(at)) => return true,
            Kind::Name if is_constant(line.str(at)) => return true,
            Kind::Maths | Kind::Command | Kind::Name => operands += 1,
            Kind::Operator | Kind::Relation => operators += 1,
            _ => {}
        }
    }
    operands >= 2 && operators >= 1
}

/// Whether a stretch of maths says a value: it holds a digit, a relation or a constant.
fn says_value(maths: &str) -> bool {
    maths.contains(|c: char| c.is_numeric() || "=<>≤≥≠∈∞∅π+".contains(c))
        || [
            "\\pi",
            "\\infty",
            "\\emptyset",
            "\\varnothing",
            "\\le",
            "\\ge",
            "\\in",
            "\\ne",
            "\\frac",
            "\\sqrt",
            "\\mathbb",
            "\\text",
        ]
        .iter()
        .any(|command| maths.contains(command))
}

/// Tokens `first..end` as one answer, and the source they were read from.
///
/// Maths loses its delimiters, emphasis is dropped, joiners of any language become ` and ` and ` or
/// `.
pub(super) fn text<'a>(line: &Line<'a>, first: usize, end: usize) -> (Cow<'a, str>, &'a str) {
    let tokens = &line.tokens[first..end];
    let source = &line.text[tokens[0].start..tokens[tokens.len() - 1].end];
    if tokens.len() == 1 {
        let inner = tidy(line.inner(first));
        return (Cow::Borrowed(inner), inner);
    }
    let plain = (first..end).all(|at| {
        let gap = if at > first {
            &line.text[line.tokens[at - 1].end..line.tokens[at].start]
        } else {
            ""
        };
        gap.trim().is_empty()
            && line.tokens[at].kind != Kind::Maths
            && joined(line, first, at).is_none()
            && quantity::unit(line, first, end, at).is_none()
    });
    if plain {
        let inner = tidy(source);
        return (Cow::Borrowed(inner), inner);
    }
    let mut answer = String::with_capacity(source.len());
    let mut after_joiner = false;
    let mut read = first;
    for at in first..end {
        let word = line.str(at);
        if at < read {
            continue;
        }
        if let Some((unit, next)) = quantity::unit(line, first, end, at) {
            answer.push_str(&unit);
            read = next;
            continue;
        }
        if let Some(joiner) = joined(line, first, at) {
            // "5, or 6": the comma before a joiner says nothing more.
            let kept = answer.trim_end_matches([',', ' ', '，', '、']).len();
            answer.truncate(kept);
            answer.push_str(joiner.as_str());
            after_joiner = true;
            continue;
        }
        if after_joiner && line.roles(at).hedge() {
            continue;
        }
        if at > first && !after_joiner {
            let gap = &line.text[line.tokens[at - 1].end..line.tokens[at].start];
            if gap.trim().is_empty() {
                answer.push_str(gap);
            } else if gap.contains(char::is_whitespace) {
                answer.push(' ');
            }
        }
        after_joiner = false;
        answer.push_str(match line.tokens[at].kind {
            Kind::Maths => tidy(line.inner(at)),
            _ => word,
        });
    }
    (Cow::Owned(answer), source)
}

/// The joiner a token is, in a run that starts at `first`.
pub(super) fn joined(line: &Line<'_>, first: usize, at: usize) -> Option<Joiner> {
    if at > first && line.roles(at).guesses() && line.kind(at - 1) == Some(Kind::Separator) {
        return Some(Joiner::Or);
    }
    let joins = match line.tokens[at].kind {
        Kind::Word => true,
        // A letter joins only between two values: elsewhere it is a variable, whatever it means in
        // Spanish.
        Kind::Name => {
            at > first
                && !line.is_glued(at)
                && starts_value(line, at + 1)
                && matches!(
                    line.kind(at - 1),
                    Some(
                        Kind::Number
                            | Kind::Maths
                            | Kind::Command
                            | Kind::Close
                            | Kind::Suffix
                            | Kind::Currency
                    )
                )
        }
        _ => false,
    };
    line.roles(at).joiner().filter(|_| joins && at > first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let line = Line::read(text);
        runs(&line)
            .into_iter()
            .filter(|run| run.strong)
            .map(|run| super::text(&line, run.first, run.end).0.into_owned())
            .collect()
    }

    #[test]
    fn a_value_keeps_sign_unit_and_currency() {
        assert_eq!(all("it fell to -5 degrees."), ["-5 degrees"]);
        assert_eq!(all("that is 12 square feet of it"), ["12 square feet"]);
        assert_eq!(all("runs at 5 miles per hour now"), ["5 miles per hour"]);
        assert_eq!(all("pays $1,200.50 for it"), ["$1,200.50"]);
        assert_eq!(all("pays 220 $ à payer"), ["220 $"]);
        assert_eq!(all("about 25% of them"), ["25%"]);
        assert_eq!(all("5 because of it"), ["5"]);
        assert_eq!(all("at 8:34 P.M. or so"), ["8:34 P.M."]);
        assert_eq!(all(r"is 0.\overline{3}."), [r"0.\overline{3}"]);
        assert_eq!(all("总共有99颗弹珠"), ["99"]);
    }

    #[test]
    fn an_expression_is_one_run() {
        assert_eq!(
            all("hence 3 + 4 * (5 - 2) = 15 holds"),
            ["3 + 4 * (5 - 2) = 15"]
        );
        assert_eq!(all("so x = -3/4."), ["x = -3/4"]);
        assert_eq!(all("gives 2 sqrt(3) now"), ["2 sqrt(3)"]);
        assert_eq!(all("the interval [0, 1) here"), ["[0, 1)"]);
        assert_eq!(all("1 1/2"), ["1 1/2"]);
        assert_eq!(all("in 4 (25%)"), ["4", "(25%)"]);
    }

    #[test]
    fn joined_values_are_one_run_with_their_joiner() {
        assert_eq!(all("either 41 or maybe 42."), ["41 or 42"]);
        assert_eq!(all("41, maybe 42"), ["41 or 42"]);
        assert_eq!(all("41 or it could be 42"), ["41 or 42"]);
        assert_eq!(all("$5$ oder $6$"), ["5 or 6"]);
        assert_eq!(all("son 5 y 6"), ["5 and 6"]);
        assert_eq!(all("5或6"), ["5 or 6"]);
        assert_eq!(all("$x=1$, $x=2$, and $x=3$."), ["x=1, x=2 and x=3"]);
        assert_eq!(all("x = 2 and y = 3"), ["x = 2 and y = 3"]);
        assert_eq!(all("**5**, **6** and **7**"), ["5, 6 and 7"]);
        assert_eq!(
            all("9 chickens and 10 rabbits"),
            ["9 chickens and 10 rabbits"]
        );
    }

    #[test]
    fn numbers_side_by_side_are_one_run() {
        assert_eq!(all("7 7 7 7"), ["7 7 7 7"]);
    }
}
