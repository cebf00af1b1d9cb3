//! The result of a verification.

/// Maximum number of findings that are listed; more are counted.
const MAX_FINDINGS: usize = 1_000;

/// Something that is wrong with the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// What it concerns: a grade, a batch, a body, a table or a file.
    pub place: String,
    /// What is wrong.
    pub problem: String,
}

/// The result of checking a record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Batches that were checked.
    pub batches: u64,
    /// Their grades.
    pub grades: u64,
    /// Grades of an earlier release, which have no checksum.
    pub without_checksum: u64,
    /// Bodies whose content was compared with their hash.
    pub bodies: u64,
    /// Frames of the spool.
    pub frames: u64,
    /// What is wrong, at most 1,000.
    pub damages: Vec<Damage>,
    /// Number of further damages.
    pub more: u64,
}

impl Verification {
    pub(super) fn report(&mut self, place: impl Into<String>, problem: impl Into<String>) {
        if self.damages.len() < MAX_FINDINGS {
            self.damages.push(Damage {
                place: place.into(),
                problem: problem.into(),
            });
        } else {
            self.more += 1;
        }
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damages.is_empty()
    }
}
