//! Properties of families: their sizes, problems without repetition, and the separation of
//! held-out problems.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::collections::{BTreeMap, BTreeSet};

use assay_problems::{Family, Mixture, Problem, Split};
use proptest::prelude::*;
use serde_json::{Value, json};

fn family(options: Value) -> Family {
    serde_json::from_value(options).unwrap()
}

fn family_error(options: Value) -> String {
    serde_json::from_value::<Family>(options)
        .unwrap_err()
        .to_string()
}

/// Families small enough to be enumerated.
fn small() -> Vec<Family> {
    let all = json!([
        { "family": "arithmetic", "operands": 2, "digits": 1, "operators": ["+", "-", "*"] },
        { "family": "arithmetic", "operands": 2, "digits": 2, "operators": ["+"], "form": "boxed" },
        { "family": "arithmetic", "operands": 3, "digits": 1, "operators": ["-", "*"],
          "form": "words" },
        { "family": "modular", "modulus": 23, "operators": ["+", "*"] },
        { "family": "modular", "modulus": 11, "operators": ["-"], "form": "boxed" },
        { "family": "modular", "modulus": 11, "operators": ["-"], "form": "words" },
        { "family": "sorting", "numbers": 3, "digits": 1 },
        { "family": "sorting", "numbers": 2, "digits": 2, "direction": "descending",
          "form": "words" },
        { "family": "sql" },
        { "family": "sql", "form": "words" },
        { "family": "python" },
        { "family": "python", "form": "words" },
    ]);
    serde_json::from_value(all).unwrap()
}

fn both(family: &Family) -> [Vec<Problem>; 2] {
    [Split::Train, Split::HeldOut].map(|split| family.problems(split, 5, 0).collect())
}

#[test]
fn size_equals_number_of_distinct_problems() {
    for family in small() {
        let [train, held_out] = both(&family);
        let all = || train.iter().chain(&held_out);
        assert_eq!(all().count() as u64, family.size(), "{family:?}");
        let keys: BTreeSet<_> = all().map(|problem| &problem.key).collect();
        let prompts: BTreeSet<_> = all().map(|problem| &problem.prompt).collect();
        assert_eq!(
            (keys.len() as u64, prompts.len() as u64),
            (family.size(), family.size()),
            "{family:?}"
        );
        let share = held_out.len() as f64 / family.size() as f64;
        assert!(
            (0.05..0.25).contains(&share),
            "{share} of {family:?} are held out"
        );
    }
}

#[test]
fn alphabet_has_exactly_the_characters_of_all_problems() {
    for family in small() {
        let texts = both(&family)
            .into_iter()
            .flatten()
            .map(|problem| problem.prompt + &problem.solution);
        let seen: BTreeSet<char> = texts.collect::<String>().chars().collect();
        assert_eq!(seen, family.alphabet(), "{family:?}");
    }
}

/// The numbers of a text.
fn numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect()
}

#[test]
fn keeps_permuted_operands_in_one_part() {
    let commutative = [
        family(json!({ "family": "arithmetic", "operands": 3, "digits": 1, "operators": ["+"] })),
        family(json!({ "family": "arithmetic", "operands": 2, "digits": 2, "operators": ["*"] })),
        family(json!({ "family": "modular", "modulus": 23, "operators": ["+"] })),
        family(json!({ "family": "sorting", "numbers": 3, "digits": 1 })),
    ];
    for family in commutative {
        let [train, held_out] = both(&family).map(|problems| {
            let sorted = |problem: Problem| {
                let mut numbers = numbers(&problem.prompt);
                numbers.sort_unstable();
                numbers
            };
            problems.into_iter().map(sorted).collect::<BTreeSet<_>>()
        });
        assert!(train.is_disjoint(&held_out), "{family:?}");
    }
}

