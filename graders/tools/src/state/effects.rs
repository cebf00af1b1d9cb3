//! The effects of each tool on the state: a list of rules, of which the first one whose conditions
//! are met is applied.

use std::collections::BTreeMap;

use assay_documents::Json;

use super::patch::Operation;
use super::template::{Lookup, Path, Value};

/// Most rules of a tool and operations of a rule.
const MAX_RULES: usize = 64;

/// Longest text that a condition may produce, in bytes.
const LONGEST: usize = 1 << 20;

/// Rules by tool.
pub(crate) struct Effects {
    rules: BTreeMap<String, Vec<Rule>>,
    bytes: usize,
}

/// A patch and its conditions.
pub(crate) struct Rule {
    when: Vec<Condition>,
    pub(super) patch: Vec<Operation>,
}

impl Rule {
    /// Whether it contains an operation other than `test`.
    pub(super) fn changes(&self) -> bool {
        self.patch
            .iter()
            .any(|operation| !matches!(operation, Operation::Test(..)))
    }
}

enum Condition {
    Exists(Path),
    Absent(Path),
    Equal(Value, Value),
    Given(String),
    NotGiven(String),
    Kind(Path, String),
}

/// Kinds of values.
const KINDS: &[&str] = &["object", "array", "string", "number", "boolean", "null"];

/// A pointer to an error, relative to the effects, and its message.
type Wrong = (String, String);

impl Effects {
    pub(super) fn read(json: &Json) -> Result<Self, Wrong> {
        let Json::Object(tools) = json else {
            return Err((
                String::new(),
                "`effects` must be an object with an entry for each \
                                        tool"
                    .to_owned(),
            ));
        };
        let mut rules = BTreeMap::new();
        for (name, effect) in tools {
            let place = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            let Json::Array(listed) = effect else {
                return Err((
                    place,
                    "the effect of a tool must be an array of operations or of rules".to_owned(),
                ));
            };
            if listed.len() > MAX_RULES {
                return Err((
                    place,
                    format!("a tool has at most {MAX_RULES} rules or operations"),
                ));
            }
            let plain = listed.first().is_none_or(|first| first.get("op").is_some());
            let read = if plain {
                operations(listed, &place).map(|patch| {
                    vec![Rule {
                        when: Vec::new(),
                        patch,
                    }]
                })
            } else {
                listed
                    .iter()
                    .enumerate()
                    .map(|(at, rule)| self::rule(rule, &format!("{place}/{at}")))
                    .collect()
            };
            rules.insert(name.clone(), read?);
        }
        Ok(Self {
            rules,
            bytes: 2 * json.bytes(),
        })
    }

    pub(super) fn knows(&self, tool: &str) -> bool {
        self.rules.contains_key(tool)
    }

    /// The tools that have effects.
    pub(super) fn tools(&self) -> impl Iterator<Item = &str> {
        self.rules.keys().map(String::as_str)
    }

    pub(super) fn of(&self, tool: &str) -> Option<&[Rule]> {
        self.rules.get(tool).map(Vec::as_slice)
    }

