//! Instructions about the form of a response, as in IFEval and IFBench, as one `text` task.
//!
//! Only instructions whose check can be written exactly as patterns are supported. A row with any
//! other is refused, because its responses would be graded by only some of its instructions.

use regex::escape;
use serde_json::{Value, json};

/// The `text` task of instructions with these ids and arguments, which are in the same order.
///
/// # Errors
/// Why the row is refused: an instruction that is not supported, or arguments that are missing.
pub(crate) fn text_task(ids: &[Value], arguments: &[Value]) -> Result<Value, String> {
    if ids.is_empty() || ids.len() != arguments.len() {
        return Err(format!(
            "there are {} instructions and {} objects of arguments",
            ids.len(),
            arguments.len()
        ));
    }
    let mut rules = Rules::default();
    for (id, arguments) in ids.iter().zip(arguments) {
        let id = id
            .as_str()
            .ok_or("the id of an instruction is not a string".to_owned())?;
        rules.add(&Instruction { id, arguments })?;
    }
    // Every response has at least one character.
    if rules.require.is_empty() {
        rules.require.push("(?s).".to_owned());
    }
    let mut task = json!({
        "type": "text",
        "answer": rules.require,
        "require": "all",
        "match": "pattern",
    });
    if !rules.reject.is_empty() {
        task["reject"] = rules.reject.into();
    }
    if rules.min_words > 0 || rules.max_words.is_some() {
        task["words"] = json!({ "min": rules.min_words });
        if let Some(max) = rules.max_words {
            task["words"]["max"] = max.into();
        }
    }
    Ok(task)
}

/// What a response must and must not match.
#[derive(Default)]
struct Rules {
    require: Vec<String>,
    reject: Vec<String>,
    min_words: u64,
    max_words: Option<u64>,
}

/// An instruction with its arguments.
struct Instruction<'a> {
    id: &'a str,
    arguments: &'a Value,
}

impl Instruction<'_> {
    fn missing(&self, name: &str) -> String {
        format!("the instruction `{}` has no argument `{name}`", self.id)
    }

    fn text(&self, name: &str) -> Result<&str, String> {
        let text = self.arguments[name]
            .as_str()
            .filter(|text| !text.is_empty());
        text.ok_or_else(|| self.missing(name))
    }

    fn texts(&self, name: &str) -> Result<Vec<&str>, String> {
        let texts = self.arguments[name].as_array();
        let texts = texts.filter(|texts| !texts.is_empty());
        let texts = texts.ok_or_else(|| self.missing(name))?.iter();
        texts
            .map(|text| {
                let text = text.as_str().filter(|text| !text.is_empty());
                text.ok_or_else(|| self.missing(name))
            })
            .collect()
    }

    /// A count, which some rows write as a float.
    fn count(&self, name: &str) -> Result<u64, String> {
        let number = &self.arguments[name];
        let whole = number.as_u64().or_else(|| {
            let float = number.as_f64()?;
            // Checked to be a small whole number.
            (float.fract() == 0.0 && (0.0..1e9).contains(&float)).then_some(float as u64)
        });
        whole.ok_or_else(|| self.missing(name))
    }

    /// Whether the relation is `at least`; otherwise it is `less than`.
    fn is_minimum(&self, name: &str) -> Result<bool, String> {
        match self.text(name)? {
            "at least" => Ok(true),
            "less than" => Ok(false),
            other => Err(format!("`{}` has the unknown relation `{other}`", self.id)),
        }
    }
}

/// Maximum number of repetitions in a pattern, whose compiled size is limited.
const MAX_REPETITIONS: u64 = 40;

