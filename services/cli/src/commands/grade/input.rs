//! Reads items from lines in chunks. A chunk contains all items of a group that are on adjacent
//! lines, up to a limit.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context;
use assay_core::{ErrorCode, Task};
use assay_wire::Problem;
use assay_wire::request::{DecodedItem, ReadTask, decode_item};
use futures::{Stream, stream};
use tokio::sync::mpsc;

use crate::commands::items::LineReader;

/// Number of items after which a chunk ends at the end of the current group.
const CHUNK_ITEMS: usize = 1_024;

/// Number of items after which a chunk ends even inside a group, to bound memory.
const MAX_CHUNK_ITEMS: usize = 16 * CHUNK_ITEMS;

/// Bytes of lines after which a chunk ends at the end of the current group.
const CHUNK_BYTES: usize = 16 << 20;

/// Bytes of lines after which a chunk ends even inside a group. A server accepts 64 MiB per
/// request.
pub(super) const MAX_CHUNK_BYTES: usize = 48 << 20;

/// How lines are divided into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Division {
    /// Chunks are bounded and contain whole groups if their members are adjacent.
    Chunks,
    /// All lines are one chunk, and further lines than [`MAX_BATCH_ITEMS`] another.
    OneBatch,
}

/// Most items of one batch, as a server accepts by default.
pub(super) const MAX_BATCH_ITEMS: usize = 65_536;

/// One line of the input, in order.
pub(super) enum InputLine {
    /// The next item of the chunk, with its line number.
    Item(u64),
    /// A line that is not a valid item.
    Invalid(InvalidLine),
}

/// A line that is not a valid item.
pub(super) struct InvalidLine {
    /// Line number, from 1.
    pub(super) line: u64,
    pub(super) id: Option<String>,
    pub(super) group: Option<String>,
    pub(super) problem: Problem,
}

impl InvalidLine {
    /// A line that could not be decoded, so its id and group are not known.
    fn new(line: u64, problem: Problem) -> Self {
        Self {
            line,
            id: None,
            group: None,
            problem,
        }
    }
}

/// The lines that are items, with their line numbers.
pub(super) fn items(lines: &mut [InputLine]) -> impl Iterator<Item = (&mut InputLine, u64)> {
    lines.iter_mut().filter_map(|line| match *line {
        InputLine::Item(number) => Some((line, number)),
        InputLine::Invalid(_) => None,
    })
}

/// Returns the index of the item that a problem points to, and the problem with a pointer relative
/// to that item. `items` is the number of items.
pub(super) fn item_of(problem: &Problem, items: usize) -> Option<(usize, Problem)> {
    let rest = problem.pointer.as_deref()?.strip_prefix("/items/")?;
    let (at, within) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let at = at.parse().ok().filter(|at| *at < items)?;
    Some((
        at,
        Problem {
            pointer: Some(within.to_owned()),
            ..problem.clone()
        },
    ))
}

/// Marks the line of item `at` as invalid. `at` counts only the lines that are still items.
pub(super) fn invalidate(
    lines: &mut [InputLine],
    at: usize,
    id: Option<String>,
    group: Option<String>,
    problem: Problem,
) {
    if let Some((slot, line)) = items(lines).nth(at) {
        *slot = InputLine::Invalid(InvalidLine {
            line,
            id,
            group,
            problem,
        });
    }
}

/// Consecutive lines and the items among them.
pub(super) struct Chunk<T = Task> {
    pub(super) lines: Vec<InputLine>,
    pub(super) items: Vec<DecodedItem<T>>,
    /// Bytes of the items, as JSON. Above [`MAX_CHUNK_BYTES`] only for a single item.
    pub(super) bytes: usize,
}

/// Reads the file in chunks, ahead on a separate thread. `lines` makes items of its lines, and
/// `tasks` their tasks. Also returns the number of lines, except for standard input.
pub(super) fn chunks<R>(
    file: &Path,
    lines: LineReader,
    division: Division,
    mut tasks: R,
) -> anyhow::Result<(impl Stream<Item = Chunk<R::Task>> + use<R>, Option<u64>)>
where
    R: ReadTask<Task: Send> + Send + 'static,
{
    let (reader, total): (Box<dyn Read + Send>, _) = if file.as_os_str() == "-" {
        (Box::new(std::io::stdin()), None)
    } else {
        let open = || File::open(file).with_context(|| format!("cannot read `{}`", file.display()));
        (
            Box::new(open()?),
            Some(count_lines(BufReader::new(open()?))?),
        )
    };
    let (sender, receiver) = mpsc::channel(1);
    tokio::task::spawn_blocking(move || {
        read(
            BufReader::with_capacity(1 << 20, reader),
            &lines,
            division,
            &mut tasks,
            &sender,
        );
    });
    let chunks = stream::unfold(receiver, |mut receiver| async move {
        Some((receiver.recv().await?, receiver))
    });
    Ok((chunks, total))
}

