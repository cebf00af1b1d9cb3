//! What families promise of their problems: how many there are, that none comes twice, and that
//! nothing that is held out is learnt.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::collections::{BTreeMap, BTreeSet};

use assay_problems::{Family, Mixture, Problem, Split};
use proptest::prelude::*;
use serde_json::{Value, json};

fn family(options: Value) -> Family {
    serde_json::from_value(options).unwrap()
}

fn refusal(options: Value) -> String {
    serde_json::from_value::<Family>(options)
        .unwrap_err()
        .to_string()
}

/// Small enough to be looked at whole.
fn small() -> Vec<Family> {
    let all = json!([
        { "family": "arithmetic", "operands": 2, "digits": 1, "operators": ["+", "-", "*"] },
        { "family": "arithmetic", "operands": 2, "digits": 2, "operators": ["+"], "form": "boxed" },
        { "family": "arithmetic", "operands": 3, "digits": 1, "operators": ["-", "*"], "form": "words" },
        { "family": "modular", "modulus": 23, "operators": ["+", "*"] },
        { "family": "modular", "modulus": 11, "operators": ["-"], "form": "boxed" },
        { "family": "modular", "modulus": 11, "operators": ["-"], "form": "words" },
        { "family": "sorting", "numbers": 3, "digits": 1 },
        { "family": "sorting", "numbers": 2, "digits": 2, "direction": "descending", "form": "words" },
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
fn sizes_are_what_counting_gives() {
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
fn the_alphabet_is_that_of_all_problems() {
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
fn twins_are_on_one_side() {
    let commutes = [
        family(json!({ "family": "arithmetic", "operands": 3, "digits": 1, "operators": ["+"] })),
        family(json!({ "family": "arithmetic", "operands": 2, "digits": 2, "operators": ["*"] })),
        family(json!({ "family": "modular", "modulus": 23, "operators": ["+"] })),
        family(json!({ "family": "sorting", "numbers": 3, "digits": 1 })),
    ];
    for family in commutes {
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
fn twins_of_mixed_expressions_are_on_one_side() {
    let family = family(
        json!({ "family": "arithmetic", "operands": 3, "digits": 1, "operators": ["+", "-", "*"] }),
    );
    let [train, held_out] =
        both(&family).map(|problems| problems.into_iter().map(|problem| problem.prompt).collect());
    let side = |prompt: &str| {
        let sides: [&BTreeSet<String>; 2] = [&train, &held_out];
        sides.iter().position(|side| side.contains(prompt)).unwrap()
    };
    let mut held_out_seen = false;
    for (a, b, c) in (0..1_000).map(|n| (n / 100, n / 10 % 10, n % 10)) {
        let here = side(&format!("{a}+{b}*{c}="));
        held_out_seen |= here == 1;
        assert_eq!(here, side(&format!("{c}*{b}+{a}=")));
        assert_eq!(
            side(&format!("{a}-{b}+{c}=")),
            side(&format!("{c}+{a}-{b}="))
        );
        assert_eq!(
            side(&format!("{a}-{b}-{c}=")),
            side(&format!("{a}-{c}-{b}="))
        );
    }
    assert!(held_out_seen);
}

#[test]
fn what_is_held_out_is_so_in_every_configuration() {
    let held_out = |options: Value| -> BTreeSet<String> {
        let problems = family(options).problems(Split::HeldOut, 1, 0);
        problems
            .map(|problem| problem.key.replace("words", "plain"))
            .collect()
    };
    let narrow = held_out(
        json!({ "family": "arithmetic", "operands": 2, "digits": 1, "operators": ["+"], "form": "words" }),
    );
    let wide = held_out(
        json!({ "family": "arithmetic", "operands": 2, "digits": 2, "operators": ["*", "+"] }),
    );
    assert!(!narrow.is_empty() && narrow.is_subset(&wide));
}

#[test]
fn a_seed_names_an_order_and_a_round_another() {
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
fn problems_are_what_they_were() {
    // Changed, these would make runs that are stored or published into others.
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
fn large_families_are_numbered_too() {
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
fn what_cannot_be_is_refused_with_a_reason() {
    let arithmetic = |operands: u64, digits: u64, operators: Value| {
        refusal(
            json!({ "family": "arithmetic", "operands": operands, "digits": digits, "operators": operators }),
        )
    };
    assert_eq!(
        arithmetic(1, 2, json!(["+"])),
        "`operands` is 1: give 2 to 16"
    );
    assert_eq!(
        arithmetic(2, 10, json!(["+"])),
        "`digits` is 10: give 1 to 9"
    );
    let operators = "`operators` names each of `+`, `-`, `*` at most once, and one at least";
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
        "the family has more than 2^62 problems: give fewer operands or digits"
    );
    assert_eq!(
        arithmetic(16, 9, json!(["+"])),
        "the family has more than 2^62 problems: give fewer operands or digits"
    );
    let modular = json!({ "family": "modular", "modulus": 1, "operators": ["+"] });
    assert_eq!(refusal(modular), "`modulus` is 1: give 2 to 1000000");
    let boxed = "`form` `boxed` is for numbers: give `plain` or `words`";
    assert_eq!(
        refusal(json!({ "family": "sorting", "numbers": 3, "digits": 1, "form": "boxed" })),
        boxed
    );
    assert_eq!(refusal(json!({ "family": "sql", "form": "boxed" })), boxed);
    assert_eq!(
        refusal(json!({ "family": "python", "form": "boxed" })),
        boxed
    );
    assert!(refusal(json!({ "family": "sql", "digits": 3 })).contains("unknown field `digits`"));
}

fn mixture(options: Value) -> Mixture {
    serde_json::from_value(options).unwrap()
}

/// Up to the first slash of a key.
fn kind(problem: &Problem) -> &str {
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
            *counts.entry(kind(problem)).or_insert(0) += 1;
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
fn what_is_given_once_ends_and_what_is_endless_begins_again() {
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
fn families_without_a_problem_on_a_side_end_and_do_not_hang() {
    // Small enough families have nothing in the eighth that is held out.
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
    let beside: Vec<_> = empty
        .into_iter()
        .chain([json!({ "family": "python" })])
        .collect();
    let drawn: Vec<_> = mixture(json!(beside))
        .endless(Split::HeldOut, 1)
        .take(20)
        .collect();
    assert_eq!(
        drawn
            .iter()
            .filter(|problem| kind(problem) == "python")
            .count(),
        20
    );
}

#[test]
fn mixtures_that_cannot_be_are_refused() {
    let refusal = |options: Value| {
        serde_json::from_value::<Mixture>(options)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(refusal(json!([])), "a mixture has at least one family");
    assert_eq!(
        refusal(json!([{ "family": "sql", "weight": 0 }])),
        "`weight` is 0: give 1 to 1000"
    );
    assert!(refusal(json!([{ "family": "sql", "wieght": 2 }])).contains("unknown field `wieght`"));
}

#[test]
fn a_file_of_prompts_has_one_problem_a_line() {
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
            "prompt": problem.prompt, "task": problem.task, "prompt_key": problem.key, "solution": problem.solution,
        });
        assert_eq!(line, &expected);
    }
    assert!(file.ends_with(b"}\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_family_is_exhausted_without_repetition(
        operands in 2u64..4, modulus in 2u64..20, numbers in 2u64..4, which in 0..3, seed in any::<u64>(), round in any::<u64>(),
    ) {
        let family = family(match which {
            0 => json!({ "family": "arithmetic", "operands": operands, "digits": 1, "operators": ["*", "-"] }),
            1 => json!({ "family": "modular", "modulus": modulus, "operators": ["-", "+", "*"] }),
            _ => json!({ "family": "sorting", "numbers": numbers, "digits": 1 }),
        });
        let keys = |split| family.problems(split, seed, round).map(|problem| problem.key).collect::<Vec<_>>();
        let (train, held_out) = (keys(Split::Train), keys(Split::HeldOut));
        let distinct: BTreeSet<_> = train.iter().chain(&held_out).collect();
        prop_assert_eq!(distinct.len() as u64, family.size());
        prop_assert_eq!((train.len() + held_out.len()) as u64, family.size());
        let at = usize::try_from(seed % train.len() as u64).unwrap();
        let skipped = family.problems(Split::Train, seed, round).nth(at).map(|problem| problem.key);
        prop_assert_eq!(skipped.as_ref(), train.get(at));
    }
}
