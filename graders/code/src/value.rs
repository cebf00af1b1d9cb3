//! Values that functions returned, in the notation of a guest's driver, compared with what a task expects in JSON.
//!
//! The notation is JSON in which an object with a `$` names a kind JSON has not: see the driver of the Python image. Equality is
//! Python's: an integer equals the float of its value, `True` equals 1; a tuple counts as a list, and a set as the set of an
//! expected array. Keys of dictionaries are compared as JSON writes them.

use std::cell::Cell;

use assay_documents::Json;
use assay_documents::json::Reader;
use num_bigint::BigInt;
use num_traits::{FromPrimitive, ToPrimitive, Zero};

/// Work of one comparison of values, in comparisons of parts: partners of the elements of sets are looked for, sets in sets at that.
const COMPARISONS: usize = 10_000_000;

/// Bytes of a number that are read in the time of a comparison of parts.
const BYTES: usize = 16;

/// Reading decimal digits is quadratic: the square of their number for which the time is that of a comparison.
const SQUARE: usize = 10_000;

/// Digits of the largest finite float.
const FLOAT_DIGITS: usize = 310;

/// Longest integer that is computed with, in digits. Reading decimal digits is quadratic.
const MAX_DIGITS: usize = 50_000;

/// Deepest value that is read. The driver of a guest stops at 200 containers, each at most four levels of notation.
const MAX_DEPTH: usize = 1_000;

/// Reads a text that is one JSON value, keys that stand twice kept as they are; `None` for anything else.
pub(crate) fn read(text: &str) -> Option<Json> {
    Reader::new(text).to_depth(MAX_DEPTH).with_repeated_keys().all().ok()
}

/// Whether `got`, a driver's notation, is the value `expected`.
pub(crate) fn equal(got: &Json, expected: &Json, tolerance: Option<f64>) -> bool {
    let mut containers = Vec::new();
    number_containers(got, &mut containers);
    Comparison { containers, tolerance, left: Cell::new(COMPARISONS) }.equal(got, expected)
}

/// A value for a person to read.
pub(crate) fn shown(value: &Json) -> String {
    let list = |elements: &[Json]| elements.iter().map(shown).collect::<Vec<_>>().join(", ");
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(text) => text.clone(),
        Json::Text(text) => format!("{text:?}"),
        Json::Array(elements) => format!("[{}]", list(elements)),
        Json::Object(pairs) => match tagged(pairs) {
            Some(("tuple", Json::Array(elements))) => format!("({})", list(elements)),
            Some(("set" | "frozenset", Json::Array(elements))) => format!("{{{}}}", list(elements)),
            Some(("deque", Json::Array(elements))) => format!("deque([{}])", list(elements)),
            Some(("dict" | "Counter" | "OrderedDict" | "defaultdict", Json::Array(pairs))) => {
                let pair = |pair: &Json| match pair {
                    Json::Array(pair) => pair.iter().map(shown).collect::<Vec<_>>().join(": "),
                    other => shown(other),
                };
                format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
            }
            Some(("object", Json::Text(class))) => format!("<{class}>"),
            Some(("float" | "int", Json::Text(text))) => text.clone(),
            Some((kind, inside)) => format!("{kind} {}", shown(inside)),
            None => {
                let pairs = pairs.iter().map(|(key, value)| format!("{key:?}: {}", shown(value)));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            }
        },
    }
}

/// Kind and content of a tagged value.
fn tagged(pairs: &[(String, Json)]) -> Option<(&str, &Json)> {
    match pairs {
        // A deque and a defaultdict tell one thing more.
        [(tag, Json::Text(kind)), (key, value)] | [(tag, Json::Text(kind)), (key, value), _]
            if tag == "$" && key == "v" =>
        {
            Some((kind, value))
        }
        _ => None,
    }
}

