//! Spans of time in arguments, such as `30s`, `15m`, `12h` or `90d`, and times.

use assay_base::utc;

use crate::process::unix_us;

/// A century, far from the end of the clock.
const MAX: u64 = 100 * 365 * 24 * 60 * 60;

/// Parses a span of time, in seconds.
pub(super) fn parse_seconds(text: &str) -> Result<u64, String> {
    let parse = || {
        let (last, _) = text.char_indices().next_back()?;
        let (number, unit) = text.split_at(last);
        let factor = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 60 * 60,
            "d" => 24 * 60 * 60,
            _ => return None,
        };
        let seconds = number.parse::<u64>().ok()?.checked_mul(factor)?;
        (seconds <= MAX).then_some(seconds)
    };
    parse().ok_or_else(|| "expected a number and `s`, `m`, `h` or `d`, such as `90d`".to_owned())
}

/// Parses a time in UTC, or how long ago it was, as microseconds since the Unix epoch.
pub(super) fn parse_time(text: &str) -> Result<i64, String> {
    let ago = || {
        let us = i64::try_from(parse_seconds(text).ok()?).ok()? * 1_000_000;
        Some(unix_us() - us)
    };
    utc::parse(text).or_else(ago).ok_or_else(|| {
        "expected a time in UTC, such as `2026-11-22` or `2026-11-22T03:45`, or how long ago, such \
         as `2h`"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_times_and_spans_before_now() {
        assert_eq!(parse_time("1970-01-02T00:00:01"), Ok(86_401_000_000));
        let before = unix_us() - 7_200_000_000;
        let parsed = parse_time("2h").unwrap();
        assert!((before..=unix_us() - 7_200_000_000).contains(&parsed));
        for text in ["yesterday", "1", "2026-13-01"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parses_spans_of_time() {
        assert_eq!(parse_seconds("0s"), Ok(0));
        assert_eq!(parse_seconds("90d"), Ok(7_776_000));
        assert_eq!(parse_seconds("2h"), Ok(7_200));
        for text in ["", "d", "1", "1w", "-1s", "é", "1é", "99999999999999999d"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }
}
