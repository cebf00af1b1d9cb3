//! The decider: the laws every comparison keeps. The gold ends at the first line break or NUL; the answer follows it.
#![no_main]

use assay_math::budget::STEPS;
use assay_math::{Comparison, Gold, Options, Rule, equivalent, read};
use libfuzzer_sys::fuzz_target;

fn compare(gold: &str, answer: &str) -> Comparison {
    let found = equivalent(gold, answer, &Options::default());
    assert!(found.steps <= STEPS, "{} steps: {gold:?} {answer:?}", found.steps);
    found
}

fuzz_target!(|text: &str| {
    let (gold, answer) = text.split_once(['\n', '\0']).unwrap_or((text, text));
    let forwards = compare(gold, answer);
    let backwards = compare(answer, gold);
    assert_eq!(forwards, compare(gold, answer), "deterministic");
    // A multiple choice is not: `(C) red or blue` may be the text of option C, but as an answer it offers two.
    if forwards.rule != Rule::Choice {
        assert_eq!(forwards.equal, backwards.equal, "symmetric: {forwards:?} {backwards:?}");
    }
    for side in [gold, answer] {
        // What costs too much equals nothing, itself included.
        if Gold::read(side, &Options::default()).is_ok() {
            let found = compare(side, side);
            assert!(found.equal || found.rule == Rule::Budget, "reflexive: {side:?} {found:?}");
            // The same answer without the short cut for equal texts.
            let spaced = format!("{side} \\quad ");
            if read(side) == read(&spaced) {
                let found = compare(side, &spaced);
                assert!(found.equal || found.rule == Rule::Budget, "reflexive: {side:?} {found:?}");
            }
        }
    }
});
