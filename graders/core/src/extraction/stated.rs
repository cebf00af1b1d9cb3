//! Statements: "the answer is …", "答案：…", "la réponse est …". The last one that says something
//! counts. A denial, a condition and an announcement without a value are no statements.

use std::borrow::Cow;

use super::characters::is_spaced;
use super::connector::{How, after_connector};
use super::qualify;
use super::runs::{self, Run};
use super::tokens::{Kind, Line};
use super::trim::tidy;
use super::words::{answer_names, lower, roles};
use super::{Found, Options, Rule, choice, display, maths_spans, retraction};

/// Names up to this many letters need a colon and a line of their own.
const SHORTEST_NAME: usize = 3;

/// Most words an answer in words has.
const MOST_WORDS: usize = 4;

/// The last statement of an answer in `text`.
pub(super) fn last<'a>(text: &'a str, options: &Options<'_>) -> Option<Found<'a>> {
    let names = names_by_opening(options);
    let mut end = text.len();
    for at in (0..text.len()).rev() {
        let names = &names[usize::from(text.as_bytes()[at])];
        if names.is_empty() {
            continue;
        }
        let Some(first) = text[at..].chars().next() else {
            continue;
        };
        let opens_word = text[..at]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_alphabetic() || !is_spaced(first));
        if !opens_word {
            continue;
        }
        let Some(length) = name_length(&text[at..], first, names) else {
            continue;
        };
        // What follows belongs to this name only up to the next one, so every byte is read for one
        // name.
        let opens = opens_line(text, at);
        let direct = opens || !text[at..at + length].is_ascii();
        // Nothing is left where the next name is the end of this one, as 답 of 정답.
        let connected = after_connector(
            text.get(at + length..end).unwrap_or_default(),
            opens,
            direct,
        );
        // A name of one to three letters is a word too; only "A: 5" makes it the name of an answer.
        let short = length <= SHORTEST_NAME && is_spaced(first);
        if let Some((value, how)) = connected
            && (!short || opens && how == How::Colon)
            && !is_undermined(text, at)
            && let Some(found) = value_of(value, how, is_item(text, value), options)
        {
            let place = super::place(text, found.source);
            let later = options
                .choices
                .then(|| choice::correction(&text[place.end..]))
                .flatten();
            let later = later.or_else(|| retraction::correction(&text[place.end..]));
            return Some(later.map_or(found, |later| Found {
                rule: Rule::Stated,
                ..later
            }));
        }
        end = at;
    }
    None
}

/// The names by the byte they open with, in either case: nearly every byte of a text is passed over
/// by this alone.
fn names_by_opening(options: &Options<'_>) -> Vec<Vec<&'static str>> {
    let mut names = vec![Vec::new(); 1 << u8::BITS];
    for name in answer_names(options.language) {
        for c in name
            .chars()
            .take(1)
            .flat_map(|first| first.to_uppercase().chain([first]))
        {
            let named: &mut Vec<&str> =
                &mut names[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])];
            if named.last() != Some(&name) {
                named.push(name);
            }
        }
    }
    names
}

/// The answer inside a text that is known to hold one, such as an answer tag.
pub(super) fn inside<'a>(text: &'a str, rule: Rule, options: &Options<'_>) -> Option<Found<'a>> {
    let found = last(text, options)?;
    Some(Found { rule, ..found })
}

fn opens_line(text: &str, at: usize) -> bool {
    // A line may open with "The final" and marks of a heading; longer openings are prose.
    const LONGEST_OPENING: usize = 32;
    let from = at.saturating_sub(LONGEST_OPENING);
    let newline = text.as_bytes()[from..at]
        .iter()
        .rposition(|byte| *byte == b'\n');
    let line = match newline {
        Some(newline) => from + newline + 1,
        None if from == 0 => 0,
        None => return false,
    };
    text[line..at]
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .all(|word| matches!(&*lower(word), "the" | "final" | "la" | "die" | "my"))
}

fn name_length(rest: &str, first: char, names: &[&str]) -> Option<usize> {
    let folded = first.to_lowercase().next()?;
    names
        .iter()
        .filter(|name| name.starts_with(folded))
        .filter_map(|name| {
            let length = folded_prefix(rest, name)?;
            let goes_on = rest[length..].starts_with(|c: char| c.is_alphabetic() && is_spaced(c));
            (!goes_on || !is_spaced(folded)).then_some(length)
        })
        .max()
}

