//! Words in a comparable form, without typography and articles.
//!
//! Signs next to digits are not typography (`-3`, `2.5`, `1:2`, `5!`), nor is the case of short
//! letters that do not spell a word (`Mg`, `Rr`).

use std::collections::HashSet;
use std::sync::LazyLock;

/// Longest text that is compared as words, in bytes. In longer ones only case and blanks are
/// ignored.
const MAX_BYTES: usize = 4_000;

/// Whether a command only changes the layout of words.
fn is_layout(command: &str) -> bool {
    matches!(
        command,
        "text"
            | "textbf"
            | "mathrm"
            | "textit"
            | "mbox"
            | "mathbf"
            | "textrm"
            | "quad"
            | "qquad"
            | "textnormal"
            | "boxed"
            | "left"
            | "right"
            | "emph"
            | "underline"
            | "operatorname"
    )
}

/// The text in lower case with single blanks, without punctuation, articles and LaTeX.
pub(crate) fn comparable(text: &str) -> String {
    if text.len() > MAX_BYTES {
        return with_single_blanks(text);
    }
    let words = plain_words(text);
    without_articles(&words).to_lowercase()
}

/// Like [`comparable`], but words of up to three letters that are not plain words keep their case:
/// `CO` is not `Co`.
pub(crate) fn cased(text: &str) -> String {
    if text.len() > MAX_BYTES {
        return with_single_blanks(text);
    }
    let words = plain_words(text);
    let words: Vec<String> = without_articles(&words).split(' ').map(folded).collect();
    words.join(" ")
}

fn with_single_blanks(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    plain.make_ascii_lowercase();
    plain
}

/// The words with their case and articles, without typography.
pub(crate) fn plain_words(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    // The last character that is not a blank. Searching for it each time would be quadratic.
    let mut solid = ' ';
    // A sign at the start belongs to the text after it.
    let signed = text.trim_start_matches([' ', '$', '{']);
    if signed.starts_with(['-', '−']) {
        rest = signed.trim_start_matches(['-', '−', ' ']);
        plain.push('-');
        before = '-';
        while let Some(after) = wrapped(rest) {
            rest = after;
        }
    }
    while let Some(c) = rest.chars().next() {
        // Most of a text are runs of letters, which are copied.
        if c.is_alphanumeric() {
            let run = rest
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(rest.len());
            let (letters, after) = rest.split_at(run);
            plain.push_str(letters);
            rest = after;
            before = letters.chars().next_back().unwrap_or(c);
            solid = before;
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        let next = rest.chars().next().unwrap_or(' ');
        if c == '\\' {
            let len = rest
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(rest.len());
            let command = rest.get(..len).unwrap_or_default();
            if !is_layout(command) && len > 0 {
                plain.push('\\');
                plain.push_str(command);
            }
            blank(&mut plain);
            rest = rest.get(len..).unwrap_or_default();
        } else if matches!(
            c,
            '+' | '*' | '/' | '^' | '=' | '<' | '>' | '_' | '%' | '√' | '±' | '×' | '≤' | '≥' | '≠'
        ) || is_mark(c, before, next)
            || c == '!' && before.is_ascii_digit()
        {
            plain.push(c);
        } else if matches!(c, '-' | '−' | '–') {
            if is_minus(&plain, before, solid, rest) {
                plain.push('-');
            } else {
                blank(&mut plain);
            }
        } else if c == '\'' || c == '’' {
            // `don't` is one word, but `f'` is not `f`.
            if last_word_is_letter(&plain) && !next.is_alphabetic() {
                plain.push('\'');
            }
        } else if c == '('
            && rest.starts_with("s)")
            && plain.chars().rev().take(3).all(char::is_alphabetic)
        {
            rest = rest.get(2..).unwrap_or_default();
        } else {
            blank(&mut plain);
        }
        before = c;
        if !c.is_whitespace() {
            solid = c;
        }
    }
    plain.truncate(plain.trim_end().len());
    if plain.starts_with(' ') {
        plain.remove(0);
    }
    plain
}

/// Appends a blank, unless the text ends with one.
fn blank(plain: &mut String) {
    if !plain.ends_with(' ') {
        plain.push(' ');
    }
}

/// The text after the start of a layout command.
fn wrapped(text: &str) -> Option<&str> {
    let after = text.strip_prefix('\\')?;
    let (command, inner) = after.split_once('{')?;
    is_layout(command.trim()).then_some(inner)
}

/// `2.5`, `.5`, `1:2`
fn is_mark(c: char, before: char, next: char) -> bool {
    next.is_ascii_digit()
        && (matches!(c, '.' | ':') && before.is_ascii_digit()
            || c == '.' && !before.is_alphanumeric())
}

/// Whether a dash after `plain` is a sign or an operator: before digits unless a word ends there,
/// or between single letters and digits.
fn is_minus(plain: &str, before: char, solid: char, rest: &str) -> bool {
    let next = rest.chars().next().unwrap_or(' ');
    if next.is_whitespace() {
        let digit = rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
        return digit && solid.is_ascii_digit();
    }
    let lone = |mut chars: std::str::Chars<'_>| {
        chars.next().is_some_and(char::is_alphabetic)
            && !chars.next().is_some_and(char::is_alphanumeric)
    };
    if next.is_ascii_digit() {
        !before.is_alphabetic() || last_word_is_letter(plain)
    } else {
        before.is_ascii_digit() && lone(rest.chars())
    }
}

