//! Dates in texts, in the usual ways of writing them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::normal::unmarked;

/// A date: year, month and day, of which the latter may be missing.
pub(crate) type Date = (u16, Option<u8>, Option<u8>);

/// Longest text that is searched, in bytes.
const MAX_BYTES: usize = 16 << 10;

/// The names of months in English, German, French, Spanish, Portuguese, Italian, Dutch and Russian,
/// without marks. A name may be shortened to three letters or more.
const MONTHS: [&str; 12] = [
    "january januar janvier enero janeiro gennaio januari января январь",
    "february februar fevrier febrero fevereiro febbraio februari февраля февраль",
    "march marz mars marzo marco maart марта март",
    "april avril abril aprile апреля апрель",
    "may mai mayo maio maggio mei мая маи",
    "june juni juin junio junho giugno июня июнь",
    "july juli juillet julio julho luglio июля июль",
    "august aout agosto augustus августа август",
    "september septembre septiembre setembro settembre сентября сентябрь",
    "october oktober octobre octubre outubro ottobre октября октябрь",
    "november novembre noviembre novembro ноября ноябрь",
    "december dezember decembre diciembre dezembro dicembre декабря декабрь",
];

/// How the parts of a written date become dates; a pattern may have two readings.
type Read = fn(&Captures<'_>) -> Vec<Date>;

/// Patterns of dates, over texts in lower case without marks. The first that matches at a position
/// decides.
static FORMS: LazyLock<Vec<(Regex, Read)>> = LazyLock::new(|| {
    let forms: [(&str, Read); 7] = [
        (r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b", |c| {
            full(part(c, 1), part(c, 2), part(c, 3))
        }),
        (
            r"(\d{4})\s*[年년]\s*(?:(\d{1,2})\s*[月월]\s*(?:(\d{1,2})\s*[日일])?)?",
            |c| full(part(c, 1), part(c, 2), part(c, 3)),
        ),
        (r"\b(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})\b", |c| {
            let (a, b, year) = (part(c, 1), part(c, 2), part(c, 3));
            let mut dates = full(year, b, a);
            // "3/5/2024" may be May or March.
            dates.extend(full(year, a, b));
            dates
        }),
        (
            r"\b(\d{1,2})(?:st|nd|rd|th|er|\.|º|°)?\s+(?:of\s+|de\s+|di\s+)?(\p{L}{3,})\.?,?\s+(?:of\s+|de\s+|del\s+)?(\d{4})\b",
            |c| full(part(c, 3), month(&c[2]), part(c, 1)),
        ),
        (
            r"\b(\p{L}{3,})\.?\s+(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\b",
            |c| full(part(c, 3), month(&c[1]), part(c, 2)),
        ),
        (
            r"\b(\p{L}{3,})\.?,?\s+(?:of\s+|de\s+)?([12]\d{3})\b",
            |c| match month(&c[1]) {
                Some(month) => full(part(c, 2), Some(month), None),
                None => full(part(c, 2), None, None),
            },
        ),
        (r"\b([12]\d{3})\b", |c| full(part(c, 1), None, None)),
    ];
    forms
        .into_iter()
        .filter_map(|(pattern, read)| Some((Regex::new(pattern).ok()?, read)))
        .collect()
});

fn part(captures: &Captures<'_>, at: usize) -> Option<u16> {
    captures.get(at)?.as_str().parse().ok()
}

/// The number of a month from its name or the start of it.
fn month(name: &str) -> Option<u16> {
    let at = MONTHS.iter().position(|names| {
        names
            .split(' ')
            .any(|own| own == name || own.starts_with(name) && name.chars().count() >= 3)
    })?;
    u16::try_from(at + 1).ok()
}

/// The date with these parts, if there is one.
fn full(year: Option<u16>, month: Option<u16>, day: Option<u16>) -> Vec<Date> {
    let Some(year) = year else { return Vec::new() };
    let small = |number: Option<u16>, max: u16| match number {
        None => Some(None),
        Some(number) if (1..=max).contains(&number) => Some(u8::try_from(number).ok()),
        Some(_) => None,
    };
    match (small(month, 12), small(day, 31)) {
        (Some(month), Some(day)) if month.is_some() || day.is_none() => vec![(year, month, day)],
        _ => Vec::new(),
    }
}

/// The dates in a text. Each is a set of readings.
pub(crate) fn find(text: &str) -> Vec<BTreeSet<Date>> {
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let plain = unmarked(text);
    let mut taken: Vec<(usize, usize)> = Vec::new();
    let mut dates = Vec::new();
    for (form, read) in FORMS.iter() {
        for captures in form.captures_iter(&plain) {
            let Some(whole) = captures.get(0) else {
                continue;
            };
            let overlaps = taken
                .iter()
                .any(|(start, end)| whole.start() < *end && *start < whole.end());
            let readings: BTreeSet<Date> = read(&captures).into_iter().collect();
            if overlaps || readings.is_empty() {
                continue;
            }
            taken.push((whole.start(), whole.end()));
            dates.push(readings);
        }
    }
    dates
}

/// Whether a text has exactly one date, and it is the date of the gold.
pub(crate) fn agrees(text: &str, gold: &BTreeSet<Date>) -> bool {
    let dates = find(text);
    let mut distinct = dates.iter();
    let Some(first) = distinct.next() else {
        return false;
    };
    distinct.all(|other| !other.is_disjoint(first)) && !first.is_disjoint(gold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_usual_forms() {
        for text in [
            "2024-03-05",
            "5 March 2024",
            "March 5th, 2024",
            "the 5th of March 2024",
            "5. März 2024",
            "5 mars 2024",
            "5 de marzo de 2024",
            "05.03.2024",
            "2024年3月5日",
            "2024년 3월 5일",
            "Mar 5, 2024",
            "5 марта 2024",
            "It was on 5 March 2024, I think.",
        ] {
            let dates = find(text);
            assert!(
                dates.len() == 1 && dates[0].contains(&(2024, Some(3), Some(5))),
                "{text}: {dates:?}"
            );
        }
        assert_eq!(
            find("March 2024")[0],
            BTreeSet::from([(2024, Some(3), None)])
        );
        assert_eq!(find("in 1969")[0], BTreeSet::from([(1969, None, None)]));
        assert!(
            find("32.13.2024")
                .iter()
                .all(|date| !date.contains(&(2024, Some(13), Some(32))))
        );
    }

    #[test]
    fn only_one_date_is_an_answer() {
        let gold = find("5 March 2024").remove(0);
        assert!(agrees("2024-03-05", &gold));
        assert!(!agrees("5 March 2024 or 6 March 2024", &gold));
        assert!(!agrees("March 2024", &gold));
    }
}