#[test]
fn keeps_permuted_terms_and_factors_in_one_part() {
    let family = family(
        json!({ "family": "arithmetic", "operands": 3, "digits": 1, "operators": ["+", "-", "*"] }),
    );
    let [train, held_out] =
        both(&family).map(|problems| problems.into_iter().map(|problem| problem.prompt).collect());
    let part_of = |prompt: &str| {
        let parts: [&BTreeSet<String>; 2] = [&train, &held_out];
        parts.iter().position(|part| part.contains(prompt)).unwrap()
    };
    let mut held_out_seen = false;
    for (a, b, c) in (0..1_000).map(|n| (n / 100, n / 10 % 10, n % 10)) {
        let part = part_of(&format!("{a}+{b}*{c}="));
        held_out_seen |= part == 1;
        assert_eq!(part, part_of(&format!("{c}*{b}+{a}=")));
        assert_eq!(
            part_of(&format!("{a}-{b}+{c}=")),
            part_of(&format!("{c}+{a}-{b}="))
        );
        assert_eq!(
            part_of(&format!("{a}-{b}-{c}=")),
            part_of(&format!("{a}-{c}-{b}="))
        );
    }
    assert!(held_out_seen);
}

#[test]
fn holds_out_the_same_problems_in_every_configuration() {
    let held_out = |options: Value| -> BTreeSet<String> {
        let problems = family(options).problems(Split::HeldOut, 1, 0);
        problems
            .map(|problem| problem.key.replace("words", "plain"))
            .collect()
    };
    let narrow = held_out(
        json!({ "family": "arithmetic", "operands": 2, "digits": 1, "operators": ["+"],
            "form": "words" }),
    );
    let wide = held_out(
        json!({ "family": "arithmetic", "operands": 2, "digits": 2, "operators": ["*", "+"] }),
    );
    assert!(!narrow.is_empty() && narrow.is_subset(&wide));
}

#[test]
fn order_depends_on_seed_and_round() {
    for family in small() {
        let keys = |seed, round| -> Vec<_> {
            family
                .problems(Split::Train, seed, round)
                .take(50)
                .map(|problem| problem.key)
                .collect()
        };
        assert_eq!(keys(1, 0), keys(1, 0));
        assert_ne!(keys(1, 0), keys(2, 0));
        assert_ne!(keys(1, 0), keys(1, 1));
    }
}

#[test]
fn problems_are_stable() {
    // A change of these problems would change the meaning of stored and published runs.
    let problems = [
        json!({ "family": "arithmetic", "operands": 3, "digits": 2, "operators": ["+", "-", "*"] }),
        json!({ "family": "modular", "modulus": 97, "operators": ["-"], "form": "words" }),
        json!({ "family": "sorting", "numbers": 4, "digits": 2, "direction": "descending" }),
        json!({ "family": "sql" }),
        json!({ "family": "python" }),
    ];
    let problems = problems.map(|options| {
        let Problem {
            prompt,
            solution,
            key,
            ..
        } = family(options).problems(Split::Train, 1, 0).next().unwrap();
        [prompt, solution, key]
    });
    let expected = [
        ["83*77-22=", "6369", "arithmetic/plain/83*77-22"],
        [
            "What is (14 - 58) modulo 97? Answer with one number from 0 to 96.",
            "53",
            "modular/words/(14-58)%97",
        ],
        [
            "[88,78,54,55]>",
            "[88,78,55,54]",
            "sorting/plain/88,78,54,55>",
        ],
        [
            "name of staff with age below 40\n",
            "select name from staff where age<40",
            "sql/plain/select name from staff where age<40",
        ],
        [
            "f(x): x times 3 plus 5\n",
            "def f(x):\n    return x*3+5",
            "python/plain/x times 3 plus 5",
        ],
    ];
    assert_eq!(problems, expected);
}

#[test]
fn enumerates_large_families_without_repetition() {
    let options =
        json!({ "family": "arithmetic", "operands": 2, "digits": 9, "operators": ["+", "-", "*"] });
    let family = family(options);
    assert_eq!(family.size(), 3_000_000_000_000_000_000);
    let keys: BTreeSet<_> = family
        .problems(Split::HeldOut, 1, 0)
        .take(1_000)
        .map(|problem| problem.key)
        .collect();
    assert_eq!(keys.len(), 1_000);
}

