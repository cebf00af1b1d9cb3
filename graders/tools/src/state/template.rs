//! Texts and values with placeholders for arguments and for values of the state.
//!
//! `{name}` is the argument with this name. `{/a/b}` is the value of the state at this path, which
//! may contain placeholders itself, as in `{/users/{id}/name}`. `{*/cwd}` in a path is the path
//! that is stored in the state at `/cwd`. `{{` and `}}` are braces. A value can also be computed,
//! as `{"$sum": ["{a}", 1]}` is.

use assay_base::pointer::unescaped;
use assay_documents::Json;
use assay_documents::json::{MAX_DEPTH, Pointer};

use super::amount;

/// Error if the budget of added bytes is exhausted.
pub(super) const FULL: &str = "the calls add too many bytes to the state";

/// Maximum length of a path, and of a step of a path, in bytes.
const MAX_PATH_BYTES: usize = 4_096;

/// Returns the argument with a name.
pub(crate) type Lookup<'a> = dyn Fn(&str) -> Option<Json> + 'a;

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Argument(String),
    State(Path),
    /// Allowed in paths only.
    StatePath(Path),
}

/// A JSON pointer with placeholders. A literal step `..` removes the previous one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path(Template);

/// A value with placeholders in its strings; `{"$path": "…"}` is a path as text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Plain(Json),
    Template(Template),
    Path(Path),
    Computed(Computation, Vec<Value>),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// How a value is computed from others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Computation {
    /// The sum of all numbers.
    Sum,
    /// The first number without the others.
    Difference,
    /// The product of all numbers.
    Product,
    /// The number of elements, members or characters of a single value.
    Length,
}

impl Computation {
    fn named(key: &str) -> Option<Self> {
        Some(match key {
            "$sum" => Self::Sum,
            "$difference" => Self::Difference,
            "$product" => Self::Product,
            "$length" => Self::Length,
            _ => return None,
        })
    }

    fn of(self, values: &[Json]) -> Result<Json, String> {
        if let (Self::Length, [value]) = (self, values) {
            let length = match value {
                Json::Array(elements) => elements.len(),
                Json::Object(members) => members.len(),
                Json::Text(text) => text.chars().count(),
                other => return Err(format!("{} has no length", other.kind())),
            };
            return Ok(Json::Number(length.to_string()));
        }
        let mut numbers = values.iter().map(|value| match value {
            Json::Number(digits) => Ok(digits.as_str()),
            other => Err(format!("expected numbers, found {}", other.kind())),
        });
        let first = numbers.next().ok_or("expected numbers")??.to_owned();
        let result = numbers.try_fold(first, |result, number| {
            let number = number?;
            let next = match self {
                Self::Product => amount::product(&result, number),
                Self::Difference => amount::sum(&result, number, true),
                Self::Sum | Self::Length => amount::sum(&result, number, false),
            };
            next.ok_or_else(|| "the number has too many digits".to_owned())
        })?;
        Ok(Json::Number(result))
    }
}

impl Template {
    fn read(text: &str) -> Result<Self, String> {
        let (mut parts, mut plain) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            if rest[at + 1..].starts_with(brace) {
                plain.push_str(brace);
                rest = &rest[at + 2..];
                continue;
            }
            let end = if brace == "{" {
                closing_brace(&rest[at..])
            } else {
                None
            };
            let end = end.ok_or_else(|| {
                format!("unmatched brace in `{text}`; double it for a literal brace")
            })?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            let inside = &rest[at + 1..at + end];
            parts.push(match inside.strip_prefix('*') {
                Some(path) => Part::StatePath(Path::read(path)?),
                None if inside.is_empty() => {
                    return Err(format!(
                        "`{{}}` in `{text}` is empty; name an argument or a path"
                    ));
                }
                None if inside.starts_with('/') => Part::State(Path::read(inside)?),
                None => Part::Argument(inside.to_owned()),
            });
            rest = &rest[at + end + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() || parts.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self(parts))
    }

    /// The value of the template: that of its only placeholder, with its type, or else a text of at
    /// most `max_bytes` bytes.
    fn value(&self, state: &Json, argument: &Lookup<'_>, max_bytes: usize) -> Result<Json, String> {
        match self.0.as_slice() {
            [only] => only.value(state, argument),
            parts => {
                let mut text = String::new();
                for part in parts {
                    text.push_str(&scalar_text(&part.value(state, argument)?)?);
                    if text.len() > max_bytes {
                        return Err(FULL.to_owned());
                    }
                }
                Ok(Json::Text(text))
            }
        }
    }
}

