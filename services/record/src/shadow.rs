//! Shadows: grading a share of a run again as it is recorded, with fields set in its tasks.

use assay_core::BatchId;

/// A shadow to start.
#[derive(Debug, Clone, PartialEq)]
pub struct NewShadow {
    /// Its id.
    pub id: BatchId,
    /// Name of the run, as recorded.
    pub run: String,
    /// Name of the key that starts it.
    pub caller: String,
    /// Share of the grades, above 0 and at most 1.
    pub part: f64,
    /// The fields to set in the tasks, a JSON object.
    pub options: String,
    /// Whether grades that are recorded already are graded too.
    pub from_start: bool,
}

/// A shadow of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Shadow {
    /// Its id.
    pub id: BatchId,
    /// Name of the run.
    pub run: String,
    /// Name of the key that started it.
    pub caller: String,
    /// Share of the grades.
    pub part: f64,
    /// The fields to set in the tasks, a JSON object.
    pub options: String,
    /// When it was started, in microseconds since the Unix epoch.
    pub started_us: i64,
    /// Where it continues.
    pub next: ShadowPosition,
    /// What was found so far, a JSON object.
    pub summary: Option<String>,
    /// When it was ended.
    pub ended_us: Option<i64>,
    /// When its fields became those of the run.
    pub promoted_us: Option<i64>,
    /// When they no longer were.
    pub withdrawn_us: Option<i64>,
}

/// A position among the grades of a record, in the order in which their batches arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShadowPosition(pub(crate) i64);

/// A batch of a run, for a shadow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowBatch {
    pub(crate) number: i64,
    /// Its id.
    pub id: BatchId,
    /// The first position in it that was not looked at.
    pub from: u32,
    /// Its items.
    pub items: u32,
    /// Whether all its grades are recorded.
    pub is_complete: bool,
    /// When it was received.
    pub received_us: i64,
}

impl ShadowBatch {
    /// The position of an item of it.
    #[must_use]
    pub fn position(&self, item: u32) -> ShadowPosition {
        ShadowPosition(crate::database::rows::key(self.number, item))
    }

    /// The position after its last item.
    #[must_use]
    pub fn end(&self) -> ShadowPosition {
        self.position(self.items)
    }
}

/// What may be done about a shadow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShadowChange {
    /// It grades no further batches.
    End,
    /// Its fields become those of the run, and it ends.
    Promote,
    /// Its fields are no longer those of the run.
    Withdraw,
}
