//! The answer of a text that does not mark one: bold text, display maths, or the last expression or
//! number. The words of the last sentence decide between several values.

use std::borrow::Cow;
use std::ops::Range;

use crate::characters::is_spaced;
use crate::maths_spans::{self, Span};
use crate::qualifiers::{self, Modifier};
use crate::rule::{Rule, RuleMatch};
use crate::tokens::{Lexed, TokenKind};
use crate::trim::tidy;
use crate::value_runs::{self, ValueRun};
use crate::word_roles::Joiner;
use crate::{asides, commitment, display, emphasis, main_clause};

/// Maximum number of words of a text that is an answer in words.
const MAX_WORDS: usize = 4;

/// The answer that a text concludes with.
pub(super) fn find(text: &str) -> Option<RuleMatch<'_>> {
    // A text that is one expression needs no interpretation. A short text whose words qualify its
    // value ("less than 7") is returned whole, before the search for values would return the 7.
    // Paragraphs are read from the last; "no solution" has no value and is read at the end.
    let text = asides::before_check(text);
    expression(text)
        .or_else(|| few_words(text).filter(|found| is_qualified(found.source)))
        .or_else(|| paragraphs(text).into_iter().rev().find_map(paragraph))
        .or_else(|| few_words(text).filter(|found| !is_refuted(found.source)))
}

/// The whole text, if it consists of one expression.
fn expression(text: &str) -> Option<RuleMatch<'_>> {
    let whole = text.trim();
    let closed = whole.strip_suffix(['.', '。']).unwrap_or(whole);
    if let [span] = maths_spans::spans(closed).as_slice()
        && span.start == 0
        && span.end == closed.len()
    {
        let (text, source) = display::answer(&closed[span.inner_start..span.inner_end])?;
        return Some(RuleMatch {
            text,
            source,
            rule: Rule::Whole,
        });
    }
    if whole.contains('\n') {
        return None;
    }
    let whole = tidy(whole);
    // Tokenising a long text to find out that it is prose would be wasted work.
    if starts_as_prose(whole) {
        return None;
    }
    let lexed = Lexed::read(whole);
    // "42?" asks.
    let closes = lexed.tokens.last()?.kind == TokenKind::Stop
        && !matches!(lexed.str(lexed.tokens.len() - 1), "?" | "？");
    let end = lexed.tokens.len() - usize::from(closes);
    let sign =
        qualifiers::is_detached_sign(&lexed, 0) || qualifiers::sign_word(&lexed, 1).is_some();
    if sign
        && value_runs::starts_value(&lexed, 1)
        && let Ok(run) = value_runs::run_at(&lexed, 1)
        && run.first == 1
        && run.end == end
    {
        let (text, source) = qualifiers::signed(&lexed, 0, run);
        return Some(RuleMatch {
            text,
            source,
            rule: Rule::Whole,
        });
    }
    if end > 0
        && value_runs::starts_value(&lexed, 0)
        && let Ok(run) = value_runs::run_at(&lexed, 0)
        && run.first == 0
        && run.end == end
        && run.strong
    {
        let (first, end) = value_runs::without_brackets(&lexed, 0, end);
        let (text, source) = value_runs::text(&lexed, first, end);
        return Some(RuleMatch {
            text,
            source,
            rule: Rule::Whole,
        });
    }
    // A text without blanks and with a relation is a formula even if words are attached to it:
    // "N(t)=4orN(t)=-9".
    let formula = !whole.contains(|c: char| c.is_whitespace() || c == '$' || !is_spaced(c))
        && whole.contains('=')
        && whole.contains(|c: char| c.is_ascii_digit())
        && longest_word(whole) <= 3;
    formula.then(|| RuleMatch::slice(whole, Rule::Whole))
}

