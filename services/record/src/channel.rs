//! How grades and events count for their channels.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use assay_core::Hash;
use assay_rewards::channel::counts::{ChannelCounts, Checker, OPERATOR, Place};

use crate::event::{Adjudication, Event};
use crate::grade::StoredGrade;

/// Adds the grades of one batch, or of a part of it, each with whether its policy has no judge for
/// its channel.
pub fn add_grades<'g>(
    counts: &mut ChannelCounts,
    grades: impl IntoIterator<Item = (&'g StoredGrade, bool)>,
) {
    let mut seen: HashMap<(Hash, Hash), bool> = HashMap::new();
    for (stored, unjudged) in grades {
        let Some(pass) = stored.grade.pass else {
            continue;
        };
        let key = Place::of(
            &stored.grade.channel,
            stored.grade.grader.version,
            stored.grade.time_us,
        );
        let graded = counts.graded.entry(key.clone()).or_default();
        if pass {
            graded.positives += 1;
            graded.unjudged_positives += u64::from(unjudged);
        } else {
            graded.negatives += 1;
            graded.unjudged_negatives += u64::from(unjudged);
        }
        // Redacted completions have equal hashes although their originals may differ.
        if !stored.source.redacted {
            match seen.entry((stored.source.task_hash, stored.source.completion_hash)) {
                Entry::Vacant(first) => {
                    first.insert(pass);
                }
                Entry::Occupied(first) => {
                    graded.repeats += 1;
                    graded.flips += u64::from(*first.get() != pass);
                }
            }
        }
        if let Some(appeal) = &stored.grade.appeal
            && let Some(judged) = appeal.pass
        {
            let (bound, overturned) = (u64::from(appeal.binding), u64::from(appeal.overturned));
            if pass {
                graded.bound_positives += bound;
                graded.overturned_positives += overturned;
            } else {
                graded.bound_negatives += bound;
                graded.overturned_negatives += overturned;
            }
            let checker = Checker {
                judge: appeal.judge.clone(),
                sensitivity: appeal.sensitivity,
                specificity: appeal.specificity,
                passes: pass,
            };
            counts
                .checked_by(key, checker)
                .push(judged != pass, appeal.probability);
        }
    }
}

/// Adds an event.
pub fn add_event(counts: &mut ChannelCounts, event: &Event) {
    match event {
        Event::Drawn(_)
        | Event::Assigned(_)
        | Event::Collected(_)
        | Event::Checked(_)
        | Event::Commented(_)
        | Event::CommentDeleted(..) => {}
        Event::Calibrated(calibration) => counts.add_calibration(calibration),
        Event::Adjudicated(adjudication) => add_adjudication(counts, adjudication),
    }
}

fn add_adjudication(counts: &mut ChannelCounts, adjudication: &Adjudication) {
    let Adjudication {
        channel,
        version,
        graded_pass,
        pass,
        ..
    } = adjudication;
    // A grade that an operator chose is not a random sample and is not evidence about other
    // grades.
    let Some(weight) = adjudication.weight else {
        return;
    };
    // A decision that replaces another is counted in the bucket of the replaced one.
    let time_us = adjudication
        .corrects
        .map_or(adjudication.time_us, |(_, time_us)| time_us);
    let checker = Checker {
        judge: OPERATOR.to_owned(),
        sensitivity: 1.0,
        specificity: 1.0,
        passes: *graded_pass,
    };
    let checked = counts.checked_by(Place::of(channel, *version, time_us), checker);
    let disagreed = pass != graded_pass;
    match adjudication.corrects {
        None => checked.push(disagreed, 1.0 / weight),
        Some((before, _)) if before != *pass => checked.reverse(disagreed, weight),
        Some(_) => {}
    }
    if let Some((judge, judged)) = &adjudication.judged {
        let truths = counts
            .truths
            .entry((channel.clone(), *version, judge.clone(), *graded_pass))
            .or_default();
        if let Some((before, _)) = adjudication.corrects {
            truths.count(before, *judged, -1);
        }
        truths.count(*pass, *judged, 1);
    }
}
