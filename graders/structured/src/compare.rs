//! Compares a document with the expected value: equality, differences, and the share of common
//! leaves.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};

use assay_base::pointer::escaped;
use assay_documents::Json;
use assay_documents::json::{number, same};

/// How two documents are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CompareOptions {
    /// Whether arrays are compared as multisets.
    pub(crate) unordered: bool,
    /// Difference up to which two numbers are equal; see [`number::close`].
    pub(crate) tolerance: f64,
}

/// Maximum number of comparisons for unordered arrays with a tolerance for numbers.
const MAX_COMPARISONS: usize = 4_000_000;

/// The expected value, prepared for comparisons.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub(crate) value: Json,
    /// The value with its arrays in canonical order, if arrays are unordered.
    sorted: Option<Json>,
    parts: usize,
    leaves: usize,
    options: CompareOptions,
}

impl Expected {
    pub(crate) fn new(value: Json, options: CompareOptions) -> Self {
        let sorted = options.unordered.then(|| sorted(&value));
        Self {
            sorted,
            parts: parts(&value),
            leaves: leaves(&value),
            value,
            options,
        }
    }

    /// Whether a document equals the expected value.
    pub(crate) fn equals(&self, document: &Json) -> bool {
        let Some(expected) = &self.sorted else {
            return same(document, &self.value, self.options.tolerance);
        };
        // Documents with different numbers of parts differ, which saves sorting.
        if parts(document) != self.parts {
            return false;
        }
        let document = sorted(document);
        same(&document, expected, self.options.tolerance)
            || self.options.tolerance > 0.0 && {
                let comparison = UnorderedComparison {
                    tolerance: self.options.tolerance,
                    comparisons_left: Cell::new(MAX_COMPARISONS),
                };
                comparison.same(&document, expected)
            }
    }

    /// F1 score of the leaves: 2 × common / (found + expected). Below 1 unless the documents are
    /// equal.
    pub(crate) fn share(&self, document: &Json, is_same: bool) -> f64 {
        if is_same {
            return 1.0;
        }
        let common = if self.options.unordered {
            common_in_multisets(vec![document], vec![&self.value], self.options.tolerance)
        } else {
            common(document, &self.value, self.options.tolerance)
        };
        let all = leaves(document) + self.leaves;
        2.0 * common as f64 / all.max(2 * common + 1) as f64
    }

    /// Whether the order of elements matters.
    pub(crate) fn is_ordered(&self) -> bool {
        !self.options.unordered
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.value.bytes() + self.sorted.as_ref().map_or(0, Json::bytes)
    }

    /// The first differences of a document, at most `max_differences`.
    pub(crate) fn differences(&self, document: &Json, max_differences: usize) -> Vec<Difference> {
        let mut search = DifferenceSearch {
            options: self.options,
            max_differences,
            found: Vec::new(),
        };
        search.compare(document, &self.value, &mut String::new());
        search.found
    }
}

/// A difference of two documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// JSON pointer. If arrays are unordered, it refers to the expected value.
    pub(crate) pointer: String,
    /// The expected value, truncated; `None` if no value is expected.
    pub(crate) expected: Option<String>,
    /// The actual value, truncated; `None` if it is missing.
    pub(crate) got: Option<String>,
}

/// Number of parts of a tree: every value and every key.
fn parts(tree: &Json) -> usize {
    match tree {
        Json::Array(elements) => 1 + elements.iter().map(parts).sum::<usize>(),
        Json::Object(members) => {
            1 + members
                .iter()
                .map(|(_, value)| 1 + parts(value))
                .sum::<usize>()
        }
        _ => 1,
    }
}

/// Number of leaves of a tree: scalars and empty collections.
fn leaves(tree: &Json) -> usize {
    match tree {
        Json::Array(elements) if !elements.is_empty() => elements.iter().map(leaves).sum(),
        Json::Object(members) if !members.is_empty() => {
            members.iter().map(|(_, value)| leaves(value)).sum()
        }
        _ => 1,
    }
}

