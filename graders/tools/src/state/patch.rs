//! Operations on a state: those of JSON Patch (RFC 6902), and `increase` and `decrease` of numbers.

use assay_documents::Json;
use assay_documents::json::{Pointer, index};

use super::amount;
use super::template::{FULL, Lookup, Path, Value};

/// One operation, with placeholders.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operation {
    Add(Path, Value),
    Remove(Path),
    Replace(Path, Value),
    Move(Path, Path),
    Copy(Path, Path),
    Test(Path, Value),
    /// The amount; the flag makes it a decrease.
    Increase(Path, Value, bool),
}

impl Operation {
    /// Reads `{"op": …, "path": …, …}`.
    pub(super) fn read(json: &Json) -> Result<Self, String> {
        let text = |key: &str| {
            let value = json.get(key).and_then(Json::text);
            value.ok_or_else(|| format!("`{key}` of an operation must be a string"))
        };
        let path = |key: &str| text(key).and_then(Path::read);
        let value = |key: &str| {
            let value = json
                .get(key)
                .ok_or_else(|| format!("the operation lacks `{key}`"));
            value.and_then(Value::read)
        };
        let op = text("op")?;
        let (operation, keys): (Self, &[&str]) = match op {
            "add" => (Self::Add(path("path")?, value("value")?), &["value"]),
            "remove" => (Self::Remove(path("path")?), &[]),
            "replace" => (Self::Replace(path("path")?, value("value")?), &["value"]),
            "move" => (Self::Move(path("from")?, path("path")?), &["from"]),
            "copy" => (Self::Copy(path("from")?, path("path")?), &["from"]),
            "test" => (Self::Test(path("path")?, value("value")?), &["value"]),
            "increase" | "decrease" => (
                Self::Increase(path("path")?, value("by")?, op == "decrease"),
                &["by"],
            ),
            _ => {
                return Err(format!(
                    "unknown operation `{op}`; use add, remove, replace, move, copy, test, \
                     increase or decrease"
                ));
            }
        };
        let known = |key: &str| ["op", "path"].contains(&key) || keys.contains(&key);
        match json.members().iter().find(|(key, _)| !known(key)) {
            Some((key, _)) => Err(format!("an operation `{op}` has no `{key}`")),
            None => Ok(operation),
        }
    }
}

/// How to undo a change.
#[derive(Debug)]
pub(super) enum Undo {
    /// A value was added here.
    Take(Pointer),
    /// This value was removed here.
    Put(Pointer, Json),
    /// This value was replaced here.
    Set(Pointer, Json),
    /// The value at the first pointer was moved from the second.
    Back(Pointer, Pointer),
}

impl Undo {
    /// Undoes the change.
    pub(super) fn undo(self, state: &mut Json) {
        // Undoing cannot fail: the pointers are those of the change.
        match self {
            Self::Take(place) => drop(remove(state, &place)),
            Self::Put(place, value) => drop(add(state, &place, value)),
            Self::Set(place, value) => {
                if let Some(there) = place.find_mut(state) {
                    *there = value;
                }
            }
            Self::Back(place, from) => {
                if let Ok(value) = remove(state, &place) {
                    drop(add(state, &from, value));
                }
            }
        }
    }
}

