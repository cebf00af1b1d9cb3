//! Guesses the language of a prompt: by its script, and by frequent words for the Latin script.

/// Minimum number of frequent words for a guess.
const MIN_WORDS: usize = 4;

/// Maximum number of words that are read.
const MAX_WORDS: usize = 100;

/// Frequent English words that are not words of the other languages.
const ENGLISH: &[&str] = &[
    "the", "and", "how", "what", "each", "many", "are", "that", "with",
];

/// Frequent words of languages, which are rare in the others.
const LANGUAGES: &[(&str, &[&str])] = &[
    (
        "English",
        &[
            "the", "of", "is", "what", "how", "and", "are", "many", "find", "that", "to", "if",
            "each", "with",
        ],
    ),
    (
        "German",
        &[
            "der", "die", "das", "und", "ist", "wie", "ein", "eine", "viele", "nicht", "mit",
            "sind", "wenn",
        ],
    ),
    (
        "French",
        &[
            "le", "les", "est", "des", "une", "combien", "dans", "et", "sont", "pour", "que",
            "quel", "du",
        ],
    ),
    (
        "Spanish",
        &[
            "el", "los", "las", "una", "es", "cuántos", "cuántas", "qué", "y", "cada", "por", "si",
            "del",
        ],
    ),
    (
        "Portuguese",
        &[
            "os", "uma", "não", "são", "quantos", "quantas", "qual", "com", "em", "da", "dos",
            "cada",
        ],
    ),
    (
        "Italian",
        &[
            "il", "gli", "che", "quanti", "quante", "della", "sono", "per", "di", "uno", "ogni",
            "è",
        ],
    ),
    (
        "Dutch",
        &[
            "het", "een", "van", "hoeveel", "zijn", "niet", "en", "wat", "elke", "voor",
        ],
    ),
];

/// The language of a text; `None` if it cannot be told.
pub(crate) fn language(text: &str) -> Option<&'static str> {
    let (mut latin, mut others) = (0usize, [0usize; SCRIPTS.len()]);
    for c in text.chars().take(2_000).filter(|c| c.is_alphabetic()) {
        if c < '\u{250}' {
            latin += 1;
        } else if let Some(at) = SCRIPTS
            .iter()
            .position(|(_, first, last)| (*first..=*last).contains(&c))
        {
            others[at] += 1;
        }
    }
    let (at, most) = others.iter().enumerate().max_by_key(|(_, count)| **count)?;
    if *most * 2 > latin && *most >= MIN_WORDS {
        return Some(SCRIPTS[at].0);
    }
    let words = || {
        text.split(|c: char| !c.is_alphabetic())
            .filter(|word| !word.is_empty())
            .take(MAX_WORDS)
    };
    // Most prompts are English, which needs no other counts.
    let is_english = |word: &&str| ENGLISH.iter().any(|known| word.eq_ignore_ascii_case(known));
    if words().filter(is_english).take(MIN_WORDS).count() == MIN_WORDS {
        return Some(LANGUAGES[0].0);
    }
    let mut counts = [0usize; LANGUAGES.len()];
    for word in words() {
        let word = word.to_lowercase();
        for (count, (_, words)) in counts.iter_mut().zip(LANGUAGES) {
            *count += usize::from(words.contains(&word.as_str()));
        }
    }
    let (best, count) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
    let second = counts
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != best)
        .map(|(_, count)| *count)
        .max()?;
    (*count >= MIN_WORDS && *count > second * 2).then_some(LANGUAGES[best].0)
}

/// Scripts, with their first and last characters.
const SCRIPTS: &[(&str, char, char)] = &[
    ("Greek", '\u{370}', '\u{3ff}'),
    (
        "Russian or another language in Cyrillic",
        '\u{400}',
        '\u{52f}',
    ),
    ("Hebrew", '\u{590}', '\u{5ff}'),
    ("Arabic", '\u{600}', '\u{6ff}'),
    ("Hindi", '\u{900}', '\u{97f}'),
    ("Thai", '\u{e00}', '\u{e7f}'),
    ("Japanese", '\u{3040}', '\u{30ff}'),
    ("Chinese", '\u{4e00}', '\u{9fff}'),
    ("Korean", '\u{ac00}', '\u{d7af}'),
];

#[cfg(test)]
mod tests {
    use super::language;

    #[test]
    fn tells_languages_apart() {
        for (text, expected) in [
            (
                "How many of the apples are left if each is cut?",
                Some("English"),
            ),
            (
                "Wie viele Äpfel sind das, wenn die Kiste leer ist?",
                Some("German"),
            ),
            (
                "Combien de pommes sont dans le panier et les sacs?",
                Some("French"),
            ),
            ("小明有五个苹果，他又买了三个。", Some("Chinese")),
            (
                "Сколько яблок осталось?",
                Some("Russian or another language in Cyrillic"),
            ),
            ("2 + 2", None),
        ] {
            assert_eq!(language(text), expected, "{text}");
        }
    }
}
