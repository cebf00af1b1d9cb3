//! The memory of a frozen instance: the pages that differ from a new one, in segments that are
//! compressed one by one. A segment that a call did not change is copied as it is.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::error::{FrozenError, cannot};
use super::packed::{Packed, RUN, pack, unpack};
use crate::pages::PAGE;

/// Pages of a segment.
const PAGES: usize = RUN / PAGE;

/// The original of a page that a new instance does not have.
static ZEROS: [u8; PAGE] = [0; PAGE];

/// A part of the memory in which pages differ from those of a new instance.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Segment<'a> {
    /// The part of the memory, in multiples of [`RUN`].
    number: u32,
    /// The pages that differ: one bit for each.
    pages: u16,
    /// The exclusive or of these pages with those of a new instance, in which most bytes are zeros.
    #[serde(borrow)]
    differences: Packed<'a>,
}

impl Segment<'_> {
    /// The segment with this number, of which at most these pages differ. `None` if none does.
    fn of(
        (number, pages): (u32, u16),
        memory: &[u8],
        original: &[u8],
    ) -> Result<Option<Segment<'static>>, FrozenError> {
        let (mut differing, mut differences) = (0, Vec::with_capacity(RUN));
        for page in numbers(pages) {
            let start = start_of(number, page);
            let (found, original) = (page_of(memory, start), page_of(original, start));
            if found != original {
                differing |= 1 << page;
                differences.extend(found.iter().zip(original).map(|(a, b)| a ^ b));
            }
        }
        if differing == 0 {
            return Ok(None);
        }
        Ok(Some(Segment {
            number,
            pages: differing,
            differences: pack(&differences)?,
        }))
    }

    /// Bytes of the pages that differ.
    pub(super) fn changed_bytes(&self) -> usize {
        self.pages.count_ones() as usize * PAGE
    }

    /// About the bytes that it takes in a frozen instance.
    pub(super) fn frozen_bytes(&self) -> usize {
        size_of::<Self>() + self.differences.frozen_bytes()
    }
}

/// The numbers of the bits that are set.
fn numbers(pages: u16) -> impl Iterator<Item = usize> {
    (0..PAGES).filter(move |page| pages >> page & 1 == 1)
}

/// The address of a page of a segment.
fn start_of(number: u32, page: usize) -> usize {
    number as usize * RUN + page * PAGE
}

fn page_of(memory: &[u8], start: usize) -> &[u8] {
    memory.get(start..start + PAGE).unwrap_or(&ZEROS)
}

/// A segment with which an instance was thawed.
struct ThawedSegment<'a> {
    segment: Segment<'a>,
    /// Where its content is in the buffer, unless it is stored uncompressed.
    unpacked: Range<usize>,
}

/// The segments with which an instance was thawed, and their content.
#[derive(Default)]
pub(crate) struct ThawedSegments<'a> {
    segments: Vec<ThawedSegment<'a>>,
    buffer: Vec<u8>,
}

impl<'a> ThawedSegments<'a> {
    /// Applies segments to the memory of a new instance, of which `original` is the content, and
    /// which may have grown since. The buffer is used again if it is large enough, because the page
    /// faults of new memory take longer than everything else.
    pub(crate) fn apply(
        segments: Vec<Segment<'a>>,
        memory: &mut [u8],
        original: &[u8],
        buffer: Vec<u8>,
    ) -> Result<Self, FrozenError> {
        if !segments.is_sorted_by(|one, other| one.number < other.number) {
            return Err(cannot("read", &"its segments are out of order"));
        }
        let last = segments
            .last()
            .map_or(0, |segment| start_of(segment.number, PAGES));
        if last > memory.len() {
            return Err(cannot("thawed", &"a segment is outside of its memory"));
        }
        let mut thawed = Self {
            segments: Vec::with_capacity(segments.len()),
            buffer,
        };
        let mut used = 0;
        for segment in segments {
            let (number, bytes) = (segment.number, segment.changed_bytes());
            let mut unpacked = used..used;
            if segment.differences.stored().is_none() {
                unpacked.end += bytes;
                used = unpacked.end;
                if used > thawed.buffer.len() {
                    thawed.buffer.resize(used, 0);
                }
                unpack(&segment.differences, &mut thawed.buffer[unpacked.clone()])?;
            }
            let segment = ThawedSegment { segment, unpacked };
            let differences = thawed.content(&segment);
            if differences.len() != bytes {
                return Err(cannot("read", &"a segment has the wrong length"));
            }
            let pages = numbers(segment.segment.pages).zip(differences.chunks_exact(PAGE));
            for (page, difference) in pages {
                let start = start_of(number, page);
                let target = &mut memory[start..start + PAGE];
                let bytes = page_of(original, start).iter().zip(difference);
                for (target, (original, difference)) in target.iter_mut().zip(bytes) {
                    *target = original ^ difference;
                }
            }
            thawed.segments.push(segment);
        }
        Ok(thawed)
    }

