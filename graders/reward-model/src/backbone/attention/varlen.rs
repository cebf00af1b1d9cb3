//! Layout of a batch for kernels over sequences of different lengths: cumulative lengths of queries
//! and keys, and the rows of keys that sequences share.
//!
//! The queries of a sequence are its own rows. Its keys are all its tokens, in order, so a causal
//! mask that is aligned at the last query and the last key is right although the first tokens have
//! no queries. A sequence shares whole tiles of [`TILE`](crate::sequence::TILE) tokens, which is
//! the number of queries of a tile of the kernel, so its tiles of queries cover the same tokens as
//! those of an unshared sequence, and have the same bits.

use std::ops::Range;
use std::sync::OnceLock;

use candle_core::{Device, Result, Tensor};

use crate::backbone::packed_sequence::PackedSequence;

/// Keys of a call, unless a single sequence has more. Shared keys are copied for each sequence, so
/// their number is not bounded by the rows of a batch.
const MAX_KEYS: usize = 32_768;

/// One call of the kernel: consecutive sequences of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Rows of the queries.
    pub(super) queries: Range<usize>,
    /// Start of the queries of each sequence, relative to the first, and the end of the last.
    pub(super) query_starts: Vec<u32>,
    /// The same for keys.
    pub(super) key_starts: Vec<u32>,
    /// Largest number of queries of a sequence, and largest number of keys.
    pub(super) longest: [usize; 2],
    /// Rows of the keys, if they are not those of the queries.
    pub(super) keys: Option<Vec<u32>>,
}

/// The calls of a batch, computed once for all layers.
#[derive(Default)]
pub(crate) struct Calls(OnceLock<Vec<Upload>>);

/// A call with its tensors on the device.
pub(super) struct Upload {
    pub(super) call: Call,
    pub(super) query_starts: Tensor,
    pub(super) key_starts: Tensor,
    pub(super) keys: Option<Tensor>,
}

impl Upload {
    fn new(call: Call, device: &Device) -> Result<Self> {
        let tensor = |numbers: &[u32]| Tensor::new(numbers, device);
        Ok(Self {
            query_starts: tensor(&call.query_starts)?,
            key_starts: tensor(&call.key_starts)?,
            keys: call.keys.as_deref().map(tensor).transpose()?,
            call,
        })
    }
}

impl Calls {
    /// The calls for the sequences of the batch.
    pub(super) fn get(&self, sequences: &[PackedSequence], device: &Device) -> Result<&[Upload]> {
        if let Some(calls) = self.0.get() {
            return Ok(calls);
        }
        let uploads = calls(sequences).into_iter();
        let uploads = uploads
            .map(|call| Upload::new(call, device))
            .collect::<Result<Vec<_>>>()?;
        Ok(self.0.get_or_init(|| uploads))
    }
}

/// The calls for the sequences of a batch. Sequences without rows of their own are left out.
fn calls(sequences: &[PackedSequence]) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut rest = sequences;
    while !rest.is_empty() {
        let mut keys = 0;
        let fitting = rest.iter().take_while(|sequence| {
            keys += sequence.len;
            keys <= MAX_KEYS
        });
        let (part, later) = rest.split_at(fitting.count().max(1));
        rest = later;
        calls.extend(call(part));
    }
    calls
}

/// The call for some sequences. `None` if they have no rows of their own.
fn call(sequences: &[PackedSequence]) -> Option<Call> {
    let with_rows = || sequences.iter().filter(|sequence| !sequence.own.is_empty());
    let queries = with_rows().next()?.own.start..with_rows().next_back()?.own.end;
    let starts = |length: fn(&PackedSequence) -> usize| {
        let ends = with_rows().scan(0, move |end, sequence| {
            *end += length(sequence);
            Some(narrow(*end))
        });
        std::iter::once(0).chain(ends).collect()
    };
    let longest = |length: fn(&PackedSequence) -> usize| with_rows().map(length).max();
    let keys = with_rows().any(|sequence| sequence.shared > 0).then(|| {
        with_rows()
            .flat_map(|sequence| sequence.rows(0..sequence.len))
            .flatten()
            .map(narrow)
            .collect()
    });
    Some(Call {
        queries,
        query_starts: starts(|sequence| sequence.own.len()),
        key_starts: starts(|sequence| sequence.len),
        longest: [
            longest(|sequence| sequence.own.len())?,
            longest(|sequence| sequence.len)?,
        ],
        keys,
    })
}

