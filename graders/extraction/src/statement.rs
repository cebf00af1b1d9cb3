//! Statements of an answer: "the answer is …", "答案：…", "la réponse est …". The last one with a
//! value decides. Denials, conditions and announcements without a value are not statements.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::characters::is_spaced;
use crate::connector::{Connector, after_connector};
use crate::languages::LANGUAGES;
use crate::phrases::ONLY;
use crate::rule::{Options, Rule, RuleMatch};
use crate::tokens::{Lexed, TokenKind};
use crate::trim::tidy;
use crate::value_runs::{self, ValueRun};
use crate::word_roles::{answer_names, lower, roles};
use crate::{choice, commitment, display, maths_spans, qualifiers, yes_no};

/// Names of at most this many bytes need a colon and a line of their own.
const MAX_SHORT_NAME_BYTES: usize = 3;

/// Maximum number of words of an answer in words.
const MAX_WORDS: usize = 4;

/// The last statement of an answer in `text`, with what later sentences and the statement before it
/// change.
pub(super) fn last<'a>(text: &'a str, options: &Options<'_>) -> Option<RuleMatch<'a>> {
    let (at, found) = search(text, options)?;
    if found.text.is_empty() {
        return Some(found);
    }
    // "The answer is A. No, B.": a correction after the statement replaces its value.
    let rest = &text[super::slices::byte_range(text, found.source).end..];
    let letter = options.choices.then(|| choice::correction(rest)).flatten();
    if let Some(later) = letter.or_else(|| commitment::correction(rest, false)) {
        return Some(RuleMatch {
            rule: Rule::Stated,
            ..later
        });
    }
    let previous = |near| search(near, options);
    Some(commitment::contradiction(text, at, &found, previous).unwrap_or(found))
}

/// The last statement and the byte offset of its name. Its text is empty if it states that there is
/// no answer.
fn search<'a>(text: &'a str, options: &Options<'_>) -> Option<(usize, RuleMatch<'a>)> {
    // Search backwards for the name of an answer. The first one with a value is the last statement.
    let names = names(options.language);
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
        // The text up to the next name belongs to this one, so every byte is read for one name.
        let opens = opens_line(text, at);
        // In "उत्तर 67 है" and "Cevap 67'dir" the value follows the name directly. In English this
        // is common only in headings: "the answer 5" in a sentence is not a statement.
        let direct = opens || states_directly(&text[at..at + length]);
        // Empty if the next name is the end of this one, as 답 is of 정답.
        let connected = after_connector(
            text.get(at + length..end).unwrap_or_default(),
            opens,
            direct,
        );
        // A short name is also a word; only "A: 5" makes it the name of an answer.
        let short = length <= MAX_SHORT_NAME_BYTES && is_spaced(first);
        if let Some((value, connector)) = connected
            && (!short || opens && connector == Connector::Colon)
            && !is_conditional(text, at)
        {
            // `"answer": null` in JSON
            if text[..at].ends_with('"') && value.starts_with("null") {
                return Some((at, RuleMatch::slice(&value[..0], Rule::Stated)));
            }
            let found = value_of(value, connector, is_item(text, value), options);
            let denied = || {
                let value = super::slices::byte_range(text, value).start;
                commitment::denies_clause(text, at, value)
            };
            if let Some(found) = found.filter(|_| !denied()) {
                return Some((at, found));
            }
        }
        end = at;
    }
    None
}

/// Whether a value may follow a name of an answer directly. Outside ASCII, languages whose verb
/// comes first are few, and a value that follows their name is the answer, too.
fn states_directly(name: &str) -> bool {
    let name = lower(name);
    !name.is_ascii()
        || LANGUAGES
            .iter()
            .any(|language| language.verb_last && language.answer.contains(&&*name))
}

/// The names of an answer by their first byte, in either case. This table alone rejects nearly
/// every byte of a text.
type Names = Vec<Vec<&'static str>>;

/// The names in a text of unknown language, and then those for each of [`LANGUAGES`].
static NAMES: LazyLock<Vec<Names>> = LazyLock::new(|| {
    let known = LANGUAGES
        .iter()
        .map(|language| language.names.first().copied());
    std::iter::once(None)
        .chain(known)
        .map(names_by_first_byte)
        .collect()
});

/// The names for the language of a task.
fn names(language: Option<&str>) -> &'static Names {
    let known = language.and_then(|language| {
        let language = language.to_lowercase();
        let mut all = LANGUAGES.iter();
        all.position(|entry| entry.names.contains(&&*language))
    });
    &NAMES[known.map_or(0, |known| known + 1)]
}

