//! Facts in the record that are not grades.

use assay_core::{BatchId, GradeId};
use assay_rewards::channel::counts::Calibration;
use serde::{Deserialize, Serialize};

use crate::comment::Comment;
use crate::dataset_check::DatasetCheck;
use crate::pair::CollectedPair;

/// An event other than grading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// An operator adjudicated a grade.
    Adjudicated(Adjudication),
    /// A grade was drawn for an operator.
    Drawn(Draw),
    /// A channel was calibrated.
    Calibrated(Calibration),
    /// A pair was collected for a reward model.
    Collected(CollectedPair),
    /// Datasets were checked.
    Checked(DatasetCheck),
    /// An operator commented on a grade.
    Commented(Comment),
    /// The author of a comment deleted it: the grade and the id of the comment.
    CommentDeleted(GradeId, BatchId),
    /// A drawn grade was assigned to an operator.
    Assigned(Assignment),
}

/// An operator's decision on one grade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adjudication {
    /// Id of the adjudication. One that is recorded twice counts once.
    pub id: u128,
    /// The adjudicated grade.
    pub grade: GradeId,
    /// Channel of the grade.
    pub channel: String,
    /// Version of its grader.
    pub version: u32,
    /// Whether the grader passed the item.
    pub graded_pass: bool,
    /// Whether the item should pass, according to the operator.
    pub pass: bool,
    /// Weight relative to other adjudications, known because the grade was drawn at random; `None`
    /// if the operator chose the grade, which is not evidence about other grades.
    pub weight: Option<f64>,
    /// The earlier decision that this one replaces, and its time.
    pub corrects: Option<(bool, i64)>,
    /// The judge of the item and whether it passed the item.
    pub judged: Option<(String, bool)>,
    /// Name of the operator.
    pub caller: String,
    /// Reason that the operator stated.
    pub note: Option<String>,
    /// Time, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// A grade that was drawn at random for adjudication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// The grade.
    pub grade: GradeId,
    /// Its channel.
    pub channel: String,
    /// Probability with which it was drawn from the eligible grades, in (0, 1].
    pub probability: f64,
    /// Weight relative to other draws. It is 1, because each side of a channel is drawn from
    /// uniformly. For grades that a judge also graded, it is 1 over the probability that the judge
    /// was chosen.
    pub weight: f64,
    /// Time, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// A drawn grade that an operator has to adjudicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// The grade.
    pub grade: GradeId,
    /// Name of the operator; empty if any operator may take it.
    pub caller: String,
    /// Time, in microseconds since the Unix epoch.
    pub time_us: i64,
}