fn narrow(row: usize) -> u32 {
    // A batch has fewer rows than a device has bytes, and fewer keys than `MAX_KEYS`.
    row as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backbone::Packed;
    use crate::{GpuOptions, Sequence};

    fn packed(parts: &[&[(u32, usize)]], share: bool) -> Packed {
        let ids = |parts: &[(u32, usize)]| -> Vec<u32> {
            let runs = parts.iter();
            runs.flat_map(|(id, count)| std::iter::repeat_n(*id, *count))
                .collect()
        };
        let sequences: Vec<Sequence> = parts
            .iter()
            .map(|parts| Sequence::whole(ids(parts)))
            .collect();
        let batch: Vec<&Sequence> = sequences.iter().collect();
        Packed::new(&batch, share, &Device::Cpu, GpuOptions::default()).unwrap()
    }

    #[test]
    fn unshared_sequences_use_their_rows_as_keys() {
        let packed = packed(&[&[(1, 5)], &[(2, 300)], &[(3, 1)]], true);
        assert_eq!(
            calls(&packed.sequences),
            [Call {
                queries: 0..306,
                query_starts: vec![0, 5, 305, 306],
                key_starts: vec![0, 5, 305, 306],
                longest: [300, 300],
                keys: None,
            }]
        );
    }

    #[test]
    fn shared_tokens_are_keys_without_queries() {
        let parts: [&[(u32, usize)]; 4] = [
            &[(1, 300), (2, 10)],
            &[(1, 300), (3, 20)],
            &[(1, 256)],
            &[(4, 5)],
        ];
        let packed = packed(&parts, true);
        let found = calls(&packed.sequences);
        let [call] = found.as_slice() else {
            panic!("{found:?}")
        };
        // The third sequence has no rows of its own.
        assert_eq!(call.queries, 0..379);
        assert_eq!(call.query_starts, [0, 310, 374, 379]);
        assert_eq!(call.key_starts, [0, 310, 630, 635]);
        assert_eq!(call.longest, [310, 320]);
        let keys: Vec<u32> = (0..310)
            .chain(0..256)
            .chain(310..374)
            .chain(374..379)
            .collect();
        assert_eq!(call.keys.as_ref(), Some(&keys));
    }

    /// Every query attends to the same tokens as in an unshared batch: token `i` of a sequence of
    /// `n` tokens with `q` queries is query `i - (n - q)`, and its last key is key `i`.
    #[test]
    fn queries_and_keys_cover_all_tokens_of_all_sequences() {
        let parts: Vec<Vec<(u32, usize)>> = (0..40u32)
            .map(|at| {
                vec![
                    (at % 3, 128 * (at as usize % 5)),
                    (100 + at, 1 + at as usize * 37),
                ]
            })
            .collect();
        let parts: Vec<&[(u32, usize)]> = parts.iter().map(Vec::as_slice).collect();
        let packed = packed(&parts, true);
        let ids = packed.ids.to_vec1::<u32>().unwrap();
        let mut rows = 0;
        let mut covered = 0;
        let mut sequences = packed.sequences.iter().zip(&parts);
        for call in calls(&packed.sequences) {
            assert_eq!(call.queries.start, rows);
            rows = call.queries.end;
            assert_eq!(
                *call.query_starts.last().unwrap() as usize,
                call.queries.len()
            );
            let last = *call.key_starts.last().unwrap() as usize;
            assert!(last <= MAX_KEYS || call.key_starts.len() == 2);
            assert_eq!(
                call.keys.as_ref().map_or(call.queries.len(), Vec::len),
                last
            );
            for keys in call.key_starts.windows(2) {
                let (sequence, parts) = sequences.next().unwrap();
                let tokens: Vec<u32> = parts
                    .iter()
                    .flat_map(|(id, count)| std::iter::repeat_n(*id, *count))
                    .collect();
                let own_rows: Vec<u32> =
                    (call.queries.start..call.queries.end).map(narrow).collect();
                let all = call.keys.as_ref().unwrap_or(&own_rows);
                let keys = &all[keys[0] as usize..keys[1] as usize];
                let found: Vec<u32> = keys.iter().map(|row| ids[*row as usize]).collect();
                assert_eq!(found, tokens);
                assert_eq!(sequence.shared % crate::sequence::TILE, 0);
                covered += 1;
            }
        }
        assert_eq!((rows, covered), (packed.rows(), parts.len()));
    }

    #[test]
    fn calls_are_uploaded_once() {
        let packed = packed(&[&[(1, 128), (2, 1)], &[(1, 128), (3, 2)]], true);
        let cell = Calls::default();
        let uploads = cell.get(&packed.sequences, &Device::Cpu).unwrap();
        let [upload] = uploads else {
            panic!("{} calls", uploads.len())
        };
        let numbers = |tensor: &Tensor| tensor.to_vec1::<u32>().unwrap();
        assert_eq!(upload.call, calls(&packed.sequences)[0]);
        assert_eq!(numbers(&upload.query_starts), [0, 129, 131]);
        assert_eq!(numbers(&upload.key_starts), [0, 129, 259]);
        let keys = upload.keys.as_ref().map(numbers);
        assert_eq!(keys, upload.call.keys);
        assert_eq!(keys.map(|keys| keys.len()), Some(259));
        let again = cell.get(&packed.sequences, &Device::Cpu).unwrap();
        assert!(std::ptr::eq(uploads, again));
    }

    #[test]
    fn calls_are_limited_by_keys() {
        let groups: Vec<Vec<(u32, usize)>> = (0..100).map(|at| vec![(1, 1_024), (at, 8)]).collect();
        let groups: Vec<&[(u32, usize)]> = groups.iter().map(Vec::as_slice).collect();
        let packed = packed(&groups, true);
        let calls = calls(&packed.sequences);
        assert!(calls.len() > 1);
        for call in &calls {
            assert!(call.keys.as_ref().is_none_or(|keys| keys.len() <= MAX_KEYS));
        }
        let queries: usize = calls.iter().map(|call| call.queries.len()).sum();
        assert_eq!(queries, packed.rows());
    }
}