/// A tree with arrays sorted so that equal multisets become equal arrays.
fn sorted(tree: &Json) -> Json {
    match tree {
        Json::Array(elements) => {
            let mut elements: Vec<Json> = elements.iter().map(sorted).collect();
            if elements.len() > 1 {
                elements.sort_by_cached_key(Json::canonical);
            }
            Json::Array(elements)
        }
        Json::Object(members) => Json::Object(
            members
                .iter()
                .map(|(key, value)| (key.clone(), sorted(value)))
                .collect(),
        ),
        scalar => scalar.clone(),
    }
}

/// Compares unordered arrays with a tolerance: each element is matched with the first free partner.
struct UnorderedComparison {
    tolerance: f64,
    comparisons_left: Cell<usize>,
}

impl UnorderedComparison {
    fn same(&self, a: &Json, b: &Json) -> bool {
        let Some(left) = self.comparisons_left.get().checked_sub(1) else {
            return false;
        };
        self.comparisons_left.set(left);
        match (a, b) {
            (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
                let mut free: Vec<&Json> = b.iter().collect();
                a.iter().all(|a| {
                    let partner = free.iter().position(|b| self.same(a, b));
                    partner.map(|at| free.remove(at)).is_some()
                })
            }
            (Json::Object(a), Json::Object(b)) if a.len() == b.len() => {
                let b: HashMap<&str, &Json> =
                    b.iter().map(|(key, value)| (key.as_str(), value)).collect();
                a.iter()
                    .all(|(key, a)| b.get(key.as_str()).is_some_and(|b| self.same(a, b)))
            }
            (Json::Array(_) | Json::Object(_), _) => false,
            (a, b) => same(a, b, self.tolerance),
        }
    }
}

fn is_leaf(tree: &Json) -> bool {
    match tree {
        Json::Array(elements) => elements.is_empty(),
        Json::Object(members) => members.is_empty(),
        _ => true,
    }
}

/// Number of leaves that both trees have at the same pointer.
fn common(a: &Json, b: &Json, tolerance: f64) -> usize {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) if !a.is_empty() && !b.is_empty() => {
            a.iter().zip(b).map(|(a, b)| common(a, b, tolerance)).sum()
        }
        (Json::Object(a), Json::Object(b)) if !a.is_empty() && !b.is_empty() => {
            let b: HashMap<&str, &Json> =
                b.iter().map(|(key, value)| (key.as_str(), value)).collect();
            a.iter()
                .map(|(key, a)| b.get(key.as_str()).map_or(0, |b| common(a, b, tolerance)))
                .sum()
        }
        (a, b) => usize::from(is_leaf(a) && is_leaf(b) && same(a, b, tolerance)),
    }
}

/// Number of leaves that both multisets of trees have at the same pointer without array indices.
fn common_in_multisets(a: Vec<&Json>, b: Vec<&Json>, tolerance: f64) -> usize {
    let (a, b) = (Multiset::of(a), Multiset::of(b));
    let mut count = common_texts(a.others.into_iter(), b.others.into_iter())
        + common_numbers(a.numbers, b.numbers, tolerance);
    if !a.elements.is_empty() && !b.elements.is_empty() {
        count += common_in_multisets(a.elements, b.elements, tolerance);
    }
    let mut b_members = b.members;
    for (key, a) in a.members {
        if let Some(b) = b_members.remove(key) {
            count += common_in_multisets(a, b, tolerance);
        }
    }
    count
}

/// The leaves and the next levels of several trees.
#[derive(Default)]
struct Multiset<'a> {
    numbers: Vec<&'a str>,
    /// Other leaves, as text.
    others: Vec<String>,
    elements: Vec<&'a Json>,
    members: BTreeMap<&'a str, Vec<&'a Json>>,
}

impl<'a> Multiset<'a> {
    fn of(trees: Vec<&'a Json>) -> Self {
        let mut multiset = Self::default();
        for tree in trees {
            match tree {
                Json::Number(number) => multiset.numbers.push(number),
                Json::Array(elements) if !elements.is_empty() => multiset.elements.extend(elements),
                Json::Object(members) if !members.is_empty() => {
                    for (key, value) in members {
                        multiset.members.entry(key).or_default().push(value);
                    }
                }
                other => multiset.others.push(other.to_string()),
            }
        }
        multiset
    }
}

