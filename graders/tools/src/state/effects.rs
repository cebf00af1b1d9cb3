//! The effects of each tool on the state: a list of rules, of which the first one whose conditions
//! are met is applied.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use assay_base::pointer;
use assay_documents::Json;

use super::amount;
use super::patch::Operation;
use super::template::{Lookup, Path, Value};

/// Maximum number of rules of a tool, and of operations of a rule.
const MAX_RULES: usize = 64;

/// Maximum length of a text that a condition produces, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 20;

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
        self.patch.iter().any(Operation::changes)
    }
}

enum Condition {
    Exists(Path),
    Absent(Path),
    Equal(Value, Value),
    /// Whether the first number is less than the second.
    Less(Value, Value),
    /// Whether the first number is at most the second.
    AtMost(Value, Value),
    /// Whether a list has an element.
    Contains(Value, Value),
    Not(Box<Condition>),
    Any(Vec<Condition>),
    Given(String),
    NotGiven(String),
    Kind(Path, String),
}

/// The kinds of values that a condition can name.
const KINDS: &[&str] = &["object", "array", "string", "number", "boolean", "null"];

/// An error: its JSON pointer, relative to the effects, and its message.
type LocatedError = (String, String);

impl Effects {
    pub(super) fn read(json: &Json) -> Result<Self, LocatedError> {
        let Json::Object(tools) = json else {
            return Err((
                String::new(),
                "`effects` must be an object with an entry for each tool".to_owned(),
            ));
        };
        let mut rules = BTreeMap::new();
        for (name, effect) in tools {
            let pointer = pointer::member("", name);
            let Json::Array(listed) = effect else {
                return Err((
                    pointer,
                    "the effect of a tool must be an array of operations or of rules".to_owned(),
                ));
            };
            if listed.len() > MAX_RULES {
                return Err((
                    pointer,
                    format!("a tool has at most {MAX_RULES} rules or operations"),
                ));
            }
            let has_operations = listed.first().is_none_or(|first| first.get("op").is_some());
            let read = if has_operations {
                operations(listed, &pointer).map(|patch| {
                    vec![Rule {
                        when: Vec::new(),
                        patch,
                    }]
                })
            } else {
                listed
                    .iter()
                    .enumerate()
                    .map(|(at, rule)| self::rule(rule, &format!("{pointer}/{at}")))
                    .collect()
            };
            rules.insert(name.clone(), read?);
        }
        Ok(Self {
            rules,
            bytes: 2 * json.bytes(),
        })
    }

    /// Whether the effects of this tool are declared.
    pub(super) fn contains(&self, tool: &str) -> bool {
        self.rules.contains_key(tool)
    }

    /// The tools with declared effects.
    pub(super) fn tools(&self) -> impl Iterator<Item = &str> {
        self.rules.keys().map(String::as_str)
    }

    pub(super) fn rules_of(&self, tool: &str) -> Option<&[Rule]> {
        self.rules.get(tool).map(Vec::as_slice)
    }

