//! Combines the results of tests into a verdict and a score.

use assay_core::{Score, Verdict};

use crate::task::Scoring;
use crate::verdict;

/// The verdict and the score of a program from the results of its tests, in the order of the task.
/// If grading stopped early, results after the first failure are missing.
pub(crate) fn score(scoring: &Scoring, results: &[Verdict], tests: usize) -> (Verdict, Score) {
    let passed = |result: &&Verdict| **result == verdict::ACCEPTED;
    let first_failure = results.iter().find(|result| !passed(result));
    let (passed_parts, parts) = match scoring {
        Scoring::All => (
            usize::from(first_failure.is_none() && results.len() == tests),
            1,
        ),
        Scoring::Fraction => (results.iter().filter(passed).count(), tests),
        Scoring::Groups(groups) => {
            let passes = |group: &&Vec<usize>| {
                group
                    .iter()
                    .all(|test| results.get(*test).is_some_and(|r| passed(&r)))
            };
            (groups.iter().filter(passes).count(), groups.len())
        }
    };
    if passed_parts == parts {
        return (verdict::ACCEPTED, Score::ONE);
    }
    let failure = first_failure.copied().unwrap_or(Verdict::WRONG_ANSWER);
    let share = Score::new(passed_parts as f64 / parts as f64).unwrap_or(Score::ZERO);
    if passed_parts == 0 {
        (failure, Score::ZERO)
    } else {
        (Verdict::PARTIAL, share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: Verdict = verdict::ACCEPTED;
    const WRONG: Verdict = Verdict::WRONG_ANSWER;

    #[test]
    fn first_failing_test_determines_the_verdict() {
        let results = [RIGHT, verdict::TIME_LIMIT, WRONG];
        assert_eq!(
            score(&Scoring::All, &results, 3),
            (verdict::TIME_LIMIT, Score::ZERO)
        );
        assert_eq!(
            score(&Scoring::All, &results[..2], 3),
            (verdict::TIME_LIMIT, Score::ZERO)
        );
        assert_eq!(score(&Scoring::All, &[RIGHT; 3], 3), (RIGHT, Score::ONE));
    }

    #[test]
    fn fractions_and_groups_give_partial_scores() {
        let (verdict, score_of) = score(&Scoring::Fraction, &[RIGHT, WRONG, RIGHT, RIGHT], 4);
        assert_eq!((verdict, score_of.get()), (Verdict::PARTIAL, 0.75));
        let groups = Scoring::Groups(vec![vec![0, 1], vec![2, 3]]);
        let (verdict, score_of) = score(&groups, &[RIGHT, WRONG, RIGHT, RIGHT], 4);
        assert_eq!((verdict, score_of.get()), (Verdict::PARTIAL, 0.5));
        assert_eq!(
            score(&groups, &[RIGHT, WRONG, RIGHT, WRONG], 4),
            (WRONG, Score::ZERO)
        );
    }
}
