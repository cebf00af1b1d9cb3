//! Rollouts as a trainer sends them: eight completions a prompt, long reasoning, answers in the
//! spellings models use.

use serde_json::{Value, json};

/// Completions of one prompt.
pub const GROUP: usize = 8;

/// Gold answers and, for each, spellings that are right and one that is wrong.
const PROBLEMS: &[(&str, &[&str], &str)] = &[
    ("1/3", &[r"\frac{1}{3}", "1/3", r"\dfrac{12}{36}"], "0.34"),
    ("12", &["12", r"3\cdot 4", "12.0"], "21"),
    (
        r"\frac{\sqrt{3}}{2}",
        &[
            r"\frac{\sqrt{3}}{2}",
            r"\dfrac{3}{2\sqrt{3}}",
            r"\sqrt{0.75}",
        ],
        r"\frac{\sqrt{2}}{2}",
    ),
    ("x^2-1", &["x^2-1", "(x-1)(x+1)", "-1+x^{2}"], "x^2+1"),
    (
        "(2,-3)",
        &["(2,-3)", r"\left(2, -3\right)", "(4/2,-3)"],
        "(-3,2)",
    ),
    ("1000000", &["1,000,000", "10^6", r"1\,000\,000"], "100000"),
    (
        r"\frac{a}{a+b}",
        &[r"\frac{a}{a+b}", r"\frac{2a}{2a+2b}", r"1-\frac{b}{a+b}"],
        r"\frac{b}{a+b}",
    ),
    ("[0,1)", &["[0,1)", r"\left[0,1\right)", "[0, 1)"], "[0,1]"),
];

/// `count` items in groups of [`GROUP`], all different; the same count gives the same items.
#[must_use]
pub fn items(count: usize) -> Vec<Value> {
    items_from(0, count)
}

/// As [`items`], starting with rollout number `first`: two ranges that do not meet share no
/// completion.
#[must_use]
pub fn items_from(first: usize, count: usize) -> Vec<Value> {
    (first..first + count).map(item).collect()
}

fn item(number: usize) -> Value {
    let prompt = number / GROUP;
    let (gold, right, wrong) = PROBLEMS[prompt % PROBLEMS.len()];
    let spelling = number % (right.len() + 1);
    let answer = right.get(spelling).copied().unwrap_or(wrong);
    json!({
        "id": format!("p{prompt}-{}", number % GROUP),
        "group": format!("p{prompt}"),
        "prompt": format!("Problem {prompt}: find the value asked for and put it in a box."),
        "completion": completion(number, answer),
        "task": { "type": "math", "answer": gold },
        "meta": { "tokens": 500 + number % 300 },
    })
}

/// About two thousand characters of reasoning before the box, as policies write it.
fn completion(number: usize, answer: &str) -> String {
    let mut text = String::from("<think>\nLet me restate the problem and collect what is given.\n");
    for step in 1..=12 {
        let (a, b) = (number % 97 + step, step * 7 % 31 + 1);
        text.push_str(&format!(
            "Step {step}: with $a_{{{step}}} = {a}$ and $b_{{{step}}} = {b}$ we get $a_{{{step}}} \
             + b_{{{step}}} = {}$, and $\\frac{{{a}}}{{{b}}}$ stays as it is. Checking once more, \
             nothing changes.\n",
            a + b
        ));
    }
    text.push_str(&format!(
        "</think>\nPutting rollout {number} together, the intermediate values cancel and we \
         find\n\n$$\\boxed{{{answer}}}$$\n"
    ));
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn generated_completions_differ_and_resemble_rollouts() {
        let items = super::items(1_024);
        let texts: HashSet<_> = items
            .iter()
            .map(|item| item["completion"].as_str().unwrap())
            .collect();
        assert_eq!(texts.len(), 1_024);
        assert!(
            texts
                .iter()
                .all(|text| (1_500..4_000).contains(&text.len()))
        );
    }
}
