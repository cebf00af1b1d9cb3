//! Value runs: sequences of tokens that form one value, an expression, or a list of values joined
//! by words. Does not choose between them.

use std::borrow::Cow;

use crate::quantity;
use crate::tokens::{Lexed, TokenKind};
use crate::trim::tidy;
use crate::word_roles::Joiner;

/// The tokens `first..end`, which form one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValueRun {
    pub(super) first: usize,
    pub(super) end: usize,
    /// The run contains a value, as opposed to only the name of a variable or a point.
    pub(super) strong: bool,
}

/// Maximum number of pending tokens of a run between two operands: operators, separators and
/// joiners. It bounds the number of tokens that are read twice.
const MAX_PENDING: usize = 6;

/// All value runs of a text, in order.
pub(super) fn runs(lexed: &Lexed<'_>) -> Vec<ValueRun> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < lexed.tokens.len() {
        if !starts_value(lexed, at) {
            at += 1;
            continue;
        }
        match run_at(lexed, at) {
            Ok(run) => {
                at = run.end;
                runs.push(run);
            }
            Err(read) => at = read.max(at + 1),
        }
    }
    runs
}

/// Whether a value run may start at a token. This test is cheap and rejects nearly all tokens.
pub(super) fn starts_value(lexed: &Lexed<'_>, at: usize) -> bool {
    let next = lexed.kind(at + 1);
    match lexed.kind(at) {
        Some(TokenKind::Number | TokenKind::Maths | TokenKind::Command | TokenKind::Open) => true,
        // "$5", but not "5 $ per day", where the sign ends a value.
        Some(TokenKind::Currency) => next == Some(TokenKind::Number),
        // A sign is adjacent to its value. "- 7" may be an item of a list; callers that know better
        // use `qualifiers::is_detached_sign`.
        Some(TokenKind::Operator) => {
            matches!(lexed.str(at), "-" | "−" | "–" | "+" | "±" | "\\pm")
                && lexed.is_glued(at + 1)
                && matches!(
                    next,
                    Some(
                        TokenKind::Number
                            | TokenKind::Name
                            | TokenKind::Command
                            | TokenKind::Open
                            | TokenKind::Currency
                    )
                )
        }
        // A letter starts a value only if something is done with it: "x = 5", "x + 1", "f(2)",
        // "x²". Alone it may be a variable that the sentence mentions, or a word.
        Some(TokenKind::Name) => {
            let name = lexed.str(at);
            let glued = lexed.is_glued(at + 1);
            is_constant(name)
                || match next {
                    Some(TokenKind::Operator | TokenKind::Relation) => true,
                    Some(TokenKind::Open | TokenKind::Number | TokenKind::Suffix) => glued,
                    _ => false,
                }
        }
        _ => false,
    }
}

/// The value run that starts at a token. The error is the first token after those that were read
/// without finding a value.
pub(super) fn run_at(lexed: &Lexed<'_>, first: usize) -> Result<ValueRun, usize> {
    let mut builder = RunBuilder {
        lexed,
        end: first,
        depth: 0,
        operand: false,
        unit: false,
        pending: 0,
        pending_joiner: false,
    };
    let mut at = first;
    while at < lexed.tokens.len() && builder.accepts(at) {
        at += 1;
    }
    let end = builder.end;
    if end == first {
        return Err(at);
    }
    let first = after_unmatched(lexed, first, end);
    if first >= end {
        return Err(at);
    }
    let end = without_count(lexed, first, end);
    Ok(ValueRun {
        first,
        end,
        strong: is_strong(lexed, first, end),
    })
}

/// The end of a single value without the words for what it counts: "12 distinct" is 12. Units ("12
/// feet") and lists of things ("14 tulips and 6 roses") are kept.
pub(super) fn without_count(lexed: &Lexed<'_>, first: usize, end: usize) -> usize {
    let list = is_list(lexed, first, end);
    let words = (first..end)
        .rev()
        .take_while(|at| lexed.tokens[*at].kind == TokenKind::Word)
        .last()
        .unwrap_or(end);
    if list || words == first || words == end || lexed.roles(words).unit() {
        end
    } else {
        words
    }
}

