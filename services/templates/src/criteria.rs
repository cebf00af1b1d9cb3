//! Criteria of rubrics, as rows of HealthBench and of data sets in its form contain them.

use serde_json::{Value, json};

/// Criteria of an `external` task from a list of objects with `criterion` and `points`. They have
/// the ids `c1`, `c2` and so on.
///
/// # Errors
/// What is wrong with the first invalid entry.
pub(crate) fn from_rubrics(rubrics: &[Value]) -> Result<Vec<Value>, String> {
    let criterion = |(at, rubric): (usize, &Value)| {
        let number = at + 1;
        let text = rubric["criterion"]
            .as_str()
            .ok_or_else(|| format!("rubric {number} has no text `criterion`"))?;
        let points = &rubric["points"];
        if !points.is_number() {
            return Err(format!("rubric {number} has no number `points`"));
        }
        Ok(json!({ "id": format!("c{number}"), "text": text, "points": points }))
    };
    if rubrics.is_empty() {
        return Err("the list of rubrics is empty".to_owned());
    }
    rubrics.iter().enumerate().map(criterion).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_have_ids_and_points() {
        let rubrics =
            [json!({ "criterion": "Is it kind?", "points": -3, "tags": ["level:example"] })];
        let expected = json!([{ "id": "c1", "text": "Is it kind?", "points": -3 }]);
        assert_eq!(json!(from_rubrics(&rubrics).unwrap()), expected);
        let no_points = [json!({ "criterion": "Is it kind?" })];
        assert!(
            from_rubrics(&no_points)
                .unwrap_err()
                .contains("rubric 1 has no number")
        );
        assert!(from_rubrics(&[]).is_err());
    }
}
