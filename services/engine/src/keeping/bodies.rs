//! Decides whether the task, the prompt and the completion of a grade are stored.

use assay_core::Hash;

/// Which grades are stored with their bodies: task, prompt and completion.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum BodyPolicy {
    /// All.
    #[default]
    All,
    /// Those that did not pass, according to a binding judge or otherwise the grader. Grades
    /// without a notion of passing count as not passed.
    Failures,
    /// This share, in \[0, 1\]. A grade belongs to it by the hash of its completion, so that the
    /// choice does not depend on time or on the node.
    Sample(f64),
    /// None.
    None,
}

impl BodyPolicy {
    /// Whether the bodies of a grade with this completion are stored. `pass` is its result after
    /// an appeal.
    #[must_use]
    pub fn keeps(self, completion: Hash, pass: Option<bool>) -> bool {
        match self {
            Self::All => true,
            Self::Failures => pass != Some(true),
            Self::Sample(share) => position(completion) < share,
            Self::None => false,
        }
    }
}

/// A number in [0, 1) that is uniform over hashes.
fn position(hash: Hash) -> f64 {
    let [a, b, c, d, e, f, g, ..] = *hash.as_bytes();
    let bits = u64::from_be_bytes([0, a, b, c, d, e, f, g]) >> 4;
    bits as f64 / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_all_grades_that_did_not_pass() {
        let hash = Hash::of(b"completion");
        let kept =
            [Some(true), Some(false), None].map(|pass| BodyPolicy::Failures.keeps(hash, pass));
        assert_eq!(kept, [false, true, true]);
        assert!(BodyPolicy::All.keeps(hash, Some(true)));
        assert!(!BodyPolicy::None.keeps(hash, Some(false)));
    }

    #[test]
    fn a_sample_is_a_share_and_larger_samples_contain_smaller_ones() {
        let hashes: Vec<Hash> = (0..20_000_u32)
            .map(|n| Hash::of(&n.to_le_bytes()))
            .collect();
        let kept = |share| -> Vec<bool> {
            let policy = BodyPolicy::Sample(share);
            hashes
                .iter()
                .map(|hash| policy.keeps(*hash, None))
                .collect()
        };
        let (tenth, fifth) = (kept(0.1), kept(0.2));
        let count = tenth.iter().filter(|kept| **kept).count();
        assert!((1_850..2_150).contains(&count), "{count}");
        assert!(
            tenth
                .iter()
                .zip(&fifth)
                .all(|(small, large)| !small || *large)
        );
        assert_eq!(tenth, kept(0.1));
        assert!(kept(0.0).iter().all(|kept| !kept));
        assert!(kept(1.0).iter().all(|kept| *kept));
    }
}
