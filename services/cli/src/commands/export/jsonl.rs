//! JSON lines: rows as `GET /v1/grades` has them.

use std::io::Write;

use assay_wire::grades::GradeBody;

use super::Sink;

pub(super) struct Lines<W>(pub(super) W);

impl<W: Write> Sink for Lines<W> {
    fn write(&mut self, grades: &[GradeBody]) -> anyhow::Result<()> {
        for grade in grades {
            serde_json::to_writer(&mut self.0, grade)?;
            self.0.write_all(b"\n")?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        Ok(self.0.flush()?)
    }
}
