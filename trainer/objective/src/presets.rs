//! Presets: published objectives by name.
//!
//! Each has the defaults of its paper or of its reference implementation; where the two differ, the
//! source names which one is used.

use assay_rewards::Estimator as AdvantageEstimator;

use crate::advantage::{Combine, Scale};
use crate::correction::{Beyond, Correction, Span};
use crate::demonstrations::{Demonstrations, Imitation};
use crate::pacs::Comparison;
use crate::penalty::{DivergenceEstimator, Penalty};
use crate::surrogate::{Divergence, Side, Surrogate, Through};
use crate::{Advantage, Aggregation, Level, Masks, Objective, ObjectiveError, PolicyVersion};

/// A named objective.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name in configurations.
    pub name: &'static str,
    /// Paper or implementation that defines it.
    pub source: &'static str,
    /// Summary of its settings.
    pub summary: &'static str,
    make: fn() -> Objective,
}

impl Preset {
    /// The objective.
    #[must_use]
    pub fn objective(&self) -> Objective {
        (self.make)()
    }
}

/// The objective of this name.
pub(crate) fn preset(name: &str) -> Result<Objective, ObjectiveError> {
    let found = PRESETS.iter().find(|preset| preset.name == name);
    found
        .map(Preset::objective)
        .ok_or_else(|| ObjectiveError::UnknownPreset {
            name: name.to_owned(),
            known: names(),
        })
}

/// All names, for an error message.
fn names() -> String {
    PRESETS
        .iter()
        .map(|preset| format!("`{}`", preset.name))
        .collect::<Vec<_>>()
        .join(", ")
}

const fn row(
    name: &'static str,
    source: &'static str,
    summary: &'static str,
    make: fn() -> Objective,
) -> Preset {
    Preset {
        name,
        source,
        summary,
        make,
    }
}