/// Length of the prefix of `rest` that is `name` in any case.
fn folded_prefix(rest: &str, name: &str) -> Option<usize> {
    let mut chars = rest.char_indices();
    for wanted in name.chars() {
        let (_, c) = chars.next()?;
        if c != wanted && c.to_lowercase().next() != Some(wanted) {
            return None;
        }
    }
    Some(chars.offset())
}

/// Whether the words before a name make it a condition or a denial.
fn is_undermined(text: &str, at: usize) -> bool {
    const WORDS: usize = 3;
    const BYTES: usize = 48;
    let start = (0..=at)
        .rev()
        .take(BYTES)
        .filter(|start| text.is_char_boundary(*start))
        .last()
        .unwrap_or(at);
    let clause = text[start..at]
        .rsplit(['.', '\n', ',', '。', '，', ':', ';'])
        .next()
        .unwrap_or_default();
    clause
        .rsplit(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .take(WORDS)
        .enumerate()
        .any(|(distance, word)| {
            let word = lower(word);
            // "to answer", but not "the solution to the answer".
            roles(&word).undermines() && (word != "to" || distance == 0)
        })
}

/// Whether a value opens its line, where a minus before a blank marks an item of a list.
fn is_item(text: &str, value: &str) -> bool {
    text[..super::place(text, value).start]
        .trim_end_matches([' ', '*', '_'])
        .ends_with('\n')
}

/// The answer at the start of what a statement says; `item` where it opens a line of its own.
fn value_of<'a>(value: &'a str, how: How, item: bool, options: &Options<'_>) -> Option<Found<'a>> {
    if let Some(display) = leading_display(value) {
        return Some(display);
    }
    let end = value.find('\n').unwrap_or(value.len());
    let line = Line::read(&value[..end]);
    let mut first = 0;
    while first < line.tokens.len() {
        let word = line.str(first);
        match line.tokens[first].kind {
            // "No" is an answer, "not 5" is none.
            Kind::Word if line.roles(first).denies() && !matches!(&*lower(word), "no" | "non") => {
                return None;
            }
            Kind::Word if line.roles(first).before_value() => first += 1,
            Kind::Other if !word.starts_with(char::is_alphanumeric) => first += 1,
            Kind::Separator if first > 0 => first += 1,
            _ => break,
        }
    }
    if options.choices
        && let Some(letter) = choice::in_clause(&line.text[line.tokens.get(first)?.start..])
    {
        return Some(Found {
            rule: Rule::Stated,
            ..letter
        });
    }
    if runs::starts_value(&line, first)
        && let Ok(run) = runs::run_at(&line, first)
    {
        return qualify::value(&line, first, run, Rule::Stated);
    }
    let sign = !item && qualify::sign_apart(&line, first)
        || qualify::sign_word(&line, first + 1) == Some(first);
    if sign
        && runs::starts_value(&line, first + 1)
        && let Ok(run) = runs::run_at(&line, first + 1)
        && !qualify::after(&line, run.end)
    {
        let (text, source) = qualify::signed(&line, first, run);
        return Some(Found {
            text,
            source,
            rule: Rule::Stated,
        });
    }
    let run = after_verb(&line, first);
    if run.is_none()
        && let Some(found) = clause(&line, first, how)
    {
        return Some(found);
    }
    let run = run.or_else(|| runs::runs(&line).into_iter().find(|run| run.strong))?;
    qualify::value(&line, first, run, Rule::Stated)
}

/// Display maths right after the connector, which may hold line breaks.
fn leading_display(value: &str) -> Option<Found<'_>> {
    if !(value.starts_with("$$") || value.starts_with("\\[") || value.starts_with("\\begin")) {
        return None;
    }
    let span = *maths_spans::spans(value).first()?;
    if span.start != 0 || !span.display {
        return None;
    }
    let inner = &value[span.inner_start..span.inner_end];
    let (text, source) = display::answer(inner)?;
    Some(Found {
        text,
        source,
        rule: Rule::Stated,
    })
}

