//! Whether the reward of a run has dropped: the mean of its newest steps against those before.

use assay_record::chart::Sums;

/// Value for a drop without any deviation, which has no standard error.
const CERTAIN: f64 = 1_000.0;

/// A drop of the reward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RewardDrop {
    /// Drop from the steps directly before, in standard errors; not positive for a rise.
    pub(crate) recent: f64,
    /// Drop from the best earlier steps, in standard errors.
    pub(crate) lasting: f64,
    /// Mean reward of the newest steps.
    pub(crate) mean: f64,
    /// Mean reward of the steps directly before.
    pub(crate) before: f64,
    /// Number of rewards of the newest steps.
    pub(crate) rewards: u64,
}

/// Compares the newest half of `window` steps with each of the two halves before, because one
/// comparison alone finds a drop of three standard errors twice in 1,000 steps without one. `steps`
/// are the sums of the rewards of each step, oldest first; `None` with fewer than twice `window`
/// steps.
///
/// The standard error of a mean is the larger of two: of rewards within steps, and of the means of
/// steps, which also vary with their prompts. The variance of the means is estimated from the
/// differences of successive steps (von Neumann 1941), which a trend hardly changes.
pub(crate) fn reward_drop(steps: &[Sums], window: usize) -> Option<RewardDrop> {
    let half = (window / 2).max(1);
    if steps.len() < 2 * window.max(2) {
        return None;
    }
    let (earlier, newest) = steps.split_at(steps.len() - half);
    let means: Vec<f64> = earlier.iter().filter_map(Sums::mean).collect();
    let squares = means.windows(2).map(|pair| (pair[1] - pair[0]).powi(2));
    let between = squares.sum::<f64>() / (2.0 * float(means.len().saturating_sub(1).max(1)));
    let newest = Block::of(newest)?;
    let blocks: Vec<Block> = earlier.rchunks_exact(half).filter_map(Block::of).collect();
    let drop = |before: &Block| {
        let within = newest.variance() + before.variance();
        let error = within.max(between * 2.0 / float(half)).sqrt();
        let drop = before.mean - newest.mean;
        if drop <= 0.0 {
            return drop.max(-CERTAIN);
        }
        (drop / error).min(CERTAIN)
    };
    let [before, earlier, ..] = blocks.as_slice() else {
        return None;
    };
    Some(RewardDrop {
        recent: drop(before).min(drop(earlier)),
        lasting: blocks.iter().map(drop).fold(f64::MIN, f64::max),
        mean: newest.mean,
        before: before.mean,
        rewards: newest.rewards,
    })
}

/// The rewards of several steps.
struct Block {
    mean: f64,
    deviation: f64,
    rewards: u64,
}

impl Block {
    /// `None` without a reward.
    fn of(steps: &[Sums]) -> Option<Self> {
        let mut all = Sums::default();
        steps.iter().for_each(|sums| all.add(sums));
        Some(Self {
            mean: all.mean()?,
            deviation: all.deviation()?,
            rewards: all.count,
        })
    }

    /// Variance of the mean.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a run has less than 2^52 grades"
    )]
    fn variance(&self) -> f64 {
        self.deviation.powi(2) / self.rewards as f64
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of steps are small")]
fn float(steps: usize) -> f64 {
    steps as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step of 256 rewards of 0 or 1 with about this mean.
    fn step(mean: f64) -> Sums {
        let passes = (mean * 256.0).round().clamp(0.0, 256.0);
        Sums {
            count: 256,
            sum: passes,
            squares: passes,
        }
    }

    /// Numbers that look random, in [-1, 1), with a variance of 1/3.
    fn noise(seed: u64) -> impl Iterator<Item = f64> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            f64::from(u32::try_from(state >> 40).unwrap_or(0)) / f64::from(1 << 23) - 1.0
        })
        .skip(8)
    }

    fn run(seed: u64, mean: impl Fn(usize) -> f64) -> Vec<Sums> {
        let noise = noise(seed).take(200).enumerate();
        noise
            .map(|(at, noise)| step(mean(at) + 0.05 * noise))
            .collect()
    }

    fn drops(steps: &[Sums]) -> impl Iterator<Item = (usize, RewardDrop)> + '_ {
        (20..=steps.len())
            .filter_map(|end| Some((end, reward_drop(&steps[end.saturating_sub(40)..end], 10)?)))
    }

    #[test]
    fn finds_a_drop_within_ten_steps_and_until_it_recovers() {
        let mean = |at| if (100..140).contains(&at) { 0.4 } else { 0.6 };
        for seed in 1..20 {
            let steps = run(seed, mean);
            let first = drops(&steps).find(|(end, drop)| *end > 100 && drop.recent >= 3.0);
            let (first, _) = first.expect("the drop is found");
            assert!((101..=110).contains(&first), "{first}");
            for (end, drop) in drops(&steps) {
                match end {
                    105..=135 => assert!(drop.lasting >= 3.0, "{end}: {drop:?}"),
                    160.. => assert!(drop.lasting < 3.0 * 1.5, "{end}: {drop:?}"),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn is_rare_without_a_drop() {
        let runs = 1..=200;
        let alarms = runs.map(|seed| {
            let steps = run(seed, |at| {
                0.5 + f64::from(u32::try_from(at).unwrap_or(0)) / 2_000.0
            });
            let met: Vec<bool> = drops(&steps).map(|(_, drop)| drop.recent >= 3.0).collect();
            let starts = met.windows(2).filter(|pair| !pair[0] && pair[1]).count();
            (starts, met.len())
        });
        let (alarms, steps) = alarms.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let per_thousand = float(alarms) * 1_000.0 / float(steps);
        assert!(steps > 30_000 && per_thousand < 0.5, "{per_thousand}");
    }

    #[test]
    fn needs_enough_steps_and_rewards() {
        assert_eq!(reward_drop(&[step(0.5); 19], 10), None);
        assert_eq!(reward_drop(&[Sums::default(); 40], 10), None);
        let constant: Vec<Sums> = [[step(1.0); 20], [step(0.0); 20]].concat();
        let drop = reward_drop(&constant[..25], 10).unwrap();
        assert!((drop.recent - CERTAIN).abs() < 1e-9, "{drop:?}");
    }
}
