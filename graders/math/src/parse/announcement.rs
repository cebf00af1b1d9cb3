//! Text before or around an answer: words that announce it (`The answer is 7`), a name (`Maximum
//! value: 7`), or markup (`\text{x = 3}`). Works on the text, before the lexer.

use std::borrow::Cow;

use super::number_words;
use super::printed::braced;
use super::text;

/// Most announcements and wrappings that are removed.
const MAX_LEADS: usize = 4;

/// Longest wrapping that is inspected, in bytes.
const LONGEST_WRAPPING: usize = 400;

/// Longest name of a value, in bytes.
const LONGEST_LABEL: usize = 120;

/// The text without announcements and wrappings of the answer.
pub(crate) fn strip(text: &str) -> Cow<'_, str> {
    let mut rest = Cow::Borrowed(text);
    for _ in 0..MAX_LEADS {
        let shorter = unwrapped(&rest).or_else(|| announced(&rest).map(str::to_owned));
        match shorter {
            Some(shorter) => rest = Cow::Owned(shorter),
            None => break,
        }
    }
    rest
}

fn without_leading_layout(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == '$')
}

/// The argument of a text command at the start, and the rest.
fn wrapping(text: &str) -> Option<(&str, &str)> {
    let after = without_leading_layout(text).strip_prefix('\\')?;
    let open = after.find('{').filter(|open| *open <= 12)?;
    if !matches!(
        after.get(..open)?.trim_end(),
        "text"
            | "textbf"
            | "textrm"
            | "textit"
            | "mathrm"
            | "mathbf"
            | "mbox"
            | "textnormal"
            | "boldsymbol"
    ) {
        return None;
    }
    let inner = after.get(open + 1..)?;
    braced(inner, LONGEST_WRAPPING)
}

/// The content of a text command at the start if it is mathematics, an announcement or a marked
/// option.
fn unwrapped(text: &str) -> Option<String> {
    let (inner, after) = wrapping(text)?;
    let alone = after.trim_matches(['$', '.', ' ']).is_empty();
    let trimmed = inner.trim();
    let digits = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    let ordinal = matches!(digits, "st" | "nd" | "rd" | "th");
    let counts = digits.len() < trimmed.len() && (ordinal || trimmed.contains(' '));
    let states = trimmed.contains(['=', '<', '>', '≤', '≥']);
    let math =
        alone && (counts || states || wrapping(trimmed).is_some_and(|(_, after)| after.is_empty()));
    let mark = marked(trimmed).is_some_and(|rest| {
        !alone || !rest.is_empty() || !trimmed.ends_with(')') || !trimmed.starts_with('(')
    });
    let announces =
        announced(&format!("{inner} 0")).is_some() || alone && announced(inner).is_some();
    (math || mark || announces || alone && is_list(trimmed)).then(|| format!("{inner} {after}"))
}

/// Whether words are a list: `red, green and blue`, but not `Yes, it converges` and `I, III`.
fn is_list(words: &str) -> bool {
    const MAX_WORDS: usize = 3;
    const MIN_LETTERS: usize = 3;
    const ANSWERS: [&str; 4] = ["yes", "no", "true", "false"];
    let is_word = |word: &str| word.len() >= MIN_LETTERS && word.chars().all(char::is_alphabetic);
    let is_item = |part: &str| part.split(' ').count() <= MAX_WORDS && part.split(' ').all(is_word);
    let first = words.split(", ").next().unwrap_or_default();
    words.contains(", ")
        && !ANSWERS.contains(&first.to_lowercase().as_str())
        && words.split(", ").all(is_item)
}

/// The text after the mark of an option at the start: `(A)`, `A)`, `A.` or `A:`.
fn marked(text: &str) -> Option<&str> {
    let text = without_leading_layout(text);
    let opened = text.strip_prefix('(');
    let rest = opened.unwrap_or(text);
    let letter = rest.chars().next().filter(char::is_ascii_uppercase)?;
    if letter > 'J' {
        return None;
    }
    let rest = rest.get(1..)?;
    let after = match opened {
        Some(_) => rest.strip_prefix(')'),
        None => rest
            .strip_prefix([')', '.'])
            .or_else(|| rest.strip_prefix(':')),
    }?;
    Some(after.trim())
}

/// Whether a text is the letter of an option, with or without a mark and a text.
fn is_choice(text: &str) -> bool {
    let text = without_leading_layout(text).trim_end_matches(['.', ' ', '$', '*']);
    let letter = text.len() == 1 && text.bytes().all(|b| (b'A'..=b'J').contains(&b));
    letter
        || marked(text).is_some()
        || wrapping(text).is_some_and(|(inner, after)| after.is_empty() && is_choice(inner))
}

