//! Instructions about the form of a response, as in IFEval and IFBench, as an `instructions` task.

use serde_json::{Value, json};

/// The task of instructions with these ids and arguments, which are in the same order. Arguments
/// that are null are omitted, because tables store null for those of other instructions.
///
/// # Errors
/// Why the row is refused.
pub(crate) fn task(ids: &[Value], arguments: &[Value]) -> Result<Value, String> {
    if ids.is_empty() || ids.len() != arguments.len() {
        return Err(format!(
            "there are {} instructions and {} objects of arguments",
            ids.len(),
            arguments.len()
        ));
    }
    let constraints = ids.iter().zip(arguments).map(|(id, arguments)| {
        if !id.is_string() {
            return Err("the id of an instruction is not a string".to_owned());
        }
        let given = match arguments {
            Value::Object(arguments) => arguments.clone(),
            Value::Null => serde_json::Map::new(),
            _ => return Err(format!("the arguments of `{id}` are not an object")),
        };
        let given: serde_json::Map<_, _> = given
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect();
        Ok(if given.is_empty() {
            json!({ "id": id })
        } else {
            json!({ "id": id, "kwargs": given })
        })
    });
    let constraints = constraints.collect::<Result<Vec<_>, _>>()?;
    Ok(json!({ "type": "instructions", "constraints": constraints }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_instructions_into_one_task() {
        let ids = [json!("punctuation:no_comma"), json!("count:numbers")];
        let arguments = [Value::Null, json!({ "N": 2.0, "keyword": null })];
        let expected = json!({ "type": "instructions", "constraints": [
            { "id": "punctuation:no_comma" }, { "id": "count:numbers", "kwargs": { "N": 2.0 } },
        ] });
        assert_eq!(task(&ids, &arguments).unwrap(), expected);
        assert!(
            task(&ids, &arguments[..1])
                .unwrap_err()
                .contains("2 instructions and 1 object")
        );
        assert!(task(&[json!(1)], &[json!({})]).is_err());
    }
}
