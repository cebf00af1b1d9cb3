//! Rules: what a constraint requires of a text. A rule is a JSON object with one operator, so that
//! constraints are composed and not programmed.

use regex::{Regex, RegexBuilder, escape};
use serde_json::{Map, Value};

use crate::formats::Format;
use crate::limits::{self, Limits, MAX_TEXT_BYTES};
use crate::neighbours::Relation;
use crate::units::Unit;
use crate::word_lists;

/// Maximum nesting of rules.
const MAX_DEPTH: usize = 8;

/// Maximum memory of a compiled pattern, in bytes.
pub(crate) const MAX_PATTERN_BYTES: usize = 1 << 18;

/// Maximum number of texts of a rule.
const MAX_TEXTS: usize = 256;

/// What a text must be like.
#[derive(Debug)]
pub(crate) enum Rule {
    /// Every rule holds.
    All(Vec<Rule>),
    /// At least one rule holds.
    Any(Vec<Rule>),
    /// The rule does not hold.
    Not(Box<Rule>),
    /// A number of things is within limits.
    Count(Count),
    /// The percentage of one number in another is within limits.
    Share {
        part: Count,
        of: Count,
        limits: Limits,
    },
    /// Every text occurs.
    Contains(Vec<Needle>),
    /// The rule holds for a unit at a position, or for each.
    Position { unit: Unit, at: At, rule: Box<Rule> },
    /// The text, without white space at its ends, is the given one.
    Equals { text: String, case: bool },
    /// Adjacent units are in a relation.
    Neighbours { unit: Unit, relation: Relation },
    /// The text has a form that is not a number of things.
    Format(Format),
}

/// A position among units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// From the start, from 0.
    Start(usize),
    /// From the end, from 0.
    End(usize),
    /// Every n-th unit.
    Every(usize),
    Each,
}

/// What is counted, and how many there must be.
#[derive(Debug)]
pub(crate) struct Count {
    pub(crate) what: Countable,
    pub(crate) measure: Measure,
    pub(crate) limits: Limits,
}

/// What is counted.
#[derive(Debug)]
pub(crate) enum Countable {
    /// Units, of which only those that are in a list or match a pattern count.
    Units {
        unit: Unit,
        list: Option<Vec<String>>,
        matching: Option<Regex>,
    },
    /// Occurrences of any of these texts.
    Texts(Vec<Needle>),
    /// Matches of a pattern.
    Pattern(Regex),
}

/// Which number of the things counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// All of them.
    All,
    /// Those that differ, ignoring case.
    Distinct,
    /// The largest number of equal ones.
    MostRepeated,
}

/// A text to find.
#[derive(Debug)]
pub(crate) struct Needle {
    pub(crate) text: String,
    pub(crate) regex: Regex,
}

