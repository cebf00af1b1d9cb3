//! Checksums of grades. They find damage; they do not depend on a secret.

use assay_core::Hash;
use twox_hash::XxHash3_64;

/// A function of 64 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Checksum {
    /// XXH3, much faster than a cryptographic hash.
    Xxh3,
    /// The first bytes of the BLAKE3 hash. Rows and frames of earlier releases have it.
    Blake3,
}

impl Checksum {
    /// The function of what is written.
    pub(crate) const CURRENT: Self = Self::Xxh3;
    /// All functions that a record may contain, the current one first.
    pub(crate) const ALL: [Self; 2] = [Self::CURRENT, Self::Blake3];

    pub(crate) fn of(self, content: &[u8]) -> i64 {
        match self {
            Self::Xxh3 => XxHash3_64::oneshot(content).cast_signed(),
            Self::Blake3 => {
                let [a, b, c, d, e, f, g, h, ..] = *Hash::of(content).as_bytes();
                i64::from_be_bytes([a, b, c, d, e, f, g, h])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksums are stored, so they must not change.
    #[test]
    fn checksums_are_stable() {
        assert_eq!(Checksum::Xxh3.of(b""), 0x2d06_8005_38d3_94c2);
        assert_eq!(
            Checksum::Blake3.of(b""),
            0xaf13_49b9_f5f9_a1a6_u64.cast_signed()
        );
    }
}
