//! Answers with the same normal form in the evidence are equivalent, and many equivalent answers
//! have the same normal form.

use std::collections::BTreeMap;

use assay_math::{Options, Rule, equivalent, normal_form};
use proptest::prelude::*;

use super::labelled;
use super::laws::{elementary, expression, spellings};

/// The normal form in the evidence of an answer; `None` if it cannot be read.
fn normal(answer: &str) -> Option<String> {
    normal_form(answer, &Options::default())
}

#[track_caller]
fn assert_form(form: &str, answers: &[&str]) {
    for answer in answers {
        assert_eq!(normal(answer).as_deref(), Some(form), "{answer}");
    }
}

#[test]
fn like_terms_are_combined_and_products_expanded() {
    assert_form("(2*x)", &["x+x", "2x", r"\frac{4x}{2}", "3x-x"]);
}

#[test]
fn labelled_answers_with_one_form_are_equivalent() {
    let mut forms: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in labelled::rows().iter().filter(|row| row.options.is_empty()) {
        let gold = row.gold.as_str().unwrap_or_default().to_owned();
        let boxed = row.completion.rsplit_once(r"\boxed{");
        let boxed = boxed.and_then(|(_, rest)| rest.rsplit_once('}'));
        let answer = boxed.map(|(answer, _)| answer.to_owned());
        for text in answer.into_iter().chain([gold]) {
            if let Some(form) = normal(&text) {
                let answers = forms.entry(form).or_default();
                if !answers.contains(&text) {
                    answers.push(text);
                }
            }
        }
    }
    let mut pairs = 0;
    let mut wrong = Vec::new();
    for (form, answers) in &forms {
        for a in answers {
            for b in answers.iter().filter(|b| *b != a) {
                pairs += 1;
                if !equivalent(a, b, &Options::default()).equal {
                    wrong.push(format!("`{a}` and `{b}` are both {form}"));
                }
            }
        }
    }
    assert!(pairs > 1_000, "only {pairs} pairs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn expressions_with_one_form_are_equivalent(a in expression(), b in expression()) {
        if normal(&a) == normal(&b) {
            prop_assert!(equivalent(&a, &b, &Options::default()).equal, "{} {}", a, b);
        }
    }

    #[test]
    fn all_spellings_have_one_form(a in expression()) {
        for other in spellings(&a) {
            prop_assert_eq!(normal(&a), normal(&other), "{} {}", a, other);
        }
    }

    #[test]
    fn functions_keep_their_value(a in elementary(), b in elementary()) {
        let (a_form, b_form) = (normal(&a), normal(&b));
        if a_form == b_form {
            prop_assert!(equivalent(&a, &b, &Options::default()).equal, "{} {}", a, b);
        }
        // The form, read again, equals the expression, unless that cannot be compared with a longer
        // one because it is real nowhere or takes too much work.
        let longer = format!(r"({a})(\sin(z)^2+\cos(z)^2)");
        if let Some(form) = a_form.filter(|form| !form.contains('…'))
            && equivalent(&a, &longer, &Options::default()).equal
        {
            let found = equivalent(&a, &form, &Options::default());
            prop_assert!(found.equal || found.rule == Rule::Budget, "{} {}", a, form);
        }
    }
}
