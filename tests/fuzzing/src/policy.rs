//! Reward policies: parses one and applies it to a group with arbitrary numbers.
//!
//! The first line is the policy as JSON; the bytes after it are the group, with arbitrary bit
//! patterns as numbers.
//!
//! Properties: a policy is unchanged by a round trip; an error points into it; every resulting
//! number is finite; masked items stay masked; the weights of a group sum to 1.

use assay_core::{Reward, Score};
use assay_rewards::group::Group;
use assay_rewards::policy::{OUTCOME, Part, PolicyRules, RewardResult, Sample};
use assay_rewards::{Estimator, Member, Rates, Statistic, advantages, statistics};
use serde_json::Value;

/// Parts and measures of the items: those of the examples in the documentation.
const PARTS: [&str; 6] = ["style", "tone", "safe", "tags", "call", "rude"];
const MEASURES: [&str; 6] = [
    "raw_reward",
    "reference_reward",
    "calls",
    "work",
    "reference_work",
    "cost",
];
const ANSWERS: [Option<&str>; 4] = [None, Some("4"), Some("5"), Some("")];
const TEXTS: [&str; 4] = [
    "",
    "so it is",
    "a b a b a b a b",
    "\u{1f600}\u{1f600}\u{1f600}\u{1f600}",
];

const MAX_ITEMS: usize = 8;

/// Reads a policy and applies it to a group.
pub fn run(bytes: &[u8]) {
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let (policy, group) = bytes.split_at(end);
    let Ok(value) = serde_json::from_slice::<Value>(policy) else {
        return;
    };
    match PolicyRules::from_json(&value) {
        Ok(policy) => {
            let written = policy.to_json();
            let again =
                PolicyRules::from_json(&written).expect("a policy that was read is read again");
            assert_eq!(again, policy, "round trip of {written}");
            assert!(policy.explain().iter().all(|line| !line.field.is_empty()));
            compose(&policy, &mut Numbers(group.get(1..).unwrap_or_default()));
        }
        Err(error) => {
            assert!(!error.message.is_empty());
            let parent = error.pointer.rsplit_once('/').map(|(parent, _)| parent);
            let located = |pointer: &str| value.pointer(pointer).is_some();
            // An unknown name may be a string where an object is expected: `"combine": "weighted"`.
            assert!(
                located(&error.pointer) || parent.is_some_and(located),
                "{error} is not in {value}"
            );
        }
    }
}

/// Generates numbers from bytes, and zeros when no bytes are left.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn byte(&mut self) -> u8 {
        let (byte, rest) = self
            .0
            .split_first()
            .map_or((0, self.0), |(byte, rest)| (*byte, rest));
        self.0 = rest;
        byte
    }

    /// One of a few simple numbers, or an arbitrary bit pattern.
    fn number(&mut self) -> f64 {
        let byte = self.byte();
        if byte < 0xc0 {
            return f64::from(byte) / 16.0 - 2.0;
        }
        let bits = std::array::from_fn(|_| self.byte());
        f64::from_bits(u64::from_be_bytes(bits))
    }

    fn score(&mut self) -> Option<Score> {
        Score::new(self.number()).ok()
    }
}

