//! Digests of tables.

use std::fmt::Write as _;

use crate::database::sql::Cell;

/// A table that was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableCopy {
    /// Its name.
    pub table: String,
    /// Number of its rows.
    pub rows: u64,
    /// Digest of all rows, in any order: equal on SQLite and PostgreSQL.
    pub digest: String,
}

/// The number of rows, and the sum of their BLAKE3 hashes, so that their order does not matter.
#[derive(Default)]
pub(super) struct Digest {
    rows: u64,
    /// The sum of each 8 bytes of the hashes, without carry.
    sums: [u64; 4],
}

impl Digest {
    /// Adds a row; returns the bytes of its values.
    pub(super) fn add(&mut self, cells: &[Cell<'_>]) -> usize {
        let (mut hasher, mut bytes) = (blake3::Hasher::new(), 0);
        for cell in cells {
            let mut value = |kind: u8, content: &[u8]| {
                hasher.update(&[kind]);
                hasher.update(&(content.len() as u64).to_le_bytes());
                hasher.update(content);
                bytes += content.len();
            };
            match cell {
                Cell::Null => value(0, &[]),
                // SQLite has no booleans.
                Cell::Flag(flag) => value(1, &i64::from(*flag).to_le_bytes()),
                Cell::Integer(number) => value(1, &number.to_le_bytes()),
                // SQLite does not store the sign of zero.
                Cell::Real(number) => value(2, &(number + 0.0).to_le_bytes()),
                Cell::Text(text) => value(3, text.as_bytes()),
                Cell::Bytes(content) => value(4, content),
            }
        }
        let hash = hasher.finalize();
        let (parts, _) = hash.as_bytes().as_chunks::<8>();
        for (sum, part) in self.sums.iter_mut().zip(parts) {
            *sum = sum.wrapping_add(u64::from_le_bytes(*part));
        }
        self.rows += 1;
        bytes
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The digest of a table of this name.
    pub(super) fn finish(self, table: &str) -> TableCopy {
        let mut digest = String::with_capacity(64);
        for byte in self.sums.iter().flat_map(|sum| sum.to_le_bytes()) {
            // Writing to a string cannot fail.
            let _ = write!(digest, "{byte:02x}");
        }
        TableCopy {
            table: table.to_owned(),
            rows: self.rows,
            digest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(rows: &[&[Cell<'_>]]) -> String {
        let mut digest = Digest::default();
        for row in rows {
            digest.add(row);
        }
        digest.finish("table").digest
    }

    #[test]
    fn depends_on_values_and_not_on_the_order_of_rows() {
        let (a, b) = ([Cell::Integer(1)], [Cell::Text("a".into())]);
        assert_eq!(digest(&[&a, &b]), digest(&[&b, &a]));
        assert_eq!(digest(&[&a]), digest(&[&[Cell::Flag(true)]]));
        assert_eq!(
            digest(&[&[Cell::Real(0.0)]]),
            digest(&[&[Cell::Real(-0.0)]])
        );
        let others: [&[&[Cell<'_>]]; 7] = [
            &[],
            &[&a],
            &[&a, &a],
            &[&b],
            &[&[Cell::Real(1.0)]],
            &[&[Cell::Bytes(b"a")]],
            &[&[Cell::Null]],
        ];
        let digests: std::collections::BTreeSet<String> =
            others.iter().map(|rows| digest(rows)).collect();
        assert_eq!(digests.len(), others.len());
    }
}