fn last_word_is_letter(plain: &str) -> bool {
    let mut back = plain.chars().rev();
    back.next().is_some_and(char::is_alphabetic) && !back.next().is_some_and(char::is_alphanumeric)
}

/// Words without `the`, `a` and `an`. `A` at the end, before a verb or inside of a text is a name:
/// `Group A`, `A wins`.
fn without_articles(spoken: &str) -> String {
    let words: Vec<&str> = spoken.split(' ').collect();
    let mut kept: Vec<&str> = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied();
        let article = match *word {
            "the" | "The" | "THE" => true,
            "an" => next.is_some(),
            "An" => kept.is_empty() && next.is_some(),
            "a" => next.is_some_and(|next| !follows_a_name(next)),
            "A" => kept.is_empty() && next.is_some_and(|next| !follows_a_name(next)),
            _ => false,
        };
        if !article {
            kept.push(word);
        }
    }
    if kept.is_empty() {
        spoken.to_owned()
    } else {
        kept.join(" ")
    }
}

/// Whether `A` before this word is a name, not an article.
fn follows_a_name(next: &str) -> bool {
    let lower = next.to_lowercase();
    let verb = lower.len() > 3
        && lower.ends_with('s')
        && !lower.ends_with("ss")
        && !lower.ends_with("us")
        && !lower.ends_with("is")
        && !matches!(
            lower.as_str(),
            "series" | "means" | "species" | "physics" | "lens"
        );
    verb || next.chars().count() == 1
        || !next.starts_with(char::is_alphabetic)
        || matches!(
            lower.as_str(),
            "is" | "was"
                | "has"
                | "had"
                | "can"
                | "cannot"
                | "could"
                | "will"
                | "would"
                | "must"
                | "may"
                | "might"
                | "should"
                | "does"
                | "did"
                | "won"
                | "lost"
                | "beat"
                | "got"
                | "goes"
                | "went"
                | "and"
                | "or"
                | "not"
                | "nor"
                | "to"
                | "of"
                | "in"
                | "on"
                | "at"
                | "by"
                | "for"
                | "from"
                | "with"
                | "than"
                | "then"
                | "if"
                | "but"
                | "only"
        )
}