fn count_lines(mut reader: impl BufRead) -> std::io::Result<u64> {
    let mut lines = 0;
    loop {
        let read = reader.fill_buf()?;
        if read.is_empty() {
            return Ok(lines);
        }
        lines += memchr::memchr_iter(b'\n', read).count() as u64;
        let length = read.len();
        reader.consume(length);
    }
}

fn read<R: ReadTask>(
    mut reader: impl BufRead,
    lines: &LineReader,
    division: Division,
    tasks: &mut R,
    sender: &mpsc::Sender<Chunk<R::Task>>,
) {
    let mut groups = Groups::default();
    let (mut chunk, mut number, mut line) = (empty(), 0u64, Vec::new());
    loop {
        line.clear();
        number += 1;
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                let problem = Problem::new(ErrorCode::Internal, error.to_string());
                let invalid = InvalidLine::new(number, problem);
                chunk.lines.push(InputLine::Invalid(invalid));
                break;
            }
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match decode_line(&line, number, lines, tasks) {
            Ok((item, bytes)) => {
                let group = item.request.group.as_deref();
                let (is_full, is_at_limit) = match division {
                    Division::Chunks => (
                        chunk.items.len() >= CHUNK_ITEMS || chunk.bytes >= CHUNK_BYTES,
                        chunk.items.len() >= MAX_CHUNK_ITEMS
                            || chunk.bytes + bytes > MAX_CHUNK_BYTES,
                    ),
                    Division::OneBatch => (false, chunk.items.len() >= MAX_BATCH_ITEMS),
                };
                if is_full && !groups.continues(group) || is_at_limit && !chunk.items.is_empty() {
                    if sender
                        .blocking_send(std::mem::replace(&mut chunk, empty()))
                        .is_err()
                    {
                        return;
                    }
                    groups.next_chunk();
                }
                chunk.bytes += bytes;
                groups.add(group, number);
                chunk.lines.push(InputLine::Item(number));
                chunk.items.push(item);
            }
            Err(problem) => {
                let invalid = InvalidLine::new(number, problem);
                chunk.lines.push(InputLine::Invalid(invalid));
            }
        }
    }
    if !chunk.lines.is_empty() {
        // Fails if the command was interrupted and the receiver was dropped.
        let _ = sender.blocking_send(chunk);
    }
}

fn empty<T>() -> Chunk<T> {
    Chunk {
        lines: Vec::new(),
        items: Vec::new(),
        bytes: 0,
    }
}

/// The item of a line, and its bytes.
fn decode_line<R: ReadTask>(
    line: &[u8],
    number: u64,
    lines: &LineReader,
    tasks: &mut R,
) -> Result<(DecodedItem<R::Task>, usize), Problem> {
    let text = std::str::from_utf8(line)
        .map_err(|error| Problem::new(ErrorCode::MalformedJson, format!("not UTF-8: {error}")))?;
    let json = lines.item(text)?;
    let (item, warnings) = decode_item(&json, "", tasks)?;
    for warning in warnings {
        tracing::warn!(
            line = number,
            field = warning.pointer,
            "{}",
            warning.message
        );
    }
    Ok((item, json.len()))
}

/// Warns when a group is split over chunks, because advantages are computed within a chunk.
#[derive(Default)]
struct Groups {
    current: Option<String>,
    in_chunk: HashSet<String>,
    in_earlier_chunks: HashSet<String>,
}

impl Groups {
    fn continues(&self, group: Option<&str>) -> bool {
        group.is_some() && group == self.current.as_deref()
    }

    fn add(&mut self, group: Option<&str>, number: u64) {
        if group != self.current.as_deref() {
            self.current = group.map(str::to_owned);
            if let Some(group) = group
                && self.in_chunk.insert(group.to_owned())
                && self.in_earlier_chunks.contains(group)
            {
                tracing::warn!(
                    line = number,
                    group,
                    "the items of the group are far apart, so their advantages have different \
                     baselines; put the items of a group on adjacent lines"
                );
            }
        }
    }

    fn next_chunk(&mut self) {
        self.in_earlier_chunks.extend(self.in_chunk.drain());
    }
}
