//! Computes an upper bound of the memory of a parsed JSON text from its bytes as they arrive,
//! before it is parsed.
//!
//! The text is not validated. A parser stops at the first error, and up to that point the scanner
//! reads the text as the parser does, so the result is never below what the parser allocated.

use memchr::memchr2;

/// Deepest nesting at which objects and arrays are distinguished. serde_json parses values no
/// deeper.
const MAX_FRAMES: usize = 128;

// Costs in bytes, of `serde_json::Value` without `preserve_order` and `arbitrary_precision`: a
// value has 32 bytes, and an object is a `BTreeMap<String, Value>` with nodes of 11 keys, of which
// splitting leaves at least 5 in each. A heap block has a header of 8 bytes and is rounded up to a
// multiple of 16. The typed values of requests are smaller than such trees. `Parsed::memory` adds
// the content of strings.

/// An object: the first node of its tree, counted for empty objects too.
const OBJECT: usize = 640;

/// The key that splits an object's first node into two nodes and a root.
const SPLIT: usize = 1_392;

/// Every further key: its share of a leaf and of the nodes above.
const KEY: usize = 136;

/// Keys of the first node.
const NODE_KEYS: u32 = 11;

/// An array: the four slots of its first block.
const ARRAY: usize = 144;

/// Every element after the first: up to two slots after an array has grown, and a third while it
/// grows.
const ELEMENT: usize = 96;

/// A string or key: the size of its heap block without the content.
const STRING: usize = 32;

/// Counts of a JSON text, or of the part scanned so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Number of bytes.
    pub bytes: usize,
    /// Objects.
    pub objects: usize,
    /// Arrays.
    pub arrays: usize,
    /// Commas: elements and members after the first of each array and object.
    pub commas: usize,
    /// Strings, including keys.
    pub strings: usize,
    /// Deepest nesting of arrays and objects.
    pub depth: usize,
    structure: usize,
}

impl Parsed {
    /// Upper bound of the memory of the parsed text, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        // Escapes are never shorter than the characters they encode, so no content is longer than
        // its text.
        self.bytes.saturating_add(self.structure)
    }
}

/// Scans a JSON text chunk by chunk.
#[derive(Debug)]
pub struct Scanner {
    parsed: Parsed,
    state: State,
    depth: usize,
    /// `None` for each open array, the commas so far for each open object.
    frames: [Option<u32>; MAX_FRAMES],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Outside,
    InString,
    Escaped,
}

impl Default for Scanner {
    fn default() -> Self {
        Self {
            parsed: Parsed::default(),
            state: State::Outside,
            depth: 0,
            frames: [None; MAX_FRAMES],
        }
    }
}

impl Scanner {
    /// The counts so far.
    #[must_use]
    pub fn parsed(&self) -> &Parsed {
        &self.parsed
    }

    /// Scans the next bytes of the text.
    pub fn scan(&mut self, chunk: &[u8]) {
        self.parsed.bytes += chunk.len();
        let mut rest = chunk;
        while !rest.is_empty() {
            rest = match self.state {
                State::Outside => self.outside(rest),
                State::InString => self.in_string(rest),
                State::Escaped => {
                    self.state = State::InString;
                    &rest[1..]
                }
            };
        }
    }

    /// Scans up to the start of the next string and returns the rest.
    fn outside<'c>(&mut self, chunk: &'c [u8]) -> &'c [u8] {
        for (at, byte) in chunk.iter().enumerate() {
            match byte {
                b'"' => {
                    self.parsed.strings += 1;
                    self.charge(STRING);
                    self.state = State::InString;
                    return &chunk[at + 1..];
                }
                b',' => self.comma(),
                b'{' => {
                    self.parsed.objects += 1;
                    self.open(Some(0), OBJECT);
                }
                b'[' => {
                    self.parsed.arrays += 1;
                    self.open(None, ARRAY);
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        &[]
    }

    /// Scans up to the end of the string and returns the rest.
    fn in_string<'c>(&mut self, chunk: &'c [u8]) -> &'c [u8] {
        let Some(at) = memchr2(b'"', b'\\', chunk) else {
            return &[];
        };
        self.state = if chunk[at] == b'"' {
            State::Outside
        } else {
            State::Escaped
        };
        &chunk[at + 1..]
    }

    fn open(&mut self, frame: Option<u32>, cost: usize) {
        if let Some(slot) = self.frames.get_mut(self.depth) {
            *slot = frame;
        }
        self.depth += 1;
        self.parsed.depth = self.parsed.depth.max(self.depth);
        self.charge(cost);
    }

    fn comma(&mut self) {
        self.parsed.commas += 1;
        let frame = self
            .depth
            .checked_sub(1)
            .and_then(|depth| self.frames.get_mut(depth));
        let cost = match frame {
            Some(Some(commas)) => {
                *commas = commas.saturating_add(1);
                // The next key is the first that does not fit into the first node.
                match (*commas).cmp(&NODE_KEYS) {
                    std::cmp::Ordering::Less => 0,
                    std::cmp::Ordering::Equal => SPLIT,
                    std::cmp::Ordering::Greater => KEY,
                }
            }
            Some(None) => ELEMENT,
            // Too deep to know whether this is an object.
            None => KEY,
        };
        self.charge(cost);
    }

    fn charge(&mut self, cost: usize) {
        self.parsed.structure = self.parsed.structure.saturating_add(cost);
    }
}

/// Scans a whole JSON text.
#[must_use]
pub fn parsed(text: &[u8]) -> Parsed {
    let mut scanner = Scanner::default();
    scanner.scan(text);
    *scanner.parsed()
}

#[cfg(test)]
mod tests;
