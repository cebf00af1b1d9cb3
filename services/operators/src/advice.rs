//! What to do next for a channel, in words.

use assay_review::Review;
use assay_rewards::channel::advice::TARGET_HALF_WIDTH;
use assay_rewards::channel::{Advice, Ledger, Report};

use crate::contradicted::{contradicted_verdicts, side};
use crate::display::{cell, count};
use crate::query::link;

/// Something to do, with the page on which to do it.
pub(crate) struct NextStep {
    pub(crate) text: String,
    pub(crate) address: Option<String>,
}

/// What to do next for a channel, the most urgent first. Grades of an older version of its grader
/// are not drawn any more, so there is nothing to do for one.
pub(crate) fn next_steps(review: &Review, ledger: &Ledger, report: &Report) -> Vec<NextStep> {
    let newest = ledger.named(&report.channel).map(|newest| newest.version);
    if newest != Some(report.version) {
        return Vec::new();
    }
    let advice = ledger.advice(&report.channel, report.version);
    advice
        .into_iter()
        .map(|advice| next_step(review, &report.channel, &advice))
        .collect()
}

fn rate(rho0: bool) -> &'static str {
    if rho0 {
        "false positives"
    } else {
        "false negatives"
    }
}

fn next_step(review: &Review, channel: &str, advice: &Advice) -> NextStep {
    let queue = |passes: Option<bool>, judged: bool| {
        let passes = passes.map(|passes| passes.to_string());
        let address = link(
            "/ui/queue",
            &[
                ("channel", Some(channel)),
                ("passes", passes.as_deref()),
                ("judged", judged.then_some("true")),
            ],
        );
        Some(address)
    };
    let (text, address) = match advice {
        Advice::Drifting => (
            "The error rates have changed: open the newest grades.".to_owned(),
            Some(link("/ui/grades", &[("channel", Some(channel))])),
        ),
        Advice::Contradicted {
            judge,
            passes,
            disagreed,
            checks,
        } => (
            format!(
                "{} contradicted {} of the {} verdicts “{}” that it reviewed: open them.",
                cell(judge),
                count(*disagreed),
                count(*checks),
                side(*passes)
            ),
            Some(contradicted_verdicts(review, channel, *passes)),
        ),
        Advice::Measure { passes, checks } => (
            format!(
                "Adjudicate {} more {} with the verdict “{}”: {} are not measured yet.",
                count(*checks),
                grades(*checks),
                side(*passes),
                rate(*passes)
            ),
            queue(Some(*passes), false),
        ),
        Advice::Narrow {
            rho0,
            passes,
            checks,
        } => (
            format!(
                "Adjudicate {} more {} with the verdict “{}” to know {} to ±{TARGET_HALF_WIDTH}.",
                count(*checks),
                grades(*checks),
                side(*passes),
                rate(*rho0)
            ),
            queue(Some(*passes), false),
        ),
        Advice::MeasureJudge { judge, checks } => (
            format!(
                "Adjudicate {} {} that {} reviewed: its accuracy is only declared.",
                count(*checks),
                grades(*checks),
                cell(judge)
            ),
            queue(None, true),
        ),
        Advice::GradeMore { rho0 } => (
            format!(
                "Grade more items: checks alone cannot tell {} to ±{TARGET_HALF_WIDTH}.",
                rate(*rho0)
            ),
            None,
        ),
    };
    NextStep { text, address }
}

fn grades(number: u64) -> &'static str {
    if number == 1 { "grade" } else { "grades" }
}