/// An error of a rule: a JSON pointer below the rule, and the message.
pub(crate) type RuleError = (String, String);

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// Where it is wrong, and how.
    pub(crate) fn read(value: &Value) -> Result<Self, RuleError> {
        Self::read_at(value, "", 0)
    }

    fn read_at(value: &Value, pointer: &str, depth: usize) -> Result<Self, RuleError> {
        let error = |message: String| (pointer.to_owned(), message);
        if depth > MAX_DEPTH {
            return Err(error(format!("rules nest deeper than {MAX_DEPTH} levels")));
        }
        let single = value.as_object().filter(|object| object.len() == 1);
        let Some((operator, body)) = single.and_then(|object| object.iter().next()) else {
            return Err(error(
                "a rule must be an object with one of `all`, `any`, `not`, `count`, `share`, \
                 `contains`, `position`, `equals`, `neighbours` and `format`"
                    .to_owned(),
            ));
        };
        let below = format!("{pointer}/{operator}");
        let at = |message: String| (below.clone(), message);
        let rules = || -> Result<Vec<Self>, RuleError> {
            let list = body
                .as_array()
                .filter(|list| !list.is_empty() && list.len() <= MAX_TEXTS);
            let list = list.ok_or_else(|| at(format!("expected 1 to {MAX_TEXTS} rules")))?;
            list.iter()
                .enumerate()
                .map(|(index, rule)| Self::read_at(rule, &format!("{below}/{index}"), depth + 1))
                .collect()
        };
        Ok(match operator.as_str() {
            "all" => Self::All(rules()?),
            "any" => Self::Any(rules()?),
            "not" => Self::Not(Box::new(Self::read_at(body, &below, depth + 1)?)),
            "count" => Self::Count(Count::read(body, true).map_err(at)?),
            "share" => {
                let body = object(body, &["part", "of"], limits::KEYS).map_err(at)?;
                let part = |name: &str| {
                    let value = body
                        .get(name)
                        .ok_or_else(|| at(format!("missing `{name}`")))?;
                    Count::read(value, false).map_err(at)
                };
                Self::Share {
                    part: part("part")?,
                    of: part("of")?,
                    limits: Limits::read(body)
                        .map_err(at)?
                        .ok_or_else(|| at("a share needs `min`, `max` or `exactly`".to_owned()))?,
                }
            }
            "contains" => Self::Contains(needles(body).map_err(at)?),
            "equals" => {
                let (text, case) = match body {
                    Value::String(text) => (text.as_str(), false),
                    body => {
                        let body = object(body, &["text", "case"], &[]).map_err(at)?;
                        let text = body.get("text").and_then(Value::as_str);
                        let text = body_text(text).map_err(at)?;
                        return Ok(Self::Equals {
                            text: text.trim().to_owned(),
                            case: flag(body, "case").map_err(at)?,
                        });
                    }
                };
                Self::Equals {
                    text: body_text(Some(text)).map_err(at)?.trim().to_owned(),
                    case,
                }
            }
            "position" => {
                let body = object(body, &["unit", "at", "rule"], &[]).map_err(at)?;
                let rule = body.get("rule").unwrap_or(&Value::Null);
                Self::Position {
                    unit: unit(body).map_err(at)?,
                    at: position(body.get("at")).map_err(at)?,
                    rule: Box::new(Self::read_at(rule, &format!("{below}/rule"), depth + 1)?),
                }
            }
            "neighbours" => {
                let body = object(body, &["unit", "relation", "by"], &[]).map_err(at)?;
                Self::Neighbours {
                    unit: unit(body).map_err(at)?,
                    relation: Relation::read(body).map_err(at)?,
                }
            }
            "format" => Self::Format(Format::read(body).map_err(at)?),
            other => return Err(error(format!("unknown operator `{other}`"))),
        })
    }

    /// Approximate memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        /// A compiled literal; patterns of tasks may take more.
        const REGEX_BYTES: usize = 4 << 10;
        size_of::<Self>()
            + match self {
                Self::All(rules) | Self::Any(rules) => rules.iter().map(Self::bytes).sum(),
                Self::Not(rule) | Self::Position { rule, .. } => rule.bytes(),
                Self::Count(count) => count.regexes() * REGEX_BYTES,
                Self::Share { part, of, .. } => (part.regexes() + of.regexes()) * REGEX_BYTES,
                Self::Contains(needles) => needles.len() * REGEX_BYTES,
                Self::Equals { text, .. } => text.len(),
                Self::Neighbours { .. } | Self::Format(_) => 0,
            }
    }
}

impl Count {
    fn read(value: &Value, limited: bool) -> Result<Self, String> {
        const KEYS: &[&str] = &[
            "unit",
            "in",
            "matching",
            "text",
            "texts",
            "whole_word",
            "case",
            "pattern",
            "measure",
        ];
        let body = object(value, KEYS, limits::KEYS)?;
        let given = |names: &[&str]| names.iter().any(|name| body.contains_key(*name));
        let what = if given(&["unit"]) {
            if given(&["text", "texts", "pattern"]) {
                return Err("use one of `unit`, `text`, `texts` and `pattern`".to_owned());
            }
            Countable::Units {
                unit: unit(body)?,
                list: body.get("in").map(word_list).transpose()?,
                matching: body.get("matching").map(pattern).transpose()?,
            }
        } else if let Some(own) = body.get("pattern") {
            Countable::Pattern(pattern(own)?)
        } else {
            Countable::Texts(needles(value)?)
        };
        let measure = match body
            .get("measure")
            .map(|name| name.as_str().unwrap_or_default())
        {
            None | Some("all") => Measure::All,
            Some("distinct") => Measure::Distinct,
            Some("most_repeated") => Measure::MostRepeated,
            Some(other) => {
                return Err(format!(
                    "unknown measure `{other}`; use `all`, `distinct` or `most_repeated`"
                ));
            }
        };
        let limits = Limits::read(body)?;
        if limited && limits.is_none() {
            return Err(
                "a count needs `min`, `max`, `exactly`, or `relation` and `number`".to_owned(),
            );
        }
        Ok(Self {
            what,
            measure,
            limits: limits.unwrap_or(Limits::SOME),
        })
    }

    fn regexes(&self) -> usize {
        match &self.what {
            Countable::Units { matching, .. } => usize::from(matching.is_some()),
            Countable::Texts(needles) => needles.len(),
            Countable::Pattern(_) => 1,
        }
    }
}

/// The members of an object that has only known keys.
fn object<'v>(
    value: &'v Value,
    keys: &[&str],
    more: &[&str],
) -> Result<&'v Map<String, Value>, String> {
    let body = value.as_object().ok_or("expected an object")?;
    match body
        .keys()
        .find(|key| !keys.contains(&key.as_str()) && !more.contains(&key.as_str()))
    {
        Some(key) => Err(format!("unknown key `{key}`")),
        None => Ok(body),
    }
}