/// Whether the first bytes of a long text are more than one value, so that the rest need not be
/// read.
fn starts_as_prose(whole: &str) -> bool {
    const HEAD_BYTES: usize = 256;
    if whole.len() <= HEAD_BYTES {
        return false;
    }
    let mut end = HEAD_BYTES;
    while !whole.is_char_boundary(end) {
        end -= 1;
    }
    let lexed = Lexed::read(&whole[..end]);
    // The cut may have split a number, a command or a delimiter, which leaves up to two tokens
    // after the value.
    const MAX_SPLIT_TOKENS: usize = 2;
    let reaches = |first| match value_runs::run_at(&lexed, first) {
        Ok(run) => run.end,
        Err(read) => read,
    };
    !value_runs::starts_value(&lexed, 0) || reaches(0) + MAX_SPLIT_TOKENS < lexed.tokens.len()
}

/// Length of the longest word, in characters.
fn longest_word(text: &str) -> usize {
    text.split(|c: char| !c.is_alphabetic())
        .map(|word| word.chars().count())
        .max()
        .unwrap_or_default()
}

/// Paragraphs of `text`, separated by blank lines. Display maths is never split.
fn paragraphs(text: &str) -> Vec<&str> {
    let displays: Vec<Span> = maths_spans::spans(text)
        .into_iter()
        .filter(|span| span.display)
        .collect();
    let mut next_display = displays.iter().peekable();
    let mut blocks = Vec::new();
    let mut start = 0;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let end = offset + line.len();
        while next_display.next_if(|span| span.end <= offset).is_some() {}
        let inside = next_display.peek().is_some_and(|span| span.start < offset);
        if line.trim().is_empty() && !inside {
            blocks.push(&text[start..offset]);
            start = end;
        }
        offset = end;
    }
    blocks.push(&text[start..]);
    blocks.retain(|block| !block.trim().is_empty());
    blocks
}

/// The answer that a paragraph concludes with: bold, display maths or the last value, in this
/// order. Bold text is a deliberate emphasis; the last value may be part of a remark.
fn paragraph(text: &str) -> Option<RuleMatch<'_>> {
    if !text.contains(|c: char| {
        c.is_numeric() || "$\\=<>+-−*/^|≤≥≠≈∞∅∪∈".contains(c) || c > '\u{370}' && !c.is_alphabetic()
    }) {
        return None;
    }
    let lexed = Lexed::read(text);
    let runs: Vec<ValueRun> = value_runs::runs(&lexed)
        .into_iter()
        .filter(|run| run.strong)
        .filter_map(|run| commitment::asserted(&lexed, run))
        .collect();
    let runs = asides::without_asides(&lexed, runs);
    bold(&lexed, &runs)
        .or_else(|| displayed(&lexed, &runs))
        .or_else(|| last_value(&lexed, &runs))
}

/// The last bold value of a paragraph.
fn bold<'a>(lexed: &Lexed<'a>, runs: &[ValueRun]) -> Option<RuleMatch<'a>> {
    let bold_ranges: Vec<_> = emphasis::bold(lexed.text)
        .into_iter()
        .map(|bold| super::slices::byte_range(lexed.text, bold))
        .collect();
    bold_ranges.iter().rev().find_map(|range| {
        let from = runs.partition_point(|run| lexed.tokens[run.end - 1].end <= range.start);
        let to = runs.partition_point(|run| lexed.tokens[run.first].start < range.end);
        let inside = runs.get(from..to).filter(|inside| !inside.is_empty())?;
        let run = main_clause::last_before_subordinate(lexed, inside).or(inside.last().copied())?;
        let found = final_value(
            lexed,
            previous(runs, run),
            emphasized(lexed, run, &bold_ranges),
        )?;
        Some(RuleMatch {
            rule: Rule::Bold,
            ..found
        })
    })
}

