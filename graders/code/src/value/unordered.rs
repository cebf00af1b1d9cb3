//! Compares collections regardless of order: each element is matched with a different element of
//! the other side.
//!
//! Both sides are sorted by a key that is equal for equal elements, so that most matches are at the
//! same index. The rest is matched by augmenting paths: within a tolerance, an element may equal
//! two elements that differ from each other.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use assay_documents::Json;

use super::compare::{BYTES_PER_UNIT, Comparison, written_key};
use super::notation::{is_mapping, tagged};
use super::numbers::{Number, any_number, text_bytes};

/// Depth to which the key of an element is computed.
const KEY_DEPTH: usize = 16;

/// The sort key of an element.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Hash of everything in the element, or of everything but its numbers if those are compared
    /// within a tolerance.
    shape: u64,
    /// The first numbers of the element, as integers of the same order, if they are not part of the
    /// shape.
    numbers: [u64; 2],
    /// How many of `numbers` are set.
    number_count: usize,
}

/// The matches found so far, by index.
struct Matching {
    of_got: Vec<Option<usize>>,
    of_expected: Vec<Option<usize>>,
}

impl Comparison<'_> {
    /// Whether both sides have the same elements, each equally often.
    pub(super) fn in_any_order(&self, got: &[Json], expected: &[Json]) -> bool {
        let count = got.len();
        if count != expected.len() || !self.charge(count) {
            return false;
        }
        let (got_order, expected_order) = (self.sorted(got), self.sorted(expected));
        // Returns `None` if the work is used up.
        let agree = |one: usize, other: usize| {
            let are_equal = self.equal(&got[got_order[one]], &expected[expected_order[other]]);
            (self.left.get() > 0).then_some(are_equal)
        };
        let mut matching = Matching {
            of_got: vec![None; count],
            of_expected: vec![None; count],
        };
        for at in (0..count).filter(|at| agree(*at, *at) == Some(true)) {
            (matching.of_got[at], matching.of_expected[at]) = (Some(at), Some(at));
        }
        let open: Vec<usize> = (0..count)
            .filter(|at| matching.of_got[*at].is_none())
            .collect();
        // A search visits every element once, even if it makes few comparisons.
        open.into_iter()
            .all(|from| self.charge(count) && matching.augment(from, agree))
    }

    /// The indices of the elements, sorted by their keys.
    fn sorted(&self, elements: &[Json]) -> Vec<usize> {
        let mut keyed: Vec<(Key, usize)> = elements
            .iter()
            .enumerate()
            .map(|(at, element)| (self.key(element), at))
            .collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, at)| at).collect()
    }

    fn key(&self, element: &Json) -> Key {
        let mut key = Key::default();
        key.shape = self.shape(element, KEY_DEPTH, &mut key);
        key
    }

    /// A hash that equal values share, both in the driver's notation and as plain JSON.
    fn shape(&self, value: &Json, levels: usize, key: &mut Key) -> u64 {
        if levels == 0 || !self.charge(1) {
            return 0;
        }
        match value {
            Json::Null => hash_of(&"null"),
            Json::Text(text) => {
                self.charge(text.len() / BYTES_PER_UNIT);
                hash_of(&("text", text))
            }
            Json::Bool(_) | Json::Number(_) => self.shape_of_number(value, key),
            Json::Array(elements) => self.shape_of_elements(elements, levels, key),
            Json::Object(pairs) => match tagged(pairs) {
                Some(("same", Json::Number(number))) => {
                    let container = number
                        .parse()
                        .ok()
                        .and_then(|number: usize| self.containers.get(number));
                    container.map_or(0, |container| self.shape(container, levels, key))
                }
                Some(("tuple" | "set" | "frozenset", Json::Array(elements))) => {
                    self.shape_of_elements(elements, levels, key)
                }
                Some((kind, Json::Array(pairs))) if is_mapping(kind) => {
                    pairs.iter().fold(0, |sum, pair| {
                        let (Some(name), Some(value)) =
                            (pair.elements().first(), pair.elements().get(1))
                        else {
                            return sum;
                        };
                        let name = written_key(name).map(|name| hash_of(&*name));
                        sum.wrapping_add(hash_of(&(name, self.shape(value, levels - 1, key))))
                    })
                }
                Some((_, _)) => self.shape_of_number(value, key),
                None => pairs.iter().fold(0, |sum, (name, value)| {
                    let name = Some(hash_of(name.as_str()));
                    sum.wrapping_add(hash_of(&(name, self.shape(value, levels - 1, key))))
                }),
            },
        }
    }

    fn shape_of_elements(&self, elements: &[Json], levels: usize, key: &mut Key) -> u64 {
        let mut hasher = DefaultHasher::new();
        elements.len().hash(&mut hasher);
        let mut sum = 0u64;
        for element in elements {
            let shape = self.shape(element, levels - 1, key);
            if self.has_sets {
                sum = sum.wrapping_add(hash_of(&shape));
            } else {
                shape.hash(&mut hasher);
            }
        }
        sum.hash(&mut hasher);
        hasher.finish()
    }

    fn shape_of_number(&self, value: &Json, key: &mut Key) -> u64 {
        self.charge(text_bytes(value) / BYTES_PER_UNIT);
        let Some(number) = approximately(value) else {
            return hash_of(&"other");
        };
        let order = ordered(number);
        if self.rule.tolerance.is_none() {
            return hash_of(&("number", order));
        }
        if let Some(free) = key.numbers.get_mut(key.number_count) {
            *free = order;
            key.number_count += 1;
        }
        hash_of(&"number")
    }
}

