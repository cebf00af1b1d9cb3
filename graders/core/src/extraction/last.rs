//! The end of a text that marks no answer: bold text, display maths, the last expression or number.
//! What the words of the last sentence say about it decides between several numbers.

use std::borrow::Cow;
use std::ops::Range;

use super::maths_spans::{self, Span};
use super::qualify::{self, Before};
use super::runs::{self, Run};
use super::tokens::{Kind, Line};
use super::trim::tidy;
use super::words::Joiner;
use super::{Found, Rule, clause, display, emphasis};

/// Most words a text has that is an answer in words.
const MOST_WORDS: usize = 4;

/// The answer a text comes to.
pub(super) fn conclusion(text: &str) -> Option<Found<'_>> {
    expression(text)
        .or_else(|| few_words(text).filter(|found| is_qualified(found.source)))
        .or_else(|| paragraphs(text).into_iter().rev().find_map(paragraph))
        .or_else(|| few_words(text))
}

/// The whole text, where it is nothing but an expression.
fn expression(text: &str) -> Option<Found<'_>> {
    let whole = text.trim();
    let closed = whole.strip_suffix(['.', '。']).unwrap_or(whole);
    if let [span] = maths_spans::spans(closed).as_slice()
        && span.start == 0
        && span.end == closed.len()
    {
        let (text, source) = display::answer(&closed[span.inner_start..span.inner_end])?;
        return Some(Found {
            text,
            source,
            rule: Rule::Whole,
        });
    }
    if whole.contains('\n') {
        return None;
    }
    let whole = tidy(whole);
    if opens_as_prose(whole) {
        return None;
    }
    let line = Line::read(whole);
    let end = line.tokens.len() - usize::from(line.tokens.last()?.kind == Kind::Stop);
    let sign = qualify::sign_apart(&line, 0) || qualify::sign_word(&line, 1).is_some();
    if sign
        && runs::starts_value(&line, 1)
        && let Ok(run) = runs::run_at(&line, 1)
        && run.first == 1
        && run.end == end
    {
        let (text, source) = qualify::signed(&line, 0, run);
        return Some(Found {
            text,
            source,
            rule: Rule::Whole,
        });
    }
    if end > 0
        && runs::starts_value(&line, 0)
        && let Ok(run) = runs::run_at(&line, 0)
        && run.first == 0
        && run.end == end
        && run.strong
    {
        let (first, end) = runs::without_brackets(&line, 0, end);
        let (text, source) = runs::text(&line, first, end);
        return Some(Found {
            text,
            source,
            rule: Rule::Whole,
        });
    }
    // Written without blanks, and with a relation in it, a text is a formula even where its words
    // are glued to it.
    let formula = !whole.contains(char::is_whitespace)
        && whole.contains('=')
        && whole.contains(|c: char| c.is_ascii_digit())
        && longest_word(whole) <= 3;
    formula.then(|| Found::slice(whole, Rule::Whole))
}

/// Whether the first bytes of a long text are more than one value, so that the rest need not be
/// read.
fn opens_as_prose(whole: &str) -> bool {
    const OPENING: usize = 256;
    if whole.len() <= OPENING {
        return false;
    }
    let mut end = OPENING;
    while !whole.is_char_boundary(end) {
        end -= 1;
    }
    let line = Line::read(&whole[..end]);
    // The cut may have halved a number, a command or a delimiter; then the opening is one value as
    // far as it goes.
    const HALVED: usize = 2;
    let reaches = |first| match runs::run_at(&line, first) {
        Ok(run) => run.end,
        Err(read) => read,
    };
    !runs::starts_value(&line, 0) || reaches(0) + HALVED < line.tokens.len()
}

fn longest_word(text: &str) -> usize {
    text.split(|c: char| !c.is_alphabetic())
        .map(|word| word.chars().count())
        .max()
        .unwrap_or_default()
}

/// Blocks of `text` parted by blank lines; display maths is never parted.
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

/// The answer a paragraph comes to.
fn paragraph(text: &str) -> Option<Found<'_>> {
    if !text.contains(|c: char| {
        c.is_numeric() || "$\\=<>+-−*/^|≤≥≠≈∞∅∪∈".contains(c) || c > '\u{370}' && !c.is_alphabetic()
    }) {
        return None;
    }
    let line = Line::read(text);
    let said = |run: &Run| {
        run.strong
            && qualify::before(&line, run.first) != Before::Denied
            && !qualify::supposed(&line, run.first)
    };
    let runs: Vec<Run> = runs::runs(&line).into_iter().filter(said).collect();
    bold(&line, &runs)
        .or_else(|| displayed(&line, &runs))
        .or_else(|| last_value(&line, &runs))
}