/// The value after the last verb of the first sentence: "the largest n is 34".
fn after_verb(line: &Line<'_>, first: usize) -> Option<Run> {
    let end = sentence_end(line, first);
    let mut last = None;
    let mut at = first;
    while at < end {
        let verb = match line.tokens[at].kind {
            Kind::Word => {
                let word = line.str(at);
                line.roles(at).verb() || ends_with_verb(word)
            }
            Kind::Relation => line.str(at) == "=",
            _ => false,
        };
        at += 1;
        if !verb {
            continue;
        }
        while at < end && line.tokens[at].kind == Kind::Word && line.roles(at).before_value() {
            at += 1;
        }
        if runs::starts_value(line, at)
            && let Ok(run) = runs::run_at(line, at)
            && run.strong
        {
            at = run.end;
            last = Some(run);
        }
    }
    last
}

fn ends_with_verb(word: &str) -> bool {
    const LONGEST: usize = 3;
    let wide = word.chars().next().is_some_and(|c| !is_spaced(c));
    wide && word
        .char_indices()
        .rev()
        .take(LONGEST)
        .any(|(at, _)| roles(&word[at..]).verb())
}

fn sentence_end(line: &Line<'_>, first: usize) -> usize {
    (first..line.tokens.len())
        .find(|at| line.tokens[*at].kind == Kind::Stop)
        .unwrap_or(line.tokens.len())
}