/// A word in lower case, except short words that are not plain words, letters in pairs (`AaBb`),
/// and Roman numerals.
fn folded(word: &str) -> String {
    let lower = word.to_lowercase();
    if !word.is_ascii() || is_plain(&lower) {
        return lower;
    }
    let bytes = word.as_bytes();
    let lowers = lower.as_bytes();
    let letters = bytes
        .iter()
        .filter(|byte| byte.is_ascii_alphabetic())
        .count();
    if letters > 3 {
        let paired = letters == bytes.len()
            && lowers
                .chunks(2)
                .all(|pair| pair.first() == pair.last() && pair.len() == 2);
        let roman = bytes.iter().all(|byte| b"IVX".contains(byte));
        return if paired || roman {
            word.to_owned()
        } else {
            lower
        };
    }
    // `Sam` is a name; `Abc` may be anything.
    let name = matches!(bytes, [first, vowel, last]
        if first.is_ascii_uppercase() && b"aeiou".contains(vowel) && last.is_ascii_lowercase());
    if name { lower } else { word.to_owned() }
}

/// Whether a lower-case word of up to four letters is a plain word of a language.
pub(crate) fn is_plain(lower: &str) -> bool {
    const WORDS: &str = "am an as at be by do go he if in is it me my no of oh ok on or so to up \
        us we add age ago aid aim air all and any are arm art ask bad bag ball bar bat bed bee \
        bet big bit box boy bus but buy can car cat cow cry cup cut dad day did die dog dot dry \
        due ear eat egg end eve eye fan far fat few fit fix fly for fox fun gap gas get got guy \
        had has hat hen her him his hit hot how ice ink its job key kid law leg let lie lot low \
        man map may men mix mom net new nil nor not now nut odd off oil old one our out own pay \
        pen pet pie pig pot put raw red row run sad say sea see set she sit six sky son sum sun \
        tax tea ten the tie tin too top toy try two use van via war was way wet who why win won \
        yes yet you zoo mon tue wed thu fri sat jan feb mar apr jun jul aug sep oct nov dec ann \
        amy ada ali ava eva ivy ian una art ja si da et un la le el les der das ein und oui non \
        sim que est ist";
    static SET: LazyLock<HashSet<&'static str>> =
        LazyLock::new(|| WORDS.split_whitespace().collect());
    lower.len() <= 4 && SET.contains(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_typography_and_articles() {
        assert_eq!(comparable(r"\text{The  Prism, again.}"), "prism again");
        assert_eq!(comparable("Right-angled"), "right angled");
        assert_eq!(comparable("a prism"), "prism");
        assert_eq!(comparable("A folding chair"), "folding chair");
        assert_eq!(comparable("an isosceles one"), "isosceles one");
        assert_eq!(comparable("no solution(s)"), "no solution");
    }

    #[test]
    fn keeps_a_as_name() {
        assert_eq!(cased("A"), "A");
        assert_eq!(cased("Group A"), "group A");
        assert_eq!(cased("Vitamin A deficiency"), "vitamin A deficiency");
        assert_eq!(cased("A is greater"), "A is greater");
        assert_eq!(cased("A wins"), "A wins");
    }

    #[test]
    fn keeps_signs_next_to_digits() {
        for text in [
            "left -3",
            "2.5 hours",
            ".5 more",
            "1:2 north",
            "5! ways",
            "n-1 of them",
            "10-12 days",
            "-apple",
        ] {
            assert_eq!(comparable(text), text);
        }
        assert_eq!(comparable("5-gon, at 3."), "5 gon at 3");
        assert_eq!(comparable(r"-\text{abc}"), "-abc");
        assert_eq!(comparable("10 – 12 days"), "10 - 12 days");
        assert_eq!(comparable("f' is odd"), "f' is odd");
    }

    #[test]
    fn keeps_case_of_short_letters() {
        for word in [
            "AaBb", "aabb", "Rr", "PV", "pv", "Co", "CO", "Mg", "mg", "ABC", "VIII",
        ] {
            assert_eq!(cased(word), word);
        }
        for word in ["YES", "No", "Odd", "Red", "Sam", "Monday", "NONE"] {
            assert_eq!(cased(word), word.to_lowercase());
        }
    }

    #[test]
    fn comparable_form_is_stable() {
        for text in [
            "Group A",
            "the 5! -3 A wins",
            "-apple",
            "x-1 is f'",
            r"\alpha + 2.5",
        ] {
            assert_eq!(cased(&cased(text)), cased(text));
            assert_eq!(plain_words(&plain_words(text)), plain_words(text));
        }
    }
}