/// The bold part of a run. The whole run, if it offers alternatives ("**5** or 6") or if all its
/// values are bold.
fn emphasized(lexed: &Lexed<'_>, run: ValueRun, bold_ranges: &[Range<usize>]) -> ValueRun {
    let is_bold = |at: usize| {
        let token = &lexed.tokens[at];
        let next = bold_ranges.partition_point(|range| range.end < token.end);
        bold_ranges
            .get(next)
            .is_some_and(|range| range.start <= token.start)
    };
    let value = |at: &usize| {
        matches!(
            lexed.tokens[*at].kind,
            TokenKind::Number | TokenKind::Maths | TokenKind::Command
        )
    };
    let offers = (run.first..run.end)
        .any(|at| value_runs::joiner_at(lexed, run.first, at) == Some(Joiner::Or));
    let mut bold = (run.first..run.end).filter(|at| is_bold(*at)).peekable();
    let Some(first) = bold.peek().copied().filter(|_| !offers) else {
        return run;
    };
    // The bold part may end with an operator or a joiner, which is dropped.
    let operand = |at: &usize| {
        !matches!(
            lexed.tokens[*at].kind,
            TokenKind::Operator | TokenKind::Relation | TokenKind::Separator | TokenKind::Open
        ) && value_runs::joiner_at(lexed, run.first, *at).is_none()
    };
    match bold.rfind(operand) {
        Some(last) if !(run.first..run.end).filter(value).all(is_bold) => ValueRun {
            first,
            end: last + 1,
            strong: true,
        },
        _ => run,
    }
}

/// The last display maths of a paragraph, unless a conclusion in words follows it: "Therefore there
/// are 12".
fn displayed<'a>(lexed: &Lexed<'a>, runs: &[ValueRun]) -> Option<RuleMatch<'a>> {
    let span = maths_spans::spans(lexed.text)
        .into_iter()
        .rfind(|span| span.display)?;
    let at = lexed
        .tokens
        .partition_point(|token| token.start < span.start);
    let concludes =
        |at: usize| lexed.kind(at) == Some(TokenKind::Word) && lexed.roles(at).conclusion();
    if (at + 1..lexed.tokens.len()).any(concludes) && runs.last().is_some_and(|run| run.first > at)
    {
        return None;
    }
    let (text, source) = match qualifiers::modifier_before(lexed, at) {
        Modifier::Denied => return None,
        Modifier::Qualified(start) => {
            let end = lexed.tokens[at].end;
            let source = &lexed.text[lexed.tokens[start].start..end];
            (Cow::Borrowed(source), source)
        }
        Modifier::None => match qualifiers::sign_word(lexed, at) {
            Some(sign) => qualifiers::signed(
                lexed,
                sign,
                ValueRun {
                    first: at,
                    end: at + 1,
                    strong: true,
                },
            ),
            None => display::answer(&lexed.text[span.inner_start..span.inner_end])?,
        },
    };
    Some(RuleMatch {
        text,
        source,
        rule: Rule::DisplayMath,
    })
}

/// The last value of a paragraph.
fn last_value<'a>(lexed: &Lexed<'a>, runs: &[ValueRun]) -> Option<RuleMatch<'a>> {
    let run = main_clause::last_before_subordinate(lexed, runs).or(runs.last().copied())?;
    final_value(lexed, previous(runs, run), run)
}

/// The run before `run`.
fn previous(runs: &[ValueRun], run: ValueRun) -> Option<ValueRun> {
    let at = runs.partition_point(|other| other.first < run.first);
    runs[..at].last().copied()
}

/// A run in prose as the answer, without the steps that lead to it.
fn final_value<'a>(
    lexed: &Lexed<'a>,
    previous: Option<ValueRun>,
    run: ValueRun,
) -> Option<RuleMatch<'a>> {
    let found = value_with_words(lexed, previous, run)?;
    let rule = found.rule;
    let offered = commitment::offer(lexed, run, &found);
    Some(offered.map_or(found, |both| RuleMatch { rule, ..both }))
}

/// A run with the sign or the words that belong to it.
fn value_with_words<'a>(
    lexed: &Lexed<'a>,
    previous: Option<ValueRun>,
    run: ValueRun,
) -> Option<RuleMatch<'a>> {
    if let Some(start) = qualifiers::qualifier_start(lexed, previous, run) {
        return Some(qualifiers::whole_clause(
            lexed,
            start,
            run,
            Rule::LastExpression,
        ));
    }
    let (first, end) = main_clause::answer_part(lexed, run);
    let end = value_runs::without_count(lexed, first, end);
    if first == run.first
        && let Some(sign) = qualifiers::sign_word(lexed, first)
    {
        let (text, source) = qualifiers::signed(
            lexed,
            sign,
            ValueRun {
                first,
                end,
                strong: true,
            },
        );
        return Some(RuleMatch {
            text,
            source,
            rule: Rule::LastNumber,
        });
    }
    let (first, end) = value_runs::without_brackets(lexed, first, end);
    let (text, source) = value_runs::text(lexed, first, end);
    let number = lexed.tokens[first..end].iter().all(|token| {
        !matches!(
            token.kind,
            TokenKind::Maths
                | TokenKind::Command
                | TokenKind::Name
                | TokenKind::Relation
                | TokenKind::Open
        )
    });
    Some(RuleMatch {
        text,
        source,
        rule: if number {
            Rule::LastNumber
        } else {
            Rule::LastExpression
        },
    })
}