/// Numbers containers as the driver did: each before what it holds.
fn number_containers<'a>(value: &'a Json, containers: &mut Vec<&'a Json>) {
    match value {
        Json::Array(elements) => {
            containers.push(value);
            elements.iter().for_each(|element| number_containers(element, containers));
        }
        Json::Object(pairs) => {
            if let Some((kind, inside)) = tagged(pairs) {
                let pairs = matches!(kind, "dict" | "Counter" | "OrderedDict" | "defaultdict");
                if pairs || matches!(kind, "set" | "bytearray" | "deque") {
                    containers.push(value);
                }
                // Arrays that only spell a tagged value are no containers themselves.
                let Json::Array(elements) = inside else { return };
                for element in elements {
                    match element {
                        Json::Array(pair) if pairs => {
                            pair.iter().for_each(|part| number_containers(part, containers));
                        }
                        element => number_containers(element, containers),
                    }
                }
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {}
    }
}

struct Comparison<'a> {
    containers: Vec<&'a Json>,
    tolerance: Option<f64>,
    /// Work left; without any, values differ.
    left: Cell<usize>,
}

impl Comparison<'_> {
    /// Goes down with `expected`, which is finite; so a value that holds itself comes to an end as well.
    fn equal(&self, got: &Json, expected: &Json) -> bool {
        if !self.charge(1) {
            return false;
        }
        match (got, expected) {
            (Json::Null, Json::Null) => true,
            (Json::Text(got), Json::Text(expected)) => got == expected,
            (Json::Array(got), Json::Array(expected)) => self.sequences(got, expected),
            (Json::Object(pairs), _) => match tagged(pairs) {
                Some((kind, inside)) => self.tagged(kind, inside, expected),
                None => false,
            },
            _ => self.same_number(plain_digits(got), || number(got), expected),
        }
    }

    /// Spends work; whether there was enough left.
    fn charge(&self, work: usize) -> bool {
        let left = self.left.get().checked_sub(work);
        self.left.set(left.unwrap_or_default());
        left.is_some()
    }

    /// Compares a number of at least `digits` decimal digits, and at most twice as many, with what is expected. Most numbers differ
    /// in their length already, and long ones take long to read.
    fn same_number(&self, digits: usize, got: impl FnOnce() -> Option<Number>, expected: &Json) -> bool {
        let expected_digits = plain_digits(expected);
        let is_longer = digits > expected_digits + 1 && digits > FLOAT_DIGITS + 1;
        if is_longer || expected_digits > 2 * digits + FLOAT_DIGITS {
            return false;
        }
        let longest = digits.max(expected_digits).min(MAX_DIGITS);
        if !self.charge(longest / BYTES + longest * longest / SQUARE) {
            return false;
        }
        match (got(), number(expected)) {
            (Some(got), Some(expected)) => self.numbers(&got, &expected),
            _ => false,
        }
    }

    fn tagged(&self, kind: &str, inside: &Json, expected: &Json) -> bool {
        match (kind, inside, expected) {
            ("same", Json::Number(number), _) => {
                let container = number.parse().ok().and_then(|number: usize| self.containers.get(number));
                container.is_some_and(|container| self.equal(container, expected))
            }
            ("tuple" | "deque", Json::Array(got), Json::Array(expected)) => self.sequences(got, expected),
            ("set" | "frozenset", Json::Array(got), Json::Array(expected)) => self.sets(got, expected),
            ("dict" | "Counter" | "OrderedDict" | "defaultdict", Json::Array(got), Json::Object(expected)) => {
                self.mappings(got, expected)
            }
            ("made", Json::Array(parts), _) => self.made(parts, expected),
            ("int" | "float", Json::Text(text), _) => {
                // A hexadecimal digit is more than one decimal digit and less than two.
                let digits = if kind == "int" { text.len().saturating_sub(3) } else { 1 };
                self.same_number(digits, || tagged_number(kind, inside), expected)
            }
            _ => false,
        }
    }

    /// Objects of standard classes, as the plain value they stand for.
    fn made(&self, parts: &[Json], expected: &Json) -> bool {
        let [Json::Text(class), Json::Object(arguments)] = parts else { return false };
        let Some(("tuple", Json::Array(arguments))) = tagged(arguments) else { return false };
        match (class.as_str(), arguments.as_slice()) {
            ("decimal.Decimal", [Json::Text(text)]) => self.same_number(digits(text), || written(text), expected),
            ("fractions.Fraction", [above, below]) => {
                if !self.charge((text_bytes(above) + text_bytes(below)) / BYTES) {
                    return false;
                }
                let (Some(Number::Int(above)), Some(Number::Int(below))) = (any_number(above), any_number(below))
                else {
                    return false;
                };
                // What is no fraction equals nothing: 0/0 would equal everything.
                if below <= BigInt::zero() {
                    return false;
                }
                match number(expected) {
                    Some(Number::Int(expected)) => above == expected * below,
                    Some(Number::Float(expected)) => {
                        let value = above.to_f64().zip(below.to_f64()).map(|(above, below)| above / below);
                        value.is_some_and(|value| self.numbers(&Number::Float(value), &Number::Float(expected)))
                    }
                    None => false,
                }
            }
            _ => false,
        }
    }

    fn sequences(&self, got: &[Json], expected: &[Json]) -> bool {
        got.len() == expected.len() && got.iter().zip(expected).all(|(got, expected)| self.equal(got, expected))
    }

    /// Each element has a partner on the other side. Expected arrays may name an element twice.
    fn sets(&self, got: &[Json], expected: &[Json]) -> bool {
        got.len() <= expected.len()
            && got.iter().all(|got| expected.iter().any(|expected| self.equal(got, expected)))
            && expected.iter().all(|expected| got.iter().any(|got| self.equal(got, expected)))
    }

    fn mappings(&self, got: &[Json], expected: &[(String, Json)]) -> bool {
        let mut open: std::collections::BTreeMap<&str, &Json> =
            expected.iter().map(|(key, value)| (key.as_str(), value)).collect();
        got.len() == open.len()
            && got.iter().all(|pair| {
                let Json::Array(pair) = pair else { return false };
                let [key, value] = pair.as_slice() else { return false };
                let key = match key {
                    Json::Text(key) | Json::Number(key) => key.clone(),
                    Json::Null | Json::Bool(_) => shown(key),
                    Json::Array(_) | Json::Object(_) => return false,
                };
                open.remove(key.as_str()).is_some_and(|expected| self.equal(value, expected))
            })
    }

    fn numbers(&self, got: &Number, expected: &Number) -> bool {
        match (got, expected) {
            (Number::Int(got), Number::Int(expected)) => got == expected,
            (Number::Float(got), Number::Float(expected)) => got == expected || self.close(*got, *expected),
            (Number::Int(int), Number::Float(float)) | (Number::Float(float), Number::Int(int)) => {
                let exact = float.fract().is_zero() && BigInt::from_f64(*float).as_ref() == Some(int);
                exact || self.close(got.to_f64(), expected.to_f64())
            }
        }
    }

    fn close(&self, got: f64, expected: f64) -> bool {
        self.tolerance.is_some_and(|tolerance| within(got, expected, tolerance))
    }
}