/// The text after an announcement of the answer.
fn announced(text: &str) -> Option<&str> {
    let text = without_leading_layout(text);
    foreign(text)
        .or_else(|| english(text))
        .filter(|rest| rest.contains(char::is_alphanumeric))
}

/// The text without the colon, blanks and emphasis after an announcement, and whether there was a
/// colon or `=`.
fn separated(text: &str) -> (&str, bool) {
    let rest = text.trim_start_matches([' ', '~', '*', '}']);
    match rest.strip_prefix([':', '=']) {
        Some(rest) => (rest.trim_start_matches([' ', '~', '*', '}']), true),
        None => (rest, false),
    }
}

fn foreign(text: &str) -> Option<&str> {
    const STATED: &[&str] = &[
        "la respuesta correcta es",
        "la respuesta final es",
        "la respuesta es",
        "la bonne réponse est",
        "la réponse finale est",
        "la réponse est",
        "die richtige antwort ist",
        "die antwort ist",
        "die antwort lautet",
        "la risposta corretta è",
        "la risposta è",
        "a resposta correta é",
        "a resposta é",
        "正确答案是",
        "正确答案为",
        "最终答案是",
        "最终答案为",
        "答案是",
        "答案为",
    ];
    const NAMED: &[&str] = &[
        "respuesta",
        "réponse",
        "antwort",
        "risposta",
        "resposta",
        "ответ",
        "正确答案",
        "最终答案",
        "答案",
    ];
    const HENCE: &[&str] = &["因此", "所以", "于是", "从而", "综上", "故"];
    const CHOSEN: &[&str] = &["故选", "应选", "选择", "选项", "选"];
    if !text.starts_with(char::is_alphabetic) {
        return None;
    }
    let after = |lead: &&str| {
        let mut rest = text.char_indices();
        let same = lead.chars().all(|own| {
            rest.next()
                .is_some_and(|(_, c)| c.to_lowercase().eq(own.to_lowercase()))
        });
        same.then_some(rest.as_str())
    };
    if let Some(rest) = STATED.iter().find_map(after) {
        return Some(separated(rest).0);
    }
    let is_formula = |rest: &&str| rest.starts_with(['$', '\\']);
    let hence = HENCE.iter().find_map(|word| text.strip_prefix(word));
    if let Some(rest) = hence
        .map(|rest| rest.trim_start_matches([' ', ',', ':']))
        .filter(is_formula)
    {
        return Some(rest);
    }
    if let Some(value) = chinese_value(text) {
        return Some(value);
    }
    if let Some(rest) = NAMED.iter().find_map(after) {
        let (rest, separate) = separated(rest);
        return separate.then_some(rest);
    }
    let rest = separated(CHOSEN.iter().find_map(after)?).0;
    is_choice(rest).then_some(rest)
}