impl Rules {
    fn add(&mut self, instruction: &Instruction<'_>) -> Result<(), String> {
        let case_ignored = |text: &str| format!("(?i){}", escape(text));
        match instruction.id {
            "keywords:existence" => {
                let keywords = instruction.texts("keywords")?;
                self.require.extend(keywords.into_iter().map(case_ignored));
            }
            "keywords:forbidden_words" => {
                let words = instruction.texts("forbidden_words")?;
                let patterns = words
                    .into_iter()
                    .map(|word| format!(r"(?i)\b{}\b", escape(word)));
                self.reject.extend(patterns);
            }
            "keywords:frequency" => {
                let keyword = escape(instruction.text("keyword")?);
                let is_minimum = instruction.is_minimum("relation")?;
                self.occurs(
                    instruction,
                    &format!("(?i){keyword}"),
                    is_minimum,
                    instruction.count("frequency")?,
                )?;
            }
            "keywords:letter_frequency" => {
                let letter = escape(instruction.text("letter")?);
                let is_minimum = instruction.is_minimum("let_relation")?;
                self.occurs(
                    instruction,
                    &format!("(?i){letter}"),
                    is_minimum,
                    instruction.count("let_frequency")?,
                )?;
            }
            "length_constraints:number_words" => {
                let count = instruction.count("num_words")?;
                if instruction.is_minimum("relation")? {
                    self.has_words(count, None);
                } else {
                    let max = count.checked_sub(1);
                    let max = max.ok_or("no response has fewer than 0 words".to_owned())?;
                    self.has_words(0, Some(max));
                }
            }
            "count:word_count_range" => {
                let (min, max) = (
                    instruction.count("min_words")?,
                    instruction.count("max_words")?,
                );
                self.has_words(min, Some(max));
            }
            "detectable_content:number_placeholders" => {
                let count = instruction.count("num_placeholders")?;
                self.occurs(instruction, r"\[[^\n]*?\]", true, count)?;
            }
            "detectable_format:constrained_response" => {
                self.require
                    .push(r"My answer is (?:yes|no|maybe)\.".to_owned());
            }
            "detectable_format:multiple_sections" => {
                let name = escape(instruction.text("section_spliter")?);
                let count = instruction.count("num_sections")?;
                self.occurs(instruction, &format!(r"{name}\s?\d+"), true, count)?;
            }
            "detectable_format:title" => {
                self.require.push(r"<<[^\n]*[^\s<>][^\n]*>>".to_owned());
            }
            "combination:repeat_prompt" => {
                let prompt = escape(instruction.text("prompt_to_repeat")?.trim());
                self.require.push(format!(r"(?i)\A\s*{prompt}"));
            }
            "startend:end_checker" => {
                let phrase = escape(instruction.text("end_phrase")?.trim());
                self.require.push(format!(r#"(?i){phrase}"*\s*\z"#));
            }
            "startend:quotation" => self.require.push(r#"(?s)\A\s*".*"\s*\z"#.to_owned()),
            "punctuation:no_comma" => self.reject.push(",".to_owned()),
            other => {
                return Err(format!(
                    "no grader checks the instruction `{other}`; remove the row or grade it by \
                     another service"
                ));
            }
        }
        Ok(())
    }

    fn has_words(&mut self, min: u64, max: Option<u64>) {
        self.min_words = self.min_words.max(min);
        self.max_words = match (self.max_words, max) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    /// A pattern occurs at least, or less than, `count` times.
    fn occurs(
        &mut self,
        instruction: &Instruction<'_>,
        pattern: &str,
        is_minimum: bool,
        count: u64,
    ) -> Result<(), String> {
        if count > MAX_REPETITIONS {
            return Err(format!(
                "`{}` asks for more than {MAX_REPETITIONS} occurrences",
                instruction.id
            ));
        }
        let repeated = format!("(?:{pattern}(?s:.*?)){{{count}}}");
        match (is_minimum, count) {
            (true, 0) => {}
            (true, _) => self.require.push(repeated),
            (false, 0) => return Err(format!("`{}` cannot be satisfied", instruction.id)),
            (false, _) => self.reject.push(repeated),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_instructions_into_one_task() {
        let ids = [
            json!("keywords:frequency"),
            json!("punctuation:no_comma"),
            json!("length_constraints:number_words"),
        ];
        let arguments = [
            json!({ "keyword": "a.b", "relation": "less than", "frequency": 2.0 }),
            json!({}),
            json!({ "relation": "at least", "num_words": 3, "keyword": null }),
        ];
        assert_eq!(
            text_task(&ids, &arguments).unwrap(),
            json!({
                "type": "text", "answer": ["(?s)."], "require": "all", "match": "pattern",
                "reject": [r"(?:(?i)a\.b(?s:.*?)){2}", ","], "words": { "min": 3 },
            })
        );
    }

    /// The grader accepts patterns of 1 MiB.
    #[test]
    fn patterns_with_the_most_repetitions_are_small() {
        for (id, arguments) in [
            (
                "keywords:frequency",
                json!({ "keyword": "straße", "relation": "at least", "frequency": 40 }),
            ),
            (
                "keywords:letter_frequency",
                json!({ "letter": "ß", "let_relation": "at least", "let_frequency": 40 }),
            ),
            (
                "detectable_content:number_placeholders",
                json!({ "num_placeholders": 40 }),
            ),
            (
                "detectable_format:multiple_sections",
                json!({ "section_spliter": "Section", "num_sections": 40 }),
            ),
        ] {
            let task = text_task(&[json!(id)], &[arguments]).unwrap();
            let pattern = task["answer"][0].as_str().unwrap();
            let built = regex::RegexBuilder::new(pattern)
                .size_limit(1 << 20)
                .build();
            assert!(built.is_ok(), "{id}");
        }
    }

    #[test]
    fn refuses_what_it_cannot_check() {
        let reason = |id: &str, arguments: Value| {
            text_task(
                &[json!("punctuation:no_comma"), json!(id)],
                &[json!({}), arguments],
            )
            .unwrap_err()
        };
        assert!(
            reason("language:response_language", json!({ "language": "de" }))
                .contains("`language:response_language`")
        );
        // Every response would contain them.
        for arguments in [
            json!({}),
            json!({ "keywords": [] }),
            json!({ "keywords": [""] }),
        ] {
            assert!(reason("keywords:existence", arguments).contains("no argument `keywords`"));
        }
        let often = json!({ "letter": "e", "let_relation": "at least", "let_frequency": 99 });
        assert!(reason("keywords:letter_frequency", often).contains("more than 40"));
    }
}