/// The last bold value of a paragraph.
fn bold<'a>(line: &Line<'a>, runs: &[Run]) -> Option<Found<'a>> {
    let places: Vec<_> = emphasis::bold(line.text)
        .into_iter()
        .map(|bold| super::place(line.text, bold))
        .collect();
    places.iter().rev().find_map(|place| {
        let from = runs.partition_point(|run| line.tokens[run.end - 1].end <= place.start);
        let to = runs.partition_point(|run| line.tokens[run.first].start < place.end);
        let inside = runs.get(from..to).filter(|inside| !inside.is_empty())?;
        let run = clause::in_main_clause(line, inside).or(inside.last().copied())?;
        let found = concluded(line, previous(runs, run), emphasized(line, run, &places))?;
        Some(Found {
            rule: Rule::Bold,
            ..found
        })
    })
}

/// What of a run in prose is bold: all of it where it offers alternatives or each of its values is
/// bold.
fn emphasized(line: &Line<'_>, run: Run, places: &[Range<usize>]) -> Run {
    let is_bold = |at: usize| {
        let token = &line.tokens[at];
        let next = places.partition_point(|place| place.end < token.end);
        places
            .get(next)
            .is_some_and(|place| place.start <= token.start)
    };
    let value = |at: &usize| {
        matches!(
            line.tokens[*at].kind,
            Kind::Number | Kind::Maths | Kind::Command
        )
    };
    let offers =
        (run.first..run.end).any(|at| runs::joined(line, run.first, at) == Some(Joiner::Or));
    let mut bold = (run.first..run.end).filter(|at| is_bold(*at)).peekable();
    let Some(first) = bold.peek().copied().filter(|_| !offers) else {
        return run;
    };
    // What the marks cut off may leave an operator or a joiner behind.
    let operand = |at: &usize| {
        !matches!(
            line.tokens[*at].kind,
            Kind::Operator | Kind::Relation | Kind::Separator | Kind::Open
        ) && runs::joined(line, run.first, *at).is_none()
    };
    match bold.rfind(operand) {
        Some(last) if !(run.first..run.end).filter(value).all(is_bold) => Run {
            first,
            end: last + 1,
            strong: true,
        },
        _ => run,
    }
}

/// Display maths at the end of a paragraph, unless a conclusion in words follows it.
fn displayed<'a>(line: &Line<'a>, runs: &[Run]) -> Option<Found<'a>> {
    let span = maths_spans::spans(line.text)
        .into_iter()
        .rfind(|span| span.display)?;
    let at = line
        .tokens
        .partition_point(|token| token.start < span.start);
    let concludes = |at: usize| line.kind(at) == Some(Kind::Word) && line.roles(at).conclusion();
    if (at + 1..line.tokens.len()).any(concludes) && runs.last().is_some_and(|run| run.first > at) {
        return None;
    }
    let (text, source) = match qualify::before(line, at) {
        Before::Denied => return None,
        Before::Qualified(start) => {
            let end = line.tokens[at].end;
            let source = &line.text[line.tokens[start].start..end];
            (Cow::Borrowed(source), source)
        }
        Before::Nothing => match qualify::sign_word(line, at) {
            Some(sign) => qualify::signed(
                line,
                sign,
                Run {
                    first: at,
                    end: at + 1,
                    strong: true,
                },
            ),
            None => display::answer(&line.text[span.inner_start..span.inner_end])?,
        },
    };
    Some(Found {
        text,
        source,
        rule: Rule::DisplayMath,
    })
}

/// The value a paragraph ends with.
fn last_value<'a>(line: &Line<'a>, runs: &[Run]) -> Option<Found<'a>> {
    let run = clause::in_main_clause(line, runs).or(runs.last().copied())?;
    concluded(line, previous(runs, run), run)
}

fn previous(runs: &[Run], run: Run) -> Option<Run> {
    let at = runs.partition_point(|other| other.first < run.first);
    runs[..at].last().copied()
}

/// A run in prose as the answer, without what only leads to it.
fn concluded<'a>(line: &Line<'a>, previous: Option<Run>, run: Run) -> Option<Found<'a>> {
    if let Some(start) = qualify::qualified(line, previous, run) {
        return Some(qualify::clause(line, start, run, Rule::LastExpression));
    }
    let (first, end) = clause::settled(line, run);
    let end = runs::without_count(line, first, end);
    if first == run.first
        && let Some(sign) = qualify::sign_word(line, first)
    {
        let (text, source) = qualify::signed(
            line,
            sign,
            Run {
                first,
                end,
                strong: true,
            },
        );
        return Some(Found {
            text,
            source,
            rule: Rule::LastNumber,
        });
    }
    let (first, end) = runs::without_brackets(line, first, end);
    let (text, source) = runs::text(line, first, end);
    let number = line.tokens[first..end].iter().all(|token| {
        !matches!(
            token.kind,
            Kind::Maths | Kind::Command | Kind::Name | Kind::Relation | Kind::Open
        )
    });
    Some(Found {
        text,
        source,
        rule: if number {
            Rule::LastNumber
        } else {
            Rule::LastExpression
        },
    })
}