fn names_by_first_byte(language: Option<&str>) -> Names {
    let mut names = vec![Vec::new(); 1 << u8::BITS];
    for name in answer_names(language) {
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

/// The statement inside a text that is known to contain the answer, such as an answer tag.
pub(super) fn inside<'a>(
    text: &'a str,
    rule: Rule,
    options: &Options<'_>,
) -> Option<RuleMatch<'a>> {
    let found = last(text, options)?;
    Some(RuleMatch { rule, ..found })
}

/// Whether only marks of a heading and words such as "The final" precede `at` on its line.
fn opens_line(text: &str, at: usize) -> bool {
    // Longer prefixes are prose.
    const MAX_PREFIX_BYTES: usize = 32;
    let from = at.saturating_sub(MAX_PREFIX_BYTES);
    let newline = text.as_bytes()[from..at]
        .iter()
        .rposition(|byte| *byte == b'\n');
    let line_start = match newline {
        Some(newline) => from + newline + 1,
        None if from == 0 => 0,
        None => return false,
    };
    text[line_start..at]
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .all(|word| matches!(&*lower(word), "the" | "final" | "la" | "die" | "my"))
}

/// Length of the longest of `names` at the start of `rest`, in any case.
fn name_length(rest: &str, first: char, names: &[&str]) -> Option<usize> {
    let folded = first.to_lowercase().next()?;
    names
        .iter()
        .filter(|name| name.starts_with(folded))
        .filter_map(|name| {
            let length = folded_prefix(rest, name)?;
            // "answered" is not "answer". Scripts without blanks do not mark the end of a word.
            let continues = rest[length..].starts_with(|c: char| c.is_alphabetic() && is_spaced(c));
            (!continues || !is_spaced(folded)).then_some(length)
        })
        .max()
}

/// Length of `name` at the start of `rest`, in any case.
fn folded_prefix(rest: &str, name: &str) -> Option<usize> {
    let mut chars = rest.char_indices();
    for expected in name.chars() {
        let (_, c) = chars.next()?;
        if c != expected && c.to_lowercase().next() != Some(expected) {
            return None;
        }
    }
    Some(chars.offset())
}

/// Whether the words before a name make the statement a condition: "if the answer is 5".
fn is_conditional(text: &str, at: usize) -> bool {
    const MAX_WORDS_BEFORE: usize = 3;
    const MAX_BYTES_BEFORE: usize = 48;
    let start = (0..=at)
        .rev()
        .take(MAX_BYTES_BEFORE)
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
        .take(MAX_WORDS_BEFORE)
        .enumerate()
        .any(|(distance, word)| {
            let word = lower(word);
            // "to answer: …", but not "the solution to the answer".
            roles(&word).undermines() && (word != "to" || distance == 0)
        })
}

/// Whether a value starts its line, where a minus before a blank marks a list item.
fn is_item(text: &str, value: &str) -> bool {
    text[..super::slices::byte_range(text, value).start]
        .trim_end_matches([' ', '*', '_'])
        .ends_with('\n')
}

/// The answer at the start of `value`, the text after the connector. `item` is set if it starts a
/// line.
///
/// The readings run from the most to the least specific: display maths, a letter of multiple
/// choice, a value, a value with a detached or spelled sign, a value after a later verb, an answer
/// in words, and last any value of the line.
fn value_of<'a>(
    value: &'a str,
    connector: Connector,
    item: bool,
    options: &Options<'_>,
) -> Option<RuleMatch<'a>> {
    if let Some(display) = leading_display(value) {
        return Some(display);
    }
    let end = value.find('\n').unwrap_or(value.len());
    let lexed = Lexed::read(&value[..end]);
    // Skip what may precede a value: "approximately", marks, separators.
    let mut first = 0;
    while first < lexed.tokens.len() {
        // "none other than 5" is 5.
        if let Some(end) = lexed.phrase_end(first, ONLY) {
            first = end;
            continue;
        }
        let word = lexed.str(first);
        match lexed.tokens[first].kind {
            // "no" is an answer, "not 5" is not.
            TokenKind::Word
                if lexed.roles(first).negation() && !matches!(&*lower(word), "no" | "non") =>
            {
                return None;
            }
            TokenKind::Word if lexed.roles(first).before_value() => first += 1,
            TokenKind::Other if !word.starts_with(char::is_alphanumeric) => first += 1,
            TokenKind::Separator if first > 0 => first += 1,
            _ => break,
        }
    }
    // "(B) 12" for a question whose answer is no letter.
    if !options.choices {
        first += choice::mark_length(&lexed, first);
    }
    if options.choices
        && let Some(letter) =
            choice::letter_of_clause(&lexed.text[lexed.tokens.get(first)?.start..])
    {
        return Some(RuleMatch {
            rule: Rule::Stated,
            ..letter
        });
    }
    if options.choices && choice::denies_first_letter(&lexed.text[lexed.tokens.get(first)?.start..])
    {
        return None;
    }
    if options.yes_no
        && let Some(answer) = yes_no::at(&lexed, first)
    {
        return Some(answer);
    }
    if value_runs::starts_value(&lexed, first)
        && let Ok(run) = value_runs::run_at(&lexed, first)
    {
        return committed(&lexed, first, run);
    }
    // "- 7" and "minus 7". If words qualify the value, the clause below keeps them.
    let sign = !item && qualifiers::is_detached_sign(&lexed, first)
        || qualifiers::sign_word(&lexed, first + 1) == Some(first);
    if sign
        && value_runs::starts_value(&lexed, first + 1)
        && let Ok(run) = value_runs::run_at(&lexed, first + 1)
        && !qualifiers::is_qualified_after(&lexed, run.end)
    {
        let (text, source) = qualifiers::signed(&lexed, first, run);
        return Some(RuleMatch {
            text,
            source,
            rule: Rule::Stated,
        });
    }
    // A value after a verb precedes an answer in words: "Final Answer: The smallest m is 58".
    let run = after_verb(&lexed, first);
    if run.is_none()
        && let Some(found) = clause(&lexed, first, connector)
    {
        return Some(found);
    }
    let run = run.or_else(|| value_runs::runs(&lexed).into_iter().find(|run| run.strong))?;
    committed(&lexed, first, run)
}