    /// The differences of the pages of a segment.
    fn content<'s>(&'s self, segment: &'s ThawedSegment<'_>) -> &'s [u8] {
        let stored = segment.segment.differences.stored();
        stored.unwrap_or_else(|| &self.buffer[segment.unpacked.clone()])
    }

    /// The segments of the memory after a call. `written` are the ranges that were written to since
    /// the instance was created, also by thawing it.
    pub(crate) fn freeze(
        &self,
        memory: &[u8],
        original: &[u8],
        written: &[Range<usize>],
    ) -> Result<Vec<Segment<'a>>, FrozenError> {
        let mut candidates = BTreeMap::new();
        let mut add = |number: usize, pages: u16| {
            if let Ok(number) = u32::try_from(number) {
                *candidates.entry(number).or_insert(0) |= pages;
            }
        };
        for start in written.iter().flat_map(|range| range.clone().step_by(PAGE)) {
            add(start / RUN, 1 << (start % RUN / PAGE));
        }
        for ThawedSegment { segment, .. } in &self.segments {
            add(segment.number as usize, segment.pages);
        }
        let mut thawed = self.segments.iter().peekable();
        let segments = candidates.into_iter();
        segments
            .filter_map(|(number, pages)| {
                match thawed.next_if(|before| before.segment.number == number) {
                    Some(before) if self.is_unchanged(before, pages, memory, original) => {
                        Some(Ok(before.segment.clone()))
                    }
                    _ => Segment::of((number, pages), memory, original).transpose(),
                }
            })
            .collect()
    }

    /// Whether a segment, of which at most these pages differ from the original, is as it was
    /// thawed.
    fn is_unchanged(
        &self,
        before: &ThawedSegment<'_>,
        pages: u16,
        memory: &[u8],
        original: &[u8],
    ) -> bool {
        let mut differences = self.content(before).chunks_exact(PAGE);
        let Segment {
            number,
            pages: thawed,
            ..
        } = before.segment;
        numbers(pages).all(|page| {
            let start = start_of(number, page);
            let (found, original) = (page_of(memory, start), page_of(original, start));
            if thawed >> page & 1 == 0 {
                return found == original;
            }
            // Without a branch for each byte, this is compiled to vector instructions.
            let difference = differences.next().unwrap_or_default();
            let bytes = found.iter().zip(original).zip(difference);
            bytes.fold(0, |all, ((a, b), c)| all | (a ^ b ^ c)) == 0
        })
    }

    /// The buffer, for the next call.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    const PAGE_NUMBER: u8 = 3;

    fn original() -> Vec<u8> {
        (0..4 * RUN).map(|at| (at / PAGE) as u8).collect()
    }

    fn bytes(segments: &[Segment<'_>]) -> Vec<u8> {
        postcard::to_stdvec(segments).unwrap()
    }

    /// Thaws segments, changes the memory, and freezes it again.
    fn continued(frozen: &[u8], change: impl FnOnce(&mut [u8])) -> (Vec<u8>, Vec<u8>, usize) {
        let segments = postcard::from_bytes(frozen).unwrap();
        let (original, mut memory) = (original(), original());
        memory.resize(6 * RUN, 0);
        let thawed = ThawedSegments::apply(segments, &mut memory, &original, Vec::new()).unwrap();
        change(&mut memory);
        let written = 0..memory.len();
        let again = thawed.freeze(&memory, &original, &[written]).unwrap();
        let packed = again.iter().filter(|segment| {
            let (Packed::Stored(bytes) | Packed::Compressed(bytes)) = &segment.differences;
            matches!(bytes, Cow::Owned(_))
        });
        let packed = packed.count();
        (memory, bytes(&again), packed)
    }

    #[test]
    fn only_changed_segments_are_compressed_again() {
        let new = bytes(&[]);
        let random = |memory: &mut [u8]| {
            let mut reader = blake3::Hasher::new().finalize_xof();
            reader.fill(&mut memory[4 * RUN..5 * RUN]);
            memory[9] = 1;
        };
        let (first, frozen, packed) = continued(&new, random);
        assert_eq!(packed, 2);
        let (second, again, packed) = continued(&frozen, |_| {});
        assert!(second == first && again == frozen && packed == 0);
        let (third, changed, packed) = continued(&frozen, |memory| memory[10] = PAGE_NUMBER);
        assert_eq!(packed, 1);
        // The bytes depend only on the state.
        let (_, direct, packed) = continued(&new, |memory| memory.copy_from_slice(&third));
        assert!(direct == changed && packed == 2);
        let undo = |memory: &mut [u8]| memory[..4 * RUN].copy_from_slice(&original());
        let (_, undone, packed) = continued(&changed, undo);
        assert_eq!(packed, 0);
        let only_random = |memory: &mut [u8]| {
            random(memory);
            memory[9] = 0;
        };
        assert!(undone == continued(&new, only_random).1);
    }

    #[test]
    fn rejects_segments_that_no_memory_has() {
        let segment = |number: u32, pages: u16, length: usize| Segment {
            number,
            pages,
            differences: Packed::Stored(Cow::Owned(vec![1; length])),
        };
        for (segments, reason) in [
            (vec![segment(1, 1, PAGE), segment(1, 1, PAGE)], "order"),
            (vec![segment(4, 1, PAGE)], "outside"),
            (vec![segment(u32::MAX, 1, PAGE)], "outside"),
            (vec![segment(0, 3, PAGE)], "length"),
            (vec![segment(0, 1, PAGE + 1)], "length"),
        ] {
            let applied = ThawedSegments::apply(segments, &mut original(), &original(), Vec::new());
            let error = applied.err().map(|error| error.to_string());
            assert!(
                error.as_ref().is_some_and(|text| text.contains(reason)),
                "{error:?}"
            );
        }
    }
}