/// Whether the words of a short text make something else of its value: "less than 7" is not 7.
fn is_qualified(text: &str) -> bool {
    let line = Line::read(text);
    runs::runs(&line)
        .into_iter()
        .any(|run| run.strong && qualify::qualified(&line, None, run).is_some())
}

/// A text of few words and one line, as it stands: "Monday", "no solution"; without the number of
/// its question, as in "7. B".
fn few_words(text: &str) -> Option<Found<'_>> {
    let whole = tidy(text);
    let numbered = whole.trim_start_matches(|c: char| c.is_ascii_digit());
    let parted = |rest: &&str| rest.starts_with(' ') && numbered.len() < whole.len();
    let whole = numbered
        .strip_prefix(['.', ')'])
        .filter(parted)
        .map_or(whole, tidy);
    let words: usize = whole
        .split_whitespace()
        .take(MOST_WORDS + 1)
        .map(|word| {
            let wide = word
                .chars()
                .filter(|c| *c >= '\u{2e80}')
                .take(2 * MOST_WORDS + 1)
                .count();
            if wide > 0 { wide.div_ceil(2) } else { 1 }
        })
        .sum();
    let says = whole.contains(char::is_alphanumeric);
    (says && words <= MOST_WORDS && !whole.contains(['\n', '$', '\\', '<']))
        .then(|| Found::slice(whole, Rule::Whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Rule) {
        conclusion(text)
            .map(|found| (found.text.into_owned(), found.rule))
            .unwrap()
    }

    #[test]
    fn a_text_that_is_an_expression_is_the_answer() {
        for text in [
            "3+2",
            "x = 3",
            "-15",
            "9^9^9",
            "8 = 7",
            "(0, 1]",
            "W(x)=1orW(x)=-1",
            "1 1/2",
            "2,74",
        ] {
            assert_eq!(read(text), (text.to_owned(), Rule::Whole));
        }
        assert_eq!(read("$10^3 = 1000$.").0, "10^3 = 1000");
        assert_eq!(read("[90]").0, "90");
        assert_eq!(read("no solution.").0, "no solution");
        let long = "1".repeat(100_000);
        assert_eq!(read(&long).0, long);
    }

    #[test]
    fn bold_values_of_the_last_paragraph_come_first() {
        assert_eq!(
            read("We add 5.\n\nSo she has **12 feet** of 20 left."),
            ("12 feet".into(), Rule::Bold)
        );
        assert_eq!(read("**Step 3:** there are 7 of them.").0, "7");
    }

    #[test]
    fn display_maths_comes_next_unless_a_conclusion_follows_it() {
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
    fn the_last_value_of_prose_keeps_what_belongs_to_it() {
        for (text, answer) in [
            (
                "donc 310 g - 46 g = 264 g. Il lui reste ainsi 46 g de sucre.",
                "46\\text{ g}",
            ),
            ("the final cost is 100 - 30 = 70", "70"),
            ("it is 1,000.99€ in all", "1,000.99€"),
            ("so the share is 13/28", "13/28"),
            ("which gives $x \\geq 5$ as wanted.", "x \\geq 5"),
            ("therefore x = 5.", "x = 5"),
            (
                "There are 9 chickens and 10 rabbits",
                "9 chickens and 10 rabbits",
            ),
            ("it must be 41 or 42 then", "41 or 42"),
            ("所以一共有3 + 10 = 13只鸟。", "13"),
            ("Soucis : 2,74 $ a..", "2,74 $"),
            ("There are 7 left because 10 - 3 = 7 and 4 + 3 = 7.", "7"),
            ("In 2020, 5 people came.", "5"),
        ] {
            assert_eq!(read(text).0, answer, "{text}");
        }
    }

    #[test]
    fn a_sign_in_words_or_apart_belongs_to_its_value() {
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
    fn the_number_of_a_question_is_no_value() {
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
    fn a_short_text_keeps_what_qualifies_its_value() {
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
    fn a_denied_value_is_none() {
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
            assert!(conclusion(text).is_none(), "{text}");
        }
        assert_eq!(read("It comes to 5, not 7").0, "5");
    }

    #[test]
    fn a_qualified_value_is_handed_over_with_what_qualifies_it() {
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
    fn of_a_list_what_is_bold_counts() {
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
    fn a_variable_alone_is_no_value() {
        assert_eq!(read("Thus there are 12 values of $B$.").0, "12");
    }
}
