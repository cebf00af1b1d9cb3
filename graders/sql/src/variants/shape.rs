//! The form that the texts of a column share: letter case, length, separators, and the ranges of
//! their numbers. New texts have the same form, so that queries that rely on it stay equivalent.

use assay_base::Random;

/// Number of texts from which a form that they share is assumed to be general.
const MIN_TEXTS: usize = 3;

/// Letter case of the texts of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Upper,
    Lower,
    /// Each word begins with a capital letter.
    Title,
    Mixed,
}

/// The form that the texts of a column share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextShape {
    case: Case,
    /// The length of all texts, in bytes.
    length: Option<usize>,
    /// The characters of all texts that are neither letters nor digits; `None` if they differ.
    separators: Option<Vec<u8>>,
    /// The least and the largest value of each number of the texts; empty unless they all have the
    /// same separators and numbers of the same or smaller lengths.
    fields: Vec<(u64, u64)>,
    /// Whether all texts are JSON arrays or objects.
    is_json: bool,
}

impl TextShape {
    /// The form of texts; `None` if there are too few.
    pub(super) fn of(texts: &[&[u8]]) -> Option<Self> {
        if texts.len() < MIN_TEXTS {
            return None;
        }
        let shared = |of: fn(&[u8]) -> Vec<u8>| {
            let first = of(texts[0]);
            texts.iter().all(|text| of(text) == first).then_some(first)
        };
        let separators = shared(separators);
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        Some(Self {
            case: case_of(texts),
            length: lengths
                .iter()
                .all(|length| *length == lengths[0])
                .then_some(lengths[0]),
            fields: separators
                .as_ref()
                .and_then(|_| ranges(texts))
                .unwrap_or_default(),
            separators,
            is_json: texts
                .iter()
                .all(|text| matches!(text.trim_ascii().first(), Some(b'{' | b'['))),
        })
    }

    /// A text with the letter case of the column; `None` if it has another length.
    pub(super) fn adapted(&self, text: &str) -> Option<String> {
        let adapted = self.cased(text.as_bytes());
        let fits = self.length.is_none_or(|length| length == adapted.len());
        String::from_utf8(adapted).ok().filter(|_| fits)
    }

    /// A text like this one of the column, with its letters and digits replaced; `word` is a new
    /// word. `None` if the column has no form that a text must follow.
    pub(super) fn changed(&self, text: &[u8], word: &[u8], random: &mut Random) -> Option<Vec<u8>> {
        if self.is_json {
            return Some(text.to_vec());
        }
        if !self.fields.is_empty() {
            return Some(self.with_fields(text, random));
        }
        if text.iter().any(u8::is_ascii_digit) {
            return None;
        }
        let has_separators = self.separators.as_ref().is_some_and(|all| !all.is_empty());
        if self.case == Case::Mixed && self.length.is_none() && !has_separators {
            return None;
        }
        let in_place = self.length.is_some() || has_separators || random.chance(50);
        Some(if in_place {
            let letters = text.iter().map(|byte| changed_letter(*byte, random));
            letters.collect()
        } else if random.chance(50) {
            self.cased(&[text, word].concat())
        } else {
            self.cased(word)
        })
    }

    /// A text with the letter case of the column.
    fn cased(&self, text: &[u8]) -> Vec<u8> {
        let mut cased = text.to_vec();
        match self.case {
            Case::Upper => cased.make_ascii_uppercase(),
            Case::Lower => cased.make_ascii_lowercase(),
            Case::Title => {
                for at in 0..cased.len() {
                    if at > 0 && cased[at - 1].is_ascii_alphanumeric() {
                        cased[at] = cased[at].to_ascii_lowercase();
                    } else {
                        cased[at] = cased[at].to_ascii_uppercase();
                    }
                }
            }
            Case::Mixed => {}
        }
        cased
    }

    /// A text with some of its numbers replaced by numbers in the range of the column.
    fn with_fields(&self, text: &[u8], random: &mut Random) -> Vec<u8> {
        let mut changed = Vec::with_capacity(text.len());
        let mut fields = self.fields.iter();
        for part in text.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
            let range = part[0].is_ascii_digit().then(|| fields.next()).flatten();
            match range.filter(|_| random.chance(50)) {
                Some((least, most)) => {
                    let span = usize::try_from(most - least).unwrap_or(usize::MAX - 1);
                    let number = least + random.below(span + 1) as u64;
                    let width = part.len();
                    changed.extend(format!("{number:0width$}").into_bytes());
                }
                None => changed.extend(part),
            }
        }
        changed
    }
}