/// A list without its last value and the marks and words that join it; `None` if the run is no list
/// of things that apply together.
pub(super) fn without_last(lexed: &Lexed<'_>, run: ValueRun) -> Option<ValueRun> {
    let mut depth = 0usize;
    let mut last = None;
    for at in run.first..run.end {
        match lexed.tokens[at].kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        let joiner = joiner_at(lexed, run.first, at);
        if joiner == Some(Joiner::Or) {
            return None;
        }
        let joins = lexed.tokens[at].kind == TokenKind::Separator || joiner.is_some();
        if depth == 0 && joins {
            last = Some(at);
        }
    }
    let mut end = last?;
    while end > run.first
        && (lexed.tokens[end - 1].kind == TokenKind::Separator
            || joiner_at(lexed, run.first, end - 1).is_some())
    {
        end -= 1;
    }
    (end > run.first)
        .then(|| ValueRun {
            first: run.first,
            end,
            strong: is_strong(lexed, run.first, end),
        })
        .filter(|run| run.strong)
}

/// Whether a run contains a separator or joiner outside brackets.
fn is_list(lexed: &Lexed<'_>, first: usize, end: usize) -> bool {
    let mut depth = 0usize;
    (first..end).any(|at| {
        match lexed.tokens[at].kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
            && (lexed.tokens[at].kind == TokenKind::Separator
                || joiner_at(lexed, first, at).is_some())
    })
}

/// Removes round or square brackets around a single value, where they group nothing: "(35 + 70 =
/// 105)", "\[90\]". Brackets around several values are an interval, a point or a list.
pub(super) fn without_brackets(lexed: &Lexed<'_>, first: usize, end: usize) -> (usize, usize) {
    let outer = end - first >= 3
        && lexed.kind(first) == Some(TokenKind::Open)
        && lexed.kind(end - 1) == Some(TokenKind::Close)
        && matches!(
            (lexed.str(first), lexed.str(end - 1)),
            ("(", ")") | ("[", "]")
        );
    let mut inside = first + 1..end.saturating_sub(1);
    // In "[-1,0]" the comma separates two values; in "[1,000]" it groups digits.
    let pair = |at: usize| {
        let after = lexed.str(at).split_once(',').map(|(_, after)| after);
        lexed.kind(at) == Some(TokenKind::Number) && after.is_some_and(|after| after.len() < 3)
    };
    let single = outer
        && !inside.any(|at| {
            matches!(
                lexed.tokens[at].kind,
                TokenKind::Open | TokenKind::Close | TokenKind::Separator
            ) || pair(at)
        });
    if single {
        (first + 1, end - 1)
    } else {
        (first, end)
    }
}

/// State of one run while its tokens are read.
struct RunBuilder<'a, 'b> {
    lexed: &'b Lexed<'a>,
    /// First token that is not part of the run so far.
    end: usize,
    depth: usize,
    /// The last accepted token completes an operand.
    operand: bool,
    /// The operand already has a unit.
    unit: bool,
    /// Tokens since `end` that are part of the run only if an operand follows.
    pending: usize,
    /// A joiner is among the pending tokens.
    pending_joiner: bool,
}

impl RunBuilder<'_, '_> {
    /// Accepts a token that completes an operand. Pending tokens become part of the run.
    fn commit(&mut self, at: usize, unit: bool) -> bool {
        self.end = at + 1;
        self.operand = true;
        self.unit = unit;
        self.pending = 0;
        self.pending_joiner = false;
        true
    }

    /// Accepts a token that needs an operand after it. Returns false if too many are pending.
    fn push_pending(&mut self) -> bool {
        self.operand = false;
        self.unit = false;
        self.pending += 1;
        self.pending <= MAX_PENDING
    }