    /// Whether the tool never changes anything.
    pub(crate) fn only_reads(&self, tool: &str) -> bool {
        self.rules_of(tool)
            .is_some_and(|rules| !rules.iter().any(Rule::changes))
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn operations(listed: &[Json], pointer: &str) -> Result<Vec<Operation>, LocatedError> {
    let read = |(at, json): (usize, &Json)| {
        Operation::read(json).map_err(|message| (format!("{pointer}/{at}"), message))
    };
    listed.iter().enumerate().map(read).collect()
}

/// `{"when": [conditions], "patch": [operations]}`
fn rule(json: &Json, pointer: &str) -> Result<Rule, LocatedError> {
    const SHAPE: &str = "expected a rule {\"when\": [conditions], \"patch\": [operations]}";
    let unknown = json
        .members()
        .iter()
        .any(|(key, _)| key != "when" && key != "patch");
    let (when, patch) = (json.get("when"), json.get("patch"));
    let (None | Some(Json::Array(_)), Some(Json::Array(patch)), false) = (when, patch, unknown)
    else {
        return Err((pointer.to_owned(), SHAPE.to_owned()));
    };
    if patch.len() > MAX_RULES {
        return Err((
            pointer.to_owned(),
            format!("a rule has at most {MAX_RULES} operations"),
        ));
    }
    let conditions = when
        .map(Json::elements)
        .unwrap_or_default()
        .iter()
        .enumerate();
    let read = |(at, json): (usize, &Json)| {
        condition(json, 0).map_err(|message| (format!("{pointer}/when/{at}"), message))
    };
    let when = conditions.map(read).collect::<Result<_, _>>()?;
    Ok(Rule {
        when,
        patch: operations(patch, &format!("{pointer}/patch"))?,
    })
}

/// Maximum nesting of conditions.
const MAX_NESTING: usize = 8;

fn condition(json: &Json, depth: usize) -> Result<Condition, String> {
    const SHAPE: &str = "expected a condition {\"exists\": path}, {\"absent\": path}, {\"equal\": \
                         [a, b]}, {\"less\": [a, b]}, {\"at_most\": [a, b]}, {\"contains\": \
                         [list, value]}, {\"given\": argument}, {\"not_given\": argument}, \
                         {\"kind\": [path, \"object\"]}, {\"not\": condition}, or {\"any\": \
                         [conditions]}";
    let [(key, value)] = json.members() else {
        return Err(SHAPE.to_owned());
    };
    if depth > MAX_NESTING {
        return Err(format!(
            "conditions are nested more than {MAX_NESTING} times"
        ));
    }
    let two_values =
        |pair: &[Json]| Ok::<_, String>((Value::read(&pair[0])?, Value::read(&pair[1])?));
    match (key.as_str(), value) {
        ("exists", Json::Text(path)) => Path::read(path).map(Condition::Exists),
        ("absent", Json::Text(path)) => Path::read(path).map(Condition::Absent),
        ("given", Json::Text(name)) => Ok(Condition::Given(name.clone())),
        ("not_given", Json::Text(name)) => Ok(Condition::NotGiven(name.clone())),
        ("equal" | "less" | "at_most" | "contains", Json::Array(pair)) if pair.len() == 2 => {
            let (a, b) = two_values(pair)?;
            Ok(match key.as_str() {
                "equal" => Condition::Equal(a, b),
                "less" => Condition::Less(a, b),
                "at_most" => Condition::AtMost(a, b),
                _ => Condition::Contains(a, b),
            })
        }
        ("not", inner) => Ok(Condition::Not(Box::new(condition(inner, depth + 1)?))),
        ("any", Json::Array(conditions)) => {
            let conditions = conditions.iter();
            let read = conditions.map(|json| condition(json, depth + 1));
            read.collect::<Result<_, _>>().map(Condition::Any)
        }
        ("kind", Json::Array(pair)) => match pair.as_slice() {
            [Json::Text(path), Json::Text(kind)] if KINDS.contains(&kind.as_str()) => {
                Ok(Condition::Kind(Path::read(path)?, kind.clone()))
            }
            _ => Err(format!(
                "`kind` requires a path and one of {}",
                KINDS.join(", ")
            )),
        },
        _ => Err(SHAPE.to_owned()),
    }
}

impl Condition {
    /// Whether the condition is met. A path that cannot be resolved, because an argument or a part
    /// of the path is missing, does not exist.
    fn is_met(&self, state: &Json, argument: &Lookup<'_>) -> bool {
        let find = |path: &Path| {
            path.resolve(state, argument)
                .ok()
                .and_then(|pointer| pointer.find(state))
        };
        let both = |a: &Value, b: &Value| {
            let value = |value: &Value| value.value(state, argument, MAX_TEXT_BYTES).ok();
            Some((value(a)?, value(b)?))
        };
        let order = |a: &Value, b: &Value| match both(a, b)? {
            (Json::Number(a), Json::Number(b)) => amount::order(&a, &b),
            _ => None,
        };
        match self {
            Self::Exists(path) => find(path).is_some(),
            Self::Absent(path) => find(path).is_none(),
            Self::Given(name) => argument(name).is_some(),
            Self::NotGiven(name) => argument(name).is_none(),
            Self::Equal(a, b) => {
                both(a, b).is_some_and(|(a, b)| assay_documents::json::same(&a, &b, 0.0))
            }
            Self::Less(a, b) => order(a, b) == Some(Ordering::Less),
            Self::AtMost(a, b) => order(a, b).is_some_and(Ordering::is_le),
            Self::Contains(list, value) => both(list, value).is_some_and(|(list, value)| {
                let mut elements = list.elements().iter();
                elements.any(|element| assay_documents::json::same(element, &value, 0.0))
            }),
            Self::Not(condition) => !condition.is_met(state, argument),
            Self::Any(conditions) => conditions
                .iter()
                .any(|condition| condition.is_met(state, argument)),
            Self::Kind(path, kind) => {
                find(path).is_some_and(|value| value.kind().ends_with(kind.as_str()))
            }
        }
    }
}

/// The first rule whose conditions are met; `None` for a tool without rules.
///
/// # Errors
/// If the tool has rules, but the conditions of none are met.
pub(super) fn applicable<'a>(
    rules: &'a [Rule],
    state: &Json,
    argument: &Lookup<'_>,
) -> Result<Option<&'a Rule>, String> {
    let applies = |rule: &&Rule| {
        rule.when
            .iter()
            .all(|condition| condition.is_met(state, argument))
    };
    match rules.iter().find(applies) {
        Some(rule) => Ok(Some(rule)),
        None if rules.is_empty() => Ok(None),
        None => Err("no rule of the tool applies".to_owned()),
    }
}
