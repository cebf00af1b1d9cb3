//! The mathematics grader: reading an answer, and deciding whether two are equal.

use assay_math::budget::STEPS;
use assay_math::{Comparison, Gold, Options, Rule, equivalent};

/// Parses any text, without panicking and deterministically.
pub fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    assert_eq!(
        assay_math::read(text),
        assay_math::read(text),
        "deterministic"
    );
}

/// Checks the properties of a comparison. The gold ends at the first line break or NUL; the answer
/// follows it.
pub fn decide(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (gold, answer) = text.split_once(['\n', '\0']).unwrap_or((text, text));
    let forwards = compare(gold, answer);
    let backwards = compare(answer, gold);
    assert_eq!(forwards, compare(gold, answer), "deterministic");
    // A multiple choice is not: `(C) red or blue` may be the text of option C, but as an answer it
    // offers two.
    if forwards.rule != Rule::Choice {
        assert_eq!(
            forwards.equal, backwards.equal,
            "symmetric: {forwards:?} {backwards:?}"
        );
    }
    for side in [gold, answer] {
        // What costs too much equals nothing, itself included.
        if Gold::read(side, &Options::default()).is_ok() {
            let found = compare(side, side);
            assert!(
                found.equal || found.rule == Rule::Budget,
                "reflexive: {side:?} {found:?}"
            );
            // The same answer without the short cut for equal texts.
            let spaced = format!("{side} \\quad ");
            if assay_math::read(side) == assay_math::read(&spaced) {
                let found = compare(side, &spaced);
                assert!(
                    found.equal || found.rule == Rule::Budget,
                    "reflexive: {side:?} {found:?}"
                );
            }
        }
    }
}

fn compare(gold: &str, answer: &str) -> Comparison {
    let found = equivalent(gold, answer, &Options::default());
    assert!(
        found.steps <= STEPS,
        "{} steps: {gold:?} {answer:?}",
        found.steps
    );
    found
}