    /// Whether the run continues with this token. Each kind below states when a run stops; the
    /// next value then starts a separate run.
    fn accepts(&mut self, at: usize) -> bool {
        let lexed = self.lexed;
        let glued = lexed.is_glued(at);
        match lexed.tokens[at].kind {
            TokenKind::Number => {
                let after = at.checked_sub(1).and_then(|before| lexed.kind(before));
                // "7 7 7" and "1 1/2" are one run. A number after a unit, a bracket or maths is a
                // new value: "5 km 3".
                let juxtaposed = self.operand
                    && (self.unit || matches!(after, Some(TokenKind::Close | TokenKind::Maths)));
                !juxtaposed && self.commit(at, false)
            }
            // "$5$ $6$" are two values unless something joins them.
            TokenKind::Maths => !self.operand && self.commit(at, false),
            // `2\pi` is a product; after a unit ("5 km \frac12") a command is a new value.
            TokenKind::Command => !(self.operand && self.unit) && self.commit(at, false),
            TokenKind::Name => self.accepts_name(at, glued),
            TokenKind::Word => self.accepts_word(at),
            // These need another operand: "12 -" at the end of a clause is 12.
            TokenKind::Operator | TokenKind::Relation => self.push_pending(),
            TokenKind::Separator => self.operand && self.push_pending(),
            TokenKind::Open => {
                // "2(3 + 4)" and "f (x)" continue; "4 (25%)" is a value and a remark.
                let applied = at > 0 && lexed.kind(at - 1) == Some(TokenKind::Name);
                if self.operand && !glued && !applied {
                    return false;
                }
                self.depth += 1;
                self.operand = false;
                self.unit = false;
                true
            }
            // A bracket that closes nothing belongs to the sentence.
            TokenKind::Close if self.depth > 0 && self.operand => {
                self.depth -= 1;
                self.commit(at, false)
            }
            TokenKind::Currency if self.operand => {
                // "220 $" has its sign after the value; in "5 $6" the sign belongs to the next
                // value.
                let prefixes =
                    lexed.kind(at + 1) == Some(TokenKind::Number) && lexed.is_glued(at + 1);
                !prefixes && self.commit(at, true)
            }
            TokenKind::Currency => self.push_pending(),
            TokenKind::Suffix => self.operand && self.commit(at, self.unit),
            TokenKind::Close | TokenKind::Stop | TokenKind::Other => false,
        }
    }

    /// [`RunBuilder::accepts`] for a name.
    fn accepts_name(&mut self, at: usize, glued: bool) -> bool {
        let lexed = self.lexed;
        let name = lexed.str(at);
        let roles = lexed.roles(at);
        let separated = at > 0 && lexed.kind(at - 1) == Some(TokenKind::Separator);
        if separated && is_remark(lexed, at) {
            return false;
        }
        // "3x", "x + y", "2 pi": part of the expression. After a unit a name starts something new.
        if !self.operand || glued || is_constant(name) || roles.function() {
            return !(self.operand && self.unit) && self.commit(at, false);
        }
        // A single letter after a value is a joiner ("5 y 6"), a unit ("5 m") or a word ("5 a
        // day"). The joiner is tested first because it needs the strongest context: a value after
        // it.
        if roles.joiner().is_some() && starts_value(lexed, at + 1) {
            self.pending_joiner = true;
            return self.push_pending();
        }
        let unit = !self.unit && lexed.kind(at - 1) == Some(TokenKind::Number) && roles.unit();
        if !self.unit && is_factor(lexed, at, unit) {
            return self.commit(at, false);
        }
        unit && self.commit(at, true)
    }