/// Whether a short text refutes a value in it: "42 is wrong". "Not 42" is returned as written.
fn is_refuted(text: &str) -> bool {
    let lexed = Lexed::read(text);
    value_runs::runs(&lexed)
        .into_iter()
        .any(|run| run.strong && commitment::refutes(&lexed, run))
}

/// Whether the words of a short text qualify its value: "less than 7" is not 7.
fn is_qualified(text: &str) -> bool {
    let lexed = Lexed::read(text);
    value_runs::runs(&lexed)
        .into_iter()
        .any(|run| run.strong && qualifiers::qualifier_start(&lexed, None, run).is_some())
}

/// A text of one line and few words, as written: "Monday", "no solution". The number of the
/// question is removed: "7. B".
fn few_words(text: &str) -> Option<RuleMatch<'_>> {
    let whole = tidy(text);
    let numbered = whole.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_separated = |rest: &&str| rest.starts_with(' ') && numbered.len() < whole.len();
    let whole = numbered
        .strip_prefix(['.', ')'])
        .filter(is_separated)
        .map_or(whole, tidy);
    let words: usize = whole
        .split_whitespace()
        .take(MAX_WORDS + 1)
        .map(|word| {
            // In scripts without blanks two characters count as one word.
            let wide = word
                .chars()
                .filter(|c| *c >= '\u{2e80}')
                .take(2 * MAX_WORDS + 1)
                .count();
            if wide > 0 { wide.div_ceil(2) } else { 1 }
        })
        .sum();
    let has_content = whole.contains(char::is_alphanumeric);
    (has_content && words <= MAX_WORDS && !whole.contains(['\n', '$', '\\', '<']))
        .then(|| RuleMatch::slice(whole, Rule::Whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Rule) {
        find(text)
            .map(|found| (found.text.into_owned(), found.rule))
            .unwrap()
    }

    #[test]
    fn uses_whole_text_if_it_is_an_expression() {
        for text in [
            "3+2",
            "x = 3",
            "-15",
            "9^9^9",
            "8 = 7",
            "(0, 1]",
            "N(t)=4orN(t)=-9",
            "1 1/2",
            "6,15",
        ] {
            assert_eq!(read(text), (text.to_owned(), Rule::Whole));
        }
        assert_eq!(read("$2^5 = 32$.").0, "2^5 = 32");
        assert_eq!(read("[90]").0, "90");
        assert_eq!(read("no solution.").0, "no solution");
        let long = "1".repeat(100_000);
        assert_eq!(read(&long).0, long);
    }

    #[test]
    fn prefers_bold_values_of_the_last_paragraph() {
        assert_eq!(
            read("We add 5.\n\nSo she has **12 feet** of 20 left."),
            ("12 feet".into(), Rule::Bold)
        );
        assert_eq!(read("**Step 3:** there are 7 of them.").0, "7");
    }

    #[test]
    fn prefers_display_maths_unless_a_conclusion_follows() {
        assert_eq!(
            read("Thus\n\\[ x = 5 \\]\nfor all n > 1."),
            ("x = 5".into(), Rule::DisplayMath)
        );
        assert_eq!(
            read("Thus\n$$ x = 5 $$\nTherefore there are 12 of them.").0,
            "12"
        );
        assert_eq!(
            read("so \\begin{align*} a &= 2 \\\\ &= 3 + 4 \\end{align*}").0,
            "3 + 4"
        );
    }

    #[test]
    fn keeps_unit_name_and_list_of_the_last_value() {
        for (text, answer) in [
            (
                "donc 310 g - 46 g = 264 g. Il lui reste ainsi 46 g de sucre.",
                "46\\text{ g}",
            ),
            ("the final cost is 95 - 18 = 77", "77"),
            ("it is 2,418.36€ in all", "2,418.36€"),
            ("so the share is 11/46", "11/46"),
            ("which gives $x \\geq 5$ as wanted.", "x \\geq 5"),
            ("therefore x = 5.", "x = 5"),
            ("There are 14 tulips and 6 roses", "14 tulips and 6 roses"),
            ("it must be 41 or 42 then", "41 or 42"),
            ("所以一共有4 + 8 = 12本书。", "12"),
            ("Loyer : 6,15 $ a..", "6,15 $"),
            ("There are 7 left because 10 - 3 = 7 and 4 + 3 = 7.", "7"),
            ("In 2020, 5 people came.", "5"),
        ] {
            assert_eq!(read(text).0, answer, "{text}");
        }
    }

    #[test]
    fn applies_spelled_and_detached_signs() {
        for text in [
            "- 7",
            "− 7",
            "minus 7",
            "negative 7.",
            "So it fell to minus 7 in the end.",
            "x is negative 7",
        ] {
            assert_eq!(read(text).0, "-7", "{text}");
        }
        assert_eq!(read("so 10 minus 3 is 7").0, "7");
    }

    #[test]
    fn removes_number_of_the_question() {
        for (text, answer) in [
            ("7. B", "B"),
            ("12) Monday", "Monday"),
            ("7. 12", "12"),
            ("3) x = 5", "x = 5"),
        ] {
            assert_eq!(read(text).0, answer);
        }
    }

    #[test]
    fn keeps_qualifiers_of_short_texts() {
        for text in [
            "7 times 8",
            "7 to 8",
            "less than 7",
            "at most 7",
            "greater than 7",
            "at least 7",
            "cannot be 7",
            "never 7",
            "not 7",
            "anything except 7",
            "between 5 and 7",
        ] {
            assert_eq!(read(text), (text.to_owned(), Rule::Whole));
        }
    }

    #[test]
    fn ignores_denied_and_hypothetical_values() {
        for text in [
            "The answer cannot be 7.",
            "The answer is not 7.",
            "It can never be equal to 7 at all.",
            "It is clear that it is not **7** in all",
            "这个问题的答案不可能是7，这是很清楚的。",
            "So the answer is certainly not $$7$$",
            "So the answer is certainly not\n\\[ 7 \\]",
            "It is clear that if it is 7, nothing is left.",
        ] {
            assert!(find(text).is_none(), "{text}");
        }
        assert_eq!(read("It comes to 5, not 7").0, "5");
    }

    #[test]
    fn keeps_qualifiers_of_values() {
        for (text, phrase) in [
            ("So x is less than 7 here.", "less than 7 here"),
            ("We see that it is half of **7**.", "half of 7"),
            (
                "So it is 7 or more of them in the end.",
                "7 or more of them in the end",
            ),
            ("It then ranges from 5 to 7.", "5 to 7"),
            ("So it is at most $$7$$", "at most $$7$$"),
            ("所以它小于7，如上所示。", "所以它小于7"),
        ] {
            assert_eq!(read(text).0, phrase, "{text}");
        }
        for (text, answer) in [
            ("So she has 12 more than her sister has.", "12"),
            ("The least of all those greater than 5 is 7.", "7"),
            ("If it is 5 then 7 are left over.", "7"),
        ] {
            assert_eq!(read(text).0, answer, "{text}");
        }
    }

    #[test]
    fn uses_bold_part_of_a_list() {
        for (text, answer) in [
            ("So the roots are **5**, **6** and **7**.", "5, 6 and 7"),
            ("So she has **12** apples and 5 pears now.", "12"),
            ("So it must be **5** or 6 then.", "5 or 6"),
            ("So it all comes to 2 + 3 = **5**.", "5"),
            ("So it fell to minus **7** then.", "-7"),
        ] {
            assert_eq!(read(text), (answer.into(), Rule::Bold), "{text}");
        }
    }

    #[test]
    fn ignores_lone_variables() {
        assert_eq!(read("Thus there are 12 values of $B$.").0, "12");
    }
}
