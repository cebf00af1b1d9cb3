//! Dates and times of day, in printed text. Dates that do not exist are not read.

use crate::tree::{Date, Expr};

/// Months in English, French, German and Spanish.
const MONTHS: &[&[&str]] = &[
    &["january", "janvier", "januar", "enero"],
    &["february", "février", "februar", "febrero"],
    &["march", "mars", "märz", "marzo"],
    &["april", "avril", "abril"],
    &["may", "mai", "mayo"],
    &["june", "juin", "juni", "junio"],
    &["july", "juillet", "juli", "julio"],
    &["august", "août", "agosto"],
    &["september", "septembre", "septiembre"],
    &["october", "octobre", "oktober", "octubre"],
    &["november", "novembre", "noviembre"],
    &["december", "décembre", "dezember", "diciembre"],
];

const SHORT: &[&str] = &[
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

const WEEKDAYS: &[&str] = &[
    "saturday",
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
];

/// A date that is the whole text.
pub(crate) fn date(text: &str) -> Option<Expr> {
    let text = text.trim().trim_end_matches('.');
    if text.len() > 60 {
        return None;
    }
    let date = in_digits(text)
        .or_else(|| in_chinese(text))
        .or_else(|| in_words(text))?;
    valid(&date).then_some(Expr::Date(date))
}

fn valid(date: &Date) -> bool {
    let leap = date
        .year
        .is_none_or(|year| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let days = match date.month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    date.day.is_none_or(|day| (1..=days).contains(&day))
}

fn small(text: &str) -> Option<u8> {
    (matches!(text.len(), 1 | 2) && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

fn year(text: &str) -> Option<u16> {
    let digits = text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit());
    digits
        .then(|| text.parse().ok())
        .flatten()
        .filter(|year| (1_000..3_000).contains(year))
}

/// `2024-01-02`, `2024/01/02`, `01/02/2024`, `2.1.2024`.
fn in_digits(text: &str) -> Option<Date> {
    let separator = text
        .chars()
        .find(|c| !c.is_ascii_digit())
        .filter(|c| matches!(c, '-' | '/' | '.'))?;
    let parts: Vec<&str> = text.split(separator).map(str::trim).collect();
    let [a, b, c] = parts.as_slice() else {
        return None;
    };
    // `2024-1-2` is a difference.
    let two = |text: &str| separator == '.' || text.len() == 2;
    if let Some(year) = year(a) {
        return (two(b) && two(c)).then_some(Date::of(Some(year), small(b)?, Some(small(c)?)));
    }
    let (first, second, year) = (small(a)?, small(b)?, year(c)?);
    if separator == '-' && !(two(a) && two(b)) {
        return None;
    }
    Some(match (first, second) {
        (13.., _) => Date::of(Some(year), second, Some(first)),
        _ if separator == '.' => Date::of(Some(year), second, Some(first)),
        (_, 13..) => Date::of(Some(year), first, Some(second)),
        _ => Date {
            ambiguous: first != second,
            ..Date::of(Some(year), first, Some(second))
        },
    })
}

/// `2024年1月2日`, `1月2日`, `3月`.
fn in_chinese(text: &str) -> Option<Date> {
    let text: String = text.chars().filter(|c| *c != ' ').collect();
    let (own_year, rest) = match text.split_once('年') {
        Some((digits, rest)) => (Some(year(digits)?), rest),
        None => (None, text.as_str()),
    };
    let (month, rest) = rest.split_once('月')?;
    let day = match rest {
        "" => None,
        rest => Some(small(rest.strip_suffix(['日', '号'])?)?),
    };
    Some(Date::of(own_year, small(month)?, day))
}

/// `January 2, 2024`, `2nd of January 2024`, `2. Januar 2024`, `March 5`, `March`.
fn in_words(text: &str) -> Option<Date> {
    // The name of a month has at least three letters, and a date contains no formula.
    let letters = text.chars().filter(|c| c.is_alphabetic()).take(3).count();
    if letters < 3 || text.contains(['^', '+', '·', '(', '/']) {
        return None;
    }
    let mut date = Date::of(None, 0, None);
    let mut weekday = None;
    let mut words = 0;
    let mut alone_ok = false;
    for word in text.split([' ', ',', '.']).filter(|word| !word.is_empty()) {
        let lower = word.to_lowercase();
        words += 1;
        if matches!(
            lower.as_str(),
            "the" | "of" | "de" | "del" | "le" | "el" | "den" | "am"
        ) {
            continue;
        }
        if let Some(day) = WEEKDAYS.iter().position(|name| *name == lower)
            && words == 1
        {
            weekday = Some(day);
            continue;
        }
        if let Some(found) = year(word) {
            if date.year.replace(found).is_some() || date.month == 0 && date.day.is_some() {
                return None;
            }
            continue;
        }
        let digits = ["st", "nd", "rd", "th", "er", "ª", "º", "°"]
            .iter()
            .find_map(|end| lower.strip_suffix(end));
        if let Some(day) = small(digits.unwrap_or(&lower)) {
            if date.day.replace(day).is_some() {
                return None;
            }
            continue;
        }
        let full = MONTHS
            .iter()
            .position(|names| names.contains(&lower.as_str()));
        let short = SHORT
            .iter()
            .position(|name| *name == word || *name == "Sep" && word == "Sept");
        let month = u8::try_from(full.or(short)? + 1).ok()?;
        if date.month != 0 {
            return None;
        }
        date.month = month;
        alone_ok = short.is_some()
            || MONTHS
                .iter()
                .any(|names| names.first() == Some(&lower.as_str()));
    }
    if date.month == 0 || words == 1 && !alone_ok {
        return None;
    }
    match weekday {
        None => Some(date),
        // A weekday that does not match the date is an error.
        Some(own) => (valid(&date) && weekday_of(&date)? == own).then_some(date),
    }
}

/// The weekday, counted from Saturday (Zeller 1882).
fn weekday_of(date: &Date) -> Option<usize> {
    let (year, day) = (usize::from(date.year?), usize::from(date.day?));
    let (year, month) = if date.month < 3 {
        (year - 1, date.month + 12)
    } else {
        (year, date.month)
    };
    let (century, year) = (year / 100, year % 100);
    Some(
        (day + 13 * (usize::from(month) + 1) / 5 + year + year / 4 + century / 4 + 5 * century) % 7,
    )
}

/// A time of day that is the whole text: `20:34`, `8:34:00`, `08:34 p.m.`, `5 PM`, `noon`, `5
/// o'clock`, `8点30分`.
pub(crate) fn time(text: &str) -> Option<Expr> {
    let text = text.trim();
    if text.len() > 24 {
        return None;
    }
    let mut lower = text.to_lowercase();
    lower.retain(|c| !matches!(c, ' ' | '.' | '\''));
    match lower.as_str() {
        "noon" | "12noon" => return Some(Expr::Time(12 * 3_600)),
        "midnight" | "12midnight" => return Some(Expr::Time(0)),
        _ => {}
    }
    let morning = lower
        .strip_prefix("上午")
        .map(|rest| (rest.to_owned(), "am"));
    let afternoon = || {
        ["下午", "晚上"]
            .iter()
            .find_map(|name| lower.strip_prefix(name))
            .map(|rest| (rest.to_owned(), "pm"))
    };
    let (clock, half) = morning
        .or_else(afternoon)
        .or_else(|| lower.strip_suffix("am").map(|rest| (rest.to_owned(), "am")))
        .or_else(|| lower.strip_suffix("pm").map(|rest| (rest.to_owned(), "pm")))
        .unwrap_or_else(|| (lower.clone(), ""));
    let (clock, named) = match ["oclock", "uhr", "点", "点钟", "时", "点整"]
        .iter()
        .find_map(|end| clock.strip_suffix(end))
    {
        Some(hours) => (hours.to_owned(), true),
        None => (clock, false),
    };
    let clock = clock.replace(['点', '时'], ":");
    let clock = clock.strip_suffix('分').unwrap_or(&clock);
    let mut parts = clock.split(':');
    let mut hours = u32::from(small(parts.next()?)?);
    let rest: Vec<&str> = parts.collect();
    if rest.len() > 2
        || rest.iter().any(|part| part.len() != 2)
        || rest.is_empty() && half.is_empty() && !named
    {
        return None;
    }
    let mut values = [0u32; 2];
    for (value, part) in values.iter_mut().zip(&rest) {
        *value = u32::from(small(part)?);
    }
    let [minutes, seconds] = values;
    match half {
        "am" if (1..=12).contains(&hours) => hours %= 12,
        "pm" if (1..=12).contains(&hours) => hours = hours % 12 + 12,
        "" => {}
        _ => return None,
    }
    (hours < 25 && minutes < 60 && seconds < 60)
        .then(|| Expr::Time(hours * 3_600 + minutes * 60 + seconds))
}

/// A time of day with `am` or `pm`, which cannot be a ratio.
pub(crate) fn half_day(text: &str) -> Option<Expr> {
    let end = text.trim_end_matches(['.', ' ']);
    (end.ends_with(['m', 'M']) && text.starts_with(|c: char| c.is_ascii_digit()))
        .then(|| time(text))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        date(text)
            .or_else(|| time(text))
            .map_or_else(|| "nothing".to_owned(), |found| found.to_string())
    }

    #[test]
    fn reads_dates_in_all_orders() {
        for text in [
            "January 2, 2024",
            "2 January 2024",
            "Jan. 2, 2024",
            "the 2nd of January 2024",
            "Tuesday, January 2, 2024",
            "2024-01-02",
            "2024/01/02",
            "2.1.2024",
            "2024年1月2日",
            "2 janvier 2024",
            "2. Januar 2024",
            "2 de enero de 2024",
        ] {
            assert_eq!(shown(text), "2024-01-02", "{text}");
        }
        assert_eq!(shown("March 5th"), "03-05");
        assert_eq!(shown("5 March"), shown("Mar 5"));
        assert_eq!(shown("March"), shown("Mar"));
        assert_eq!(shown("01/02/2024"), "2024-01-02 or 2024-02-01");
    }

    #[test]
    fn rejects_other_texts() {
        for text in [
            "2021",
            "2024-1-2",
            "31 April",
            "Wednesday, January 2, 2024",
            "mar",
            "1/2/3",
            "13/14/2024",
            "Mars",
        ] {
            assert_eq!(shown(text), "nothing", "{text}");
        }
    }

    #[test]
    fn reads_times_of_day() {
        for text in [
            "5 PM",
            "5:00 PM",
            "17:00",
            "5 p.m.",
            "5pm",
            "17:00:00",
            "下午5点",
        ] {
            assert_eq!(shown(text), "17:00:00", "{text}");
        }
        assert_eq!(shown("12:00 AM"), shown("midnight"));
        assert_eq!(shown("12 pm"), shown("noon"));
        assert_eq!(shown("5 o'clock"), "05:00:00");
        assert_eq!(shown("13 pm"), "nothing");
        assert_eq!(shown("5"), "nothing");
    }
}