    /// [`RunBuilder::accepts`] for a word. The tests run from the words that join values to those
    /// that may be a unit; any other word ends the run.
    fn accepts_word(&mut self, at: usize) -> bool {
        let lexed = self.lexed;
        let word = lexed.str(at);
        let roles = lexed.roles(at);
        if roles.joiner().is_some() {
            // "5, or 6": a separator may precede the joiner.
            let joins = self.operand
                || self.pending_joiner
                || at > 0 && lexed.kind(at - 1) == Some(TokenKind::Separator);
            self.pending_joiner = true;
            return joins && self.push_pending();
        }
        // "5 or perhaps 6" and "5, maybe 6" offer alternatives.
        let after_separator = at > 0 && lexed.kind(at - 1) == Some(TokenKind::Separator);
        if roles.hedge() && self.pending_joiner
            || roles.guess() && after_separator && self.pending > 0
        {
            self.pending_joiner = true;
            return self.push_pending();
        }
        let per = word == "per";
        let after_per = at > 0 && lexed.str(at - 1) == "per";
        if per && self.unit {
            return self.push_pending() && {
                // The word after "per" is part of the unit: "miles per hour".
                self.operand = true;
                true
            };
        }
        // Only words of Latin script and powers of ten are read as units. Chinese and similar
        // scripts put counters and other words right after a number.
        let unit = word.chars().all(|c| c < '\u{250}') || roles.unit_prefix();
        if !self.operand || !unit || roles.never_unit() || roles.verb() || roles.denies_after() {
            return false;
        }
        // An operand has one unit, which may have several words: "square feet".
        let prefixed = self.unit && at > 0 && lexed.roles(at - 1).unit_prefix();
        if self.unit && !prefixed && !after_per {
            return false;
        }
        let before = at.checked_sub(1).and_then(|before| lexed.kind(before));
        let counted = matches!(
            before,
            Some(
                TokenKind::Number
                    | TokenKind::Suffix
                    | TokenKind::Maths
                    | TokenKind::Currency
                    | TokenKind::Command
                    | TokenKind::Close
            )
        );
        (counted || prefixed || after_per) && self.commit(at, true)
    }
}

/// Whether a remark of the writer starts at a token: "42, *I believe*".
pub(super) fn is_remark(lexed: &Lexed<'_>, at: usize) -> bool {
    let (Some(TokenKind::Name), Some(TokenKind::Word)) = (lexed.kind(at), lexed.kind(at + 1))
    else {
        return false;
    };
    match lexed.str(at) {
        "I" => lexed.roles(at + 1).joiner().is_none(),
        // Elsewhere `i` is the imaginary unit.
        "i" => matches!(
            lexed.str(at + 1),
            "think" | "believe" | "guess" | "suppose" | "hope"
        ),
        _ => false,
    }
}

/// The token after the last unclosed bracket of a run: in "(see 5" the value starts after the
/// bracket.
fn after_unmatched(lexed: &Lexed<'_>, first: usize, end: usize) -> usize {
    let mut open = Vec::new();
    for at in first..end {
        match lexed.tokens[at].kind {
            TokenKind::Open => open.push(at),
            TokenKind::Close => drop(open.pop()),
            _ => {}
        }
    }
    open.last().map_or(first, |at| at + 1)
}

/// Whether a small letter after a blank continues a product or is an argument: "-3 x + 15", "12 a
/// b", `\cos t`. The formula must continue or end with it: in "5 a day" it is a word. A letter that
/// may be a `unit` is a factor only if an operation follows.
fn is_factor(lexed: &Lexed<'_>, at: usize, unit: bool) -> bool {
    let name = lexed.str(at);
    let small = name.starts_with(|c: char| c.is_ascii_lowercase());
    let letter = small && (name.len() == 1 || name[1..].starts_with('_'));
    let next = lexed.kind(at + 1);
    let operates = matches!(next, Some(TokenKind::Operator | TokenKind::Relation))
        && !matches!(
            lexed.kind(at + 2),
            None | Some(TokenKind::Word | TokenKind::Stop)
        );
    let ends = matches!(
        next,
        None | Some(
            TokenKind::Stop
                | TokenKind::Separator
                | TokenKind::Close
                | TokenKind::Name
                | TokenKind::Command
        )
    );
    letter && (operates || ends && !unit)
}

