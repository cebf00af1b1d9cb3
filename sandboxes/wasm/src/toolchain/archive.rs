//! Reads tar archives in the format `ustar`, with regular files only.

use std::ops::Range;

const BLOCK: usize = 512;

/// The names of the files in an archive, and the ranges of their contents. Stops at the first
/// header that does not describe a regular file.
pub(super) fn files(archive: &[u8]) -> impl Iterator<Item = (String, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let header = archive.get(at..at + BLOCK)?;
        let (name, range) = file(header, at + BLOCK)?;
        at = range.end.next_multiple_of(BLOCK);
        archive.get(range.clone())?;
        Some((name, range))
    })
}

/// Reads a header. `start` is the offset of the file's contents.
fn file(header: &[u8], start: usize) -> Option<(String, Range<usize>)> {
    let text = |range: Range<usize>| {
        let field = header.get(range)?;
        let end = field.iter().position(|byte| *byte == 0);
        std::str::from_utf8(&field[..end.unwrap_or(field.len())]).ok()
    };
    if !matches!(header.get(156)?, b'0' | 0) {
        return None;
    }
    let (name, prefix) = (text(0..100)?, text(345..500)?);
    let size = usize::from_str_radix(text(124..136)?.trim(), 8).ok()?;
    let name = match prefix {
        "" => name.to_owned(),
        prefix => format!("{prefix}/{name}"),
    };
    (!name.is_empty()).then_some((name, start..start.checked_add(size)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, prefix: &str, size: usize) -> Vec<u8> {
        let mut header = vec![0; BLOCK];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        header[156] = b'0';
        header[345..345 + prefix.len()].copy_from_slice(prefix.as_bytes());
        header
    }

    #[test]
    fn lists_names_and_contents() {
        let mut archive = header("a.h", "", 3);
        archive.extend([b"abc".to_vec(), vec![0; BLOCK - 3]].concat());
        archive.extend(header("b.h", "deep/folder", 0));
        archive.extend(vec![0; 2 * BLOCK]);
        let found: Vec<_> = files(&archive).collect();
        assert_eq!(
            found,
            [
                ("a.h".to_owned(), BLOCK..BLOCK + 3),
                ("deep/folder/b.h".to_owned(), 3 * BLOCK..3 * BLOCK)
            ]
        );
        assert_eq!(&archive[found[0].1.clone()], b"abc");
    }

    #[test]
    fn stops_at_the_end_of_a_truncated_archive() {
        assert_eq!(files(&header("a.h", "", 3)).count(), 0);
        assert_eq!(files(b"short").count(), 0);
    }
}