/// Index of the brace that matches the one at the start of a text.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// A scalar as text.
fn scalar_text(value: &Json) -> Result<String, String> {
    match value {
        Json::Text(text) => Ok(text.clone()),
        Json::Number(_) | Json::Bool(_) | Json::Null => Ok(value.to_string()),
        Json::Array(_) | Json::Object(_) => {
            Err(format!("{} cannot be part of a text", value.kind()))
        }
    }
}

impl Part {
    fn value(&self, state: &Json, argument: &Lookup<'_>) -> Result<Json, String> {
        match self {
            Self::Text(text) => Ok(Json::Text(text.clone())),
            Self::Argument(name) => {
                argument(name).ok_or_else(|| format!("the argument `{name}` is missing"))
            }
            Self::State(path) | Self::StatePath(path) => {
                let pointer = path.resolve(state, argument)?;
                pointer
                    .find(state)
                    .cloned()
                    .ok_or_else(|| format!("no value at `{pointer}`"))
            }
        }
    }
}

impl Path {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if !(text.is_empty() || text.starts_with('/') || text.starts_with("{*")) {
            return Err(format!(
                "the path `{text}` must be empty or begin with `/` or `{{*/…}}`"
            ));
        }
        let is_escape = |at: usize| matches!(text.as_bytes().get(at + 1), Some(b'0' | b'1'));
        if !text.match_indices('~').all(|(at, _)| is_escape(at)) {
            return Err(format!(
                "`~` in the path `{text}` must be followed by 0 or 1"
            ));
        }
        Template::read(text).map(Self)
    }

    /// The pointer to which the path resolves in a state. The value of an argument is one step or a
    /// part of one, whatever characters it contains.
    pub(super) fn resolve(&self, state: &Json, argument: &Lookup<'_>) -> Result<Pointer, String> {
        // Each step, and whether it is a literal part of the path.
        let mut steps: Vec<(String, bool)> = Vec::new();
        for part in &self.0.0 {
            match part {
                Part::Text(text) => {
                    let mut pieces = text.split('/');
                    let first = unescaped(pieces.next().unwrap_or_default());
                    if !first.is_empty()
                        && let Some((step, _)) = steps.last_mut()
                    {
                        step.push_str(&first);
                    }
                    steps.extend(pieces.map(|piece| (unescaped(piece), true)));
                }
                Part::StatePath(_) => {
                    let Json::Text(path) = part.value(state, argument)? else {
                        return Err("the value is not a path".to_owned());
                    };
                    if path.len() > MAX_PATH_BYTES {
                        return Err("a path is too long".to_owned());
                    }
                    let pointer = Pointer::read(&path).map_err(|error| error.to_string())?;
                    steps.extend(pointer.steps().iter().map(|step| (step.clone(), false)));
                }
                Part::Argument(_) | Part::State(_) => {
                    let text = scalar_text(&part.value(state, argument)?)?;
                    if text.len() > MAX_PATH_BYTES {
                        return Err("a step of a path is too long".to_owned());
                    }
                    match steps.last_mut() {
                        Some((step, is_literal)) => {
                            step.push_str(&text);
                            *is_literal = false;
                        }
                        None => return Err("a path must begin with `/`".to_owned()),
                    }
                }
            }
        }
        if steps.len() > MAX_DEPTH {
            return Err("a path is too long".to_owned());
        }
        let mut resolved: Vec<String> = Vec::with_capacity(steps.len());
        for (step, is_literal) in steps {
            if is_literal && step == ".." {
                resolved
                    .pop()
                    .ok_or("`..` goes above the root of the state")?;
            } else {
                resolved.push(step);
            }
        }
        Ok(Pointer::from_steps(resolved))
    }
}

impl Value {
    pub(super) fn read(json: &Json) -> Result<Self, String> {
        Ok(match json {
            Json::Text(text) if text.contains(['{', '}']) => Self::Template(Template::read(text)?),
            Json::Array(elements) => {
                Self::Array(elements.iter().map(Self::read).collect::<Result<_, _>>()?)
            }
            Json::Object(members) => match members.as_slice() {
                [(key, Json::Text(path))] if key == "$path" => Self::Path(Path::read(path)?),
                [(key, operands)] if Computation::named(key).is_some() => {
                    Self::computed(key, operands)?
                }
                members if members.iter().any(|(key, _)| key == "$path") => {
                    return Err(
                        "`$path` must be a string and the only key of its object".to_owned()
                    );
                }
                members => {
                    let member = |(key, value): &(String, Json)| {
                        Self::read(value).map(|value| (key.clone(), value))
                    };
                    Self::Object(members.iter().map(member).collect::<Result<_, _>>()?)
                }
            },
            plain => Self::Plain(plain.clone()),
        })
    }