/// Whether a name is a value on its own, or starts one.
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

/// Whether a run contains a value: a number, maths with a value, a constant, or an operation on at
/// least two operands. "$x$" and "A B" only name things.
fn is_strong(lexed: &Lexed<'_>, first: usize, end: usize) -> bool {
    let mut operands = 0;
    let mut operators = 0;
    for at in first..end {
        match lexed.tokens[at].kind {
            TokenKind::Number => return true,
            TokenKind::Maths | TokenKind::Command if contains_value(lexed.inner(at)) => {
                return true;
            }
            TokenKind::Name if is_constant(lexed.str(at)) => return true,
            TokenKind::Maths | TokenKind::Command | TokenKind::Name => operands += 1,
            TokenKind::Operator | TokenKind::Relation => operators += 1,
            _ => {}
        }
    }
    operands >= 2 && operators >= 1
}

/// Whether maths contains a value: a digit, a relation, a sum, a constant or a command that builds
/// a value.
fn contains_value(maths: &str) -> bool {
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

/// The tokens `first..end` as one answer, and the source they were read from.
///
/// Removes maths delimiters and emphasis. Joiners of any language become ` and ` and ` or `.
pub(super) fn text<'a>(lexed: &Lexed<'a>, first: usize, end: usize) -> (Cow<'a, str>, &'a str) {
    let tokens = &lexed.tokens[first..end];
    let source = &lexed.text[tokens[0].start..tokens[tokens.len() - 1].end];
    if tokens.len() == 1 {
        let inner = tidy(lexed.inner(first));
        return (Cow::Borrowed(inner), inner);
    }
    let plain = (first..end).all(|at| {
        let gap = if at > first {
            &lexed.text[lexed.tokens[at - 1].end..lexed.tokens[at].start]
        } else {
            ""
        };
        gap.trim().is_empty()
            && lexed.tokens[at].kind != TokenKind::Maths
            && joiner_at(lexed, first, at).is_none()
            && quantity::unit(lexed, first, end, at).is_none()
    });
    if plain {
        let inner = tidy(source);
        return (Cow::Borrowed(inner), inner);
    }
    let mut answer = String::with_capacity(source.len());
    let mut after_joiner = false;
    let mut read = first;
    for at in first..end {
        let word = lexed.str(at);
        if at < read {
            continue;
        }
        if let Some((unit, next)) = quantity::unit(lexed, first, end, at) {
            answer.push_str(&unit);
            read = next;
            continue;
        }
        if let Some(joiner) = joiner_at(lexed, first, at) {
            // "5, or 6" becomes "5 or 6".
            let length = answer.trim_end_matches([',', ' ', '，', '、']).len();
            answer.truncate(length);
            answer.push_str(joiner.as_str());
            after_joiner = true;
            continue;
        }
        if after_joiner && lexed.roles(at).hedge() {
            continue;
        }
        if at > first && !after_joiner {
            let gap = &lexed.text[lexed.tokens[at - 1].end..lexed.tokens[at].start];
            if gap.trim().is_empty() {
                answer.push_str(gap);
            } else if gap.contains(char::is_whitespace) {
                answer.push(' ');
            }
        }
        after_joiner = false;
        answer.push_str(match lexed.tokens[at].kind {
            TokenKind::Maths => tidy(lexed.inner(at)),
            _ => word,
        });
    }
    (Cow::Owned(answer), source)
}

