//! What a completion must contain so that the grader of its task finds the answer. Derived from the
//! task, so that it cannot contradict the grader.

use serde_json::Value;

/// The instruction to a model for a task, or for the `task` of a template.
#[must_use]
pub fn expected_form(task: &Value) -> String {
    match task["type"].as_str() {
        Some("math") if task["choices"].is_object() => {
            "Put the letter of the answer in `\\boxed{}`.".to_owned()
        }
        Some("choice") => "Put the letter of the answer in `\\boxed{}`.".to_owned(),
        Some("instructions") => "Write only the response; the whole text is checked.".to_owned(),
        Some("math") => "Put the final answer in `\\boxed{}`.".to_owned(),
        Some("code") => match task["language"].as_str() {
            Some(language) => {
                format!(
                    "Put the complete program in a fenced block that starts with ```{language}."
                )
            }
            None => "Put the complete program in a fenced block with its language.".to_owned(),
        },
        Some("sql") => "Put the query in a fenced block that starts with ```sql.".to_owned(),
        Some("tools") => "Call the tools, in the form of the model's chat template or as \
                          `<tool_call>{\"name\": …, \"arguments\": {…}}</tool_call>`."
            .to_owned(),
        Some("text") if task["extract"] == "auto" => {
            "Put the answer in `<answer></answer>`.".to_owned()
        }
        Some("text") => "Write only the response; the whole text is graded.".to_owned(),
        Some("structured") => {
            let format = task["format"].as_str().unwrap_or("json");
            format!("Put the document in a fenced block that starts with ```{format}.")
        }
        _ => "The task of the row determines the form.".to_owned(),
    }
}