#[test]
fn rejects_invalid_options_with_a_reason() {
    let arithmetic = |operands: u64, digits: u64, operators: Value| {
        family_error(json!({
            "family": "arithmetic", "operands": operands, "digits": digits,
            "operators": operators,
        }))
    };
    assert_eq!(
        arithmetic(1, 2, json!(["+"])),
        "`operands` is 1; it must be between 2 and 16"
    );
    assert_eq!(
        arithmetic(2, 10, json!(["+"])),
        "`digits` is 10; it must be between 1 and 9"
    );
    let operators = "`operators` must list at least one of `+`, `-`, `*`, and each at most once";
    assert_eq!(
        [
            arithmetic(2, 2, json!([])),
            arithmetic(2, 2, json!(["+", "+"]))
        ],
        [operators, operators]
    );
    assert!(arithmetic(2, 2, json!(["/"])).contains("unknown variant `/`"));
    assert_eq!(
        arithmetic(3, 9, json!(["+"])),
        "the family has more than 2^62 problems; use fewer operands, numbers or digits"
    );
    assert_eq!(
        arithmetic(16, 9, json!(["+"])),
        "the family has more than 2^62 problems; use fewer operands, numbers or digits"
    );
    let modular = json!({ "family": "modular", "modulus": 1, "operators": ["+"] });
    assert_eq!(
        family_error(modular),
        "`modulus` is 1; it must be between 2 and 1000000"
    );
    let boxed = "form `boxed` is only for numeric answers; use `plain` or `words`";
    assert_eq!(
        family_error(json!({ "family": "sorting", "numbers": 3, "digits": 1, "form": "boxed" })),
        boxed
    );
    assert_eq!(
        family_error(json!({ "family": "sql", "form": "boxed" })),
        boxed
    );
    assert_eq!(
        family_error(json!({ "family": "python", "form": "boxed" })),
        boxed
    );
    let unknown = family_error(json!({ "family": "sql", "digits": 3 }));
    assert!(unknown.contains("unknown field `digits`"), "{unknown}");
}

fn mixture(options: Value) -> Mixture {
    serde_json::from_value(options).unwrap()
}

/// The name of the family of a problem: the key up to the first slash.
fn family_name(problem: &Problem) -> &str {
    problem.key.split('/').next().unwrap_or_default()
}

#[test]
fn shares_are_exact() {
    let mixture = mixture(json!([
        { "family": "arithmetic", "operands": 2, "digits": 3, "operators": ["+"], "weight": 3 },
        { "family": "sorting", "numbers": 4, "digits": 2 },
        { "family": "python", "weight": 2 },
    ]));
    let problems: Vec<_> = mixture.endless(Split::Train, 3).take(120).collect();
    for block in problems.chunks(6) {
        let mut counts = BTreeMap::new();
        for problem in block {
            *counts.entry(family_name(problem)).or_insert(0) += 1;
        }
        assert_eq!(
            counts,
            BTreeMap::from([("arithmetic", 3), ("sorting", 1), ("python", 2)])
        );
    }
    assert_eq!(
        mixture.endless(Split::Train, 3).nth(70).as_ref(),
        problems.get(70)
    );
    let alphabet = mixture.alphabet();
    assert!(problems.iter().all(|problem| {
        problem
            .prompt
            .chars()
            .all(|character| alphabet.contains(&character))
    }));
}

#[test]
fn once_ends_and_endless_repeats() {
    let mixture = mixture(json!([
        { "family": "arithmetic", "operands": 2, "digits": 1, "operators": ["+"] },
        { "family": "modular", "modulus": 5, "operators": ["*"] },
    ]));
    let once: Vec<_> = mixture
        .once(Split::Train, 3)
        .map(|problem| problem.key)
        .collect();
    let held_out = mixture.once(Split::HeldOut, 3).count();
    assert_eq!(once.len() + held_out, 125);
    assert_eq!(once.iter().collect::<BTreeSet<_>>().len(), once.len());
    let mut counts = BTreeMap::new();
    for problem in mixture.endless(Split::Train, 3).take(1_000) {
        *counts.entry(problem.key).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), once.len());
    assert!(counts.values().all(|count| *count >= 5), "{counts:?}");
}