/// The joiner that a token is in a run that starts at `first`; `None` if it is not a joiner.
pub(super) fn joiner_at(lexed: &Lexed<'_>, first: usize, at: usize) -> Option<Joiner> {
    if at > first && lexed.roles(at).guess() && lexed.kind(at - 1) == Some(TokenKind::Separator) {
        return Some(Joiner::Or);
    }
    let joins = match lexed.tokens[at].kind {
        TokenKind::Word => true,
        // A letter is a joiner only between two values. Elsewhere it is a variable, regardless of
        // its meaning in another language.
        TokenKind::Name => {
            at > first
                && !lexed.is_glued(at)
                && starts_value(lexed, at + 1)
                && matches!(
                    lexed.kind(at - 1),
                    Some(
                        TokenKind::Number
                            | TokenKind::Maths
                            | TokenKind::Command
                            | TokenKind::Close
                            | TokenKind::Suffix
                            | TokenKind::Currency
                    )
                )
        }
        _ => false,
    };
    lexed.roles(at).joiner().filter(|_| joins && at > first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let lexed = Lexed::read(text);
        runs(&lexed)
            .into_iter()
            .filter(|run| run.strong)
            .map(|run| super::text(&lexed, run.first, run.end).0.into_owned())
            .collect()
    }

    #[test]
    fn keeps_sign_unit_and_currency() {
        assert_eq!(all("it fell to -5 degrees."), ["-5 degrees"]);
        assert_eq!(all("that is 12 square feet of it"), ["12 square feet"]);
        assert_eq!(all("runs at 5 miles per hour now"), ["5 miles per hour"]);
        assert_eq!(all("pays $1,200.50 for it"), ["$1,200.50"]);
        assert_eq!(all("pays 185 $ à payer"), ["185 $"]);
        assert_eq!(all("about 25% of them"), ["25%"]);
        assert_eq!(all("5 because of it"), ["5"]);
        assert_eq!(all("at 8:34 P.M. or so"), ["8:34 P.M."]);
        assert_eq!(all(r"is 0.\overline{3}."), [r"0.\overline{3}"]);
        assert_eq!(all("总共有26支铅笔"), ["26"]);
    }

    #[test]
    fn reads_expression_as_one_run() {
        assert_eq!(
            all("hence 3 + 4 * (5 - 2) = 15 holds"),
            ["3 + 4 * (5 - 2) = 15"]
        );
        assert_eq!(all("so x = -3/4."), ["x = -3/4"]);
        assert_eq!(all("gives 2 sqrt(3) now"), ["2 sqrt(3)"]);
        assert_eq!(all("the interval [0, 1) here"), ["[0, 1)"]);
        assert_eq!(all("1 1/2"), ["1 1/2"]);
        assert_eq!(all("in 4 (25%)"), ["4", "(25%)"]);
        assert_eq!(all("the sum is 2($x + 1$)."), ["2(x + 1)"]);
    }

    #[test]
    fn reads_joined_values_as_one_run() {
        assert_eq!(all("either 41 or maybe 42."), ["41 or 42"]);
        assert_eq!(all("41, maybe 42"), ["41 or 42"]);
        assert_eq!(all("41 or it could be 42"), ["41 or 42"]);
        assert_eq!(all("$5$ oder $6$"), ["5 or 6"]);
        assert_eq!(all("son 5 y 6"), ["5 and 6"]);
        assert_eq!(all("5或6"), ["5 or 6"]);
        assert_eq!(all("$x=1$, $x=2$, and $x=3$."), ["x=1, x=2 and x=3"]);
        assert_eq!(all("x = 2 and y = 3"), ["x = 2 and y = 3"]);
        assert_eq!(all("**5**, **6** and **7**"), ["5, 6 and 7"]);
        assert_eq!(all("14 tulips and 6 roses"), ["14 tulips and 6 roses"]);
    }

    #[test]
    fn removes_words_for_what_a_value_counts() {
        assert_eq!(all("there are 12 distinct"), ["12"]);
        assert_eq!(all("at (2(3 + 4), 5) exactly"), ["(2(3 + 4), 5)"]);
        assert_eq!(
            all("2(3 + 4) tulips, 6 roses"),
            ["2(3 + 4) tulips, 6 roses"]
        );
    }

    #[test]
    fn reads_adjacent_numbers_as_one_run() {
        assert_eq!(all("7 7 7 7"), ["7 7 7 7"]);
    }
}
