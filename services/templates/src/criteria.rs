//! Criteria of rubrics, as rows of HealthBench and of data sets in its form contain them, and
//! criteria that a judge scores one by one.

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

/// When the criteria of a list are graded, and what happens if they are not met.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    pub(crate) stage: u32,
    pub(crate) gate: bool,
}

/// Criteria of a `rubric` task from a list of objects with `criterion`, each scored by a judge.
/// They may have a `name`, `points`, a `veto` and a `judge` of their own.
///
/// # Errors
/// What is wrong with the first invalid entry.
pub(crate) fn judged(rubrics: &[Value], judge: &str, place: Place) -> Result<Vec<Value>, String> {
    let criterion = |(at, rubric): (usize, &Value)| {
        let number = at + 1;
        let own = |name: &str, default: Value| match &rubric[name] {
            Value::Null => default,
            value => value.clone(),
        };
        let text = rubric["criterion"]
            .as_str()
            .ok_or_else(|| format!("rubric {number} has no text `criterion`"))?;
        Ok(json!({
            "name": own("name", json!(format!("c{number}"))),
            "points": own("points", json!(1)),
            "veto": own("veto", json!(false)),
            "stage": place.stage,
            "gate": place.gate,
            "task": { "type": "external", "judge": own("judge", json!(judge)), "rubric": text },
        }))
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
    fn each_criterion_is_scored_by_a_judge() {
        let rubrics = [
            json!({ "criterion": "Is it kind?", "veto": true, "points": null }),
            json!({ "criterion": "Is it short?", "name": "short", "points": 2, "judge": "fast" }),
        ];
        let place = Place {
            stage: 1,
            gate: true,
        };
        let criteria = judged(&rubrics, "anchor", place).unwrap();
        assert_eq!(
            criteria[0],
            json!({
                "name": "c1", "points": 1, "veto": true, "stage": 1, "gate": true,
                "task": { "type": "external", "judge": "anchor", "rubric": "Is it kind?" },
            })
        );
        assert_eq!(criteria[1]["task"]["judge"], "fast");
        assert!(judged(&[json!({})], "anchor", place).is_err());
        assert!(judged(&[], "anchor", place).is_err());
    }

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