/// Whether two finite numbers are no further apart than the tolerance, absolute or relative to the expected one.
pub(crate) fn within(got: f64, expected: f64, tolerance: f64) -> bool {
    got.is_finite() && expected.is_finite() && (got - expected).abs() <= tolerance * expected.abs().max(1.0)
}

enum Number {
    Int(BigInt),
    Float(f64),
}

impl Number {
    fn to_f64(&self) -> f64 {
        match self {
            Self::Int(int) => int.to_f64().unwrap_or(f64::INFINITY),
            Self::Float(float) => *float,
        }
    }
}

/// A plain JSON value as a number, where Python takes it for one.
fn number(value: &Json) -> Option<Number> {
    match value {
        Json::Bool(value) => Some(Number::Int(i32::from(*value).into())),
        Json::Number(text) => written(text),
        _ => None,
    }
}

/// Significant digits of an integer; 1 for a float, which is read in one pass.
fn digits(text: &str) -> usize {
    let is_float = text.bytes().any(|byte| b".eE".contains(&byte));
    if is_float { 1 } else { text.trim_start_matches('-').trim_start_matches('0').len() }
}

/// The same of a plain JSON value.
fn plain_digits(value: &Json) -> usize {
    match value {
        Json::Number(text) => digits(text),
        _ => 1,
    }
}

