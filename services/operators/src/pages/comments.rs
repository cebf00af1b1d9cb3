//! The forms with which operators comment on a grade. Both redirect to the page of the grade.

use axum::extract::Path;
use axum::response::Redirect;
use serde_json::json;

use crate::failure::Result;
use crate::grade::{address, labels};
use crate::query::{Pairs, grade_id, id};
use crate::site::Viewer;

/// Stores a comment.
pub(crate) async fn comment(
    viewer: Viewer,
    Path(grade): Path<String>,
    pairs: Pairs,
    form: String,
) -> Result<Redirect> {
    let grade = grade_id(&grade)?;
    let form = Pairs::read(&form);
    let text = form.get("text").unwrap_or_default();
    let labels = labels(form.get("labels").unwrap_or_default());
    let caller = viewer.caller.name();
    let comment = viewer.review.comment(grade, text, &labels, caller).await?;
    let details = json!({ "comment": comment.id.to_string(), "labels": comment.labels });
    viewer
        .audit("grade.comment", &grade.to_string(), details)
        .await;
    Ok(Redirect::to(&format!(
        "{}#comments",
        address(grade, &pairs)
    )))
}

/// Deletes a comment of the viewer.
pub(crate) async fn delete(
    viewer: Viewer,
    Path((grade, comment)): Path<(String, String)>,
    pairs: Pairs,
) -> Result<Redirect> {
    let grade = grade_id(&grade)?;
    let comment = id("comment", &comment)?;
    let caller = viewer.caller.name();
    viewer.review.delete_comment(grade, comment, caller).await?;
    let details = json!({ "comment": comment.to_string() });
    viewer
        .audit("grade.delete-comment", &grade.to_string(), details)
        .await;
    Ok(Redirect::to(&format!(
        "{}#comments",
        address(grade, &pairs)
    )))
}
