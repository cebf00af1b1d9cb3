//! Statistics a request may name for its groups.

use serde_json::{Map, Value, json};

use crate::Member;

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
            Self::PHat => Some(wilson(passes, n).map_or(
                Value::Null,
                |(p_hat, low, high)| json!({ "value": p_hat, "low": low, "high": high, "n": n, "passes": passes }),
            )),
            Self::PassAtK => {
                let at = ks(n).map(|k| (k.to_string(), json!(pass_at_k(n, passes, k))));
                Some(Value::Object(at.collect::<Map<_, _>>()))
            }
        }
    }
}

/// Share of passes and its 95 % Wilson score interval (Wilson 1927, doi 10.2307/2276774); `None` without members.
#[must_use]
pub fn wilson(passes: usize, n: usize) -> Option<(f64, f64, f64)> {
    const Z: f64 = 1.959_963_984_540_054;
    if n == 0 {
        return None;
    }
    let (passes, n) = (as_f64(passes), as_f64(n));
    let p_hat = passes / n;
    let denominator = 1.0 + Z * Z / n;
    let centre = (p_hat + Z * Z / (2.0 * n)) / denominator;
    let half = Z / denominator * (p_hat * (1.0 - p_hat) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some((p_hat, (centre - half).max(0.0), (centre + half).min(1.0)))
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
    fn wilson_is_the_textbook_interval() {
        // 5 of 10: (0.2366, 0.7634).
        let (p_hat, low, high) = wilson(5, 10).unwrap();
        assert!((p_hat - 0.5).abs() < 1e-12 && (low - 0.236_6).abs() < 1e-4 && (high - 0.763_4).abs() < 1e-4);
        assert_eq!(wilson(0, 0), None);
    }

    #[test]
    fn masked_members_count_for_nothing() {
        let pass = |pass| Member { reward: None, pass };
        let members = [pass(Some(true)), pass(None), pass(Some(false)), pass(Some(true))];
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
