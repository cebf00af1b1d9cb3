//! The verdicts that judges contradict.

use assay_review::Review;

use crate::query::link;

/// Results of appeals in which the judge disagrees.
pub(crate) const CONTRADICTED: [&str; 2] = ["overturned", "disagreed"];

/// The verdicts of a side.
pub(crate) fn side(passes: bool) -> &'static str {
    if passes { "passed" } else { "not passed" }
}

/// The address of the grades of a channel that pass, or that do not, which a judge contradicts.
pub(crate) fn contradicted_verdicts(review: &Review, channel: &str, passes: bool) -> String {
    let verdicts = verdicts(review, channel, passes);
    link(
        "/ui/grades",
        &[
            ("channel", Some(channel)),
            ("verdict", verdicts.as_deref()),
            ("appeal", Some(&CONTRADICTED.join(","))),
        ],
    )
}

/// The verdicts of a channel that pass, or that do not, separated by commas; `None` if this node
/// does not have its grader.
fn verdicts(review: &Review, channel: &str, passes: bool) -> Option<String> {
    let grader = channel.split('/').next()?;
    let spec = review.engine().graders().by_name(grader)?.spec();
    let of_side = (spec.verdicts.iter()).filter(|known| known.pass == Some(passes));
    let names: Vec<&str> = of_side.map(|known| known.verdict.as_str()).collect();
    (!names.is_empty()).then(|| names.join(","))
}