/// An answer in words, up to the end of its clause.
fn clause<'a>(line: &Line<'a>, first: usize, how: How) -> Option<Found<'a>> {
    let end = sentence_end(line, first);
    if end == first {
        return None;
    }
    let words: usize = line.tokens[first..end]
        .iter()
        .filter(|token| matches!(token.kind, Kind::Word | Kind::Name))
        .map(|token| {
            let word = &line.text[token.start..token.end];
            if word.starts_with(is_spaced) {
                1
            } else {
                word.chars().count().div_ceil(2)
            }
        })
        .sum();
    let digits = line.tokens[first..end]
        .iter()
        .any(|token| token.kind == Kind::Number);
    let opening = line.str(first);
    let announces = line.roles(first).announces();
    // With a number in it, only a name and its number are an answer in words: "is June 5".
    let named = how == How::Verb && words <= 2 && opening.starts_with(char::is_uppercase);
    if words == 0 || words > MOST_WORDS || announces || digits && !named {
        return None;
    }
    let source = tidy(&line.text[line.tokens[first].start..line.tokens[end - 1].end]);
    (!source.is_empty()).then_some(Found {
        text: Cow::Borrowed(source),
        source,
        rule: Rule::Stated,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(text: &str) -> Option<String> {
        last(text, &Options::default()).map(|found| found.text.into_owned())
    }

    #[test]
    fn a_statement_is_read_in_every_language_of_the_table() {
        for (text, answer) in [
            ("So the final answer is 42.", "42"),
            ("**Answer:** $\\frac{1}{2}$", "\\frac{1}{2}"),
            ("答案是 12。", "12"),
            ("答案：每份应该是 $\\frac{2}{5}$ 吨。", "\\frac{2}{5}"),
            ("La réponse est 3/4.", "3/4"),
            ("Réponse : 12", "12"),
            ("Die Antwort lautet 7.", "7"),
            ("La respuesta es -3.", "-3"),
            ("A resposta é 8.", "8"),
            ("La risposta è 9.", "9"),
            ("Ответ: 15", "15"),
            ("الجواب هو 92", "92"),
            ("उत्तर: 67", "67"),
            ("उत्तर 67 है", "67"),
            ("答えは 5 です", "5"),
            ("답은 5 입니다", "5"),
        ] {
            assert_eq!(stated(text).as_deref(), Some(answer), "{text}");
        }
    }

    #[test]
    fn the_last_statement_counts() {
        assert_eq!(
            stated("Answer: 41 was a guess.\nAnswer: 42").as_deref(),
            Some("42")
        );
        assert_eq!(
            stated("Final Answer: The final answer is $7$. I hope it is correct.").as_deref(),
            Some("7")
        );
    }

    #[test]
    fn a_statement_hands_over_chains_lists_and_alternatives_whole() {
        assert_eq!(
            stated("the answer is 35 + 70 = 105.").as_deref(),
            Some("35 + 70 = 105")
        );
        assert_eq!(
            stated("The answer is $5$ or $6$.").as_deref(),
            Some("5 or 6")
        );
        assert_eq!(stated("Answer: 7 7 7").as_deref(), Some("7 7 7"));
        assert_eq!(
            stated("The answer is 10, but it was close to 9.").as_deref(),
            Some("10")
        );
    }

    #[test]
    fn words_between_name_and_value_are_skipped() {
        assert_eq!(
            stated("The answer to the last part is approximately 3.2 km.").as_deref(),
            Some("3.2 km")
        );
        assert_eq!(stated("Answer (in cm): 5").as_deref(), Some("5"));
        assert_eq!(
            stated("Final Answer: The largest $n$ is 34.").as_deref(),
            Some("34")
        );
        assert_eq!(
            stated("### Final Answer\n\n\\[ 9 \\]").as_deref(),
            Some("9")
        );
    }

    #[test]
    fn an_answer_in_words_is_one() {
        assert_eq!(stated("The answer is Monday.").as_deref(), Some("Monday"));
        assert_eq!(stated("The answer is no.").as_deref(), Some("no"));
        assert_eq!(
            stated("Answer: no real solutions").as_deref(),
            Some("no real solutions")
        );
        assert_eq!(stated("The answer is June 5.").as_deref(), Some("June 5"));
    }

    #[test]
    fn a_sign_in_words_or_apart_belongs_to_its_value() {
        for text in [
            "The answer is - 7.",
            "The answer is − 7",
            "The answer is: minus 7",
            "The answer is minus 7.",
            "The answer is negative 7",
            "The answer is minus $7$.",
            "The answer is that x equals minus 7.",
            "La réponse est moins 7.",
            "答案是负7。",
        ] {
            assert_eq!(stated(text).as_deref(), Some("-7"), "{text}");
        }
        assert_eq!(
            stated("The answer is minus (7 + 3).").as_deref(),
            Some("-(7 + 3)")
        );
        assert_eq!(
            stated("The answer is minus $7 + 3$.").as_deref(),
            Some("minus $7 + 3$")
        );
        assert_eq!(stated("Answer:\n- 7 apples").as_deref(), Some("7"));
    }

    #[test]
    fn a_qualified_value_is_handed_over_with_what_qualifies_it() {
        for phrase in [
            "7 times 8",
            "7 to 8",
            "7 squared",
            "7 or more",
            "7 apples or more",
            "7 less than 10",
            "2 to the power of 7",
            "less than 7",
            "at most 7",
            "greater than 7",
            "at least 7",
            "no more than 7",
            "anything except 7",
            "between 5 and 7",
            "twice 7",
            "less than minus 7",
        ] {
            for text in [
                format!("The answer is {phrase}."),
                format!("Answer: {phrase}, it seems"),
            ] {
                assert_eq!(stated(&text).as_deref(), Some(phrase), "{text}");
            }
        }
        for (text, answer) in [
            ("The answer is 7!", "7"),
            ("The answer is either 5 or 7.", "5 or 7"),
            ("The answer is 3.14 to 2 decimal places.", "3.14"),
            ("The answer is 35 to the nearest integer.", "35"),
            ("The answer is 18 times.", "18"),
            ("The answer: the least n greater than 5 is 7", "7"),
        ] {
            assert_eq!(stated(text).as_deref(), Some(answer), "{text}");
        }
        for denied in [
            "The answer is never 7.",
            "Answer: it cannot be 7",
            "The answer is definitely not 7.",
        ] {
            assert_eq!(stated(denied), None, "{denied}");
        }
    }

    #[test]
    fn denials_conditions_and_announcements_are_no_statements() {
        for text in [
            "The answer is not 5.",
            "If the answer is 5, we are done.",
            "To answer: 5 of them",
            "The answer is as follows",
            "the wrong answer is 5",
            "I would answer 3 questions",
        ] {
            assert_eq!(stated(text), None, "{text}");
        }
    }

    #[test]
    fn a_short_name_needs_its_language_and_a_line_of_its_own() {
        let french = Options {
            language: Some("fr"),
            ..Options::default()
        };
        let read = |text| last(text, &french).map(|found| found.text.into_owned());
        assert_eq!(read("R : 5").as_deref(), Some("5"));
        assert_eq!(stated("R : 5"), None);
    }
}