/// The number of elements of `a` with a distinct partner in `b`.
fn common_texts(a: impl Iterator<Item = String>, b: impl Iterator<Item = String>) -> usize {
    let mut free: HashMap<String, usize> = HashMap::new();
    for text in b {
        *free.entry(text).or_default() += 1;
    }
    if free.is_empty() {
        return 0;
    }
    let has_partner = |text: &String| match free.get_mut(text) {
        Some(left @ 1..) => {
            *left -= 1;
            true
        }
        _ => false,
    };
    a.filter(has_partner).count()
}

/// The number of elements of `a` with a distinct close partner in `b`.
fn common_numbers(a: Vec<&str>, b: Vec<&str>, tolerance: f64) -> usize {
    if b.is_empty() {
        return 0;
    }
    if tolerance > 0.0 {
        let sorted = |mut numbers: Vec<&str>| {
            numbers.sort_by(|a, b| number::to_f64(a).total_cmp(&number::to_f64(b)));
            numbers.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        return merged(&sorted(a), &sorted(b), |a, b| {
            let are_close = number::close(a, b, tolerance);
            if are_close {
                Ordering::Equal
            } else {
                number::to_f64(a).total_cmp(&number::to_f64(b))
            }
        });
    }
    common_texts(
        a.into_iter().map(number::canonical),
        b.into_iter().map(number::canonical),
    )
}

/// The number of common elements of two sorted lists.
fn merged(a: &[String], b: &[String], order: impl Fn(&String, &String) -> Ordering) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match order(x, y) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => (i, j, count) = (i + 1, j + 1, count + 1),
        }
    }
    count
}

/// Collects differences of two documents.
struct DifferenceSearch {
    options: CompareOptions,
    max_differences: usize,
    found: Vec<Difference>,
}

impl DifferenceSearch {
    fn compare(&mut self, got: &Json, expected: &Json, pointer: &mut String) {
        if self.found.len() >= self.max_differences {
            return;
        }
        match (got, expected) {
            (Json::Object(got), Json::Object(expected)) => {
                let index: HashMap<&str, &Json> = got
                    .iter()
                    .map(|(key, value)| (key.as_str(), value))
                    .collect();
                for (key, expected) in expected {
                    self.compare_member(
                        pointer,
                        key,
                        index.get(key.as_str()).copied(),
                        Some(expected),
                    );
                }
                let index: HashMap<&str, &Json> = expected
                    .iter()
                    .map(|(key, value)| (key.as_str(), value))
                    .collect();
                for (key, got) in got
                    .iter()
                    .filter(|(key, _)| !index.contains_key(key.as_str()))
                {
                    self.compare_member(pointer, key, Some(got), None);
                }
            }
            (Json::Array(got), Json::Array(expected)) => {
                let (got, expected) = if self.options.unordered {
                    without_common(got, expected)
                } else {
                    (
                        got.iter().collect(),
                        expected.iter().enumerate().collect::<Vec<_>>(),
                    )
                };
                for at in 0..got.len().max(expected.len()) {
                    let index = expected.get(at).map_or(at, |(index, _)| *index);
                    let expected = expected.get(at).map(|(_, value)| *value);
                    self.compare_member(
                        pointer,
                        &index.to_string(),
                        got.get(at).copied(),
                        expected,
                    );
                    if self.found.len() >= self.max_differences {
                        return;
                    }
                }
            }
            (got, expected) if same(got, expected, self.options.tolerance) => {}
            (got, expected) => self.add(pointer, Some(got), Some(expected)),
        }
    }

