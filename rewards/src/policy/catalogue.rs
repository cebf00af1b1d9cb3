//! Table of the functions of policies, used by the documentation and the command line. A test
//! compares it with the fields and variants that the parser accepts.

use serde::Serialize;

/// A function that a policy can enable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Function {
    /// Name: the key within the section, or a name of its own if the section is one function.
    pub name: &'static str,
    /// Section of the policy.
    pub section: &'static str,
    /// Formula. `R` is the reward before the function applies, `W` its floor (the larger of the
    /// reward of a wrong answer with the same parts, and of the best wrong answer of the group that
    /// is not above it), `s` the score of a part, `L` a length in tokens.
    pub formula: &'static str,
    /// Source of the formula.
    pub source: &'static str,
    /// Effect of the function.
    pub summary: &'static str,
    /// A policy that enables the function, as JSON.
    pub example: &'static str,
}

/// All functions, in the order in which their sections apply.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "veto",
        section: "veto",
        formula: "R = min(R, R of a wrong answer, reward) unless every part is met",
        source: "own derivation after the veto of Rubric Anchors (arXiv 2508.12790)",
        summary: "limits the reward if a part is not met",
        example: r#"{"veto":{"parts":["safe"],"reward":0}}"#,
    },
    Function {
        name: "raw",
        section: "outcome",
        formula: "R = score after appeal",
        source: "own choice",
        summary: "the score after appeal (default)",
        example: r#"{"outcome":"raw"}"#,
    },
    Function {
        name: "backward",
        section: "outcome",
        formula: "R = (r - rho0) / J, J = 1 - rho0 - rho1",
        source: "arXiv 2510.00915",
        summary: "the verdict corrected for the noise of its channel, where it may be corrected",
        example: r#"{"outcome":"backward"}"#,
    },
    Function {
        name: "measure",
        section: "outcome",
        formula: "R = measure",
        source: "own choice",
        summary: "a measure instead of the score, such as the raw reward of a reward model",
        example: r#"{"outcome":{"measure":"raw_reward"}}"#,
    },
    Function {
        name: "ttrl",
        section: "consensus",
        formula: "R = 1[answer = most frequent answer]",
        source: "TTRL (arXiv 2504.16084); own derivation of the abstention",
        summary: "pseudo-label by majority, or none if the majority is not clear",
        example: r#"{"consensus":{"ttrl":{"share":0.5,"margin":0.1,"votes":3}}}"#,
    },
    Function {
        name: "rlccf",
        section: "consensus",
        formula: "R = 1[answer = argmax_a sum_n sum_k SC_n 1[a = o_nk]]",
        source: "RLCCF (arXiv 2508.12338); own derivation of the abstention",
        summary: "pseudo-label by several models, weighted by their self-consistency",
        example: r#"{"consensus":{"rlccf":{"share":0.5,"margin":0.2,"votes":3}}}"#,
    },
    Function {
        name: "weighted",
        section: "combine",
        formula: "sum w s / sum w",
        source: "textbook",
        summary: "weighted mean of outcome and parts",
        example: r#"{"combine":{"weighted":{"weights":{"outcome":3,"style":1}}}}"#,
    },
    Function {
        name: "product",
        section: "combine",
        formula: "outcome * s_1 * s_2 ..., at most outcome",
        source: "textbook",
        summary: "product of the outcome and the parts",
        example: r#"{"combine":{"product":{"parts":["style"]}}}"#,
    },
    Function {
        name: "min",
        section: "combine",
        formula: "min(outcome, s_1, s_2, ...)",
        source: "textbook",
        summary: "minimum of the outcome and the parts",
        example: r#"{"combine":{"min":{"parts":["style","tone"]}}}"#,
    },
    Function {
        name: "gate_chain",
        section: "combine",
        formula: "R = R_out + 1[R_out > v] sum w_i R_i, over i with all before i above their \
                  thresholds",
        source: "G-RA (arXiv 2508.10548)",
        summary: "parts that count only if all parts of higher priority are above their thresholds",
        example: r#"{"combine":{"gate_chain":{"above":0.5,"chain":[{"part":"style","weight":0.3,"above":0.5},{"part":"tone","weight":0.1}]}}}"#,
    },
    Function {
        name: "rubric",
        section: "combine",
        formula: "sum w g(s) / sum w, at most 0 unless critical parts are met, g(s) = (1 + c) s / \
                  (1 + c s)",
        source: "own derivation after the idea of Rubric Anchors (arXiv 2508.12790)",
        summary: "a rubric with critical parts and saturation",
        example: r#"{"combine":{"rubric":{"weights":{"outcome":2,"style":1},"critical":["safe"],"saturation":1}}}"#,
    },
    Function {
        name: "points",
        section: "combine",
        formula: "sum points b / sum of positive points",
        source: "the code of RuscaRL (arXiv 2508.16949)",
        summary: "a rubric of points, negative for faults",
        example: r#"{"combine":{"points":{"points":{"outcome":5,"style":5,"rude":-4}}}}"#,
    },
    Function {
        name: "cgpo",
        section: "combine",
        formula: "sigmoid(r - r_ref) if every judge is met, else 0",
        source: "CGPO (arXiv 2409.20370)",
        summary: "a calibrated reward under constraints",
        example: r#"{"combine":{"cgpo":{"judges":["outcome","safe"],"measure":"raw_reward","reference":"reference_reward"}}}"#,
    },
    Function {
        name: "stages",
        section: "progressive",
        formula: "(sum of w_t s_t up to the first stage below its minimum score) / sum w",
        source: "own derivation after the idea of PRS (arXiv 2512.07478)",
        summary: "stages that must be reached in order",
        example: r#"{"progressive":[{"part":"call","until":1,"weight":1},{"part":"outcome","weight":2}]}"#,
    },
    Function {
        name: "sigmoid",
        section: "shape",
        formula: "mean over references of sigmoid(k (R - ref))",
        source: "PAR (arXiv 2502.18770)",
        summary: "probability of being preferred to reference completions",
        example: r#"{"shape":{"sigmoid":{"k":1,"references":[0.2,"reference_reward"]}}}"#,
    },
    Function {
        name: "lsc",
        section: "shape",
        formula: "log sigmoid(R - q85)",
        source: "LSC in the code of PAR (arXiv 2502.18770)",
        summary: "saturates above the 85th percentile of the references",
        example: r#"{"shape":{"lsc":{"references":[0.1,0.4,0.9]}}}"#,
    },
    Function {
        name: "tanh",
        section: "shape",
        formula: "tanh(k (R - centre))",
        source: "a variant in the code of PAR (arXiv 2502.18770)",
        summary: "saturates at -1 and 1",
        example: r#"{"shape":{"tanh":{"k":2,"centre":0.5}}}"#,
    },
    Function {
        name: "arctan",
        section: "shape",
        formula: "2/pi arctan(k (R - centre))",
        source: "a variant in the code of PAR (arXiv 2502.18770)",
        summary: "saturates slowly at -1 and 1",
        example: r#"{"shape":{"arctan":{"k":2,"centre":0.5}}}"#,
    },
    Function {
        name: "clip",
        section: "shape",
        formula: "min(R - eta, 0)",
        source: "arXiv 2410.15115",
        summary: "0 from `eta` up, negative below",
        example: r#"{"shape":{"clip":{"eta":0.9}}}"#,
    },
    Function {
        name: "bounds",
        section: "shape",
        formula: "min(max(R, low), high)",
        source: "textbook",
        summary: "clamps to the bounds",
        example: r#"{"shape":{"bounds":{"low":-1,"high":1}}}"#,
    },
    Function {
        name: "min_max",
        section: "shape",
        formula: "(R - min) / (max - min) of the group",
        source: "a variant in the code of PAR (arXiv 2502.18770)",
        summary: "0 for the worst of the group, 1 for the best",
        example: r#"{"shape":{"min_max":{}}}"#,
    },
    Function {
        name: "rank",
        section: "shape",
        formula: "(below + equal / 2) / n of the group",
        source: "textbook (mid-rank)",
        summary: "rank within the group",
        example: r#"{"shape":{"rank":{}}}"#,
    },
    Function {
        name: "deviation",
        section: "shape",
        formula: "R clamped to mean -+ k std of the group",
        source: "a variant in the code of PAR (arXiv 2502.18770)",
        summary: "clamps outliers of the group",
        example: r#"{"shape":{"deviation":{"k":1}}}"#,
    },
    Function {
        name: "gate",
        section: "format",
        formula: "R = factor max(R, 0) + min(R, 0) - penalty unless the part is met",
        source: "own derivation; with factor 0 and penalty 1 the format reward in the code of \
                 Router-R1 (arXiv 2506.09033)",
        summary: "reduces the reward if a part is not met",
        example: r#"{"format":[{"part":"tags","factor":0,"penalty":1}]}"#,
    },
    Function {
        name: "otc",
        section: "efficiency",
        formula: "W + (R - W) (1 - alpha + alpha r), r = cos(m pi / (2 m + c)) or sin(m pi / (m + \
                  n))",
        source: "OTC (arXiv 2504.14870)",
        summary: "reduces right answers with more tool calls",
        example: r#"{"efficiency":{"otc":{"form":"grpo","alpha":0.5,"measure":"calls"}}}"#,
    },
    Function {
        name: "work",
        section: "efficiency",
        formula: "W + (R - W) (1 - alpha + alpha (s + d) / (2 d)), s = floor(log2(T_ref / T)) \
                  within -+d",
        source: "own derivation after the idea of ACECode (arXiv 2412.17264)",
        summary: "reduces right answers with more work, in steps of doublings",
        example: r#"{"efficiency":{"work":{"alpha":0.3,"reference":"reference_work","doublings":2}}}"#,
    },
    Function {
        name: "cost",
        section: "efficiency",
        formula: "W + (R - W) (1 - alpha + alpha (1 - min(cost / max, 1)))",
        source: "the code of Router-R1 (arXiv 2506.09033)",
        summary: "reduces right answers with higher cost",
        example: r#"{"efficiency":{"cost":{"alpha":0.2,"max":0.05}}}"#,
    },
    Function {
        name: "diversity",
        section: "diversity",
        formula: "W + (R - W) (1 + lambda (1 - equal others / (G - 1)))",
        source: "own derivation",
        summary: "increases right answers that are rare in the group",
        example: r#"{"diversity":{"lambda":0.2}}"#,
    },
    Function {
        name: "soft_overlong",
        section: "length",
        formula: "R + min(-(L - (max - buffer)) / buffer * factor, 0), at least R - factor",
        source: "DAPO (arXiv 2503.14476, equation 13)",
        summary: "penalty that increases over the last tokens before the limit",
        example: r#"{"length":{"soft_overlong":{"max":16384,"buffer":4096,"factor":1}}}"#,
    },
    Function {
        name: "beyond",
        section: "length",
        formula: "R + weight (threshold - L) / (max - threshold) for L > threshold, at least R - \
                  weight",
        source: "G-RA (arXiv 2508.10548)",
        summary: "penalty that increases from a threshold",
        example: r#"{"length":{"beyond":{"threshold":2048,"max":8192,"weight":0.5}}}"#,
    },
    Function {
        name: "grpo_lambda",
        section: "length",
        formula: "W + (R - W) (1 - alpha sigmoid((L - mean) / std)) for right answers of groups \
                  that are mostly right",
        source: "GRPO-lambda (arXiv 2505.18086)",
        summary: "reduces longer right answers in groups with a high accuracy",
        example: r#"{"length":{"grpo_lambda":{"alpha":0.6,"share":0.2}}}"#,
    },
    Function {
        name: "rorecomp",
        section: "length",
        formula: "priority: the shortest right and the longest wrong answers",
        source: "RoRecomp (arXiv 2509.25958)",
        summary: "tags each item with the batch to train it in",
        example: r#"{"length":{"rorecomp":{"share":0.5}}}"#,
    },
    Function {
        name: "tail_loop",
        section: "repetition",
        formula: "R - penalty if the text is truncated and ends in a loop",
        source: "CAMPO (MiroMind-M1, arXiv 2507.14683)",
        summary: "penalty for truncated texts that end in a loop",
        example: r#"{"repetition":{"tail_loop":{"unit":"words","times":2,"penalty":0.1}}}"#,
    },
    Function {
        name: "ngrams",
        section: "repetition",
        formula: "R - penalty max(share - above, 0) / (1 - above), share = 1 - distinct / all \
                  n-grams",
        source: "textbook",
        summary: "penalty for the share of repeated n-grams",
        example: r#"{"repetition":{"ngrams":{"n":4,"above":0.2,"penalty":0.2}}}"#,
    },
    Function {
        name: "delta",
        section: "steps",
        formula: "r_k = alpha (s_k - s_(k+1)), the last but one alpha s_k, the last 0",
        source: "arXiv 2410.15115",
        summary: "rewards of steps with a bounded sum",
        example: r#"{"steps":{"delta":{"alpha":0.5}}}"#,
    },
    Function {
        name: "clip",
        section: "steps",
        formula: "r_k = alpha min(s_k - eta, 0)",
        source: "arXiv 2410.15115",
        summary: "rewards of steps that are never positive",
        example: r#"{"steps":{"clip":{"alpha":0.5,"eta":0.8}}}"#,
    },
    Function {
        name: "best_of_n",
        section: "filter",
        formula: "w = 1 for the best",
        source: "PF-PPO (arXiv 2409.06957)",
        summary: "samples the best of a group only",
        example: r#"{"filter":{"best_of_n":{}}}"#,
    },
    Function {
        name: "best_random",
        section: "filter",
        formula: "w = best for the best, 1 - best shared by the others",
        source: "PF-PPO (arXiv 2409.06957); own choice of the weights",
        summary: "samples the best and any other",
        example: r#"{"filter":{"best_random":{"best":0.4}}}"#,
    },
    Function {
        name: "best_worst",
        section: "filter",
        formula: "w = best for the best, 1 - best for the worst",
        source: "PF-PPO (arXiv 2409.06957)",
        summary: "samples the best and the worst",
        example: r#"{"filter":{"best_worst":{"best":0.5}}}"#,
    },
    Function {
        name: "power",
        section: "filter",
        formula: "w = |R|^exponent / sum",
        source: "PF-PPO (arXiv 2409.06957) as in the code of verl",
        summary: "samples rewards far from 0 more often",
        example: r#"{"filter":{"power":{"exponent":2}}}"#,
    },
    Function {
        name: "inverse_probability",
        section: "weights",
        formula: "A = w (R - sum w R / sum w), w = min(1 / pi, max) / mean, pi = share of the \
                  stratum with a reward",
        source: "Horvitz and Thompson 1952; Hajek 1971",
        summary: "items with a reward count more where others of their stratum have none",
        example: r#"{"weights":{"inverse_probability":{"by":["length","truncated"],"max":4}}}"#,
    },
    Function {
        name: "appeal",
        section: "appeals",
        formula: "hash(policy, run, step, id) < share",
        source: "appeals of arXiv 2510.00915; Horvitz and Thompson 1952 for the weights",
        summary: "sends a share of verdicts to a second verifier, which measures error rates and \
                  may overturn",
        example: r#"{"appeals":[{"judge":{"type":"math","answer":"{{ task.answer }}","rounding":"gold"},"negatives":0.25,"positives":0.05,"overturn":true,"specificity":0.99}]}"#,
    },
    Function {
        name: "trust",
        section: "trust",
        formula: "no reward unless P(right | pass) >= precision, by the lower bound of its interval",
        source: "own derivation",
        summary: "a channel shapes rewards only while its passes are known to be right often enough",
        example: r#"{"trust":[{"channels":["external/*"],"precision":0.9}]}"#,
    },
    Function {
        name: "declared",
        section: "rates",
        formula: "J = 1 - rho0 - rho1",
        source: "own choice",
        summary: "declares the rates of a channel until they are measured",
        example: r#"{"rates":{"math/default":{"rho0":0.01,"rho1":0.1}}}"#,
    },
    Function {
        name: "advantage_estimator",
        section: "advantage_estimator",
        formula: "by the name of the estimator",
        source: "the source of the estimator",
        summary: "selects the estimator of `advantage`",
        example: r#"{"advantage_estimator": "rloo"}"#,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::super::PolicyRules;
    use super::*;

    fn policy(function: &Function) -> PolicyRules {
        let value: Value = serde_json::from_str(function.example).unwrap();
        PolicyRules::from_json(&value).unwrap_or_else(|error| panic!("{}: {error}", function.name))
    }

    #[test]
    fn every_example_enables_exactly_its_function() {
        for function in FUNCTIONS {
            let explained = policy(function).explain();
            let found: Vec<_> = explained
                .iter()
                .map(|line| (line.function, line.field.split('.').next().unwrap()))
                .collect();
            assert_eq!(found, [(function.name, function.section)]);
            assert_eq!(explained[0].source, function.source);
            assert!(!explained[0].formula.is_empty() && !explained[0].meaning.is_empty());
        }
    }

    /// The names listed in the error for an unknown name.
    fn expected_names(policy: &Value) -> BTreeSet<String> {
        let message = PolicyRules::from_json(policy).unwrap_err().message;
        let list = message
            .split_once("expected")
            .map(|(_, list)| list.to_owned())
            .unwrap_or_default();
        list.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn table_contains_every_accepted_section_and_function() {
        let sections: BTreeSet<_> = FUNCTIONS
            .iter()
            .map(|function| function.section.to_owned())
            .collect();
        let mut known = expected_names(&json!({ "zzz": {} }));
        assert!(known.remove("summary"));
        assert_eq!(known, sections);
        let of_one_function = [
            "veto",
            "format",
            "progressive",
            "diversity",
            "appeals",
            "trust",
            "rates",
            "advantage_estimator",
        ];
        for section in sections
            .iter()
            .filter(|section| !of_one_function.contains(&section.as_str()))
        {
            let lines = FUNCTIONS
                .iter()
                .filter(|function| function.section == section);
            let lines: BTreeSet<_> = lines.map(|function| function.name.to_owned()).collect();
            assert_eq!(
                expected_names(&json!({ section.as_str(): { "zzz": {} } })),
                lines,
                "{section}"
            );
        }
    }
}