    /// A value that is computed from its operands.
    fn computed(key: &str, operands: &Json) -> Result<Self, String> {
        let shape = || format!("`{key}` must be an array of values");
        let computation = Computation::named(key).ok_or_else(shape)?;
        let operands = match (computation, operands) {
            (Computation::Length, operand) => vec![Self::read(operand)?],
            (_, Json::Array(operands)) if !operands.is_empty() => {
                operands.iter().map(Self::read).collect::<Result<_, _>>()?
            }
            _ => return Err(shape()),
        };
        Ok(Self::Computed(computation, operands))
    }

    /// The value in a state. Each text of a template has at most `max_bytes` bytes.
    pub(super) fn value(
        &self,
        state: &Json,
        argument: &Lookup<'_>,
        max_bytes: usize,
    ) -> Result<Json, String> {
        Ok(match self {
            Self::Plain(json) => json.clone(),
            Self::Template(template) => template.value(state, argument, max_bytes)?,
            Self::Path(path) => Json::Text(path.resolve(state, argument)?.to_string()),
            Self::Computed(computation, operands) => {
                let operand = |operand: &Self| operand.value(state, argument, max_bytes);
                computation.of(&operands
                    .iter()
                    .map(operand)
                    .collect::<Result<Vec<_>, _>>()?)?
            }
            Self::Array(elements) => Json::Array(
                elements
                    .iter()
                    .map(|element| element.value(state, argument, max_bytes))
                    .collect::<Result<_, _>>()?,
            ),
            Self::Object(members) => {
                let member = |(key, value): &(String, Self)| {
                    value
                        .value(state, argument, max_bytes)
                        .map(|value| (key.clone(), value))
                };
                Json::Object(members.iter().map(member).collect::<Result<_, _>>()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> Json {
        Json::read(r#"{"cwd":"/root/a","root":{"a":{"x/y":1}},"users":{"7":{"name":"Ada"}}}"#)
            .unwrap()
    }

    fn argument(name: &str) -> Option<Json> {
        let value = match name {
            "id" => Json::Number("7".to_owned()),
            "file" => Json::Text("x/y".to_owned()),
            "up" => Json::Text("..".to_owned()),
            _ => return None,
        };
        Some(value)
    }

    fn resolved(path: &str) -> Result<String, String> {
        Path::read(path)
            .unwrap()
            .resolve(&state(), &argument)
            .map(|pointer| pointer.to_string())
    }

    fn value(json: &str) -> Result<String, String> {
        Value::read(&Json::read(json).unwrap())
            .unwrap()
            .value(&state(), &argument, 1_000)
            .map(|value| value.to_string())
    }

    #[test]
    fn resolves_paths() {
        assert_eq!(resolved("/users/{id}/name").as_deref(), Ok("/users/7/name"));
        assert_eq!(resolved("{*/cwd}/{file}").as_deref(), Ok("/root/a/x~1y"));
        assert_eq!(resolved("{*/cwd}/b{id}c").as_deref(), Ok("/root/a/b7c"));
        assert_eq!(resolved("{*/cwd}/..").as_deref(), Ok("/root"));
        assert_eq!(resolved("").as_deref(), Ok(""));
    }

    #[test]
    fn resolves_only_literal_parent_steps() {
        assert_eq!(resolved("{*/cwd}/{up}").as_deref(), Ok("/root/a/.."));
        assert_eq!(
            resolved("/..").unwrap_err(),
            "`..` goes above the root of the state"
        );
    }

    #[test]
    fn fills_in_values_with_their_types() {
        assert_eq!(value(r#""{id}""#).as_deref(), Ok("7"));
        assert_eq!(
            value(r#""no. {id} of {/users/{id}/name}""#).as_deref(),
            Ok(r#""no. 7 of Ada""#)
        );
        assert_eq!(
            value(r#"{"a":["{/root}"],"b":"{{x}}"}"#).as_deref(),
            Ok(r#"{"a":[{"a":{"x/y":1}}],"b":"{x}"}"#)
        );
        assert_eq!(
            value(r#"{"$path":"{*/cwd}/.."}"#).as_deref(),
            Ok(r#""/root""#)
        );
        assert_eq!(
            value(r#"{"$sum":["{id}",{"$product":[2,0.5]},1]}"#).as_deref(),
            Ok("9")
        );
        assert_eq!(
            value(r#"{"$difference":[10,"{id}",{"$length":"{/users}"}]}"#).as_deref(),
            Ok("2")
        );
        assert_eq!(
            value(r#"{"$sum":["{file}"]}"#).unwrap_err(),
            "expected numbers, found a string"
        );
        assert_eq!(
            value(r#""{missing}""#).unwrap_err(),
            "the argument `missing` is missing"
        );
        assert_eq!(value(r#""{/none}""#).unwrap_err(), "no value at `/none`");
        for text in ["{a", "a}", "{a{b}"] {
            assert!(Value::read(&Json::Text(text.to_owned())).is_err(), "{text}");
        }
    }
}