/// Every preset, in the order of the documentation.
#[rustfmt::skip]
pub const PRESETS: &[Preset] = &[
    row("grpo", "arXiv 2402.03300",
        "z-score in the group, clip 0.2, mean over completions of token means, k3 to the \
         reference 0.04",
        || Objective {
            aggregation: Aggregation::SeqMeanTokenMean {},
            penalties: penalty(PolicyVersion::Reference, DivergenceEstimator::K3, 0.04), ..base()
        }),
    row("dr_grpo", "arXiv 2503.20783",
        "reward minus group mean, clip 0.2, sum divided by a constant length",
        || Objective {
            advantage: centred(), aggregation: Aggregation::SeqMeanTokenSumNorm { length: None },
            ..base()
        }),
    row("bnpo", "TRL, loss type `bnpo`",
        "`grpo` without a reference, mean over tokens",
        base),
    row("dapo", "arXiv 2503.14476",
        "z-score, clip 0.2 and 0.28, mean over tokens, no reference",
        dapo),
    row("gspo", "arXiv 2507.18071",
        "z-score, sequence ratio, clip 3e-4 and 4e-4",
        gspo),
    row("gmpo", "arXiv 2507.20673",
        "z-score, geometric mean of token ratios clipped to 0.4 nats",
        || Objective {
            surrogate: Surrogate::Gmpo { low: 0.4, high: 0.4 },
            aggregation: Aggregation::SeqMeanTokenMean {}, ..base()
        }),
    row("cispo", "arXiv 2506.13585",
        "z-score, log-probability weighted by the ratio clipped at 5, mean over tokens",
        || Objective { surrogate: Surrogate::Cispo { low: 0.0, high: 5.0 }, ..base() }),
    row("gppo", "arXiv 2508.07629",
        "z-score, clip 0.2 and 0.28 with gradient beyond the bounds, dual 10, mean over tokens",
        || Objective {
            surrogate: Surrogate::Gppo { low: 0.2, high: 0.28, dual: Some(10.0) }, ..base()
        }),
    row("dcpo", "arXiv 2509.02333",
        "z-score over visits, clip 0.16 and 0.2 scaled by probability, cap 10, mean over \
         completions",
        || Objective {
            advantage: named(AdvantageEstimator::Dcpo),
            surrogate: Surrogate::Dcpo { low: 0.16, high: 0.2, cap: 10.0 },
            aggregation: Aggregation::SeqMeanTokenMean {}, ..base()
        }),
    row("sapo", "arXiv 2511.20347",
        "z-score, sigmoid gate of temperature 1 and 1.05, mean over completions of token means",
        || Objective {
            surrogate: Surrogate::Sapo { positive: 1.0, negative: 1.05 },
            aggregation: Aggregation::SeqMeanTokenMean {}, ..base()
        }),
    row("vespo", "arXiv 2602.10693",
        "z-score, gamma weight of the product of ratios, mean over tokens",
        || Objective {
            surrogate: Surrogate::Vespo { positive: [2.0, 3.0], negative: [3.0, 2.0] }, ..base()
        }),
    row("luspo", "arXiv 2602.05261",
        "z-score, sequence ratio, clip 3e-4 and 4e-4, weighted by length",
        || Objective { aggregation: Aggregation::SeqMeanTokenSum {}, ..gspo() }),
    row("dppo", "arXiv 2602.04879",
        "z-score, trust region of 0.2 in probability, ratio up to 20, mean over tokens",
        || Objective {
            surrogate: trust(Side::Pushed, Some(20.0), Through::LogProbability), ..base()
        }),
    row("reinforce_pp", "arXiv 2501.03262",
        "reward whitened over the tokens of the batch, clip 0.2, mean over tokens",
        || Objective { advantage: Advantage::Returns { gamma: 1.0 }, ..base() }),
    row("reinforce_pp_baseline", "arXiv 2501.03262",
        "reward minus group mean, whitened over the batch, clip 0.2, mean over tokens, k2 0.001",
        || Objective {
            advantage: named(AdvantageEstimator::ReinforcePp),
            penalties: penalty(PolicyVersion::Reference, DivergenceEstimator::K2, 0.001), ..base()
        }),
    row("rloo", "arXiv 2402.14740",
        "reward minus mean of the others, policy gradient of completions",
        || of_completions(named(AdvantageEstimator::Rloo))),
    row("opo", "arXiv 2505.23585",
        "reward minus length-weighted mean, policy gradient of completions",
        || of_completions(named(AdvantageEstimator::Opo))),
    row("remax", "arXiv 2310.10505",
        "reward minus reward of the greedy completion, policy gradient of completions",
        || of_completions(Advantage::Greedy {})),
    row("gpg", "arXiv 2504.02546",
        "(reward minus group mean) * batch / nonzero rewards, policy gradient of tokens",
        || Objective {
            advantage: named(AdvantageEstimator::Gpg), surrogate: policy_gradient(), ..base()
        }),
    row("nsr", "arXiv 2506.01347",
        "-1 for wrong completions, right ones excluded, clip 0.2, mean over tokens",
        || Objective { advantage: Advantage::Verdict { pass: None, fail: Some(-1.0) }, ..base() }),
    row("psr", "arXiv 2506.01347",
        "1 for right completions, wrong ones excluded, clip 0.2, mean over tokens",
        || Objective { advantage: Advantage::Verdict { pass: Some(1.0), fail: None }, ..base() }),
    row("w_reinforce", "arXiv 2506.01347",
        "0.1 for right and -1 for wrong completions, clip 0.2, mean over tokens",
        || Objective {
            advantage: Advantage::Verdict { pass: Some(0.1), fail: Some(-1.0) }, ..base()
        }),
    row("maxrl", "arXiv 2602.02710",
        "(reward minus group mean) / group mean, clip 0.2, mean over tokens",
        || Objective { advantage: named(AdvantageEstimator::MaxRl), ..base() }),
    row("passk", "arXiv 2503.19595",
        "best minus second best over the deviation, clip 0.2, mean over tokens",
        || Objective { advantage: Advantage::Best { scale: true, epsilon: 1e-6 }, ..base() }),
    row("vcpo", "arXiv 2602.17616",
        "reward minus group mean, policy gradient weighted by the sequence ratio up to 8",
        || Objective {
            advantage: centred(), surrogate: policy_gradient(),
            correction: Correction {
                weight: Some(Span::Sequence), high: Some(8.0), ..Correction::default()
            },
            ..base()
        }),
    row("opmd", "arXiv 2505.17826",
        "reward minus group mean, policy gradient with temperature 1",
        || Objective {
            advantage: centred(), surrogate: Surrogate::Reinforce { temperature: 1.0 }, ..base()
        }),
    row("pacs", "arXiv 2509.02522",
        "cross-entropy of scores with beta 1, leave one out, balanced",
        || Objective {
            advantage: centred(),
            surrogate: Surrogate::Pacs {
                beta: 1.0, comparison: Comparison::LeaveOneOut, balanced: true
            },
            ..base()
        }),
    row("luffy", "arXiv 2504.14945",
        "joint reward minus group mean, demonstrations as p / (p + 0.1), clip 0.2, mean over \
         tokens",
        || Objective {
            advantage: centred(), demonstrations: Demonstrations::Shaped { gamma: Some(0.1) },
            ..base()
        }),
    row("chord", "arXiv 2508.11408",
        "`dapo` with a share of 0.1 of imitation weighted by p (1 - p)",
        || Objective {
            demonstrations: Demonstrations::Imitated { share: 0.1, weight: Imitation::Uncertain },
            ..dapo()
        }),
    row("kdrl", "arXiv 2506.02208",
        "`bnpo` with k2 to the teacher 0.002",
        || Objective {
            penalties: penalty(PolicyVersion::Teacher, DivergenceEstimator::K2, 0.002), ..base()
        }),
    row("dro", "arXiv 2405.19107",
        "policy gradient of tokens with k2 to the old policy 0.05",
        || Objective {
            advantage: centred(), surrogate: policy_gradient(),
            penalties: penalty(PolicyVersion::Old, DivergenceEstimator::K2, 0.05), ..base()
        }),
    row("areal", "arXiv 2505.24298",
        "z-score over the batch, clip 0.2, tokens with a weight above 5 dropped, mean over \
         tokens",
        || Objective {
            advantage: group(Scale::Batch),
            correction: Correction {
                weight: Some(Span::Token), high: Some(5.0), beyond: Beyond::Drop,
                ..Correction::default()
            },
            ..base()
        }),
    row("prime_rl", "prime-rl, default loss",
        "reward minus group mean, trust region of 0.2 in probability around the behaviour policy, \
         k2 to it 0.002",
        prime_rl),
    row("ipo", "prime-rl, loss `ipo`",
        "`prime_rl` with both bounds for advantages of either sign",
        || Objective { surrogate: trust(Side::Both, None, Through::Ratio), ..prime_rl() }),
    row("grpo_lambda", "arXiv 2510.00194",
        "z-score times the sum of traces with decay 0.99, clip 0.2, mean over tokens",
        || Objective { advantage: Advantage::Traces { decay: 0.99, epsilon: 1e-6 }, ..base() }),
];

