//! Logs what a worker writes to its standard error.
//!
//! A compromised worker could write without end. Lines are therefore truncated, and a limited
//! number of them is logged. The rest is read and dropped, so that a worker never blocks on a full
//! pipe.

use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest logged line, in bytes.
const MAX_LINE: usize = 1_024;

/// Most lines logged for one worker. A healthy worker writes none.
const MAX_LINES: usize = 50;

/// Size of the read buffer, in bytes.
const READ_SIZE: usize = 4_096;

/// Splits a stream into lines with bounded memory.
#[derive(Default)]
struct Lines {
    line: Vec<u8>,
    logged: usize,
}

impl Lines {
    /// Processes a piece of the stream; `log` is called for each complete line that is to be
    /// logged.
    fn take(&mut self, piece: &[u8], mut log: impl FnMut(&str)) {
        for byte in piece {
            match byte {
                b'\n' => self.finish(&mut log),
                byte if self.line.len() < MAX_LINE => self.line.push(*byte),
                // The rest of a line that is too long.
                _ => {}
            }
        }
    }

    fn finish(&mut self, log: &mut impl FnMut(&str)) {
        let line = std::mem::take(&mut self.line);
        if line.iter().all(u8::is_ascii_whitespace) || self.logged > MAX_LINES {
            return;
        }
        self.logged += 1;
        if self.logged > MAX_LINES {
            log("further lines are dropped");
        } else {
            log(String::from_utf8_lossy(&line).trim_end());
        }
    }
}

/// Logs the lines of a worker until the stream ends.
pub(crate) async fn log(mut stream: impl AsyncRead + Unpin, process: u32) {
    let (mut lines, mut piece) = (Lines::default(), vec![0; READ_SIZE]);
    let mut log =
        |line: &str| tracing::warn!(process, line, "a worker wrote to its standard error");
    // An error ends the stream as well.
    while let Ok(read @ 1..) = stream.read(&mut piece).await {
        lines.take(&piece[..read], &mut log);
    }
    lines.finish(&mut log);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(pieces: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut logged) = (Lines::default(), Vec::new());
        for piece in pieces {
            lines.take(piece, |line| logged.push(line.to_owned()));
        }
        lines.finish(&mut |line: &str| logged.push(line.to_owned()));
        logged
    }

    #[test]
    fn joins_lines_across_pieces() {
        assert_eq!(
            logged(&[b"one\ntw", b"o\n\n", b"three"]),
            ["one", "two", "three"]
        );
    }

    #[test]
    fn truncates_long_lines() {
        let long = vec![b'x'; 1 << 20];
        let lines = logged(&[&long, b"y\nnext\n"]);
        assert_eq!(
            (lines[0].len(), lines[1].as_str(), lines.len()),
            (MAX_LINE, "next", 2)
        );
    }

    #[test]
    fn limits_the_number_of_logged_lines() {
        let lines = logged(&["flood\n".repeat(100_000).as_bytes()]);
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(
            lines.last().map(String::as_str),
            Some("further lines are dropped")
        );
    }
}