/// The number after a Chinese name and a verb: `甲数是十五`.
fn chinese_value(text: &str) -> Option<&str> {
    /// Longest name, in characters.
    const LONGEST: usize = 8;
    let (at, verb) = ["等于", "是", "为"]
        .iter()
        .find_map(|verb| Some((text.find(verb)?, verb)))?;
    let (name, value) = (text.get(..at)?, text.get(at + verb.len()..)?);
    let is_name = !name.contains(['不', '非', '没', '否', '如', '若', '可'])
        && name.chars().all(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
        && (1..=LONGEST).contains(&name.chars().count());
    let number = value.trim_end_matches(['.', '。', ' ']);
    let (_, rest) = number_words::leading(number)?;
    (is_name && rest.is_empty()).then_some(number)
}

/// `The correct answer is`, `Answer:`, `Option` before a letter.
fn english(text: &str) -> Option<&str> {
    let mut rest = text;
    let mut named = false;
    for _ in 0..6 {
        rest = rest.trim_start_matches([' ', '*', '~']);
        let len = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let word = rest.get(..len)?.to_ascii_lowercase();
        match word.as_str() {
            "so" | "thus" | "therefore" | "hence" | "the" | "final" | "correct" | "right"
                if !named => {}
            "answer" | "answers" | "ans" | "option" | "choice" | "solution" | "solutions" => {
                named = true;
            }
            "is" | "are" if named => {
                let after = rest.get(len..)?;
                return (!after.starts_with('\'')).then(|| separated(after).0);
            }
            _ if named => {
                let (after, separate) = separated(rest);
                return (separate || is_choice(after)).then_some(after);
            }
            _ => return None,
        }
        rest = rest.get(len..)?.trim_start_matches(',');
    }
    None
}

/// The name of a value, and the value: `Maximum value: 7`, `\text{Area: }7`, `The maximum value is
/// 7`.
pub(crate) fn labelled(text: &str) -> Option<(String, String)> {
    let flat;
    let text = match wrapping(text) {
        Some((inner, after))
            if inner.trim_end().ends_with(':')
                || inner.trim_end().ends_with(" is")
                || after.trim_start().starts_with(':') =>
        {
            flat = format!("{} {after}", inner.trim_end());
            flat.as_str()
        }
        Some((inner, after)) if after.trim().is_empty() => inner,
        _ => without_leading_layout(text),
    };
    let (name, value) = match text.split_once(':') {
        Some((name, value)) if value.starts_with([' ', '$', '\\']) && !value.contains(':') => {
            (name, value)
        }
        Some(_) => return None,
        None => {
            if !text.starts_with("The ") && !text.starts_with("the ") {
                return None;
            }
            let (name, value) = text
                .split_once(" is ")
                .or_else(|| text.split_once(" are "))?;
            if value.contains(" is ") || value.contains(" are ") || name.contains(" are ") {
                return None;
            }
            (name, value)
        }
    };
    if name.len() > LONGEST_WRAPPING {
        return None;
    }
    let sentence = !text.contains(':');
    let name = text::plain_words(name);
    let name = name
        .strip_prefix("The ")
        .or_else(|| name.strip_prefix("the "))
        .unwrap_or(&name);
    let most = if sentence { 10 } else { 4 };
    let plain = |word: &str| {
        word.chars().all(char::is_alphabetic) || sentence && !word.contains(['{', '}', '_', '\\'])
    };
    let negations = "not no if when unless or than never isnt almost about only without except yes";
    let words: Vec<String> = name.split(' ').map(str::to_lowercase).collect();
    let fits = name.len() <= LONGEST_LABEL
        && words.len() <= most
        && words.iter().any(|word| word.len() > 3)
        && words
            .iter()
            .all(|word| plain(word) && !negations.split(' ').any(|other| other == word));
    let name = if words.len() > 1 {
        words.join(" ")
    } else {
        name.to_owned()
    };
    // A sentence is not a value.
    let long = |part: &str| part.len() > 3 && part.bytes().all(|b| b.is_ascii_alphabetic());
    let turns = |part: &str| negations.split(' ').any(|other| other == part);
    let wordy = value
        .split(|c: char| !c.is_ascii_alphabetic() && c != '\\')
        .any(|part| long(part) || turns(part));
    (fits && !wordy && value.contains(char::is_alphanumeric)).then(|| (name, value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_announcements() {
        for text in [
            "The answer is 7",
            "Answer: 7",
            r"\text{Answer: }7",
            r"\text{The answer is }7",
            "so the final answer is: 7",
            "答案是7",
            "Respuesta: 7",
        ] {
            assert_eq!(strip(text).trim(), "7", "{text}");
        }
        for text in [
            "Option A",
            "option A",
            "Choice A",
            r"\text{Option A}",
            "Answer A",
            "选A",
            "选项A",
            "答案:A",
        ] {
            assert_eq!(strip(text).trim(), "A", "{text}");
        }
        assert_eq!(strip(r"Option \text{A}"), r"\text{A}");
        for text in ["Option 1", r"Option \text{none}", r"Option \text{A} or B"] {
            assert_eq!(strip(text), text);
        }
        assert_eq!(strip("answer key"), "answer key");
    }

    #[test]
    fn unwraps_mathematics_in_text_commands() {
        assert_eq!(strip(r"\text{x = 3}").trim(), "x = 3");
        assert_eq!(strip(r"\text{A. 5}").trim(), "A. 5");
        assert_eq!(strip(r"\text{Monday}"), r"\text{Monday}");
    }

    #[test]
    fn reads_names_of_values() {
        let named =
            |text: &str| labelled(text).map(|(name, value)| (name, value.trim().to_owned()));
        let seven = Some(("maximum value".to_owned(), "7".to_owned()));
        assert_eq!(named("Maximum value: 7"), seven);
        assert_eq!(named(r"\text{Maximum value: }7"), seven);
        assert_eq!(
            named("The smallest area is 7"),
            Some(("smallest area".to_owned(), "7".to_owned()))
        );
        assert_eq!(named("The answer is 5 if it is 3"), None);
        assert_eq!(named("The value is not 3"), None);
    }
}
