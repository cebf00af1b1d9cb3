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
    /// The path, the amount, and whether it is a decrease.
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
            Some((key, _)) => Err(format!("unknown key `{key}` of the operation `{op}`")),
            None => Ok(operation),
        }
    }
}

/// How to undo a change.
#[derive(Debug)]
pub(super) enum Undo {
    /// Removes the value that was added at this pointer.
    Remove(Pointer),
    /// Inserts the value that was removed from this pointer.
    Insert(Pointer, Json),
    /// Restores the value that was replaced at this pointer.
    Restore(Pointer, Json),
    /// Moves the value at the first pointer back to the second.
    MoveBack(Pointer, Pointer),
}

impl Undo {
    /// Undoes the change.
    pub(super) fn undo(self, state: &mut Json) {
        // Undoing cannot fail: the pointers are those of the change.
        match self {
            Self::Remove(target) => drop(remove(state, &target)),
            Self::Insert(target, value) => drop(add(state, &target, value)),
            Self::Restore(target, value) => {
                if let Some(current) = target.find_mut(state) {
                    *current = value;
                }
            }
            Self::MoveBack(target, from) => {
                if let Ok(value) = remove(state, &target) {
                    drop(add(state, &from, value));
                }
            }
        }
    }
}

/// Applies one operation. `byte_budget` is the number of bytes that may still be added. Changes are
/// recorded in `undo`, to be undone in reverse order.
pub(super) fn apply(
    state: &mut Json,
    operation: &Operation,
    argument: &Lookup<'_>,
    byte_budget: &mut usize,
    undo: &mut Vec<Undo>,
) -> Result<(), String> {
    match operation {
        Operation::Add(path, value) => {
            let (target, value) = (
                path.resolve(state, argument)?,
                value.value(state, argument, *byte_budget)?,
            );
            charge(byte_budget, &value)?;
            undo.push(add(state, &target, value)?);
        }
        Operation::Remove(path) => {
            let target = path.resolve(state, argument)?;
            let value = remove(state, &target)?;
            undo.push(Undo::Insert(target, value));
        }
        Operation::Replace(path, value) => {
            let (target, value) = (
                path.resolve(state, argument)?,
                value.value(state, argument, *byte_budget)?,
            );
            charge(byte_budget, &value)?;
            set(state, target, value, undo)?;
        }
        Operation::Move(from, path) => {
            let (from, target) = (
                from.resolve(state, argument)?,
                path.resolve(state, argument)?,
            );
            if target.steps().is_empty() {
                return Err("`move` cannot replace the whole state".to_owned());
            }
            if from != target && from.contains(&target) {
                return Err(format!("`{from}` cannot be moved into itself"));
            }
            let value = remove(state, &from)?;
            move_to(state, value, from, &target, undo)?;
        }
        Operation::Copy(from, path) => {
            let (from, target) = (
                from.resolve(state, argument)?,
                path.resolve(state, argument)?,
            );
            let value = from.find(state).cloned().ok_or_else(|| no_value(&from))?;
            charge(byte_budget, &value)?;
            undo.push(add(state, &target, value)?);
        }
        Operation::Test(path, value) => {
            let (target, value) = (
                path.resolve(state, argument)?,
                value.value(state, argument, *byte_budget)?,
            );
            if !target
                .find(state)
                .is_some_and(|current| assay_documents::json::same(current, &value, 0.0))
            {
                return Err(format!("the value at `{target}` fails the test"));
            }
        }
        Operation::Increase(path, by, subtract) => {
            let (target, by) = (
                path.resolve(state, argument)?,
                by.value(state, argument, *byte_budget)?,
            );
            let current = target.find(state).ok_or_else(|| no_value(&target))?;
            let (Json::Number(amount), Json::Number(by)) = (current, &by) else {
                return Err(format!(
                    "`increase` and `decrease` require numbers (at `{target}`)"
                ));
            };
            let sum = amount::sum(amount, by, *subtract)
                .ok_or_else(|| format!("the number at `{target}` would have too many digits"))?;
            set(state, target, Json::Number(sum), undo)?;
        }
    }
    Ok(())
}

/// Adds the value that was removed from `from` at a pointer, or restores it if it cannot be added
/// there.
fn move_to(
    state: &mut Json,
    value: Json,
    from: Pointer,
    target: &Pointer,
    undo: &mut Vec<Undo>,
) -> Result<(), String> {
    if !can_add(state, target) {
        drop(add(state, &from, value));
        return Err(no_value(target));
    }
    match add(state, target, value)? {
        Undo::Remove(target) => undo.push(Undo::MoveBack(target, from)),
        // A value was replaced: restore it after the moved one.
        Undo::Restore(target, before) => {
            undo.push(Undo::Insert(target.clone(), before));
            undo.push(Undo::MoveBack(target, from));
        }
        other => undo.push(other),
    }
    Ok(())
}

/// Whether a value can be added at a pointer.
fn can_add(state: &Json, target: &Pointer) -> bool {
    let Some((parent, last)) = target.split_last() else {
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

/// Replaces the value at a pointer.
fn set(state: &mut Json, target: Pointer, value: Json, undo: &mut Vec<Undo>) -> Result<(), String> {
    let current = target.find_mut(state).ok_or_else(|| no_value(&target))?;
    let before = std::mem::replace(current, value);
    undo.push(Undo::Restore(target, before));
    Ok(())
}

/// Subtracts the size of a value from the budget.
fn charge(byte_budget: &mut usize, value: &Json) -> Result<(), String> {
    *byte_budget = byte_budget.checked_sub(value.bytes()).ok_or(FULL)?;
    Ok(())
}

fn no_value(target: &Pointer) -> String {
    format!("no value at `{target}`")
}

/// Adds a value at a pointer: into an array before the element at the index (`-`: at the end), or
/// into an object as the member with the key.
fn add(state: &mut Json, target: &Pointer, value: Json) -> Result<Undo, String> {
    let Some((parent, last)) = target.split_last() else {
        return Ok(Undo::Restore(
            target.clone(),
            std::mem::replace(state, value),
        ));
    };
    match parent.find_mut(state) {
        Some(Json::Object(members)) => Ok(match members.iter_mut().find(|(key, _)| key == last) {
            Some((_, current)) => Undo::Restore(target.clone(), std::mem::replace(current, value)),
            None => {
                members.push((last.to_owned(), value));
                Undo::Remove(target.clone())
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
                .ok_or_else(|| no_value(target))?;
            elements.insert(at, value);
            let steps = parent.steps().iter().cloned().chain([at.to_string()]);
            Ok(Undo::Remove(Pointer::from_steps(steps.collect())))
        }
        _ => Err(no_value(&parent)),
    }
}

/// Removes the value at a pointer.
pub(super) fn remove(state: &mut Json, target: &Pointer) -> Result<Json, String> {
    let Some((parent, last)) = target.split_last() else {
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
    taken.ok_or_else(|| no_value(target))
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
            "{operation:?} is undone"
        );
        after
    }

    #[test]
    fn applies_and_undoes_operations() {
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
    fn rejects_invalid_operations() {
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
        let mut byte_budget = 100_000;
        let error = (0..100).find_map(|_| {
            apply(
                &mut state,
                &copy,
                &|_| None,
                &mut byte_budget,
                &mut Vec::new(),
            )
            .err()
        });
        assert_eq!(
            error.as_deref(),
            Some("the calls add too many bytes to the state")
        );
    }
}
