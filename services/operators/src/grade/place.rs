//! Where a grade is in the list from which it was opened, whose filter is in the URL.

use assay_access::redact;
use assay_core::GradeId;
use assay_record::{Neighbours, StoredGrade};
use assay_review::Review;

use crate::display::text;
use crate::failure::Result;
use crate::query::{Listing, Pairs, link};
use crate::record::record_of;

/// The list and the grades next to a grade in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Address of the list.
    pub(crate) list: String,
    /// Addresses of the previous and the next grade.
    pub(crate) newer: Option<String>,
    pub(crate) older: Option<String>,
    /// Why they are not known: the filter is invalid, or cannot be used on this node.
    pub(crate) problem: Option<String>,
}

impl Place {
    /// Finds the grades next to `id` in the list of `pairs`. A page is shown without them if they
    /// cannot be found.
    pub(crate) async fn find(review: &Review, pairs: &Pairs, id: GradeId) -> Self {
        let (found, problem) = match neighbours(review, pairs, id).await {
            Ok(found) => (found, None),
            Err(failure) => (Neighbours::default(), Some(text(&redact(&failure.message)))),
        };
        let at = |id: GradeId| address(id, pairs);
        Self {
            list: Listing::link_within("/ui/grades", pairs),
            newer: found.newer.map(at),
            older: found.older.map(at),
            problem,
        }
    }
}

async fn neighbours(review: &Review, pairs: &Pairs, id: GradeId) -> Result<Neighbours> {
    let listing = Listing::read(pairs)?;
    review.check_filter(&listing.filter).await?;
    let record = record_of(review)?;
    Ok(record.neighbours(&listing.filter, id).await?)
}

/// The page of a grade that was opened from the list of `pairs`.
pub(crate) fn address(id: GradeId, pairs: &Pairs) -> String {
    Listing::link_within(&format!("/ui/grades/{id}"), pairs)
}

/// Lists of grades that have something in common with a grade: what, and the address.
pub(super) fn similar(StoredGrade { source, grade }: &StoredGrade) -> Vec<(&'static str, String)> {
    let run = source.run.as_deref();
    let verdict = grade.verdict.as_deref();
    let cause = grade.error.as_ref().map(|error| error.code.as_str());
    let mut lists = Vec::new();
    if let (Some(_), Some(prompt)) = (run, grade.prompt_key.as_deref()) {
        let address = link("/ui/grades", &[("run", run), ("prompt_key", Some(prompt))]);
        lists.push(("same prompt", address));
    }
    let of_channel = [("run", run), ("channel", Some(&*grade.channel))];
    let of_result = match (cause, verdict) {
        (Some(_), _) => Some(("same cause", ("cause", cause))),
        (None, Some(_)) => Some(("same verdict", ("verdict", verdict))),
        (None, None) => None,
    };
    if let Some((name, pair)) = of_result {
        let pairs = [of_channel[0], of_channel[1], pair];
        lists.push((name, link("/ui/grades", &pairs)));
    }
    lists
}
