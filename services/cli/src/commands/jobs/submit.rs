//! Sends a file of items as a job, in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context;
use assay_client::{Client, streamed};
use assay_core::{Ids, SystemClock};
use assay_templates::Templates;
use assay_wire::jobs::JobBody;
use bytes::Bytes;
use futures::stream;
use tokio::sync::mpsc;

use crate::commands::items::LineReader;

/// Bytes that are sent at once.
const PIECE: usize = 256 << 10;

/// A job to submit.
pub(crate) struct Submission<'a> {
    pub(crate) file: &'a Path,
    pub(crate) template: Option<&'a str>,
    pub(crate) shared: Option<&'a Path>,
    pub(crate) policy: Option<&'a str>,
    pub(crate) run: Option<&'a str>,
    pub(crate) step: Option<i64>,
}

impl Submission<'_> {
    fn query(&self) -> Vec<(&'static str, String)> {
        let step = self.step.map(|step| step.to_string());
        let values = [
            ("policy", self.policy.map(str::to_owned)),
            ("run", self.run.map(str::to_owned)),
            ("step", step),
        ];
        values
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

/// Submits a job. A file is sent again if the connection fails; standard input is not.
pub(crate) async fn submit(
    client: &Client,
    submission: &Submission<'_>,
    templates: &Templates,
) -> anyhow::Result<JobBody> {
    let path = submission.file;
    let is_stdin = path.as_os_str() == "-";
    let key = Ids::random().batch(&SystemClock::new()).to_string();
    // Opened before the request, so that a wrong name is reported as such.
    let open = || File::open(path).with_context(|| format!("cannot read `{}`", path.display()));
    let mut first: Option<Box<dyn Read + Send>> = Some(if is_stdin {
        Box::new(io::stdin())
    } else {
        Box::new(open()?)
    });
    // Fails early for a file or a template that does not exist; each try needs its own.
    let lines = || LineReader::resolve(templates, submission.template, submission.shared);
    lines()?;
    let body = || {
        let reader = match first.take() {
            Some(reader) => reader,
            None if is_stdin => return None,
            None => Box::new(open().ok()?),
        };
        Some(streamed(pieces(reader, lines().ok()?)))
    };
    Ok(client.submit_job(&submission.query(), &key, body).await?)
}

/// The items of a file in pieces, read on a thread for blocking work. A line of which no item can
/// be made is logged and sent as it is, so that it has a result.
fn pieces(
    reader: Box<dyn Read + Send>,
    lines: LineReader,
) -> impl futures::Stream<Item = io::Result<Bytes>> + Send + Sync + 'static {
    let (sender, receiver) = mpsc::channel(2);
    tokio::task::spawn_blocking(move || {
        let (mut reader, mut number) = (BufReader::with_capacity(PIECE, reader), 0);
        loop {
            let piece = if lines.is_verbatim() {
                next_piece(&mut reader)
            } else {
                next_items(&mut reader, &mut number, &lines)
            };
            let is_last = !matches!(&piece, Ok(piece) if !piece.is_empty());
            let ended = is_last && piece.is_ok();
            if ended || sender.blocking_send(piece.map(Bytes::from)).is_err() || is_last {
                return;
            }
        }
    });
    stream::unfold(receiver, |mut receiver| async move {
        Some((receiver.recv().await?, receiver))
    })
}

/// The next bytes; none at the end.
fn next_piece(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let piece = reader.fill_buf()?.to_vec();
    reader.consume(piece.len());
    Ok(piece)
}

/// The items of the next lines; none at the end.
fn next_items(
    reader: &mut impl BufRead,
    number: &mut u64,
    lines: &LineReader,
) -> io::Result<Vec<u8>> {
    let (mut items, mut line) = (Vec::new(), String::new());
    while items.len() < PIECE {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            break;
        }
        *number += 1;
        let text = line.trim();
        let item = (!text.is_empty()).then(|| lines.item(text));
        match item.transpose() {
            Ok(item) => items.extend_from_slice(item.unwrap_or_default().as_bytes()),
            Err(problem) => {
                tracing::warn!(line = *number, "{problem}");
                items.extend_from_slice(text.as_bytes());
            }
        }
        items.push(b'\n');
    }
    Ok(items)
}