/// A run as the answer of a statement, with the alternative that follows it. If the words after it
/// deny it, the next value of its sentence: "not 42 but 24".
fn committed<'a>(lexed: &Lexed<'a>, first: usize, run: ValueRun) -> Option<RuleMatch<'a>> {
    let end = sentence_end(lexed, first);
    let run = commitment::asserted(lexed, run).or_else(|| {
        value_runs::runs(lexed)
            .into_iter()
            .filter(|next| next.first >= run.end && next.end <= end && next.strong)
            .find_map(|next| commitment::asserted(lexed, next))
    })?;
    if qualifiers::qualifier_start(lexed, None, run).is_some()
        && let Some(value) = commitment::restated(lexed, run)
    {
        return qualifiers::signed_value(lexed, value.first, value, Rule::Stated);
    }
    let found = qualifiers::signed_value(lexed, first, run, Rule::Stated)?;
    Some(commitment::offer(lexed, run, &found).unwrap_or(found))
}

/// Display maths right after the connector. It may contain line breaks, so it is read before the
/// value is cut to its first line.
fn leading_display(value: &str) -> Option<RuleMatch<'_>> {
    if !(value.starts_with("$$") || value.starts_with("\\[") || value.starts_with("\\begin")) {
        return None;
    }
    let span = *maths_spans::spans(value).first()?;
    if span.start != 0 || !span.display {
        return None;
    }
    let inner = &value[span.inner_start..span.inner_end];
    let (text, source) = display::answer(inner)?;
    Some(RuleMatch {
        text,
        source,
        rule: Rule::Stated,
    })
}

/// The value after the last verb of the first sentence: "the smallest m is 58". `None` if no verb is
/// followed by a value.
fn after_verb(lexed: &Lexed<'_>, first: usize) -> Option<ValueRun> {
    let end = sentence_end(lexed, first);
    let mut last = None;
    let mut at = first;
    while at < end {
        let verb = match lexed.tokens[at].kind {
            TokenKind::Word => {
                let word = lexed.str(at);
                lexed.roles(at).verb() || ends_with_verb(word)
            }
            TokenKind::Relation => lexed.str(at) == "=",
            _ => false,
        };
        at += 1;
        if !verb {
            continue;
        }
        while at < end && lexed.tokens[at].kind == TokenKind::Word && lexed.roles(at).before_value()
        {
            at += 1;
        }
        if value_runs::starts_value(lexed, at)
            && let Ok(run) = value_runs::run_at(lexed, at)
            && run.strong
        {
            at = run.end;
            last = Some(run);
        }
    }
    last
}

/// Whether a token of a script without blanks ends with a verb: "结果应该是".
fn ends_with_verb(word: &str) -> bool {
    /// In characters.
    const MAX_VERB_LENGTH: usize = 3;
    let wide = word.chars().next().is_some_and(|c| !is_spaced(c));
    wide && word
        .char_indices()
        .rev()
        .take(MAX_VERB_LENGTH)
        .any(|(at, _)| roles(&word[at..]).verb())
}

