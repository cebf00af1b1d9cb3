//! Comments and labels that operators leave on grades.

use assay_base::truncated;
use assay_core::{BatchId, GradeId};
use assay_record::Event;
use assay_record::comment::{
    Comment, MAX_COMMENT_BYTES, MAX_COMMENTS, MAX_LABEL_BYTES, MAX_LABELS, is_label,
};

use crate::{Review, ReviewError};

impl Review {
    /// Records a comment on a grade. Its labels are sorted, and repeated ones dropped.
    ///
    /// # Errors
    /// [`ReviewError::InvalidComment`] if the comment is empty or breaks a limit, or if the grade
    /// has too many; [`ReviewError`].
    pub async fn comment(
        &self,
        id: GradeId,
        text: &str,
        labels: &[String],
        caller: &str,
    ) -> Result<Comment, ReviewError> {
        let labels = checked(text, labels)?;
        let record = self.record()?;
        let _lock = self.locks.operators.lock().await;
        record.grade(id).await?.ok_or(ReviewError::NotFound(id))?;
        if record.comments(id).await?.len() >= MAX_COMMENTS {
            return Err(invalid(
                "text",
                format!("the grade has {MAX_COMMENTS} comments, the maximum; delete some of yours"),
            ));
        }
        let redacted = self.engine.redactor().text(text);
        let comment = Comment {
            id: self.engine.new_id(),
            grade: id,
            text: redacted.unwrap_or_else(|| text.to_owned()),
            labels,
            caller: caller.to_owned(),
            time_us: self.engine.clock().unix_us(),
        };
        self.record_event(Event::Commented(comment.clone()), caller)
            .await?;
        Ok(comment)
    }

    /// Deletes a comment of `caller`.
    ///
    /// # Errors
    /// [`ReviewError::NoComment`], [`ReviewError::NotAuthor`]; [`ReviewError`].
    pub async fn delete_comment(
        &self,
        grade: GradeId,
        id: BatchId,
        caller: &str,
    ) -> Result<(), ReviewError> {
        let comments = self.record()?.comments(grade).await?;
        let mut comments = comments.iter();
        let comment = comments
            .find(|comment| comment.id == id)
            .ok_or(ReviewError::NoComment(grade, id))?;
        if comment.caller != caller {
            return Err(ReviewError::NotAuthor(id));
        }
        self.record_event(Event::CommentDeleted(grade, id), caller)
            .await
    }
}

/// Checks a comment and returns its labels, sorted and distinct.
fn checked(text: &str, labels: &[String]) -> Result<Vec<String>, ReviewError> {
    if text.len() > MAX_COMMENT_BYTES {
        return Err(invalid(
            "text",
            format!("`text` is longer than {MAX_COMMENT_BYTES} bytes; shorten it"),
        ));
    }
    if let Some(label) = labels.iter().find(|label| !is_label(label)) {
        return Err(invalid(
            "labels",
            format!(
                "`{}` is not a label; use 1 to {MAX_LABEL_BYTES} of the characters `a` to `z`, `0` \
                 to `9`, `.`, `_` and `-`",
                truncated(label, MAX_LABEL_BYTES)
            ),
        ));
    }
    let mut labels = labels.to_vec();
    labels.sort();
    labels.dedup();
    if labels.len() > MAX_LABELS {
        let message = format!("a comment has at most {MAX_LABELS} labels; send fewer");
        return Err(invalid("labels", message));
    }
    if text.trim().is_empty() && labels.is_empty() {
        return Err(invalid("text", "send a text or a label".to_owned()));
    }
    Ok(labels)
}

fn invalid(field: &'static str, message: String) -> ReviewError {
    ReviewError::InvalidComment { field, message }
}
