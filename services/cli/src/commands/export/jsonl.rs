//! JSON lines: one grade per line, as in `GET /v1/grades`.

use std::io::{self, Write};

use assay_record::StoredGrade;

use super::writer::GradeWriter;

pub(super) struct JsonLinesWriter<W>(pub(super) W);

impl<W: Write> GradeWriter for JsonLinesWriter<W> {
    fn write(&mut self, grades: &[StoredGrade]) -> anyhow::Result<()> {
        for grade in grades {
            // The error of the output, and not one that hides it.
            serde_json::to_writer(&mut self.0, grade).map_err(io::Error::from)?;
            self.0.write_all(b"\n")?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        Ok(self.0.flush()?)
    }
}
