//! Frames and messages between the node and its workers: every decoder reads the same bytes.
//!
//! Properties: node and worker read the same frame; a message is unchanged by a round trip; rows
//! have as many cells as they claim, and keys are columns of their table.

use assay_worker::fuzzing::{frame, read, receive, reply, request, write};
use assay_worker::query::{End, Reply, Rows};
use assay_worker::{Message, WorkerRequest, program, query};

/// Bytes of the lengths at the head of a frame.
const HEAD: usize = 8;

/// Reads frames and messages.
pub fn run(bytes: &[u8]) {
    check_frames(bytes);
    round_trip(request::<program::Request>, bytes);
    round_trip(request::<query::Request>, bytes);
    round_trip(received::<program::Request>, bytes);
    round_trip(received::<query::Request>, bytes);
    if let Ok(reply) = reply::<query::Request>(bytes) {
        check_reply(&reply);
    }
}

fn check_frames(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some(parts)) = read(rest) {
        let received = receive(rest).expect("the node reads what a worker reads");
        assert_eq!(received, parts, "node and worker read the same frame");
        let (written, next) = rest.split_at(HEAD + parts.0.len() + parts.1.len());
        assert_eq!(frame(&parts).ok().as_deref(), Some(written), "round trip");
        rest = next;
    }
    assert!(
        receive(rest).is_err(),
        "a worker does not read what the node reads"
    );
}

fn received<W: WorkerRequest>(bytes: &[u8]) -> Option<W::Reply> {
    reply::<W>(bytes).ok()
}

/// Reads a message and asserts that it is unchanged by a round trip.
fn round_trip<T: Message>(read: impl Fn(&[u8]) -> Option<T>, bytes: &[u8]) {
    let Some(message) = read(bytes) else { return };
    let written = write(&message).expect("what was read is written");
    let again = read(&written).expect("what was written is read");
    assert_eq!(write(&again), Some(written), "round trip");
}

fn check_reply(reply: &Reply) {
    match reply {
        Reply::Ran(runs) => {
            for ran in runs.iter().flatten() {
                check_rows(&ran.rows);
                assert!(ran.end == End::Rows || ran.rows.is_empty(), "{ran:?}");
                assert!(
                    ran.end != End::Rows || ran.rows.width() == ran.columns.len(),
                    "{ran:?}"
                );
            }
        }
        Reply::Described(tables) => {
            for table in tables {
                check_rows(&table.sample);
                assert_eq!(table.sample.width(), table.columns.len());
                let referring = table.foreign_keys.iter().map(|key| &key.columns);
                let mut keys = table.keys.iter().chain(referring).flatten();
                assert!(
                    keys.all(|column| *column < table.columns.len()),
                    "{table:?}"
                );
            }
        }
        _ => {}
    }
}

fn check_rows(rows: &Rows) {
    let cells = rows
        .len()
        .checked_mul(rows.width())
        .expect("a number of cells that is in memory");
    assert_eq!(rows.cells().count(), cells);
    assert!(
        cells <= rows.bytes() && (rows.is_empty() || cells > 0),
        "{rows:?}"
    );
    assert_eq!(rows.rows().count(), rows.len());
    assert!(rows.rows().all(|row| row.len() == rows.width()));
}