    fn compare_member(
        &mut self,
        pointer: &mut String,
        step: &str,
        got: Option<&Json>,
        expected: Option<&Json>,
    ) {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&escaped(step));
        match (got, expected) {
            (Some(got), Some(expected)) => self.compare(got, expected, pointer),
            (got, expected) => self.add(pointer, got, expected),
        }
        pointer.truncate(length);
    }

    fn add(&mut self, pointer: &str, got: Option<&Json>, expected: Option<&Json>) {
        if self.found.len() < self.max_differences {
            self.found.push(Difference {
                pointer: assay_base::truncated(pointer, 1_000).to_owned(),
                expected: expected.map(truncated),
                got: got.map(truncated),
            });
        }
    }
}

/// The elements of each multiset that the other lacks. Those of the second have their index.
fn without_common<'a>(a: &'a [Json], b: &'a [Json]) -> (Vec<&'a Json>, Vec<(usize, &'a Json)>) {
    let mut names: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, element) in b.iter().enumerate().rev() {
        names
            .entry(sorted(element).canonical())
            .or_default()
            .push(at);
    }
    let mut common = vec![false; b.len()];
    let unmatched = a.iter().filter(|element| {
        let partner = names
            .get_mut(&sorted(element).canonical())
            .and_then(Vec::pop);
        partner.is_none_or(|at| {
            common[at] = true;
            false
        })
    });
    let unmatched = unmatched.collect();
    (
        unmatched,
        b.iter()
            .enumerate()
            .filter(|(at, _)| !common[*at])
            .collect(),
    )
}

/// Maximum length of a value in evidence, in bytes.
const MAX_VALUE_BYTES: usize = 200;

/// A value as JSON for evidence. Formatting stops at the maximum length.
pub(crate) fn truncated(value: &Json) -> String {
    let mut text = TruncatedText(String::new());
    match write!(text, "{value}") {
        Ok(()) => text.0,
        Err(fmt::Error) => format!("{}…", text.0),
    }
}

/// A text of at most [`MAX_VALUE_BYTES`]. Writing more is an error.
struct TruncatedText(String);

