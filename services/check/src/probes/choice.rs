//! `choice`: the right options are written by their labels and, if one is right, by its text.
//! Mutants are wrong options, two options at once and a question.

use assay_core::{Completion, option_order};
use serde_json::Value;

use super::probe::{Probe, Prober, Purpose, plain};
use crate::subject::Subject;

pub(super) const PROBER: Prober = Prober {
    name: "choice",
    gold: &["answer"],
    golds: |subject| match Options::of(subject) {
        Some(options) => options.golds(),
        None => Vec::new(),
    },
    wrong_completions: |subject| match Options::of(subject) {
        Some(options) => options.wrong(),
        None => Vec::new(),
    },
    ..Prober::BASE
};

/// The options as a prompt shows them.
struct Options {
    labels: Vec<String>,
    texts: Vec<String>,
    /// Labels of the right options.
    right: Vec<String>,
    /// Whether one of the right options is enough.
    any: bool,
    is_boxed: bool,
}

impl Options {
    /// `None` if the answer is not one of the options.
    fn of(subject: &Subject) -> Option<Self> {
        let text_of = |value: &Value| value.as_str().map(str::to_owned);
        let (labels, texts): (Vec<String>, Vec<String>) = match subject.body.get("options")? {
            Value::Array(texts) => ('A'..='Z')
                .map(String::from)
                .zip(texts.iter().filter_map(text_of))
                .unzip(),
            Value::Object(texts) => texts
                .iter()
                .filter_map(|(label, text)| Some((label.clone(), text_of(text)?)))
                .unzip(),
            _ => return None,
        };
        let answers: Vec<String> = match subject.body.get("answer")? {
            Value::String(answer) => vec![answer.clone()],
            Value::Array(answers) => answers.iter().filter_map(text_of).collect(),
            _ => return None,
        };
        let position = |answer: &String| {
            let of = |own: &[String]| own.iter().position(|own| own == answer.trim());
            of(&labels).or_else(|| of(&texts))
        };
        let right: Vec<usize> = answers.iter().map(position).collect::<Option<_>>()?;
        let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        let order = match subject.body.get("shuffle").and_then(Value::as_str) {
            Some(key) => option_order(key, &borrowed),
            None => (0..texts.len()).collect(),
        };
        let shown = |option: &usize| order.iter().position(|own| own == option);
        Some(Self {
            right: right
                .iter()
                .filter_map(shown)
                .map(|at| labels[at].clone())
                .collect(),
            texts: order.iter().map(|option| texts[*option].clone()).collect(),
            labels,
            any: subject.body.get("require").and_then(Value::as_str) == Some("any"),
            is_boxed: subject.body.get("extract").and_then(Value::as_str) != Some("whole"),
        })
    }

    fn written(&self, answer: &str) -> Completion {
        if self.is_boxed {
            plain(&format!("The answer is \\boxed{{{answer}}}."))
        } else {
            plain(answer)
        }
    }

    fn golds(&self) -> Vec<Vec<Completion>> {
        if self.right.is_empty() {
            return vec![vec![plain(
                "None of the options is correct: none of the above.",
            )]];
        }
        if self.any {
            return self
                .right
                .iter()
                .map(|label| vec![self.written(label)])
                .collect();
        }
        vec![vec![self.written(&self.right.join(", "))]]
    }

    fn wrong(&self) -> Vec<Probe> {
        let mutant = |description, completion| Probe::new(Purpose::Mutant(description), completion);
        let wrong = self
            .labels
            .iter()
            .zip(&self.texts)
            .find(|(label, _)| !self.right.contains(label));
        let mut probes = Vec::new();
        if let Some((label, text)) = wrong {
            probes.push(mutant("the label of a wrong option", self.written(label)));
            if !text.trim().is_empty() {
                probes.push(mutant("the text of a wrong option", self.written(text)));
            }
            if let [right] = self.right.as_slice() {
                probes.push(mutant(
                    "two alternatives",
                    self.written(&format!("{right} or {label}")),
                ));
            }
        }
        probes
    }
}
