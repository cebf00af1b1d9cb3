//! `sql`: the gold in a fenced block; wrong is the gold without its rows, or with a comparison
//! turned.

use assay_core::Completion;
use serde_json::Value;

use super::flips::{Flip, changed};
use super::{Kind, Probe, Purpose, fenced};
use crate::subject::Subject;

pub(super) const KIND: Kind = Kind {
    name: "sql",
    gold: &["gold"],
    golds: |subject| {
        golds(subject)
            .into_iter()
            .map(|gold| vec![written(gold)])
            .collect()
    },
    solution: written,
    wants_something: |_| true,
    wrong,
};

const FLIPS: &[Flip] = &[
    Flip {
        from: "<>",
        to: "=",
        what: "`<>` turned",
    },
    Flip {
        from: "!=",
        to: "=",
        what: "`!=` turned",
    },
    Flip {
        from: ">=",
        to: "<",
        what: "`>=` turned",
    },
    Flip {
        from: "<=",
        to: ">",
        what: "`<=` turned",
    },
    Flip {
        from: " > ",
        to: " <= ",
        what: "`>` turned",
    },
    Flip {
        from: " < ",
        to: " >= ",
        what: "`<` turned",
    },
    Flip {
        from: " = ",
        to: " <> ",
        what: "`=` turned",
    },
    Flip {
        from: "max(",
        to: "min(",
        what: "`max` turned",
    },
    Flip {
        from: "min(",
        to: "max(",
        what: "`min` turned",
    },
    Flip {
        from: "desc",
        to: "asc",
        what: "`desc` turned",
    },
    Flip {
        from: "and",
        to: "or",
        what: "`and` turned",
    },
    Flip {
        from: "in",
        to: "not in",
        what: "`in` turned",
    },
];

/// The golds of a task.
pub(crate) fn golds(subject: &Subject) -> Vec<&str> {
    match subject.body.get("gold") {
        Some(Value::String(gold)) => vec![gold],
        Some(Value::Array(golds)) => golds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn written(query: &str) -> Completion {
    fenced("sql", query)
}

fn wrong(subject: &Subject) -> Vec<Probe> {
    let golds = golds(subject);
    let Some(gold) = golds.first() else {
        return Vec::new();
    };
    let bare = gold.trim().trim_end_matches(';');
    let nothing = format!("select * from (\n{bare}\n) as gold where 1 = 0");
    let mut probes = vec![Probe::new(
        Purpose::Mutant("the gold without its rows"),
        written(&nothing),
    )];
    let flipped = changed(bare, FLIPS, "--");
    probes.extend(
        flipped
            .into_iter()
            .map(|(what, query)| Probe::new(Purpose::Variation(what), written(&query))),
    );
    probes
}
