//! Reading items from lines, in chunks that never split a group whose items stand together.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context;
use assay_core::ErrorCode;
use assay_templates::Template;
use assay_wire::Problem;
use assay_wire::request::{DecodedItem, decode_item};
use futures::{Stream, stream};
use tokio::sync::mpsc;

use super::rows;

/// Items after which a chunk ends with the group it is in.
const CHUNK_ITEMS: usize = 1_024;

/// Items after which a chunk ends even inside a group, so that memory stays bounded.
const MOST_CHUNK_ITEMS: usize = 16 * CHUNK_ITEMS;

/// Bytes of lines after which a chunk ends, and after which it ends even inside a group: a server
/// takes 64 MiB in one request.
const CHUNK_BYTES: usize = 16 << 20;
pub(super) const MOST_CHUNK_BYTES: usize = 48 << 20;

/// One line of the input, in order.
pub(super) enum Line {
    /// The next of the chunk's items, and the number of its line.
    Item(u64),
    /// No item that can be graded.
    Unread(Unread),
}

/// Why a line is graded by nobody, and what it said of itself.
pub(super) struct Unread {
    /// Its number, from 1.
    pub(super) line: u64,
    pub(super) id: Option<String>,
    pub(super) group: Option<String>,
    pub(super) problem: Problem,
}

impl Unread {
    /// A line of which nothing is known but its number.
    fn new(line: u64, problem: Problem) -> Self {
        Self {
            line,
            id: None,
            group: None,
            problem,
        }
    }
}

/// The lines that are items, with their numbers.
pub(super) fn items(lines: &mut [Line]) -> impl Iterator<Item = (&mut Line, u64)> {
    lines.iter_mut().filter_map(|line| match *line {
        Line::Item(number) => Some((line, number)),
        Line::Unread(_) => None,
    })
}

/// The item a problem points to, of so many, and the problem as one of that item.
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

/// Makes the line of an item, counted among the items that are left, one that is graded by nobody.
pub(super) fn set_aside(
    lines: &mut [Line],
    at: usize,
    id: Option<String>,
    group: Option<String>,
    problem: Problem,
) {
    if let Some((place, line)) = items(lines).nth(at) {
        *place = Line::Unread(Unread {
            line,
            id,
            group,
            problem,
        });
    }
}

/// Some lines, and the items among them.
pub(super) struct Chunk {
    pub(super) lines: Vec<Line>,
    pub(super) items: Vec<DecodedItem>,
    /// Bytes of the lines that are items: above [`MOST_CHUNK_BYTES`] only where there is one.
    pub(super) bytes: usize,
}

/// Chunks of the file, whose lines are items, or rows of which the template makes items; read ahead
/// on a thread of their own, and the number of lines when it can be had cheaply.
pub(super) fn chunks(
    file: &Path,
    template: Option<Template>,
) -> anyhow::Result<(impl Stream<Item = Chunk> + use<>, Option<u64>)> {
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
            template.as_ref(),
            &sender,
        )
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
        lines += read.iter().filter(|byte| **byte == b'\n').count() as u64;
        let length = read.len();
        reader.consume(length);
    }
}

fn read(mut reader: impl BufRead, template: Option<&Template>, sender: &mpsc::Sender<Chunk>) {
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
                chunk.lines.push(Line::Unread(Unread::new(number, problem)));
                break;
            }
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match decode_line(&line, number, template) {
            Ok(item) => {
                let group = item.request.group.as_deref();
                let full = chunk.items.len() >= CHUNK_ITEMS || chunk.bytes >= CHUNK_BYTES;
                let fullest = chunk.items.len() >= MOST_CHUNK_ITEMS
                    || chunk.bytes + line.len() > MOST_CHUNK_BYTES;
                if full && !groups.goes_on(group) || fullest && !chunk.items.is_empty() {
                    if sender
                        .blocking_send(std::mem::replace(&mut chunk, empty()))
                        .is_err()
                    {
                        return;
                    }
                    groups.next_chunk();
                }
                chunk.bytes += line.len();
                groups.note(group, number);
                chunk.lines.push(Line::Item(number));
                chunk.items.push(item);
            }
            Err(problem) => chunk.lines.push(Line::Unread(Unread::new(number, problem))),
        }
    }
    if !chunk.lines.is_empty() {
        // Nobody reads any more when the command was interrupted.
        let _ = sender.blocking_send(chunk);
    }
}

fn empty() -> Chunk {
    Chunk {
        lines: Vec::new(),
        items: Vec::new(),
        bytes: 0,
    }
}

fn decode_line(
    line: &[u8],
    number: u64,
    template: Option<&Template>,
) -> Result<DecodedItem, Problem> {
    let text = std::str::from_utf8(line)
        .map_err(|error| Problem::new(ErrorCode::MalformedJson, format!("not UTF-8: {error}")))?;
    // Editors of another system put a byte order mark before the first line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let made = template
        .map(|template| rows::item(text, template))
        .transpose()?;
    let (item, warnings) = decode_item(made.as_deref().unwrap_or(text), "")?;
    for warning in warnings {
        tracing::warn!(
            line = number,
            field = warning.pointer,
            "{}",
            warning.message
        );
    }
    Ok(item)
}

/// Tells when a group is split, which would cost its advantages their baseline.
#[derive(Default)]
struct Groups {
    current: Option<String>,
    here: HashSet<String>,
    before: HashSet<String>,
}

impl Groups {
    fn goes_on(&self, group: Option<&str>) -> bool {
        group.is_some() && group == self.current.as_deref()
    }

    fn note(&mut self, group: Option<&str>, number: u64) {
        if group != self.current.as_deref() {
            self.current = group.map(str::to_owned);
            if let Some(group) = group
                && self.here.insert(group.to_owned())
                && self.before.contains(group)
            {
                tracing::warn!(
                    line = number,
                    group,
                    "the group was seen far above; its items should stand together, advantages \
                     cover only those near"
                );
            }
        }
    }

    fn next_chunk(&mut self) {
        self.before.extend(self.here.drain());
    }
}
