//! Every function a policy can switch on, in one table: the documentation and the command line read
//! it. A test holds the table to what the reader of policies knows. Computes nothing.

use serde::Serialize;

/// A function a policy can switch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Function {
    /// Its name: the key within its section, or a name of its own where the section is the
    /// function.
    pub name: &'static str,
    /// The section it stands in.
    pub section: &'static str,
    /// Its formula. `R` is the reward as it stands when the function acts, `W` the larger of what a
    /// wrong answer with the same parts would have there and of the best wrong answer of the group
    /// that does not stand above it, `s` a part's score, `L` a length in tokens.
    pub formula: &'static str,
    /// Where the formula is from.
    pub source: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// A policy that switches it on, as JSON.
    pub example: &'static str,
}

/// All functions, in the order of the sections in which they act.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "veto",
        section: "veto",
        formula: "R = min(R, R as wrong, reward) unless every part is met",
        source: "own derivation; the veto of Rubric Anchors (arXiv 2508.12790)",
        summary: "forbids any gain when a part is not met",
        example: r#"{"veto":{"parts":["safe"],"reward":0}}"#,
    },
    Function {
        name: "raw",
        section: "outcome",
        formula: "R = score after appeal",
        source: "none needed",
        summary: "the score as it is, which is also the default",
        example: r#"{"outcome":"raw"}"#,
    },
    Function {
        name: "backward",
        section: "outcome",
        formula: "R = (r - rho0) / J, J = 1 - rho0 - rho1",
        source: "arXiv 2510.00915",
        summary: "the verdict corrected for its channel's noise, where the channel allows it",
        example: r#"{"outcome":"backward"}"#,
    },
    Function {
        name: "measure",
        section: "outcome",
        formula: "R = measure",
        source: "none needed",
        summary: "a measure, such as the raw reward of a reward model, instead of the score",
        example: r#"{"outcome":{"measure":"raw_reward"}}"#,
    },
    Function {
        name: "ttrl",
        section: "consensus",
        formula: "R = 1[answer = modal answer]",
        source: "TTRL (arXiv 2504.16084); abstention own derivation",
        summary: "pseudo-label by majority, or none when it is not clear",
        example: r#"{"consensus":{"ttrl":{"share":0.5,"margin":0.1}}}"#,
    },
    Function {
        name: "rlccf",
        section: "consensus",
        formula: "R = 1[answer = argmax_a sum_n sum_k SC_n 1[a = o_nk]]",
        source: "RLCCF (arXiv 2508.12338); abstention own derivation",
        summary: "pseudo-label of several models, each weighted by its self-consistency",
        example: r#"{"consensus":{"rlccf":{"share":0.5,"margin":0.2}}}"#,
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
        summary: "each part cuts what the others leave",
        example: r#"{"combine":{"product":{"parts":["style"]}}}"#,
    },
    Function {
        name: "min",
        section: "combine",
        formula: "min(outcome, s_1, s_2, ...)",
        source: "textbook",
        summary: "only the weakest part counts",
        example: r#"{"combine":{"min":{"parts":["style","tone"]}}}"#,
    },
    Function {
        name: "gate_chain",
        section: "combine",
        formula: "R = R_out + 1[R_out > v] sum w_i R_i, each i behind those of higher priority",
        source: "G-RA (arXiv 2508.10548)",
        summary: "parts that count only when all of higher priority are above their bounds",
        example: r#"{"combine":{"gate_chain":{"above":0.5,"chain":[{"part":"style","weight":0.3,"above":0.5},{"part":"tone","weight":0.1}]}}}"#,
    },
    Function {
        name: "rubric",
        section: "combine",
        formula: "sum w g(s) / sum w, at most 0 unless critical parts are met, g(s) = (1 + c) s / \
                  (1 + c s)",
        source: "Rubric Anchors (arXiv 2508.12790) for the idea; own derivation of the form",
        summary: "a rubric with critical parts and saturation",
        example: r#"{"combine":{"rubric":{"weights":{"outcome":2,"style":1},"critical":["safe"],"saturation":1}}}"#,
    },
    Function {
        name: "points",
        section: "combine",
        formula: "sum points b / sum of positive points",
        source: "RuscaRL, the formula of its code",
        summary: "a rubric of points, negative ones for faults",
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
        formula: "sum of w_t s_t up to the first stage below its bound / sum w",
        source: "PRS (arXiv 2512.07478) for the idea; own derivation of the form",
        summary: "parts that have to be reached one after the other",
        example: r#"{"progressive":[{"part":"call","until":1,"weight":1},{"part":"outcome","weight":2}]}"#,
    },
    Function {
        name: "sigmoid",
        section: "shape",
        formula: "mean over references of sigmoid(k (R - ref))",
        source: "PAR (arXiv 2502.18770)",
        summary: "preference to reference completions as the reward",
        example: r#"{"shape":{"sigmoid":{"k":1,"references":[0.2,"reference_reward"]}}}"#,
    },
    Function {
        name: "lsc",
        section: "shape",
        formula: "log sigmoid(R - q85)",
        source: "LSC in the code of PAR (arXiv 2502.18770)",
        summary: "little is gained above what 85 % of the references stay below",
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
        summary: "nothing is gained above the bound",
        example: r#"{"shape":{"clip":{"eta":0.9}}}"#,
    },
    Function {
        name: "bounds",
        section: "shape",
        formula: "min(max(R, low), high)",
        source: "textbook",
        summary: "nothing counts outside the bounds",
        example: r#"{"shape":{"bounds":{"low":-1,"high":1}}}"#,
    },
    Function {
        name: "min_max",
        section: "shape",
        formula: "(R - least) / (greatest - least) of the group",
        source: "a variant in the code of PAR (arXiv 2502.18770)",
        summary: "the group's worst gets 0, its best 1",
        example: r#"{"shape":{"min_max":{}}}"#,
    },
    Function {
        name: "rank",
        section: "shape",
        formula: "(below + equal / 2) / n of the group",
        source: "textbook (mid-rank)",
        summary: "only the order within the group counts",
        example: r#"{"shape":{"rank":{}}}"#,
    },
    Function {
        name: "deviation",
        section: "shape",
        formula: "R held within mean -+ k std of the group",
        source: "a variant in the code of PAR (arXiv 2502.18770)",
        summary: "outliers count no more than the edge",
        example: r#"{"shape":{"deviation":{"k":1}}}"#,
    },
    Function {
        name: "gate",
        section: "format",
        formula: "R = factor max(R, 0) + min(R, 0) - penalty unless the part is met",
        source: "own derivation; factor 0 and penalty 1 are the format reward of the code of \
                 Router-R1",
        summary: "a part that cuts the reward when it is not met",
        example: r#"{"format":[{"part":"tags","factor":0,"penalty":1}]}"#,
    },
    Function {
        name: "otc",
        section: "efficiency",
        formula: "W + (R - W) (1 - alpha + alpha r), r = cos(m pi / (2 m + c)) or sin(m pi / (m + \
                  n))",
        source: "OTC (arXiv 2504.14870)",
        summary: "fewer calls of tools on right answers",
        example: r#"{"efficiency":{"otc":{"form":"grpo","alpha":0.5,"measure":"calls"}}}"#,
    },
    Function {
        name: "work",
        section: "efficiency",
        formula: "W + (R - W) (1 - alpha + alpha (s + d) / (2 d)), s = floor(log2(T_ref / T)) \
                  within -+d",
        source: "ACECode (arXiv 2412.17264) for the idea; own derivation of the form",
        summary: "less work on right answers, by doublings",
        example: r#"{"efficiency":{"work":{"alpha":0.3,"reference":"reference_work","doublings":2}}}"#,
    },
    Function {
        name: "cost",
        section: "efficiency",
        formula: "W + (R - W) (1 - alpha + alpha (1 - min(cost / most, 1)))",
        source: "the code of Router-R1",
        summary: "lower cost on right answers",
        example: r#"{"efficiency":{"cost":{"alpha":0.2,"most":0.05}}}"#,
    },
    Function {
        name: "diversity",
        section: "diversity",
        formula: "W + (R - W) (1 + lambda (1 - equal others / (G - 1)))",
        source: "own derivation",
        summary: "right answers that few others gave get more",
        example: r#"{"diversity":{"lambda":0.2}}"#,
    },
    Function {
        name: "soft_overlong",
        section: "length",
        formula: "R + min(-(L - (max - buffer)) / buffer * factor, 0), at least R - factor",
        source: "DAPO (arXiv 2503.14476, equation 13)",
        summary: "tokens near the limit cost more and more",
        example: r#"{"length":{"soft_overlong":{"max":16384,"buffer":4096,"factor":1}}}"#,
    },
    Function {
        name: "beyond",
        section: "length",
        formula: "R + weight (threshold - L) / (max - threshold) for L > threshold, at least R - \
                  weight",
        source: "G-RA (arXiv 2508.10548)",
        summary: "tokens beyond a threshold cost more and more",
        example: r#"{"length":{"beyond":{"threshold":2048,"max":8192,"weight":0.5}}}"#,
    },
    Function {
        name: "grpo_lambda",
        section: "length",
        formula: "W + (R - W) (1 - alpha sigmoid((L - mean) / std)) for right answers of groups \
                  that are mostly right",
        source: "GRPO-lambda (arXiv 2505.18086)",
        summary: "shorter right answers where the group can afford it",
        example: r#"{"length":{"grpo_lambda":{"alpha":0.6,"share":0.2}}}"#,
    },
    Function {
        name: "rorecomp",
        section: "length",
        formula: "priority: the shortest right and the longest wrong answers",
        source: "RoRecomp (arXiv 2509.25958)",
        summary: "tags that say which batch to train an item in",
        example: r#"{"length":{"rorecomp":{"share":0.5}}}"#,
    },
    Function {
        name: "tail_loop",
        section: "repetition",
        formula: "R - penalty if the text was cut and ends in a loop",
        source: "CAMPO (MiroMind-M1, arXiv 2507.14683)",
        summary: "a small price for going round in circles until cut",
        example: r#"{"repetition":{"tail_loop":{"unit":"words","times":2,"penalty":0.1}}}"#,
    },
    Function {
        name: "ngrams",
        section: "repetition",
        formula: "R - penalty max(share - above, 0) / (1 - above), share = 1 - distinct / all \
                  n-grams",
        source: "textbook",
        summary: "a price for the share of n-grams that come again",
        example: r#"{"repetition":{"ngrams":{"n":4,"above":0.2,"penalty":0.2}}}"#,
    },
    Function {
        name: "delta",
        section: "steps",
        formula: "r_k = alpha (s_k - s_(k+1)), the last but one alpha s_k, the last 0",
        source: "arXiv 2410.15115",
        summary: "rewards of steps whose sum is bounded",
        example: r#"{"steps":{"delta":{"alpha":0.5}}}"#,
    },
    Function {
        name: "clip",
        section: "steps",
        formula: "r_k = alpha min(s_k - eta, 0)",
        source: "arXiv 2410.15115",
        summary: "rewards of steps that can cost and never pay",
        example: r#"{"steps":{"clip":{"alpha":0.5,"eta":0.8}}}"#,
    },
    Function {
        name: "best_of_n",
        section: "filter",
        formula: "w = 1 for the best",
        source: "PF-PPO (arXiv 2409.06957)",
        summary: "only the best of a group is drawn",
        example: r#"{"filter":{"best_of_n":{}}}"#,
    },
    Function {
        name: "best_random",
        section: "filter",
        formula: "w = best for the best, 1 - best shared by the others",
        source: "PF-PPO (arXiv 2409.06957); the shares are an own choice",
        summary: "the best and any other are drawn",
        example: r#"{"filter":{"best_random":{"best":0.4}}}"#,
    },
    Function {
        name: "best_worst",
        section: "filter",
        formula: "w = best for the best, 1 - best for the worst",
        source: "PF-PPO (arXiv 2409.06957)",
        summary: "the best and the worst are drawn",
        example: r#"{"filter":{"best_worst":{"best":0.5}}}"#,
    },
    Function {
        name: "power",
        section: "filter",
        formula: "w = |R|^exponent / sum",
        source: "PF-PPO (arXiv 2409.06957) as in the code of verl",
        summary: "rewards far from 0 are drawn more often",
        example: r#"{"filter":{"power":{"exponent":2}}}"#,
    },
    Function {
        name: "appeal",
        section: "appeals",
        formula: "hash(policy, run, step, id) < share",
        source: "appeals of arXiv 2510.00915; Horvitz and Thompson 1952 for the weights",
        summary: "sends a share of verdicts to a second verifier, whose word is counted or has \
                  the last word",
        example: r#"{"appeals":[{"judge":{"type":"math","answer":"{{ task.answer }}","rounding":"gold"},"negatives":0.25,"positives":0.05,"overturn":true,"specificity":0.99}]}"#,
    },
    Function {
        name: "declared",
        section: "rates",
        formula: "J = 1 - rho0 - rho1",
        source: "none needed",
        summary: "states the rates of a channel until they are measured",
        example: r#"{"rates":{"math/default":{"rho0":0.01,"rho1":0.1}}}"#,
    },
    Function {
        name: "advantage_estimator",
        section: "advantage_estimator",
        formula: "by the estimator's name",
        source: "the estimators of the documentation",
        summary: "how the recommended advantage is made",
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
    fn every_example_switches_on_its_function_and_no_other() {
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

    /// The names that the reader offers when it meets one it does not know.
    fn offered(policy: &Value) -> BTreeSet<String> {
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
    fn every_name_that_the_reader_knows_has_a_line() {
        let sections: BTreeSet<_> = FUNCTIONS
            .iter()
            .map(|function| function.section.to_owned())
            .collect();
        let mut known = offered(&json!({ "zzz": {} }));
        assert!(known.remove("summary"));
        assert_eq!(known, sections);
        let of_one_function = [
            "veto",
            "format",
            "progressive",
            "diversity",
            "appeals",
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
                offered(&json!({ section.as_str(): { "zzz": {} } })),
                lines,
                "{section}"
            );
        }
    }
}
