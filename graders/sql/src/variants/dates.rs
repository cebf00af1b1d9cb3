//! Dates in texts, such as `2024-02-29`, optionally followed by a time.

/// A date, and the text after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Date {
    /// Days since 1970-01-01.
    day: i64,
    rest: String,
}

impl Date {
    /// Parses a date; `None` for any other text and for nonexistent dates.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (date, rest) = text.split_at_checked(10)?;
        if !(rest.is_empty() || rest.starts_with(['T', ' '])) {
            return None;
        }
        let mut parts = date.split('-').map(|part| part.parse::<i64>().ok());
        let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
        let read = Self {
            day: days(year, month, day),
            rest: rest.to_owned(),
        };
        // Nonexistent dates convert to other dates.
        (parts.next().is_none() && read.text() == text).then_some(read)
    }

    /// The first day of a year or month, written as `2024` or `2024-02`.
    pub(super) fn first_day(text: &str) -> Option<Self> {
        let day = match text.len() {
            4 => format!("{text}-01-01"),
            7 => format!("{text}-01"),
            _ => return None,
        };
        Self::read(day.as_bytes()).filter(|date| (1_000..3_000).contains(&date.parts().0))
    }

    /// The date `days` days later, followed by the text of `like` if there is one.
    pub(super) fn later(&self, days: i64, like: Option<&Self>) -> Self {
        Self {
            day: self.day + days,
            rest: like.map_or_else(|| self.rest.clone(), |like| like.rest.clone()),
        }
    }

    /// The same day of another month, or the last day of that month if it is shorter.
    pub(super) fn in_month(&self, month: i64) -> Self {
        let (year, _, day) = self.parts();
        let mut day = day;
        loop {
            let moved = Self {
                day: days(year, month, day),
                rest: self.rest.clone(),
            };
            if moved.parts().1 == month {
                return moved;
            }
            day -= 1;
        }
    }

    pub(super) fn text(&self) -> String {
        let (year, month, day) = self.parts();
        format!("{year:04}-{month:02}-{day:02}{}", self.rest)
    }

    /// Year, month and day, computed with eras of 400 years that begin in March.
    fn parts(&self) -> (i64, i64, i64) {
        let shifted = self.day + 719_468;
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        (year + era * 400 + i64::from(month <= 2), month, day)
    }
}

/// The days from 1970-01-01 to a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_shifts_dates() {
        let of = |text: &str| Date::read(text.as_bytes());
        for text in [
            "1970-01-01",
            "2024-02-29",
            "1900-03-01",
            "1902-12-31",
            "1999-12-31T23:59:59",
            "2000-03-01 08:00",
        ] {
            assert_eq!(of(text).unwrap().text(), text);
        }
        for text in [
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-1-01",
            "24-01-0100",
            "2024-01-01x",
            "never",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(
            of("2024-02-28").unwrap().later(2, None).text(),
            "2024-03-01"
        );
        assert_eq!(
            of("2024-01-31 10:00").unwrap().in_month(2).text(),
            "2024-02-29 10:00"
        );
        assert_eq!(
            Date::first_day("2024").unwrap().later(-1, None).text(),
            "2023-12-31"
        );
        assert_eq!(Date::first_day("0024"), None);
    }
}