impl fmt::Write for TruncatedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let remaining = MAX_VALUE_BYTES - self.0.len();
        if text.len() <= remaining {
            self.0.push_str(text);
            return Ok(());
        }
        self.0
            .push_str(&text[..text.floor_char_boundary(remaining)]);
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Json {
        Json::read(text).unwrap()
    }

    fn expected(text: &str, unordered: bool, tolerance: f64) -> Expected {
        Expected::new(
            read(text),
            CompareOptions {
                unordered,
                tolerance,
            },
        )
    }

    fn share(got: &str, expected_text: &str, unordered: bool) -> f64 {
        let (expected, got) = (expected(expected_text, unordered, 0.0), read(got));
        expected.share(&got, expected.equals(&got))
    }

    #[test]
    fn compares_multisets_without_order() {
        let multiset = expected(r#"{"a":[[1,2],{"b":[3,4]},"x"]}"#, true, 0.0);
        assert!(multiset.equals(&read(r#"{"a":["x",{"b":[4,3.0]},[2,1]]}"#)));
        assert!(!multiset.equals(&read(r#"{"a":["x",{"b":[4,3]},[2,2]]}"#)));
        assert!(!expected("[1,1,2]", true, 0.0).equals(&read("[1,2,2]")));
        assert!(!expected("[1,2]", false, 0.0).equals(&read("[2,1]")));
        let close = expected(r#"[{"n":0.1},{"n":9}]"#, true, 1e-6);
        assert!(close.equals(&read(r#"[{"n":9.0000001},{"n":0.10000001}]"#)));
        assert!(!close.equals(&read(r#"[{"n":9.1},{"n":0.1}]"#)));
    }

    #[test]
    fn counts_each_leaf_once_by_its_pointer() {
        assert!((share(r#"{"a":1,"b":3}"#, r#"{"a":1,"b":2}"#, false) - 0.5).abs() < 1e-12);
        assert!(
            (share(r#"{"a":1,"b":2,"c":3,"d":4}"#, r#"{"a":1,"b":2}"#, false) - 4.0 / 6.0).abs()
                < 1e-12
        );
        assert!(share(r#"{"a":"1"}"#, r#"{"a":1}"#, false) == 0.0);
        assert!(share("[2,1]", "[1,2]", false) == 0.0);
        assert!(share("[2,1]", "[1,2]", true) == 1.0);
        assert!((share("[2,2,3]", "[1,2,3]", true) - 2.0 / 3.0).abs() < 1e-12);
        // Every leaf has a partner, but the documents differ.
        let mixed = share(
            r#"[{"a":1,"b":4},{"a":3,"b":2}]"#,
            r#"[{"a":1,"b":2},{"a":3,"b":4}]"#,
            true,
        );
        assert!(mixed > 0.8 && mixed < 1.0, "{mixed}");
        assert!(share("{}", "[]", false) == 0.0);
    }

    #[test]
    fn counts_close_numbers_of_multisets_once() {
        let expected = expected("[0.1,9,5]", true, 1e-6);
        let share = |got: &str| expected.share(&read(got), false);
        assert!((share("[9.0000001,0.10000001]") - 4.0 / 5.0).abs() < 1e-12);
        assert!((share("[5,5,5]") - 2.0 / 6.0).abs() < 1e-12);
        assert!(share("[7,8]") == 0.0);
    }

    #[test]
    fn locates_differences() {
        let found = expected(r#"{"a":[1,2],"b/c":{"d":"x"},"e":null}"#, false, 0.0)
            .differences(&read(r#"{"a":[1,3,4],"b/c":{"d":"y"},"f":true}"#), 20);
        let described: Vec<_> = found
            .iter()
            .map(|one| {
                (
                    one.pointer.as_str(),
                    one.expected.as_deref(),
                    one.got.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            described,
            [
                ("/a/1", Some("2"), Some("3")),
                ("/a/2", None, Some("4")),
                ("/b~1c/d", Some("\"x\""), Some("\"y\"")),
                ("/e", Some("null"), None),
                ("/f", None, Some("true")),
            ]
        );
        let found = expected("[1,2,3]", true, 0.0).differences(&read("[3,4,1]"), 20);
        assert_eq!(
            (
                found.len(),
                found[0].pointer.as_str(),
                found[0].got.as_deref()
            ),
            (1, "/1", Some("4"))
        );
    }

    #[test]
    fn truncates_long_values() {
        assert_eq!(
            truncated(&Json::Text("é".repeat(1_000))).chars().count(),
            101
        );
        let wide = Json::Array(vec![Json::Null; 1_000_000]);
        assert!(truncated(&wide).len() < 300);
    }

    fn trees() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            (0..3u8).prop_map(|n| Json::Number(n.to_string())),
            "[a-c]{0,1}".prop_map(Json::Text),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
                prop::collection::btree_map("[a-c]", inner, 0..4)
                    .prop_map(|map| Json::Object(map.into_iter().collect())),
            ]
        })
    }

    fn reversed(tree: &Json) -> Json {
        match tree {
            Json::Array(elements) => Json::Array(elements.iter().rev().map(reversed).collect()),
            Json::Object(members) => Json::Object(
                members
                    .iter()
                    .rev()
                    .map(|(key, value)| (key.clone(), reversed(value)))
                    .collect(),
            ),
            scalar => scalar.clone(),
        }
    }

    proptest! {
        #[test]
        fn only_equal_documents_share_every_leaf(a in trees(), b in trees(), unordered: bool) {
            let expected = Expected::new(a, CompareOptions { unordered, tolerance: 0.0 });
            let is_same = expected.equals(&b);
            let share = expected.share(&b, is_same);
            prop_assert_eq!(share >= 1.0, is_same);
            prop_assert_eq!(expected.differences(&b, 20).is_empty(), is_same);
            prop_assert!((0.0..=1.0).contains(&share));
        }

        #[test]
        fn multiset_comparison_ignores_order(
            tree in trees(),
            tolerance in prop_oneof![Just(0.0), Just(1e-6)]
        ) {
            let options = CompareOptions { unordered: true, tolerance };
            let expected = Expected::new(tree.clone(), options);
            prop_assert!(expected.equals(&reversed(&tree)));
            prop_assert!(expected.differences(&reversed(&tree), 20).is_empty());
        }
    }
}