fn unit(body: &Map<String, Value>) -> Result<Unit, String> {
    let value = body.get("unit").unwrap_or(&Value::Null);
    serde_json::from_value(value.clone()).map_err(|error| format!("`unit`: {error}"))
}

fn flag(body: &Map<String, Value>, name: &str) -> Result<bool, String> {
    match body.get(name) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(format!("`{name}` must be true or false")),
    }
}

fn position(value: Option<&Value>) -> Result<At, String> {
    let value = value.unwrap_or(&Value::Null);
    if value == "each" {
        return Ok(At::Each);
    }
    if let Some(every) = value.get("every") {
        let step = every
            .as_f64()
            .filter(|step| step.fract() == 0.0 && (1.0..1e6).contains(step));
        // Checked to be small.
        let step = step.ok_or("`every` must be a number from 1")? as usize;
        return Ok(At::Every(step));
    }
    let whole = value
        .as_f64()
        .filter(|index| index.fract() == 0.0 && index.abs() < 1e9);
    // Checked to be small.
    let index = whole
        .map(|index| index as i64)
        .filter(|index| *index != 0 && index.abs() <= 1_000_000);
    let message = "`at` must be `each`, a number from 1, or a number from -1 counted from the end";
    let index = index.ok_or(message)?;
    // Checked to be small.
    let place = index.unsigned_abs() as usize - 1;
    Ok(if index > 0 {
        At::Start(place)
    } else {
        At::End(place)
    })
}

/// Compiles a pattern of a task.
fn pattern(value: &Value) -> Result<Regex, String> {
    let pattern = value.as_str().ok_or("a pattern must be a string")?;
    compile(pattern)
}

fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| format!("invalid regular expression: {error}"))
}

/// The texts to find: a string, or an object with `text` or `texts` and how they are found.
fn needles(value: &Value) -> Result<Vec<Needle>, String> {
    let (texts, whole_word, case) = match value {
        Value::String(text) => (vec![text.as_str()], false, false),
        value => {
            let body = value.as_object().ok_or("expected a string or an object")?;
            let texts = match (body.get("text"), body.get("texts")) {
                (Some(Value::String(text)), None) => vec![text.as_str()],
                (None, Some(Value::Array(texts))) => texts
                    .iter()
                    .map(Value::as_str)
                    .collect::<Option<_>>()
                    .ok_or("`texts` must be strings")?,
                _ => return Err("expected a string `text` or a list of strings `texts`".to_owned()),
            };
            (texts, flag(body, "whole_word")?, flag(body, "case")?)
        }
    };
    if texts.is_empty() || texts.len() > MAX_TEXTS {
        return Err(format!(
            "expected 1 to {MAX_TEXTS} texts, not {}",
            texts.len()
        ));
    }
    texts
        .into_iter()
        .map(|text| Needle::new(text, whole_word, case))
        .collect()
}

impl Needle {
    fn new(text: &str, whole_word: bool, case: bool) -> Result<Self, String> {
        let text = body_text(Some(text))?;
        // White space matches any white space, because lines may be wrapped.
        let words: Vec<String> = text.split_whitespace().map(escape).collect();
        let mut source = words.join(r"\s+");
        if whole_word {
            source = format!(r"\b{{start-half}}(?:{source})\b{{end-half}}");
        }
        let regex = RegexBuilder::new(&source)
            .case_insensitive(!case)
            .size_limit(MAX_TEXT_BYTES * 64)
            .build()
            .map_err(|error| format!("a text is too long: {error}"))?;
        Ok(Self {
            text: text.to_owned(),
            regex,
        })
    }
}

fn body_text(text: Option<&str>) -> Result<&str, String> {
    let text = text.ok_or("expected a text")?;
    if text.trim().is_empty() {
        return Err("a text is empty".to_owned());
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("a text must have at most {MAX_TEXT_BYTES} bytes"));
    }
    Ok(text)
}

/// The words of a list, given by name or as an array, in lower case.
fn word_list(value: &Value) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = match value {
        Value::String(name) => {
            let words = word_lists::named(name).ok_or_else(|| {
                format!(
                    "unknown list `{name}`; use one of `{}`",
                    word_lists::names().join("`, `")
                )
            })?;
            words.split_whitespace().map(str::to_lowercase).collect()
        }
        Value::Array(words) if words.len() <= MAX_TEXTS * 4 => words
            .iter()
            .map(|word| word.as_str().map(str::to_lowercase))
            .collect::<Option<_>>()
            .ok_or("`in` must be a name or a list of strings")?,
        _ => return Err("`in` must be the name of a list, or a list of strings".to_owned()),
    };
    words.sort_unstable();
    Ok(words)
}
