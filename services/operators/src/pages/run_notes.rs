//! What operators note about a run: the part of its page, and the form that changes it.

use assay_record::RunSummary;
use assay_record::access::{Access, Role};
use assay_record::run_notes::{MAX_NOTE_BYTES, RunChanges};
use serde_json::json;

use crate::display::text;
use crate::failure::{Failure, Result};
use crate::pages::runs::Tag;
use crate::query::Pairs;
use crate::record::record_of;
use crate::site::Viewer;

/// The role that the form needs.
const ROLE: Role = Role::Operator;

/// Who may send the form.
pub(crate) const ACCESS: Access = Access::Role(ROLE);

/// What is noted about a run.
pub(crate) struct RunNotes {
    pub(crate) tags: Vec<Tag>,
    /// The note as it is shown.
    pub(crate) note: String,
    pub(crate) archived: bool,
    /// The fields of the form; `None` if the viewer may not change them.
    pub(crate) form: Option<Form>,
}

/// The values of the fields. The form also sends those of the record when the page was made, so
/// that it changes only what its user changed.
pub(crate) struct Form {
    /// The name as the record has it.
    pub(crate) name: String,
    pub(crate) shown_tags: String,
    pub(crate) shown_note: String,
    pub(crate) max_note: usize,
    /// What the fields contain.
    pub(crate) fields: Fields,
    /// Why they are invalid.
    pub(crate) invalid: Option<Invalid>,
}

/// What the fields contain.
pub(crate) struct Fields {
    pub(crate) tags: String,
    pub(crate) note: String,
    pub(crate) archived: bool,
}

/// A field with an invalid value.
pub(crate) struct Invalid {
    /// `tags` or `note`.
    pub(crate) field: &'static str,
    pub(crate) message: String,
}

impl Form {
    /// Whether the value of a field is invalid.
    pub(crate) fn is_invalid(&self, field: &str) -> bool {
        self.invalid
            .as_ref()
            .is_some_and(|invalid| invalid.field == field)
    }
}

impl RunNotes {
    /// What is noted about a run, for a viewer who may change it or not. `entered` is what the
    /// viewer entered if it is invalid.
    pub(crate) fn new(
        run: &RunSummary,
        viewer: &crate::page::Menu,
        entered: Option<(Fields, Invalid)>,
    ) -> Self {
        let (entered, invalid) = entered.unzip();
        Self {
            tags: run.tags.iter().map(|tag| Tag::new(tag)).collect(),
            note: text(&run.note),
            archived: run.archived,
            form: viewer.has_role(ROLE).then(|| Form {
                name: run.run.clone(),
                shown_tags: run.tags.join(" "),
                shown_note: run.note.clone(),
                max_note: MAX_NOTE_BYTES,
                fields: entered.unwrap_or_else(|| Fields {
                    tags: run.tags.join(" "),
                    note: run.note.clone(),
                    archived: run.archived,
                }),
                invalid,
            }),
        }
    }
}

/// Changes what is noted about a run. Returns what was entered if it is invalid.
pub(crate) async fn annotate(
    viewer: &Viewer,
    name: &str,
    form: &Pairs,
) -> Result<Option<(Fields, Invalid)>> {
    let changes = changes(form);
    if changes == RunChanges::default() {
        return Ok(None);
    }
    if let Err(invalid) = changes.check() {
        let read = |name| form.get(name).unwrap_or_default().to_owned();
        let fields = Fields {
            tags: read("tags"),
            note: read("note"),
            archived: read("archived") == "true",
        };
        let invalid = Invalid {
            field: if invalid.pointer.starts_with("/tags") {
                "tags"
            } else {
                "note"
            },
            message: invalid.message,
        };
        return Ok(Some((fields, invalid)));
    }
    let record = record_of(&viewer.review)?;
    if record.annotate_run(name, &changes).await?.is_none() {
        return Err(Failure::not_found(viewer.review.unknown_run(name).await?));
    }
    viewer.audit("run.annotate", name, json!(changes)).await;
    Ok(None)
}

/// The fields of a form whose values differ from those that were shown.
fn changes(form: &Pairs) -> RunChanges {
    let changed = |name: &str, shown: &str| {
        // Browsers send line feeds as two characters.
        let read = |name| form.get(name).unwrap_or_default().replace("\r\n", "\n");
        let value = read(name);
        (value != read(shown)).then_some(value)
    };
    let tags = |tags: String| {
        let tags = tags.split(|c: char| c == ',' || c.is_whitespace());
        tags.filter(|tag| !tag.is_empty())
            .map(str::to_owned)
            .collect()
    };
    RunChanges {
        tags: changed("tags", "shown_tags").map(tags),
        note: changed("note", "shown_note"),
        archived: changed("archived", "shown_archived").map(|archived| archived == "true"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_what_was_changed() {
        let read = |form: &str| changes(&Pairs::read(form));
        let shown = "name=r&shown_tags=a+b&shown_note=x%0D%0Ay&shown_archived=true";
        let same = format!("{shown}&tags=a+b&note=x%0D%0Ay&archived=true");
        assert_eq!(read(&same), RunChanges::default());
        assert_eq!(
            read(&format!("{shown}&tags=a,+c&note=&archived=true")),
            RunChanges {
                tags: Some(vec!["a".to_owned(), "c".to_owned()]),
                note: Some(String::new()),
                archived: None,
            }
        );
        let restored = read(&format!("{shown}&tags=a+b&note=x%0Ay"));
        assert_eq!(
            restored,
            RunChanges {
                archived: Some(false),
                ..RunChanges::default()
            }
        );
    }
}
