//! The evidence of a verdict: who judged, what was asked, and what was replied.

use assay_core::Evidence;
use assay_core::evidence::MAX_TEXT;
use serde_json::{Map, Value, json};

use crate::opinion::{Ballot, Opinion};
use crate::reply::Judgement;
use crate::task::ExternalTask;

/// For each judge and order of a pair: its model, the version of its prompt, its judgement and
/// reply, and what it used.
pub(crate) fn of(task: &ExternalTask, opinions: &[Opinion]) -> Evidence {
    let ballots = opinions.iter().flat_map(|opinion| {
        opinion
            .ballots
            .iter()
            .map(move |ballot| of_ballot(task, opinion, ballot))
    });
    Evidence::new().value("judges", ballots.collect::<Vec<Value>>())
}

fn of_ballot(task: &ExternalTask, opinion: &Opinion, ballot: &Ballot) -> Value {
    let (judge, answer) = (&opinion.judge, &ballot.answer);
    let mut facts = Map::new();
    let mut add = |name: &str, value: Value| facts.insert(name.to_owned(), value);
    add("judge", json!(judge.name));
    if let Some(model) = &answer.model {
        add("model", json!(model));
    }
    add("prompt_version", json!(judge.prompt_version));
    add("score", json!(ballot.score));
    match &answer.judgement {
        Judgement::Score(score) => add("given", json!(score)),
        Judgement::Label(label) => add("label", json!(label)),
        Judgement::Proof { rejected } => add("rejected", json!(rejected)),
        Judgement::Preferred(preferred) => add("preferred", json!(preferred.as_str())),
        Judgement::Criteria(met) => {
            let met = task.criteria.iter().zip(met);
            let met: Map<String, Value> = met
                .map(|(criterion, met)| (criterion.id.clone(), json!(met)))
                .collect();
            add("criteria", Value::Object(met))
        }
    };
    if opinion.compares() {
        let place = if ballot.as_first { "first" } else { "second" };
        add("completion", json!(place));
    }
    let reply: String = answer.reply.chars().take(MAX_TEXT).collect();
    add("reply", json!(reply));
    if answer.cached {
        add("cached", json!(true));
    } else {
        let usage = answer.usage;
        add("calls", json!(usage.calls));
        add(
            "tokens",
            json!({ "read": usage.input_tokens, "written": usage.output_tokens }),
        );
        add("cost", json!(usage.cost));
    }
    Value::Object(facts)
}
