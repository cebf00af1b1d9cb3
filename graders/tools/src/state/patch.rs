//! Operations on a state: those of JSON Patch (RFC 6902), `increase` and `decrease` of numbers,
//! `merge` of objects (RFC 7396), and `for`, which repeats operations for each element of a list.

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
    Merge(Path, Value),
    For(Box<Loop>),
}

/// Operations for each element of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loop {
    list: Value,
    /// The placeholder for the element.
    name: String,
    operations: Vec<Operation>,
}

/// Maximum nesting of loops.
const MAX_LOOPS: usize = 3;

/// What the calls of a trace may still do.
pub(super) struct Budget {
    /// Bytes that may be added. The limit bounds repeated copies.
    pub(super) bytes: usize,
    /// Operations that may be applied, those in loops included.
    pub(super) operations: u64,
}

impl Operation {
    /// Reads `{"op": …, "path": …, …}`.
    pub(super) fn read(json: &Json) -> Result<Self, String> {
        Self::read_nested(json, 0)
    }

    fn read_nested(json: &Json, depth: usize) -> Result<Self, String> {
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
            "merge" => (Self::Merge(path("path")?, value("value")?), &["value"]),
            "for" if depth == MAX_LOOPS => {
                return Err(format!("loops are nested more than {MAX_LOOPS} times"));
            }
            "for" => {
                let Some(Json::Array(operations)) = json.get("do") else {
                    return Err("`do` of `for` must be an array of operations".to_owned());
                };
                let operations = operations.iter();
                let repeated = Loop {
                    list: value("in")?,
                    name: text("each")?.to_owned(),
                    operations: operations
                        .map(|operation| Self::read_nested(operation, depth + 1))
                        .collect::<Result<_, _>>()?,
                };
                (Self::For(Box::new(repeated)), &["in", "each", "do"])
            }
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

impl Operation {
    /// Whether it may change a state.
    pub(super) fn changes(&self) -> bool {
        match self {
            Self::Test(..) => false,
            Self::For(repeated) => repeated.operations.iter().any(Self::changes),
            _ => true,
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

/// Applies one operation. Changes are recorded in `undo`, to be undone in reverse order.
pub(super) fn apply(
    state: &mut Json,
    operation: &Operation,
    argument: &Lookup<'_>,
    budget: &mut Budget,
    undo: &mut Vec<Undo>,
) -> Result<(), String> {
    budget.operations = budget.operations.checked_sub(1).ok_or(FULL)?;
    let byte_budget = &mut budget.bytes;
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
        Operation::Merge(path, value) => {
            let (target, value) = (
                path.resolve(state, argument)?,
                value.value(state, argument, *byte_budget)?,
            );
            charge(byte_budget, &value)?;
            let mut merged = target
                .find(state)
                .cloned()
                .ok_or_else(|| no_value(&target))?;
            charge(byte_budget, &merged)?;
            merge(&mut merged, value);
            set(state, target, merged, undo)?;
        }
        Operation::For(repeated) => {
            let list = repeated.list.value(state, argument, *byte_budget)?;
            let Json::Array(elements) = list else {
                return Err(format!("`for` needs a list, not {}", list.kind()));
            };
            for element in elements {
                let inner = |name: &str| match lookup_in(&element, &repeated.name, name) {
                    Some(value) => Some(value),
                    None => argument(name),
                };
                for operation in &repeated.operations {
                    apply(state, operation, &inner, budget, undo)?;
                }
            }
        }
    }
    Ok(())
}

/// The value of the placeholder `name` if it is `value`, called `own`, or a part of it:
/// `{item/id}`.
pub(super) fn lookup_in(value: &Json, own: &str, name: &str) -> Option<Json> {
    match name.strip_prefix(own)? {
        "" => Some(value.clone()),
        rest if rest.starts_with('/') => Pointer::read(rest).ok()?.find(value).cloned(),
        _ => None,
    }
}

/// Merges `changes` into a value by the rules of RFC 7396: members that are null are removed.
fn merge(target: &mut Json, changes: Json) {
    let Json::Object(changes) = changes else {
        *target = changes;
        return;
    };
    if !matches!(target, Json::Object(_)) {
        *target = Json::Object(Vec::new());
    }
    let Json::Object(members) = target else {
        return;
    };
    for (key, change) in changes {
        let at = members.iter().position(|(name, _)| *name == key);
        match (at, change) {
            (Some(at), Json::Null) => drop(members.remove(at)),
            (None, Json::Null) => {}
            (Some(at), change) => merge(&mut members[at].1, change),
            (None, change) => {
                let mut value = Json::Null;
                merge(&mut value, change);
                members.push((key, value));
            }
        }
    }
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
        let mut budget = Budget {
            bytes: 10_000,
            operations: 100,
        };
        let done = apply(&mut state, &operation, &argument, &mut budget, &mut undo);
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
                r#"{"op":"merge","path":"/b","value":{"c":null,"d":{"e":null,"f":"{n}"}}}"#,
                r#"{"a":[1,2],"b":{"d":{"f":2}}}"#,
            ),
            (
                r#"{"op":"for","each":"x","in":[{"k":"c","v":1},{"k":"c","v":"{n}"}],
                    "do":[{"op":"increase","path":"/b/{x/k}","by":"{x/v}"}]}"#,
                r#"{"a":[1,2],"b":{"c":6}}"#,
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
            r#"{"op":"merge","path":"/x","value":{}}"#,
            r#"{"op":"for","each":"x","in":"{n}","do":[]}"#,
            r#"{"op":"for","each":"x","in":[1,2],"do":[{"op":"remove","path":"/b"}]}"#,
            r#"{"op":"for","each":"x","in":[]}"#,
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
        let mut budget = Budget {
            bytes: 100_000,
            operations: 1_000,
        };
        let error = (0..100)
            .find_map(|_| apply(&mut state, &copy, &|_| None, &mut budget, &mut Vec::new()).err());
        assert_eq!(
            error.as_deref(),
            Some("the calls add too many bytes to the state")
        );
    }
}