/// Bytes of the digits of a tagged or plain number.
fn text_bytes(value: &Json) -> usize {
    match value {
        Json::Object(pairs) => match tagged(pairs) {
            Some((_, Json::Text(text))) => text.len(),
            _ => 0,
        },
        Json::Number(text) => text.len(),
        _ => 0,
    }
}

fn any_number(value: &Json) -> Option<Number> {
    match value {
        Json::Object(pairs) => tagged(pairs).and_then(|(kind, inside)| tagged_number(kind, inside)),
        plain => number(plain),
    }
}

/// Digits alone are an integer, with a point or an exponent a float, as in Python.
fn written(text: &str) -> Option<Number> {
    if text.bytes().any(|byte| b".eE".contains(&byte)) {
        return text.parse().ok().map(Number::Float);
    }
    if text.len() > MAX_DIGITS {
        return None;
    }
    text.parse().ok().map(Number::Int)
}

fn tagged_number(kind: &str, inside: &Json) -> Option<Number> {
    let Json::Text(text) = inside else { return None };
    if kind == "float" {
        return text.parse().ok().map(Number::Float);
    }
    if text.len() > MAX_DIGITS {
        return None;
    }
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    BigInt::parse_bytes(format!("{sign}{}", digits.strip_prefix("0x")?).as_bytes(), 16).map(Number::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(got: &str, expected: &str) -> bool {
        equal(&read(got).unwrap(), &read(expected).unwrap(), None)
    }

    #[test]
    fn long_numbers_among_many_are_compared_by_their_length() {
        let long = "7".repeat(MAX_DIGITS - 1);
        let many: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
        let many = format!("[{}]", many.join(","));
        let made = |text: &str| {
            format!(r#"{{"$":"set","v":[{{"$":"made","v":["decimal.Decimal",{{"$":"tuple","v":[{text}]}}]}}]}}"#)
        };
        let got = read(&made(&format!("{long:?}"))).unwrap();
        let comparison = Comparison { containers: Vec::new(), tolerance: None, left: Cell::new(COMPARISONS) };
        assert!(!comparison.equal(&got, &read(&many).unwrap()));
        assert!(comparison.left.get() > COMPARISONS / 2, "no number was read");
        assert!(same(&made(&format!("{long:?}")), &format!("[{long}]")));
        assert!(same(&made("\"0012\""), "[12]") && !same(&made("\"12\""), "[120]"));
        assert!(same(r#"{"$":"int","v":"0xff"}"#, "255") && same(r#"{"$":"int","v":"0xff"}"#, "255.0"));
    }

    #[test]
    fn reading_long_numbers_again_and_again_comes_to_an_end() {
        let numbers = |digit: char| {
            let one = |n: usize| format!("{digit}{}{n:05}", "7".repeat(MAX_DIGITS - 10));
            format!("[{}]", (0..200).map(one).collect::<Vec<_>>().join(","))
        };
        let (got, expected) = (numbers('1'), numbers('2'));
        let set = format!(r#"{{"$":"set","v":{got}}}"#);
        assert!(!same(&set, &expected), "the work is used up long before all pairs are compared");
    }

    #[test]
    fn values_nest_as_deep_as_the_driver_writes_them() {
        let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(&deep(MAX_DEPTH)).is_some());
        assert_eq!(read(&deep(5_000)), None);
        assert!(read(r#"{"a":1,"a":2}"#).is_some());
        assert_eq!(read("nan"), None);
    }

    #[test]
    fn equality_is_pythons() {
        for (got, expected) in [
            ("5", "5.0"),
            ("5.0", "5"),
            ("true", "1"),
            ("1", "true"),
            (r#"{"$":"tuple","v":[1,[2]]}"#, "[1,[2]]"),
            (r#"{"$":"set","v":[1,2,3]}"#, "[3,2,1,1]"),
            (r#"{"$":"dict","v":[["a",1],[2,null]]}"#, r#"{"2":null,"a":1}"#),
            (r#"{"$":"int","v":"0x8000000000000000"}"#, "9223372036854775808"),
            (r#"{"$":"int","v":"-0x8000000000000001"}"#, "-9223372036854775809"),
            (r#"{"$":"float","v":"inf"}"#, "1e400"),
            (r#"[[0],{"$":"same","v":1}]"#, "[[0],[0]]"),
            (r#"{"$":"Counter","v":[["a",2]]}"#, r#"{"a":2}"#),
            (r#"{"$":"defaultdict","v":[["a",[2]]],"factory":null}"#, r#"{"a":[2]}"#),
            (r#"{"$":"deque","v":[1,2],"maxlen":null}"#, "[1,2]"),
            (r#"{"$":"made","v":["fractions.Fraction",{"$":"tuple","v":[1,2]}]}"#, "0.5"),
            (r#"{"$":"made","v":["fractions.Fraction",{"$":"tuple","v":[4,2]}]}"#, "2"),
            (r#"{"$":"made","v":["decimal.Decimal",{"$":"tuple","v":["2.50"]}]}"#, "2.5"),
        ] {
            assert!(same(got, expected), "{got} {expected}");
        }
    }

    #[test]
    fn what_differs_differs() {
        for (got, expected) in [
            ("5", "6"),
            ("\"5\"", "5"),
            ("100000000000000001", "100000000000000000.0"),
            ("[1,2]", "[2,1]"),
            ("[1]", "[1,1]"),
            ("null", "false"),
            ("\"\"", "null"),
            (r#"{"$":"object","v":"T"}"#, "5"),
            (r#"{"$":"float","v":"nan"}"#, "5"),
            (r#"{"$":"dict","v":[["a",1]]}"#, r#"{"a":1,"b":2}"#),
            (r#"{"$":"set","v":[1,2]}"#, "[1]"),
            (r#"[{"$":"same","v":0}]"#, "[[[[]]]]"),
            (r#"{"$":"str","v":[55296]}"#, "\"\""),
            (r#"{"$":"same","v":7}"#, "1"),
            (r#"{"$":"made","v":["fractions.Fraction",{"$":"tuple","v":[0,0]}]}"#, "4"),
            (r#"{"$":"made","v":["fractions.Fraction",{"$":"tuple","v":[-4,-1]}]}"#, "4"),
            (r#"{"$":"range","v":[0,2,1]}"#, "[0,1]"),
        ] {
            assert!(!same(got, expected), "{got} {expected}");
        }
    }

    #[test]
    fn a_tolerance_is_for_floats() {
        let close = |got: &str, expected: &str| equal(&read(got).unwrap(), &read(expected).unwrap(), Some(1e-6));
        assert!(close("0.3333333", "0.33333333"));
        assert!(close("1000000.5", "1000000.6"));
        assert!(!close("1000001", "1000000"));
        for endless in ["nan", "inf", "-inf"] {
            assert!(!close(&format!(r#"{{"$":"float","v":"{endless}"}}"#), "1.0"), "{endless}");
            assert!(!close(&format!(r#"{{"$":"float","v":"{endless}"}}"#), "5"), "{endless}");
        }
    }
}