impl Matching {
    /// Finds a match for an element without one. Other elements may have to change theirs.
    fn augment(&mut self, from: usize, agree: impl Fn(usize, usize) -> Option<bool>) -> bool {
        let mut reached_from: Vec<Option<usize>> = vec![None; self.of_expected.len()];
        let mut unreached: Vec<usize> = (0..self.of_expected.len()).collect();
        let mut waiting = VecDeque::from([from]);
        while let Some(got) = waiting.pop_front() {
            let mut at = 0;
            while let Some(expected) = unreached.get(at).copied() {
                match agree(got, expected) {
                    Some(true) => {}
                    Some(false) => {
                        at += 1;
                        continue;
                    }
                    None => return false,
                }
                unreached.swap_remove(at);
                reached_from[expected] = Some(got);
                match self.of_expected[expected] {
                    Some(owner) => waiting.push_back(owner),
                    None => {
                        self.take(expected, &reached_from);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Flips the augmenting path that ends at a free element.
    fn take(&mut self, free: usize, reached_from: &[Option<usize>]) {
        let mut next = Some(free);
        while let Some(expected) = next {
            let Some(got) = reached_from[expected] else {
                return;
            };
            next = self.of_got[got];
            (self.of_got[got], self.of_expected[expected]) = (Some(expected), Some(got));
        }
    }
}

fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The float nearest to a number; `None` for anything else.
fn approximately(value: &Json) -> Option<f64> {
    let float = |number: Number| Some(number.to_f64());
    match value {
        Json::Number(text) => text.parse().ok(),
        Json::Object(pairs) => match tagged(pairs)? {
            ("int" | "float", _) => any_number(value).and_then(float),
            ("complex", Json::Array(parts)) => any_number(parts.first()?).and_then(float),
            ("made", Json::Array(parts)) => {
                let [Json::Text(_), Json::Object(arguments)] = parts.as_slice() else {
                    return None;
                };
                match tagged(arguments)?.1.elements() {
                    [Json::Text(text)] => text.parse().ok(),
                    [numerator, denominator] => {
                        Some(any_number(numerator)?.to_f64() / any_number(denominator)?.to_f64())
                    }
                    _ => None,
                }
            }
            _ => None,
        },
        plain => any_number(plain).and_then(float),
    }
}

/// A float as an integer of the same order.
fn ordered(value: f64) -> u64 {
    // Adding zero turns negative zero into positive zero.
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | (1 << 63)
    }
}
