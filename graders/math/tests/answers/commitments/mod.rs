//! What an answer statement commits to: phrases around the value 42, one a line, with `@` for the
//! value. The phrases of `committed.txt` state it. Those of `denied.txt` deny, reject or retract
//! it. Those of `changed.txt` state another value, a bound or several values, unless they are
//! around a box, which is an answer by itself.

use serde_json::value::RawValue;

use super::grading;

const COMMITTED: &str = include_str!("committed.txt");
const DENIED: &str = include_str!("denied.txt");
const CHANGED: &str = include_str!("changed.txt");

const PROSE: &[&str] = &["42", "$42$"];
const ANYWHERE: &[&str] = &["42", "$42$", r"\boxed{42}"];

/// The completions of some phrases whose verdict is not the expected one.
fn misgraded(phrases: &str, notations: &[&str], accepted: bool) -> Vec<String> {
    let task = RawValue::from_string(r#"{"type":"math","answer":"42"}"#.to_owned()).expect("JSON");
    let mut misgraded = Vec::new();
    for phrase in phrases.lines() {
        // A phrase without `@` is a calculation.
        let notations = if phrase.contains('@') {
            notations
        } else {
            &[""]
        };
        for notation in notations {
            let completion = phrase.replace('@', notation);
            let outcome = grading::graded(&task, &completion);
            if (grading::verdict(&outcome) == "correct") != accepted {
                misgraded.push(completion);
            }
        }
    }
    misgraded
}

#[test]
fn accepts_values_that_a_phrase_commits_to() {
    let rejected = misgraded(COMMITTED, ANYWHERE, true);
    assert!(rejected.is_empty(), "{}", rejected.join("\n"));
}

#[test]
fn rejects_values_that_a_phrase_denies() {
    let accepted = misgraded(DENIED, ANYWHERE, false);
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

#[test]
fn rejects_values_that_a_phrase_changes() {
    let accepted = misgraded(CHANGED, PROSE, false);
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

#[test]
fn has_as_many_phrases_that_commit_as_others() {
    let count = |phrases: &str| phrases.lines().count();
    assert_eq!(count(COMMITTED), count(DENIED) + count(CHANGED));
}
