//! Comments on a grade, with the forms to write and delete them.

use assay_record::comment::Comment;

use crate::display::{cell, text, time};
use crate::query::link;

/// A comment on a page.
pub(crate) struct CommentView {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Its labels, each with the list of grades that have it.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) caller: String,
    pub(crate) time: String,
    /// Whether the viewer wrote it, and may delete it.
    pub(crate) is_own: bool,
}

impl CommentView {
    /// The comment for a viewer with this name.
    pub(crate) fn new(comment: &Comment, viewer: &str) -> Self {
        let labels = comment.labels.iter().map(|label| {
            let address = link("/ui/grades", &[("label", Some(label))]);
            (cell(label), address)
        });
        Self {
            id: comment.id.to_string(),
            text: text(&comment.text),
            labels: labels.collect(),
            caller: cell(&comment.caller),
            time: time(comment.time_us),
            is_own: comment.caller == viewer,
        }
    }
}

/// The labels in a field of a form, separated by spaces or commas.
pub(crate) fn labels(field: &str) -> Vec<String> {
    let labels = field.split(|character: char| character == ',' || character.is_whitespace());
    let labels = labels.filter(|label| !label.is_empty());
    labels.map(str::to_owned).collect()
}
