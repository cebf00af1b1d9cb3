//! Bounded texts of trees.

use std::hash::{Hash as _, Hasher};

use crate::tree::Expr;

/// Approximate length to which texts are cut, in bytes.
const MAX_SHOWN: usize = 500;

/// The text of a tree, cut after about 500 bytes. A text that is cut ends with a hash of the whole
/// tree, so that different trees have different texts.
pub(crate) fn shown(expr: &Expr) -> String {
    let mut text = expr.shown(MAX_SHOWN);
    // Numbers of many bits are cut in the middle of the text.
    if text.ends_with('…') || text.contains(" bits)") {
        let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
        expr.hash(&mut hash);
        text.push_str(&format!(" #{:016x}", hash.finish()));
    }
    text
}

/// FNV-1a, which is the same in every process.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