/// Applies one operation; `room` is the number of bytes that may still be added. Changes are
/// recorded in `undo`, to be undone in reverse order.
pub(super) fn apply(
    state: &mut Json,
    operation: &Operation,
    argument: &Lookup<'_>,
    room: &mut usize,
    undo: &mut Vec<Undo>,
) -> Result<(), String> {
    match operation {
        Operation::Add(path, value) => {
            let (place, value) = (
                path.place(state, argument)?,
                value.value(state, argument, *room)?,
            );
            take(room, &value)?;
            undo.push(add(state, &place, value)?);
        }
        Operation::Remove(path) => {
            let place = path.place(state, argument)?;
            let value = remove(state, &place)?;
            undo.push(Undo::Put(place, value));
        }
        Operation::Replace(path, value) => {
            let (place, value) = (
                path.place(state, argument)?,
                value.value(state, argument, *room)?,
            );
            take(room, &value)?;
            set(state, place, value, undo)?;
        }
        Operation::Move(from, path) => {
            let (from, place) = (from.place(state, argument)?, path.place(state, argument)?);
            if place.steps().is_empty() {
                return Err("a value cannot replace the whole state by `move`".to_owned());
            }
            if from != place && from.contains(&place) {
                return Err(format!("`{from}` cannot be moved into itself"));
            }
            let value = remove(state, &from)?;
            move_to(state, value, from, &place, undo)?;
        }
        Operation::Copy(from, path) => {
            let (from, place) = (from.place(state, argument)?, path.place(state, argument)?);
            let value = from.find(state).cloned().ok_or_else(|| nothing(&from))?;
            take(room, &value)?;
            undo.push(add(state, &place, value)?);
        }
        Operation::Test(path, value) => {
            let (place, value) = (
                path.place(state, argument)?,
                value.value(state, argument, *room)?,
            );
            if !place
                .find(state)
                .is_some_and(|there| assay_documents::json::same(there, &value, 0.0))
            {
                return Err(format!("the value at `{place}` fails the test"));
            }
        }
        Operation::Increase(path, by, down) => {
            let (place, by) = (
                path.place(state, argument)?,
                by.value(state, argument, *room)?,
            );
            let there = place.find(state).ok_or_else(|| nothing(&place))?;
            let (Json::Number(amount), Json::Number(by)) = (there, &by) else {
                return Err(format!(
                    "`increase` and `decrease` need numbers, at `{place}`"
                ));
            };
            let sum = amount::sum(amount, by, *down)
                .ok_or_else(|| format!("the number at `{place}` would have too many digits"))?;
            set(state, place, Json::Number(sum), undo)?;
        }
    }
    Ok(())
}

/// Adds the value taken from `from` at a pointer, or restores it if the pointer does not exist.
fn move_to(
    state: &mut Json,
    value: Json,
    from: Pointer,
    place: &Pointer,
    undo: &mut Vec<Undo>,
) -> Result<(), String> {
    if !has_room_for(state, place) {
        drop(add(state, &from, value));
        return Err(nothing(place));
    }
    match add(state, place, value)? {
        Undo::Take(place) => undo.push(Undo::Back(place, from)),
        // A value was replaced: restore it after the moved one.
        Undo::Set(place, before) => {
            undo.push(Undo::Put(place.clone(), before));
            undo.push(Undo::Back(place, from));
        }
        other => undo.push(other),
    }
    Ok(())
}

/// Whether a value can be added at a pointer.
fn has_room_for(state: &Json, place: &Pointer) -> bool {
    let Some((parent, last)) = place.split_last() else {
        return true;
    };
    match parent.find(state) {
        Some(Json::Object(_)) => true,
        Some(Json::Array(elements)) => {
            last == "-" || index(last).is_some_and(|at| at <= elements.len())
        }
        _ => false,
    }
}

fn set(state: &mut Json, place: Pointer, value: Json, undo: &mut Vec<Undo>) -> Result<(), String> {
    let there = place.find_mut(state).ok_or_else(|| nothing(&place))?;
    let before = std::mem::replace(there, value);
    undo.push(Undo::Set(place, before));
    Ok(())
}

fn take(room: &mut usize, value: &Json) -> Result<(), String> {
    *room = room.checked_sub(value.bytes()).ok_or(FULL)?;
    Ok(())
}

fn nothing(place: &Pointer) -> String {
    format!("no value at `{place}`")
}

/// Adds a value at a pointer: into an array before the element there (`-`: at the end), into an
/// object under a key.
fn add(state: &mut Json, place: &Pointer, value: Json) -> Result<Undo, String> {
    let Some((parent, last)) = place.split_last() else {
        return Ok(Undo::Set(place.clone(), std::mem::replace(state, value)));
    };
    match parent.find_mut(state) {
        Some(Json::Object(members)) => Ok(match members.iter_mut().find(|(key, _)| key == last) {
            Some((_, there)) => Undo::Set(place.clone(), std::mem::replace(there, value)),
            None => {
                members.push((last.to_owned(), value));
                Undo::Take(place.clone())
            }
        }),
        Some(Json::Array(elements)) => {
            let at = if last == "-" {
                Some(elements.len())
            } else {
                index(last)
            };
            let at = at
                .filter(|at| *at <= elements.len())
                .ok_or_else(|| nothing(place))?;
            elements.insert(at, value);
            let steps = parent.steps().iter().cloned().chain([at.to_string()]);
            Ok(Undo::Take(Pointer::from_steps(steps.collect())))
        }
        _ => Err(nothing(&parent)),
    }
}