#[test]
fn families_without_held_out_problems_do_not_hang() {
    // Some very small families have no held-out problem.
    let empty = (2..12)
        .map(|modulus| json!({ "family": "modular", "modulus": modulus, "operators": ["*"] }));
    let empty = empty.filter(|options| {
        family(options.clone())
            .problems(Split::HeldOut, 0, 0)
            .next()
            .is_none()
    });
    let empty: Vec<_> = empty.collect();
    assert!(!empty.is_empty());
    assert_eq!(
        mixture(json!(empty)).endless(Split::HeldOut, 1).next(),
        None
    );
    let with_python: Vec<_> = empty
        .into_iter()
        .chain([json!({ "family": "python" })])
        .collect();
    let drawn: Vec<_> = mixture(json!(with_python))
        .endless(Split::HeldOut, 1)
        .take(20)
        .collect();
    assert_eq!(
        drawn
            .iter()
            .filter(|problem| family_name(problem) == "python")
            .count(),
        20
    );
}

#[test]
fn rejects_invalid_mixtures() {
    let mixture_error = |options: Value| {
        serde_json::from_value::<Mixture>(options)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        mixture_error(json!([])),
        "a mixture must have at least one family"
    );
    assert_eq!(
        mixture_error(json!([{ "family": "sql", "weight": 0 }])),
        "`weight` is 0; it must be between 1 and 1000"
    );
    let unknown = mixture_error(json!([{ "family": "sql", "wieght": 2 }]));
    assert!(unknown.contains("unknown field `wieght`"), "{unknown}");
}

#[test]
fn writes_one_problem_per_line() {
    let family = family(json!({ "family": "modular", "modulus": 97, "operators": ["+"] }));
    let problems: Vec<_> = family.problems(Split::Train, 1, 0).take(3).collect();
    let mut file = Vec::new();
    assay_problems::write(problems.clone(), &mut file).unwrap();
    let lines: Vec<Value> = file
        .split(|byte| *byte == b'\n')
        .take(3)
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    for (line, problem) in lines.iter().zip(&problems) {
        let expected = json!({
            "prompt": problem.prompt, "task": problem.task, "prompt_key": problem.key,
            "solution": problem.solution,
        });
        assert_eq!(line, &expected);
    }
    assert!(file.ends_with(b"}\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn enumerates_families_without_repetition(
        operands in 2u64..4, modulus in 2u64..20, numbers in 2u64..4, which in 0..3,
        seed in any::<u64>(), round in any::<u64>(),
    ) {
        let family = family(match which {
            0 => json!({
                "family": "arithmetic", "operands": operands, "digits": 1,
                "operators": ["*", "-"],
            }),
            1 => json!({ "family": "modular", "modulus": modulus, "operators": ["-", "+", "*"] }),
            _ => json!({ "family": "sorting", "numbers": numbers, "digits": 1 }),
        });
        let keys = |split| {
            let problems = family.problems(split, seed, round);
            problems.map(|problem| problem.key).collect::<Vec<_>>()
        };
        let (train, held_out) = (keys(Split::Train), keys(Split::HeldOut));
        let distinct: BTreeSet<_> = train.iter().chain(&held_out).collect();
        prop_assert_eq!(distinct.len() as u64, family.size());
        prop_assert_eq!((train.len() + held_out.len()) as u64, family.size());
        let n = usize::try_from(seed % train.len() as u64).unwrap();
        let skipped = family.problems(Split::Train, seed, round).nth(n);
        let skipped = skipped.map(|problem| problem.key);
        prop_assert_eq!(skipped.as_ref(), train.get(n));
    }
}