const fn group(scale: Scale) -> Advantage {
    Advantage::Group {
        scale,
        epsilon: 1e-6,
        weights: Vec::new(),
        combine: Combine::SumThenNormalize,
    }
}

const fn z_score() -> Advantage {
    group(Scale::Group)
}

const fn centred() -> Advantage {
    group(Scale::None)
}

const fn named(name: AdvantageEstimator) -> Advantage {
    Advantage::Named { name }
}

fn penalty(version: PolicyVersion, estimator: DivergenceEstimator, weight: f64) -> Vec<Penalty> {
    vec![Penalty::new(version, estimator, weight)]
}

const fn policy_gradient() -> Surrogate {
    Surrogate::Reinforce { temperature: 0.0 }
}

const fn clip(low: f64, high: f64) -> Surrogate {
    Surrogate::Ppo {
        low,
        high,
        dual: None,
    }
}

/// The z-score in the group, token ratios clipped at 0.2, and the mean over tokens; all other axes
/// are off.
fn base() -> Objective {
    Objective {
        advantage: z_score(),
        anchor: PolicyVersion::Old,
        level: Level::Token,
        surrogate: clip(0.2, 0.2),
        aggregation: Aggregation::TokenMean {},
        correction: Correction::default(),
        masks: Masks::default(),
        penalties: Vec::new(),
        demonstrations: Demonstrations::AsRollouts,
        entropy: 0.0,
    }
}

/// The policy gradient of whole completions, without a ratio.
fn of_completions(advantage: Advantage) -> Objective {
    Objective {
        advantage,
        surrogate: policy_gradient(),
        aggregation: Aggregation::SeqMeanTokenSum {},
        ..base()
    }
}

fn dapo() -> Objective {
    Objective {
        surrogate: clip(0.2, 0.28),
        ..base()
    }
}

fn gspo() -> Objective {
    Objective {
        level: Level::Sequence,
        surrogate: clip(3e-4, 4e-4),
        aggregation: Aggregation::SeqMeanTokenMean {},
        ..base()
    }
}

fn trust(side: Side, cap: Option<f64>, through: Through) -> Surrogate {
    Surrogate::TrustRegion {
        divergence: Divergence::Tv,
        side,
        low: 0.2,
        high: 0.2,
        cap,
        through,
    }
}

fn prime_rl() -> Objective {
    Objective {
        advantage: centred(),
        anchor: PolicyVersion::Behaviour,
        surrogate: trust(Side::Pushed, None, Through::Ratio),
        penalties: penalty(PolicyVersion::Behaviour, DivergenceEstimator::K2, 0.002),
        ..base()
    }
}
