//! Statistics a request may name for its groups.

use serde_json::{Map, Value, json};

use crate::group::Member;
use crate::interval::{Interval, wilson};

/// A statistic of one group, by the name a request uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// Mean reward; every reply has it, so naming it adds nothing.
    Mean,
    /// Share of passes with a 95 % interval.
    PHat,
    /// Probability that at least one of k completions passes.
    PassAtK,
}

impl Statistic {
    /// Every statistic, in the order of the documentation.
    pub const ALL: &'static [Self] = &[Self::Mean, Self::PHat, Self::PassAtK];

    /// The name in requests and replies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::PHat => "p_hat",
            Self::PassAtK => "passk",
        }
    }

    /// The statistic of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|statistic| statistic.name() == name)
    }

    /// Its value for one group, as it stands in the reply's `statistics`; `None` for what the reply says elsewhere.
    #[must_use]
    pub fn of(self, members: &[Member]) -> Option<Value> {
        let n = members.iter().filter(|member| member.pass.is_some()).count();
        let passes = members.iter().filter(|member| member.pass == Some(true)).count();
        match self {
            Self::Mean => None,
            Self::PHat => Some(wilson(as_f64(passes), as_f64(n)).map_or(Value::Null, |p_hat| {
                let Interval { low, high } = p_hat.interval;
                json!({ "value": p_hat.value, "low": low, "high": high, "n": n, "passes": passes })
            })),
            Self::PassAtK => {
                let at = ks(n).map(|k| (k.to_string(), json!(pass_at_k(n, passes, k))));
                Some(Value::Object(at.collect::<Map<_, _>>()))
            }
        }
    }
}

/// Unbiased estimate of the probability that at least one of `k` completions passes, from `passes` of `n`:
/// 1 - C(n - passes, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374, equation 1), as a product to stay in range.
#[must_use]
pub fn pass_at_k(n: usize, passes: usize, k: usize) -> f64 {
    if n - passes < k {
        return 1.0;
    }
    1.0 - (n - passes + 1..=n).map(|i| 1.0 - as_f64(k) / as_f64(i)).product::<f64>()
}

/// The k of a group of `n`: powers of two below it, and `n` itself.
fn ks(n: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS).map(|power| 1usize << power).take_while(move |k| *k < n).chain((n > 0).then_some(n))
}

#[expect(clippy::cast_precision_loss, reason = "groups are far smaller than 2^53")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pass_at_k_agrees_with_counting_subsets() {
        // Of the C(5, 2) = 10 pairs of 5 completions with 2 passes, C(3, 2) = 3 hold none.
        assert!((pass_at_k(5, 2, 2) - 0.7).abs() < 1e-12);
        assert!((pass_at_k(8, 3, 1) - 0.375).abs() < 1e-12);
        assert_eq!(pass_at_k(4, 0, 4).to_string(), "0");
        assert_eq!(pass_at_k(4, 1, 4).to_string(), "1");
    }

    #[test]
    fn masked_members_count_for_nothing() {
        let pass = |pass| Member { pass, reward: Some(assay_core::Score::ONE.into()), ..Member::default() };
        let members = [pass(Some(true)), Member::default(), pass(Some(false)), pass(Some(true))];
        let value = Statistic::PHat.of(&members).unwrap();
        assert_eq!((value["n"].as_u64(), value["passes"].as_u64()), (Some(3), Some(2)));
        let at = Statistic::PassAtK.of(&members).unwrap();
        assert_eq!(at.as_object().unwrap().keys().collect::<Vec<_>>(), ["1", "2", "3"]);
    }

    #[test]
    fn names_are_found_again() {
        for statistic in Statistic::ALL {
            assert_eq!(Statistic::from_name(statistic.name()), Some(*statistic));
        }
        assert_eq!(Statistic::from_name("median"), None);
    }
}