/// Removes the value at a pointer.
pub(super) fn remove(state: &mut Json, place: &Pointer) -> Result<Json, String> {
    let Some((parent, last)) = place.split_last() else {
        return Ok(std::mem::replace(state, Json::Null));
    };
    let taken = match parent.find_mut(state) {
        Some(Json::Object(members)) => {
            let at = members.iter().position(|(key, _)| key == last);
            at.map(|at| members.remove(at).1)
        }
        Some(Json::Array(elements)) => {
            let at = index(last).filter(|at| *at < elements.len());
            at.map(|at| elements.remove(at))
        }
        _ => None,
    };
    taken.ok_or_else(|| nothing(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(state: &str, operation: &str) -> Result<String, String> {
        let mut state = Json::read(state).unwrap();
        let operation = Operation::read(&Json::read(operation).unwrap())?;
        let argument = |name: &str| (name == "n").then(|| Json::Number("2".to_owned()));
        let (before, mut undo) = (state.clone(), Vec::new());
        let done = apply(&mut state, &operation, &argument, &mut 10_000, &mut undo);
        let after = done.map(|()| state.to_string());
        undo.into_iter()
            .rev()
            .for_each(|change| change.undo(&mut state));
        assert!(
            assay_documents::json::same(&state, &before, 0.0),
            "{operation:?} is taken back"
        );
        after
    }

    #[test]
    fn operations_follow_the_json_patch_standard() {
        let state = r#"{"a":[1,2],"b":{"c":3}}"#;
        for (operation, expected) in [
            (
                r#"{"op":"add","path":"/a/1","value":9}"#,
                r#"{"a":[1,9,2],"b":{"c":3}}"#,
            ),
            (
                r#"{"op":"add","path":"/a/-","value":"{n}"}"#,
                r#"{"a":[1,2,2],"b":{"c":3}}"#,
            ),
            (
                r#"{"op":"add","path":"/d","value":null}"#,
                r#"{"a":[1,2],"b":{"c":3},"d":null}"#,
            ),
            (
                r#"{"op":"remove","path":"/a/0"}"#,
                r#"{"a":[2],"b":{"c":3}}"#,
            ),
            (
                r#"{"op":"replace","path":"/b","value":{"x":"{n}"}}"#,
                r#"{"a":[1,2],"b":{"x":2}}"#,
            ),
            (
                r#"{"op":"move","from":"/b/c","path":"/a/0"}"#,
                r#"{"a":[3,1,2],"b":{}}"#,
            ),
            (
                r#"{"op":"copy","from":"/b","path":"/a/2"}"#,
                r#"{"a":[1,2,{"c":3}],"b":{"c":3}}"#,
            ),
            (r#"{"op":"test","path":"/b/c","value":3.0}"#, state),
            (
                r#"{"op":"increase","path":"/b/c","by":"{n}"}"#,
                r#"{"a":[1,2],"b":{"c":5}}"#,
            ),
            (
                r#"{"op":"decrease","path":"/b/c","by":0.1}"#,
                r#"{"a":[1,2],"b":{"c":2.9}}"#,
            ),
        ] {
            assert_eq!(
                after(state, operation).as_deref(),
                Ok(expected),
                "{operation}"
            );
        }
    }

    #[test]
    fn impossible_operations_are_errors() {
        for operation in [
            r#"{"op":"remove","path":"/x"}"#,
            r#"{"op":"replace","path":"/x","value":1}"#,
            r#"{"op":"add","path":"/a/3","value":1}"#,
            r#"{"op":"add","path":"/x/y","value":1}"#,
            r#"{"op":"move","from":"/b","path":"/b/c"}"#,
            r#"{"op":"test","path":"/b/c","value":4}"#,
            r#"{"op":"increase","path":"/b","by":1}"#,
            r#"{"op":"increase","path":"/b/c","by":1,"value":2}"#,
            r#"{"op":"swap","path":"/b"}"#,
            r#"{"op":"add","path":"b","value":1}"#,
        ] {
            assert!(
                after(r#"{"a":[1,2],"b":{"c":3}}"#, operation).is_err(),
                "{operation}"
            );
        }
    }

    #[test]
    fn bounds_copies_of_copies() {
        let mut state = Json::read(r#"{"a":[0]}"#).unwrap();
        let copy =
            Operation::read(&Json::read(r#"{"op":"copy","from":"/a","path":"/a/-"}"#).unwrap())
                .unwrap();
        let mut room = 100_000;
        let refused = (0..100)
            .find_map(|_| apply(&mut state, &copy, &|_| None, &mut room, &mut Vec::new()).err());
        assert_eq!(
            refused.as_deref(),
            Some("the calls add too many bytes to the state")
        );
    }
}
