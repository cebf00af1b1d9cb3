//! Equality as in Python, for the modes that reproduce graders written in Python: `1 == 1.0 ==
//! True`, and `"1"` equals none of them.

use assay_documents::Json;
use assay_documents::json::{number, same_members};

/// Whether two trees are equal in Python after `json.loads`.
pub(crate) fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Null, Json::Null) => true,
        (Json::Text(a), Json::Text(b)) => a == b,
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Json::Object(a), Json::Object(b)) => same_members(a, b, &equal),
        _ => match (digits(a), digits(b)) {
            (Some(a), Some(b)) => same_number(a, b),
            _ => false,
        },
    }
}

fn digits(value: &Json) -> Option<&str> {
    match value {
        Json::Bool(true) => Some("1"),
        Json::Bool(false) => Some("0"),
        Json::Number(text) => Some(text),
        _ => None,
    }
}

/// In Python, integers are exact and other numbers are doubles.
fn same_number(a: &str, b: &str) -> bool {
    match (
        number::is_written_as_integer(a),
        number::is_written_as_integer(b),
    ) {
        (true, true) => number::same(a, b),
        (false, false) => a.parse::<f64>().ok() == b.parse::<f64>().ok(),
        (true, false) => exactly(b).is_some_and(|b| number::same(a, &b)),
        (false, true) => exactly(a).is_some_and(|a| number::same(&a, b)),
    }
}

/// The digits of a double with an integer value.
fn exactly(text: &str) -> Option<String> {
    let value: f64 = text.parse().ok()?;
    (value.is_finite() && value.fract() == 0.0).then(|| format!("{value:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_values_as_python_does() {
        let equal = |a: &str, b: &str| equal(&Json::read(a).unwrap(), &Json::read(b).unwrap());
        for (a, b) in [
            ("1", "1.0"),
            ("true", "1"),
            ("0.1", "0.10000000000000000001"),
            ("1e400", "2e400"),
            ("[0]", "[false]"),
        ] {
            assert!(equal(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("\"1\"", "1"),
            ("9007199254740993", "9007199254740992.0"),
            ("null", "0"),
            ("0.5", "1"),
        ] {
            assert!(!equal(a, b), "{a} {b}");
        }
    }
}
