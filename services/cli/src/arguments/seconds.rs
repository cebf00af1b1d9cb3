//! Spans of time in arguments, such as `30s`, `15m`, `12h` or `90d`.

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

#[cfg(test)]
mod tests {
    use super::*;

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
