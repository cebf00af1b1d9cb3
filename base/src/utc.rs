//! Times in UTC, as people write and read them.

use time::{Date, Month, OffsetDateTime};

/// A time to the second, such as `2026-11-18 11:06:40`. `None` if it is outside the calendar.
#[must_use]
pub fn shown(unix_us: i64) -> Option<String> {
    let time = OffsetDateTime::from_unix_timestamp(unix_us.div_euclid(1_000_000)).ok()?;
    let (date, hour, minute, second) = (time.date(), time.hour(), time.minute(), time.second());
    Some(format!("{date} {hour:02}:{minute:02}:{second:02}"))
}

/// Reads `2026-11-22`, `2026-11-22T03:45` or `2026-11-22 03:45:10`, with or without a final `Z`, as
/// microseconds since the Unix epoch. `None` if it is not a valid time.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let (date, clock) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let mut date = date.splitn(3, '-');
    let (year, month, day) = (
        date.next()?.parse().ok()?,
        date.next()?.parse::<u8>().ok()?,
        date.next()?.parse().ok()?,
    );
    let mut clock = clock.trim_end_matches('Z').splitn(3, ':');
    let (hour, minute) = (clock.next()?.parse().ok()?, clock.next()?.parse().ok()?);
    let second = clock.next().map_or(Some(0), |second| second.parse().ok())?;
    let date = Date::from_calendar_date(year, Month::try_from(month).ok()?, day).ok()?;
    let moment = date.with_hms(hour, minute, second).ok()?.assume_utc();
    moment.unix_timestamp().checked_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_and_reads_the_same_time() {
        let (us, text) = (1_795_000_000_000_000, "2026-11-18 11:06:40");
        assert_eq!(shown(us).as_deref(), Some(text));
        for text in [text, "2026-11-18T11:06:40", "2026-11-18T11:06:40Z"] {
            assert_eq!(parse(text), Some(us), "{text}");
        }
        assert_eq!(parse("2026-11-18T11:06"), Some(us - 40_000_000));
        assert_eq!(
            shown(parse("2026-11-18").unwrap()).unwrap(),
            "2026-11-18 00:00:00"
        );
        assert_eq!(shown(-1).as_deref(), Some("1969-12-31 23:59:59"));
    }

    #[test]
    fn rejects_what_is_not_a_time() {
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-11-31",
            "2026-11-18T25:00",
            "1",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(shown(i64::MAX), None);
    }
}
