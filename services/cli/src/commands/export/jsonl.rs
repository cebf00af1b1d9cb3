//! JSON lines: one grade per line, as in `GET /v1/grades`, or with its texts as in
//! `GET /v1/grades/{id}`.

use std::io::{self, Write};

use super::writer::{GradeWriter, Row};

pub(super) struct JsonLinesWriter<W>(pub(super) W);

impl<W: Write> GradeWriter for JsonLinesWriter<W> {
    fn write(&mut self, rows: &[Row]) -> anyhow::Result<()> {
        for row in rows {
            // The error of the output, and not one that hides it.
            serde_json::to_writer(&mut self.0, row).map_err(io::Error::from)?;
            self.0.write_all(b"\n")?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        Ok(self.0.flush()?)
    }
}