/// The data of an item.
struct Owned {
    parts: Vec<Part<'static>>,
    measures: Vec<(&'static str, f64)>,
    steps: Vec<f64>,
}

fn compose(policy: &PolicyRules, numbers: &mut Numbers<'_>) {
    let count = usize::from(numbers.byte()) % (MAX_ITEMS + 1);
    let owned: Vec<Owned> = (0..count)
        .map(|_| {
            let kinds = numbers.byte();
            let taken = |names: &[&'static str; 6]| {
                names
                    .iter()
                    .copied()
                    .take(usize::from(kinds >> 4))
                    .collect::<Vec<_>>()
            };
            let parts = taken(&PARTS)
                .into_iter()
                .map(|name| {
                    let score = numbers.score();
                    Part {
                        name,
                        score,
                        pass: score.map(|score| score.get() >= 0.5),
                    }
                })
                .collect();
            let measures = taken(&MEASURES)
                .into_iter()
                .map(|name| (name, numbers.number()))
                .collect();
            // Scores of steps come from a model, normalised.
            let steps = (0..kinds % 4)
                .filter_map(|_| numbers.score().map(Score::get))
                .collect();
            Owned {
                parts,
                measures,
                steps,
            }
        })
        .collect();
    let group: Vec<Sample<'_>> = owned
        .iter()
        .map(
            |Owned {
                 parts,
                 measures,
                 steps,
             }| {
                let kinds = numbers.byte();
                let pick = usize::from(kinds % 4);
                Sample {
                    score: numbers.score(),
                    pass: [None, Some(false), Some(true), Some(true)][usize::from(kinds >> 2) % 4],
                    corrected: Reward::new(numbers.number()).ok(),
                    parts,
                    measures,
                    text: TEXTS[pick],
                    tokens: (kinds & 0x10 != 0).then(|| numbers.number()),
                    truncated: kinds & 0x20 != 0,
                    answer: ANSWERS[pick],
                    model: (kinds & 0x40 != 0).then_some("m"),
                    steps,
                }
            },
        )
        .collect();
    let composed = policy.compose(&group);
    assert_eq!(composed, policy.compose(&group), "deterministic");
    check_rewards(&group, &composed);
    check_advantages(&group, &composed, numbers);
}

fn check_rewards(group: &[Sample<'_>], composed: &[RewardResult<'_>]) {
    assert_eq!(composed.len(), group.len());
    for (item, composed) in group.iter().zip(composed) {
        assert!(
            item.score.is_some() || composed.reward.is_none(),
            "a masked item has a reward: {composed:?}"
        );
        let of = |term: &assay_rewards::policy::Term<'_>| {
            term.value.is_finite() && term.of.is_none_or(f64::is_finite)
        };
        assert!(composed.terms.iter().all(of), "{composed:?}");
        assert!(
            composed.steps.iter().all(|step| step.is_finite()),
            "{composed:?}"
        );
        assert!(
            composed
                .weight
                .is_none_or(|weight| (0.0..=1.0).contains(&weight)),
            "{composed:?}"
        );
    }
    let total: f64 = composed.iter().filter_map(|composed| composed.weight).sum();
    let is_weighted = composed.iter().any(|composed| composed.weight.is_some());
    assert!(
        !is_weighted || (total - 1.0).abs() < 1e-9,
        "weights sum to {total}"
    );
    assert!(PARTS.iter().all(|name| *name != OUTCOME));
}

/// Checks advantages and statistics of the policy's rewards.
fn check_advantages(
    group: &[Sample<'_>],
    composed: &[RewardResult<'_>],
    numbers: &mut Numbers<'_>,
) {
    let members: Vec<Member<'_>> = group
        .iter()
        .zip(composed)
        .map(|(item, composed)| Member {
            reward: composed.reward,
            pass: item.pass.filter(|_| composed.reward.is_some()),
            tokens: item.length().filter(|tokens| *tokens > 0.0),
            answer: item.answer,
        })
        .collect();
    let rates = Rates::new(numbers.number(), numbers.number());
    let (first, second) = members.split_at(members.len() / 2);
    let groups = [first, second].map(|members| Group {
        members,
        rates,
        history: None,
    });
    for estimator in Estimator::ALL.iter().copied() {
        for (group, advantages) in groups.iter().zip(advantages(estimator, &groups)) {
            assert_eq!(advantages.len(), group.members.len());
            assert!(
                advantages.iter().flatten().all(|value| value.is_finite()),
                "{estimator:?}: {advantages:?} of {group:?}"
            );
        }
    }
    assert_eq!(statistics(Statistic::ALL, &groups).len(), groups.len());
}