/// The token that ends the sentence, or the number of tokens.
fn sentence_end(lexed: &Lexed<'_>, first: usize) -> usize {
    (first..lexed.tokens.len())
        .find(|at| lexed.tokens[*at].kind == TokenKind::Stop)
        .unwrap_or(lexed.tokens.len())
}

/// An answer in words, up to the end of its sentence: "Monday", "no real solutions". `None` for
/// longer texts, which only lead to an answer.
fn clause<'a>(lexed: &Lexed<'a>, first: usize, connector: Connector) -> Option<RuleMatch<'a>> {
    let end = sentence_end(lexed, first);
    if end == first {
        return None;
    }
    let words: usize = lexed.tokens[first..end]
        .iter()
        .filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Name))
        .map(|token| {
            let word = &lexed.text[token.start..token.end];
            // In scripts without blanks two characters count as one word.
            if word.starts_with(is_spaced) {
                1
            } else {
                word.chars().count().div_ceil(2)
            }
        })
        .sum();
    let digits = lexed.tokens[first..end]
        .iter()
        .any(|token| token.kind == TokenKind::Number);
    let opening = lexed.str(first);
    let announces = lexed.roles(first).announces();
    // With a number in it, only a name with its number is an answer in words: "is June 5".
    let named =
        connector == Connector::Verb && words <= 2 && opening.starts_with(char::is_uppercase);
    if words == 0 || words > MAX_WORDS || announces || digits && !named {
        return None;
    }
    let source = tidy(&lexed.text[lexed.tokens[first].start..lexed.tokens[end - 1].end]);
    let source = numeral_after_verb(source);
    (!source.is_empty()).then_some(RuleMatch {
        text: Cow::Borrowed(source),
        source,
        rule: Rule::Stated,
    })
}

/// The Chinese numeral after the verb of a short sentence: "甲数是十五". The whole text if it does not
/// end with one.
pub(super) fn numeral_after_verb(sentence: &str) -> &str {
    let numeral = |c: char| "零〇一二两三四五六七八九十百千万亿点半".contains(c);
    let start = sentence
        .char_indices()
        .rev()
        .take_while(|(_, c)| numeral(*c))
        .last();
    let Some((start, _)) = start else {
        return sentence;
    };
    let before = sentence[..start].chars().next_back();
    if before.is_some_and(|verb| "是为為".contains(verb)) {
        &sentence[start..]
    } else {
        sentence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(text: &str) -> Option<String> {
        last(text, &Options::default()).map(|found| found.text.into_owned())
    }

    #[test]
    fn reads_statements_in_every_language() {
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
    fn uses_the_last_statement() {
        assert_eq!(
            stated("Answer: 63 was a slip.\nAnswer: 68").as_deref(),
            Some("68")
        );
        assert_eq!(
            stated("Final Answer: The final answer is $7$. I hope it is correct.").as_deref(),
            Some("7")
        );
    }

    #[test]
    fn keeps_chains_lists_and_alternatives_whole() {
        assert_eq!(
            stated("the answer is 48 + 27 = 75.").as_deref(),
            Some("48 + 27 = 75")
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
    fn skips_words_between_name_and_value() {
        assert_eq!(
            stated("The answer to the last part is approximately 3.2 km.").as_deref(),
            Some("3.2 km")
        );
        assert_eq!(stated("Answer (in cm): 5").as_deref(), Some("5"));
        assert_eq!(
            stated("Final Answer: The smallest $m$ is 58.").as_deref(),
            Some("58")
        );
        assert_eq!(
            stated("### Final Answer\n\n\\[ 27 \\]").as_deref(),
            Some("27")
        );
    }

    #[test]
    fn reads_answers_in_words() {
        assert_eq!(stated("The answer is Monday.").as_deref(), Some("Monday"));
        assert_eq!(stated("The answer is no.").as_deref(), Some("no"));
        assert_eq!(
            stated("Answer: no real solutions").as_deref(),
            Some("no real solutions")
        );
        assert_eq!(stated("The answer is June 5.").as_deref(), Some("June 5"));
    }

    #[test]
    fn applies_spelled_and_detached_signs() {
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
    fn keeps_qualifiers_of_values() {
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
            (
                "The answer is as follows. It must be less than 7.",
                "It must be less than 7",
            ),
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
    fn ignores_denials_conditions_and_announcements() {
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
    fn requires_language_and_own_line_for_short_names() {
        let french = Options {
            language: Some("fr"),
            ..Options::default()
        };
        let read = |text| last(text, &french).map(|found| found.text.into_owned());
        assert_eq!(read("R : 5").as_deref(), Some("5"));
        assert_eq!(stated("R : 5"), None);
    }
}