/// A letter of the same case; other bytes are returned unchanged.
fn changed_letter(byte: u8, random: &mut Random) -> u8 {
    let first = match byte {
        b'a'..=b'z' => b'a',
        b'A'..=b'Z' => b'A',
        _ => return byte,
    };
    if random.chance(40) {
        first + u8::try_from(random.below(26)).unwrap_or_default()
    } else {
        byte
    }
}

fn separators(text: &[u8]) -> Vec<u8> {
    let separates = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
    text.iter().copied().filter(separates).collect()
}

fn case_of(texts: &[&[u8]]) -> Case {
    let letters = || texts.iter().flat_map(|text| text.iter());
    let has_letters = texts
        .iter()
        .all(|text| text.iter().any(u8::is_ascii_alphabetic));
    let is_title = |text: &&[u8]| {
        (0..text.len()).all(|at| {
            let begins = at == 0 || !text[at - 1].is_ascii_alphanumeric();
            let other = if begins {
                u8::is_ascii_lowercase
            } else {
                u8::is_ascii_uppercase
            };
            !other(&text[at])
        })
    };
    if !has_letters || letters().any(|byte| !byte.is_ascii()) {
        Case::Mixed
    } else if !letters().any(u8::is_ascii_lowercase) {
        Case::Upper
    } else if !letters().any(u8::is_ascii_uppercase) {
        Case::Lower
    } else if texts.iter().all(is_title) {
        Case::Title
    } else {
        Case::Mixed
    }
}

/// The ranges of the numbers of texts; `None` if they do not have at least two numbers each, as a
/// time, a version or a date have, or not equally many.
fn ranges(texts: &[&[u8]]) -> Option<Vec<(u64, u64)>> {
    let numbers = |text: &[u8]| -> Option<Vec<u64>> {
        text.split(|byte| !byte.is_ascii_digit())
            .filter(|digits| !digits.is_empty())
            .map(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
            .collect()
    };
    let mut ranges: Vec<(u64, u64)> = numbers(texts[0])?.iter().map(|n| (*n, *n)).collect();
    for text in texts {
        let numbers = numbers(text)?;
        if numbers.len() != ranges.len() {
            return None;
        }
        for ((least, most), number) in ranges.iter_mut().zip(numbers) {
            (*least, *most) = ((*least).min(number), (*most).max(number));
        }
    }
    (ranges.len() >= 2).then_some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(texts: &[&str]) -> TextShape {
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        TextShape::of(&texts).unwrap()
    }

    /// Many texts like the first one.
    fn like(texts: &[&str]) -> Vec<String> {
        let (shape, mut random) = (shape(texts), Random::new(3));
        (0..300)
            .map(|_| shape.changed(texts[0].as_bytes(), b"word", &mut random))
            .map(|text| String::from_utf8(text.unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn keeps_letter_case_and_length() {
        let codes = like(&["US", "FR", "US"]);
        assert!(codes.iter().any(|code| code != "US"));
        let is_code =
            |code: &String| code.len() == 2 && code.bytes().all(|b| b.is_ascii_uppercase());
        assert!(codes.iter().all(is_code), "{codes:?}");
        let names = like(&["Ada", "Boris", "Cy"]);
        assert!(names.contains(&"Word".to_owned()) && names.contains(&"Adaword".to_owned()));
    }

    #[test]
    fn keeps_separators_and_ranges_of_numbers() {
        let times = like(&["08:15", "19:59", "10:00"]);
        assert!(times.contains(&"09:15".to_owned()) || times.contains(&"11:15".to_owned()));
        let is_time = |time: &String| {
            let (hour, minute) = time.split_once(':').unwrap();
            time.len() == 5 && ("08"..="19").contains(&hour) && ("00"..="59").contains(&minute)
        };
        assert!(times.iter().all(is_time), "{times:?}");
        let names = like(&["Ann Lee", "Bob Ray", "Cid Fox"]);
        assert!(names.iter().all(|name| name.matches(' ').count() == 1));
        let documents = like(&["{\"a\": [1]}", "[]", "{\"b\": null}"]);
        assert!(documents.iter().all(|document| document == "{\"a\": [1]}"));
    }

    #[test]
    fn adapts_constants() {
        let codes = shape(&["US", "FR", "DE"]);
        assert_eq!(codes.adapted("us").as_deref(), Some("US"));
        assert_eq!(codes.adapted("USs"), None);
        let names = shape(&["Ada", "Bo Li", "Cy"]);
        assert_eq!(names.adapted("bo LI").as_deref(), Some("Bo Li"));
        assert_eq!(
            shape(&["Ada", "ada", "x"]).adapted("aDa").as_deref(),
            Some("aDa")
        );
    }

    #[test]
    fn few_texts_have_no_form() {
        assert_eq!(TextShape::of(&[b"A", b"B"]), None);
    }
}
