//! Expected answers that may be wrong: many rollouts of a prompt agree on another answer.

/// Fewest rollouts that must agree.
pub const MIN_AGREEING: u64 = 4;

/// A suspect has at least one rollout that agrees on the other answer among this many with a
/// verdict.
pub const MOST_PER_AGREEING: u64 = 2;

/// A suspect has at least this many rollouts that agree on the other answer for each that passes.
pub const LEAST_PER_PASS: u64 = 4;

/// Whether the expected answer of a prompt is suspect: of `judged` rollouts with a verdict,
/// `passes` gave it, and at least half agree on another one.
///
/// A policy that makes the same mistake in most rollouts looks the same. `docs/OPERATORS.md` lists
/// how many suspects have a wrong expected answer in simulations.
#[must_use]
pub fn is_suspect(agreeing: u64, judged: u64, passes: u64) -> bool {
    agreeing >= MIN_AGREEING
        && agreeing.saturating_mul(MOST_PER_AGREEING) >= judged
        && passes.saturating_mul(LEAST_PER_PASS) <= agreeing
}

#[cfg(test)]
mod tests {
    use assay_base::Random;

    use super::*;

    #[test]
    fn a_suspect_has_many_agreeing_and_few_passing_rollouts() {
        assert!(is_suspect(4, 8, 1) && is_suspect(300, 320, 5));
        assert!(!is_suspect(3, 4, 0), "too few");
        assert!(!is_suspect(4, 9, 0), "less than half");
        assert!(!is_suspect(4, 8, 2), "too many passes");
    }

    /// Counts of prompts: suspects, those of them with a wrong gold, and all with a wrong gold.
    ///
    /// A policy gives the right answer with a probability that is logistic normal with median 1/2.
    /// For `traps` of the prompts its wrong answers agree: each is the same one with a probability
    /// from 0.3 to 0.9; for the others, from 0 to 0.3. If the gold is wrong, right answers fail,
    /// and one of 50 rollouts gives the gold.
    fn simulate(wrong_golds: f64, traps: f64, rollouts: u32) -> [u32; 3] {
        let mut random = Random::new(3);
        let mut counts = [0; 3];
        for _ in 0..100_000 {
            let is_wrong = random.bernoulli(wrong_golds);
            let right = 1.0 / (1.0 + (-2.0 * random.normal()).exp());
            let share = if random.bernoulli(traps) {
                0.3 + 0.6 * random.uniform()
            } else {
                0.3 * random.uniform()
            };
            let rights = random.count(rollouts, right);
            let agreeing = random.count(rollouts - rights, share);
            let (agreeing, passes) = if is_wrong {
                (rights.max(agreeing), random.count(rollouts, 0.02))
            } else {
                (agreeing, rights)
            };
            if is_suspect(agreeing.into(), rollouts.into(), passes.into()) {
                counts[0] += 1;
                counts[1] += u32::from(is_wrong);
            }
            counts[2] += u32::from(is_wrong);
        }
        counts
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "the figures are part of the result")]
    fn precision_is_as_documented() {
        let mut table = Vec::new();
        for (wrong_golds, traps) in [(0.01, 0.1), (0.02, 0.1), (0.05, 0.1), (0.02, 0.3)] {
            for rollouts in [8, 64] {
                let [suspects, found, wrong] = simulate(wrong_golds, traps, rollouts);
                let precision = f64::from(found) / f64::from(suspects);
                let recall = f64::from(found) / f64::from(wrong);
                table.push((precision, recall));
                println!(
                    "{wrong_golds} wrong, {traps} traps, {rollouts} rollouts: precision \
                     {precision:.2}, found {recall:.2}"
                );
            }
        }
        // The fourth row of the table in the document.
        let (precision, recall) = table[3];
        assert!((precision - 0.46).abs() < 0.005, "{table:?}");
        assert!((recall - 0.51).abs() < 0.005, "{table:?}");
    }
}
