//! Agreement of the answers of a group. It compares canonical text only; equivalence of answers is
//! decided when they are made canonical, and correctness is not considered.

use std::collections::BTreeMap;

use serde::Serialize;

use super::member::{Member, as_f64};

/// Agreement of a group's answers. f denotes the share of a distinct answer among the n members
/// that have an answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Answers<'a> {
    /// Number of members with an answer.
    pub n: usize,
    /// Number of distinct answers.
    pub distinct: usize,
    /// Shannon entropy H = -sum f ln f (Shannon 1948), in nats, from 0 to ln n.
    pub entropy: f64,
    /// H / ln n, in \[0, 1\]; `None` if n is 1.
    pub normalised: Option<f64>,
    /// H + (distinct - 1) / (2 n), in nats: entropy with the small-sample bias correction of Miller
    /// and Madow (Miller 1955). It can exceed ln n.
    pub miller_madow: f64,
    /// 1 - sum f^2, in \[0, 1): probability that two draws with replacement differ (Simpson 1949,
    /// doi 10.1038/163688a0).
    pub simpson: f64,
    /// The most frequent answer; in a tie, the one that occurred first.
    pub majority: &'a str,
    /// Share of the most frequent answer, in (0, 1\].
    pub share: f64,
    /// `share` minus the share of the second most frequent answer, in \[0, 1\]; 0 for a tie. If it
    /// is small, a pseudo-label by majority (TTRL, arXiv 2504.16084) is unreliable.
    pub margin: f64,
}

impl<'a> Answers<'a> {
    /// Agreement of the members with a reward and an answer; `None` without any.
    #[must_use]
    pub fn of(members: &[Member<'a>]) -> Option<Self> {
        let mut counts: BTreeMap<&'a str, (usize, usize)> = BTreeMap::new();
        let mut n = 0;
        for answer in members
            .iter()
            .filter(|member| member.reward.is_some())
            .filter_map(|member| member.answer)
        {
            counts.entry(answer).or_insert((0, n)).0 += 1;
            n += 1;
        }
        let mut votes: Vec<(&str, usize, usize)> = counts
            .into_iter()
            .map(|(text, (k, first))| (text, k, first))
            .collect();
        // More votes first, then the earlier answer.
        votes.sort_by_key(|(_, k, first)| (usize::MAX - k, *first));
        let (majority, most, _) = *votes.first()?;
        let total = as_f64(n);
        let (mut entropy, mut repeats) = (0.0, 0.0);
        for (_, k, _) in &votes {
            let share = as_f64(*k) / total;
            entropy -= share * share.ln();
            repeats += share * share;
        }
        // Adding zero turns the -0.0 of a single answer into 0.0.
        let entropy = entropy.max(0.0) + 0.0;
        let next = votes.get(1).map_or(0, |(_, k, _)| *k);
        Some(Self {
            n,
            distinct: votes.len(),
            entropy,
            normalised: (n > 1).then(|| (entropy / total.ln()).min(1.0)),
            miller_madow: entropy + as_f64(votes.len() - 1) / (2.0 * total),
            simpson: (1.0 - repeats).max(0.0),
            majority,
            share: as_f64(most) / total,
            margin: as_f64(most - next) / total,
        })
    }
}

#[cfg(test)]
mod tests {
    use assay_core::Reward;
    use proptest::prelude::*;

    use super::*;

    fn members<'a>(answers: &[Option<&'a str>]) -> Vec<Member<'a>> {
        let reward = Reward::new(1.0).ok();
        answers
            .iter()
            .map(|answer| Member {
                reward,
                answer: *answer,
                ..Member::default()
            })
            .collect()
    }

    #[test]
    fn entropy_matches_reference_values() {
        let answers = Answers::of(&members(&[
            Some("3"),
            Some("2"),
            None,
            Some("2"),
            Some("1"),
        ]))
        .unwrap();
        assert_eq!((answers.n, answers.distinct, answers.majority), (4, 3, "2"));
        // H = 1/2 ln 2 + 2 * 1/4 ln 4 = 1.5 ln 2 = 1.039721; / ln 4 = 0.75; + 2 / 8 = 1.289721; 1 -
        // (1/4 + 2/16) = 0.625.
        assert!((answers.entropy - 1.039_721).abs() < 1e-6);
        assert!((answers.normalised.unwrap() - 0.75).abs() < 1e-12);
        assert!((answers.miller_madow - 1.289_721).abs() < 1e-6);
        assert!((answers.simpson - 0.625).abs() < 1e-12);
        assert!((answers.share - 0.5).abs() < 1e-12 && (answers.margin - 0.25).abs() < 1e-12);
    }

    #[test]
    fn majority_of_a_tie_is_the_first_answer() {
        let answers = Answers::of(&members(&[Some("b"), Some("a"), Some("a"), Some("b")])).unwrap();
        assert_eq!(answers.majority, "b");
        assert!(answers.margin.abs() < 1e-15);
    }

    #[test]
    fn equal_answers_have_zero_entropy() {
        let answers = Answers::of(&members(&[Some("a"), Some("a")])).unwrap();
        assert_eq!(
            (answers.entropy.to_string(), answers.simpson.to_string()),
            ("0".into(), "0".into())
        );
        assert!((answers.margin - 1.0).abs() < 1e-15);
        assert_eq!(
            Answers::of(&members(&[Some("a")])).unwrap().normalised,
            None
        );
    }

    #[test]
    fn masked_members_are_not_counted() {
        let masked = Member {
            answer: Some("a"),
            ..Member::default()
        };
        assert_eq!(Answers::of(&[masked]), None);
    }

    proptest! {
        #[test]
        fn statistics_stay_in_range(
            answers in prop::collection::vec(
                prop::sample::select(vec!["a", "b", "c", "d"]),
                1..30,
            ),
        ) {
            let answers: Vec<_> = answers.into_iter().map(Some).collect();
            let known = Answers::of(&members(&answers)).unwrap();
            let most = as_f64(known.distinct).ln();
            prop_assert!(known.entropy >= 0.0 && known.entropy <= most + 1e-12);
            prop_assert!(known.normalised.is_none_or(|share| (0.0..=1.0).contains(&share)));
            prop_assert!((0.0..1.0).contains(&known.simpson) && known.margin <= known.share);
        }
    }
}