    /// Whether the tool never changes anything.
    pub(crate) fn only_reads(&self, tool: &str) -> bool {
        self.of(tool)
            .is_some_and(|rules| !rules.iter().any(Rule::changes))
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn operations(listed: &[Json], place: &str) -> Result<Vec<Operation>, Wrong> {
    let read = |(at, json): (usize, &Json)| {
        Operation::read(json).map_err(|message| (format!("{place}/{at}"), message))
    };
    listed.iter().enumerate().map(read).collect()
}

/// `{"when": [conditions], "patch": [operations]}`
fn rule(json: &Json, place: &str) -> Result<Rule, Wrong> {
    const SHAPE: &str = "a rule is {\"when\": [conditions], \"patch\": [operations]}";
    let unknown = json
        .members()
        .iter()
        .any(|(key, _)| key != "when" && key != "patch");
    let (when, patch) = (json.get("when"), json.get("patch"));
    let (None | Some(Json::Array(_)), Some(Json::Array(patch)), false) = (when, patch, unknown)
    else {
        return Err((place.to_owned(), SHAPE.to_owned()));
    };
    if patch.len() > MAX_RULES {
        return Err((
            place.to_owned(),
            format!("a rule has at most {MAX_RULES} operations"),
        ));
    }
    let conditions = when
        .map(Json::elements)
        .unwrap_or_default()
        .iter()
        .enumerate();
    let read = |(at, json): (usize, &Json)| {
        condition(json).map_err(|message| (format!("{place}/when/{at}"), message))
    };
    let when = conditions.map(read).collect::<Result<_, _>>()?;
    Ok(Rule {
        when,
        patch: operations(patch, &format!("{place}/patch"))?,
    })
}

fn condition(json: &Json) -> Result<Condition, String> {
    const SHAPE: &str = "a condition is {\"exists\": path}, {\"absent\": path}, {\"equal\": [a, \
                         b]}, {\"given\": argument}, {\"not_given\": argument}, or {\"kind\": \
                         [path, \"object\"]}";
    let [(word, value)] = json.members() else {
        return Err(SHAPE.to_owned());
    };
    match (word.as_str(), value) {
        ("exists", Json::Text(path)) => Path::read(path).map(Condition::Exists),
        ("absent", Json::Text(path)) => Path::read(path).map(Condition::Absent),
        ("given", Json::Text(name)) => Ok(Condition::Given(name.clone())),
        ("not_given", Json::Text(name)) => Ok(Condition::NotGiven(name.clone())),
        ("equal", Json::Array(pair)) if pair.len() == 2 => Ok(Condition::Equal(
            Value::read(&pair[0])?,
            Value::read(&pair[1])?,
        )),
        ("kind", Json::Array(pair)) => match pair.as_slice() {
            [Json::Text(path), Json::Text(kind)] if KINDS.contains(&kind.as_str()) => {
                Ok(Condition::Kind(Path::read(path)?, kind.clone()))
            }
            _ => Err(format!("`kind` has a path and one of {}", KINDS.join(", "))),
        },
        _ => Err(SHAPE.to_owned()),
    }
}

impl Condition {
    /// Whether the condition is met. A path that cannot be resolved, because an argument or a part
    /// of the path is missing, does not exist.
    fn holds(&self, state: &Json, argument: &Lookup<'_>) -> bool {
        let there = |path: &Path| {
            path.place(state, argument)
                .ok()
                .and_then(|place| place.find(state))
        };
        match self {
            Self::Exists(path) => there(path).is_some(),
            Self::Absent(path) => there(path).is_none(),
            Self::Given(name) => argument(name).is_some(),
            Self::NotGiven(name) => argument(name).is_none(),
            Self::Equal(a, b) => match (
                a.value(state, argument, LONGEST),
                b.value(state, argument, LONGEST),
            ) {
                (Ok(a), Ok(b)) => assay_documents::json::same(&a, &b, 0.0),
                _ => false,
            },
            Self::Kind(path, kind) => {
                there(path).is_some_and(|value| value.kind().ends_with(kind.as_str()))
            }
        }
    }
}

/// The rule that applies; `None` for a tool without rules.
///
/// # Errors
/// If the tool has rules and none applies.
pub(super) fn chosen<'a>(
    rules: &'a [Rule],
    state: &Json,
    argument: &Lookup<'_>,
) -> Result<Option<&'a Rule>, String> {
    let applies = |rule: &&Rule| {
        rule.when
            .iter()
            .all(|condition| condition.holds(state, argument))
    };
    match rules.iter().find(applies) {
        Some(rule) => Ok(Some(rule)),
        None if rules.is_empty() => Ok(None),
        None => Err("no rule of the tool applies".to_owned()),
    }
}
