//! Texts and values with placeholders for arguments and for values of the state.
//!
//! `{name}` is the argument of that name; `{/a/b}` is the value there in the state, in which a name
//! in braces is an argument again, as in `{/users/{id}/name}`; `{*/cwd}` in a path is a path stored
//! there. `{{` and `}}` are braces.

use assay_documents::Json;
use assay_documents::json::{MAX_DEPTH, Pointer};

/// Error when a state may not grow further.
pub(super) const FULL: &str = "the calls add too many bytes to the state";

/// Longest path and longest step of one, in bytes.
const LONGEST: usize = 4_096;

/// Looks arguments up.
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
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
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
                closing(&rest[at..])
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

    /// Its value: that of its only placeholder with its type, else a text of at most `most` bytes.
    fn value(&self, state: &Json, argument: &Lookup<'_>, most: usize) -> Result<Json, String> {
        match self.0.as_slice() {
            [only] => only.value(state, argument),
            parts => {
                let mut text = String::new();
                for part in parts {
                    text.push_str(&plain(&part.value(state, argument)?)?);
                    if text.len() > most {
                        return Err(FULL.to_owned());
                    }
                }
                Ok(Json::Text(text))
            }
        }
    }
}

/// Index of the brace that closes the one at the start of a text.
fn closing(text: &str) -> Option<usize> {
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
fn plain(value: &Json) -> Result<String, String> {
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
                let place = path.place(state, argument)?;
                place
                    .find(state)
                    .cloned()
                    .ok_or_else(|| format!("no value at `{place}`"))
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

    /// The pointer that it resolves to now. The value of an argument is one step, or a part of one,
    /// whatever characters it has.
    pub(super) fn place(&self, state: &Json, argument: &Lookup<'_>) -> Result<Pointer, String> {
        // A step, and whether it is a literal part of the path.
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
                    if path.len() > LONGEST {
                        return Err("a path is too long".to_owned());
                    }
                    let pointer = Pointer::read(&path).map_err(|error| error.to_string())?;
                    steps.extend(pointer.steps().iter().map(|step| (step.clone(), false)));
                }
                Part::Argument(_) | Part::State(_) => {
                    let text = plain(&part.value(state, argument)?)?;
                    if text.len() > LONGEST {
                        return Err("a step of a path is too long".to_owned());
                    }
                    match steps.last_mut() {
                        Some((step, written)) => {
                            step.push_str(&text);
                            *written = false;
                        }
                        None => return Err("a path must begin with `/`".to_owned()),
                    }
                }
            }
        }
        if steps.len() > MAX_DEPTH {
            return Err("a path is too long".to_owned());
        }
        let mut place: Vec<String> = Vec::with_capacity(steps.len());
        for (step, written) in steps {
            if written && step == ".." {
                place.pop().ok_or("the path goes back beyond the root")?;
            } else {
                place.push(step);
            }
        }
        Ok(Pointer::from_steps(place))
    }
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
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

    /// Its current value; a produced text has at most `most` bytes.
    pub(super) fn value(
        &self,
        state: &Json,
        argument: &Lookup<'_>,
        most: usize,
    ) -> Result<Json, String> {
        Ok(match self {
            Self::Plain(json) => json.clone(),
            Self::Template(template) => template.value(state, argument, most)?,
            Self::Path(path) => Json::Text(path.place(state, argument)?.to_string()),
            Self::Array(elements) => Json::Array(
                elements
                    .iter()
                    .map(|element| element.value(state, argument, most))
                    .collect::<Result<_, _>>()?,
            ),
            Self::Object(members) => {
                let member = |(key, value): &(String, Self)| {
                    value
                        .value(state, argument, most)
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

    fn place(path: &str) -> Result<String, String> {
        Path::read(path)
            .unwrap()
            .place(&state(), &argument)
            .map(|place| place.to_string())
    }

    fn value(json: &str) -> Result<String, String> {
        Value::read(&Json::read(json).unwrap())
            .unwrap()
            .value(&state(), &argument, 1_000)
            .map(|value| value.to_string())
    }

    #[test]
    fn fills_in_pointers() {
        assert_eq!(place("/users/{id}/name").as_deref(), Ok("/users/7/name"));
        assert_eq!(place("{*/cwd}/{file}").as_deref(), Ok("/root/a/x~1y"));
        assert_eq!(place("{*/cwd}/b{id}c").as_deref(), Ok("/root/a/b7c"));
        assert_eq!(place("{*/cwd}/..").as_deref(), Ok("/root"));
        assert_eq!(place("").as_deref(), Ok(""));
    }

    #[test]
    fn ignores_arguments_without_an_effect() {
        assert_eq!(place("{*/cwd}/{up}").as_deref(), Ok("/root/a/.."));
        assert_eq!(
            place("/..").unwrap_err(),
            "the path goes back beyond the root"
        );
    }

    #[test]
    fn compares_values_with_their_types() {
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
            value(r#""{nobody}""#).unwrap_err(),
            "the argument `nobody` is missing"
        );
        assert_eq!(value(r#""{/none}""#).unwrap_err(), "no value at `/none`");
        for text in ["{a", "a}", "{a{b}"] {
            assert!(Value::read(&Json::Text(text.to_owned())).is_err(), "{text}");
        }
    }
}
