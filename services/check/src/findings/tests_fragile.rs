//! `tests-fragile`: the tests of a `code` task depend on rounding, on the order of a set, on the
//! date or on chance.

use serde_json::Value;

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;
use crate::subject::Subject;

pub(super) const CODE: Code = code!("tests-fragile", Warning);

/// Number of decimals from which a number is the result of a calculation.
const DECIMALS: usize = 8;

/// Calls that return the date or the time.
const CLOCKS: &[&str] = &[
    "datetime.now(",
    "datetime.today(",
    "date.today(",
    "time.time()",
    "datetime.utcnow(",
    "Date.now()",
    "new Date()",
    "time.localtime()",
    "time(NULL)",
    "time(nullptr)",
];

/// Calls whose result is random.
const RANDOM: &[&str] = &[
    "random.random(",
    "random.randint(",
    "random.choice(",
    "random.shuffle(",
    "random.sample(",
    "random.uniform(",
    "np.random.rand",
    "Math.random(",
    "uuid.uuid4(",
    "secrets.",
    "os.urandom(",
];

/// Lists made of a set, whose order depends on the hashes of its members.
const SET_ORDERS: &[&str] = &["list(set(", "tuple(set(", "str(set(", "join(set("];

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some("code"), Ok(subject)) = (row.kind(), &row.subject) else {
        return;
    };
    if let Some(problem) = problem(subject) {
        sink.add(&CODE, &row.location, &row.key, problem);
    }
}

fn problem(subject: &Subject) -> Option<String> {
    let tests: Vec<&Value> = subject.body.get("tests")?.as_array()?.iter().collect();
    let sources: Vec<&str> = tests
        .iter()
        .filter_map(|test| test.get("assert").or_else(|| test.get("pytest"))?.as_str())
        .collect();
    let has_tolerance = subject.body.contains_key("float_tolerance");
    let exact = sources
        .iter()
        .find_map(|source| exact_float(source))
        .or_else(|| {
            let mut values = tests.iter().filter_map(|test| test.get("returns"));
            values
                .find(|value| value.is_f64() && is_rounded(&value.to_string()))
                .map(Value::to_string)
        });
    if let Some(number) = exact.filter(|_| !has_tolerance) {
        return Some(format!(
            "a test compares with `{number}` exactly, which rejects right results with another \
             rounding; use `float_tolerance`, `math.isclose` or `round`"
        ));
    }
    let solution = subject
        .solution
        .as_deref()
        .or(subject.text("reference"))
        .unwrap_or_default();
    let setup = subject.text("test_setup").unwrap_or_default();
    let texts = || sources.iter().copied().chain([solution, setup]);
    let found = |calls: &[&'static str]| {
        calls
            .iter()
            .copied()
            .find(|call| texts().any(|text| text.contains(call)))
    };
    if let Some(call) = found(CLOCKS) {
        return Some(format!(
            "the result depends on the date or the time: `{call}`"
        ));
    }
    let is_seeded = texts().any(|text| text.contains("seed("));
    if let Some(call) = found(RANDOM).filter(|_| !is_seeded) {
        return Some(format!(
            "the result depends on chance: `{call}`; set a seed"
        ));
    }
    let is_ordered = |text: &str, at: usize| {
        let before = text[..at].trim_end();
        before.ends_with("sorted(")
            || before.ends_with("len(")
            || before.ends_with("set(")
            || before.ends_with("sum(")
            || before.ends_with("Counter(")
    };
    let order = SET_ORDERS.iter().find(|order| {
        texts().any(|text| {
            text.match_indices(**order)
                .any(|(at, _)| !is_ordered(text, at))
        }) && !solution.contains("sorted(")
            && !solution.contains(".sort(")
            && sources.iter().any(|test| {
                test.contains("== [")
                    || test.contains("==[")
                    || test.contains("== (")
                    || test.contains("==(")
                    || test.contains("== '")
                    || test.contains("== \"")
            })
            && !sources
                .iter()
                .all(|test| test.contains("set(") || test.contains("sorted("))
    });
    order.map(|order| format!("a test compares the order of a set, which `{order}…)` does not fix"))
}

/// A number with many decimals that a test compares with `==`.
fn exact_float(source: &str) -> Option<String> {
    let has_tolerance = [
        "isclose", "approx", "round(", "abs(", "allclose", "almost", "1e-",
    ]
    .iter()
    .any(|tolerance| source.to_ascii_lowercase().contains(tolerance));
    if has_tolerance {
        return None;
    }
    source.match_indices("==").find_map(|(at, _)| {
        let rest = source[at + 2..].trim_start_matches([' ', '(', '[', '-', '=']);
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        is_rounded(&rest[..end]).then(|| rest[..end].to_owned())
    })
}

/// Whether a number has many decimals and is no sum of powers of two, such as 1.99609375, which
/// calculations do not round.
fn is_rounded(number: &str) -> bool {
    let Some((_, decimals)) = number.split_once('.') else {
        return false;
    };
    let scaled = |value: f64| value * 2_f64.powi(i32::try_from(decimals.len()).unwrap_or(i32::MAX));
    decimals.len() >= DECIMALS
        && number
            .parse()
            .is_ok_and(|value: f64| scaled(value).fract() != 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_many_decimals_are_rounded() {
        for number in [
            "3.141592653589793",
            "0.30000000000000004",
            "226.18800000000002",
        ] {
            assert!(is_rounded(number), "{number}");
        }
        for number in ["1.99609375", "2.5", "3.14159", "7"] {
            assert!(!is_rounded(number), "{number}");
        }
    }
}
