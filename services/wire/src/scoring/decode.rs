//! Parsing of scoring requests, in two passes as for a batch.

use std::time::Duration;

use assay_core::ErrorCode;
use assay_core::reward_model::{ModelInput, Truncate};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{InputRequest, parse_truncate};
use crate::reading::{
    UnknownFields, body_problem, check_item_count, read_envelope, read_field, reject_duplicate_ids,
    reject_long_name,
};
use crate::unicode::{Step, Treatment, read_replacing};
use crate::{DecodeLimits, Problem, Warning};

/// A parsed scoring request.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedScore {
    /// The inputs, in order.
    pub inputs: Vec<DecodedInput>,
    /// How to treat inputs that are too long.
    pub truncate: Truncate,
    /// Required version of the model, or a prefix of it.
    pub expected_version: Option<String>,
    /// Maximum time in the queue.
    pub timeout: Option<Duration>,
    /// Warnings about unknown fields and replaced lone surrogates.
    pub warnings: Vec<Warning>,
}

/// A parsed input.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedInput {
    /// The input's id, as sent.
    pub id: Option<String>,
    /// The model input.
    pub input: ModelInput,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    truncate: Option<String>,
    #[serde(default)]
    expected_version: Option<String>,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Parses a scoring request.
///
/// # Errors
/// The first [`Problem`], with a pointer into the body if it is about one field.
pub fn decode_score(body: &[u8], limits: &DecodeLimits) -> Result<DecodedScore, Problem> {
    let (mut decoded, replaced) = read_replacing(body, "", request_treatment, |body| {
        read_request(body, limits)
    })?;
    decoded.warnings.extend(replaced);
    Ok(decoded)
}

/// How lone surrogates of a request are treated: replaced in text that the model scores, rejected
/// in fields that affect the result.
fn request_treatment(path: &[Step]) -> Treatment {
    match path {
        [items, Step::Index(_), input @ ..] if items.is("items") => input_treatment(input),
        [first, ..] if first.is("truncate") || first.is("expected_version") => {
            Treatment::Reject(ErrorCode::InvalidField)
        }
        _ => Treatment::Replace,
    }
}

fn input_treatment(path: &[Step]) -> Treatment {
    let affects_result = path
        .first()
        .is_some_and(|field| field.is("id") || field.is("reference"));
    if affects_result {
        Treatment::Reject(ErrorCode::InvalidField)
    } else {
        Treatment::Replace
    }
}

fn read_request(body: &[u8], limits: &DecodeLimits) -> Result<DecodedScore, Problem> {
    let mut unknown = UnknownFields::default();
    let Envelope {
        truncate,
        expected_version,
        timeout_ms,
        items,
    } = read_envelope(body, &mut unknown)?;
    check_item_count(items.len(), limits)?;
    let truncate = match truncate.as_deref() {
        None => Truncate::default(),
        Some(name) => parse_truncate(name).ok_or_else(|| {
            let message = "`truncate` must be `reject`, `prompt_left`, `left` or `right`";
            Problem::invalid("/truncate", message)
        })?,
    };
    if expected_version.as_deref() == Some("") {
        let message = "`expected_version` is empty; omit it to accept any version";
        return Err(Problem::invalid("/expected_version", message));
    }
    let inputs = items
        .iter()
        .enumerate()
        .map(|(index, raw)| read_input(raw, &format!("/items/{index}"), &mut unknown));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    reject_duplicate_ids(inputs.iter().map(|input| input.id.as_deref()))?;
    Ok(DecodedScore {
        inputs,
        truncate,
        expected_version,
        timeout: timeout_ms.map(Duration::from_millis),
        warnings: unknown.into_warnings(),
    })
}

/// Parses one input outside a request, such as a line of a JSONL file. `pointer` locates the input
/// in errors and warnings.
///
/// # Errors
/// As [`decode_score`].
pub fn decode_input(text: &str, pointer: &str) -> Result<(DecodedInput, Vec<Warning>), Problem> {
    let ((input, mut warnings), replaced) =
        read_replacing(text.as_bytes(), pointer, input_treatment, |text| {
            read_line(text, pointer)
        })?;
    warnings.extend(replaced);
    Ok((input, warnings))
}

fn read_line(text: &[u8], pointer: &str) -> Result<(DecodedInput, Vec<Warning>), Problem> {
    let raw: &RawValue =
        serde_json::from_slice(text).map_err(|error| body_problem::<&RawValue>(text, &error))?;
    let mut unknown = UnknownFields::default();
    let input = read_input(raw, pointer, &mut unknown)?;
    Ok((input, unknown.into_warnings()))
}

fn read_input(
    raw: &RawValue,
    pointer: &str,
    unknown: &mut UnknownFields,
) -> Result<DecodedInput, Problem> {
    let mut request: InputRequest = read_field(raw, pointer, unknown)?;
    reject_long_name(pointer, "id", request.id.as_deref())?;
    let id = request.id.take();
    let input = request
        .input()
        .map_err(|(field, message)| Problem::invalid(format!("{pointer}/{field}"), message))?;
    Ok(DecodedInput { id, input })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: DecodeLimits = DecodeLimits {
        items: 8,
        shared_bytes: 0,
    };

    fn rejected(items: &str) -> (ErrorCode, String) {
        let problem =
            decode_score(format!(r#"{{"items":{items}}}"#).as_bytes(), &LIMITS).unwrap_err();
        (problem.code, problem.pointer.unwrap())
    }

    #[test]
    fn parses_every_kind_of_input() {
        let body = r#"{"items":[
            {"id":"a","prompt":"2+2?","completion":"4","reference":"4"},
            {"completion":[{"role":"assistant","content":"4"}]},
            {"text":"a text"}, {"text":"question","pair":"passage"}, {"ids":[1,2,3]}
        ],"truncate":"prompt_left","expected_version":"ab","timeout_ms":1500,"speed":9}"#;
        let read = decode_score(body.as_bytes(), &LIMITS).unwrap();
        assert_eq!(read.inputs[0].id.as_deref(), Some("a"));
        assert!(matches!(
            &read.inputs[0].input,
            ModelInput::Rollout {
                prompt: Some(_),
                reference: Some(_),
                ..
            }
        ));
        assert!(matches!(
            &read.inputs[1].input,
            ModelInput::Rollout {
                prompt: None,
                reference: None,
                ..
            }
        ));
        assert_eq!(read.inputs[2].input, ModelInput::Text("a text".into()));
        assert_eq!(
            read.inputs[3].input,
            ModelInput::Pair("question".into(), "passage".into())
        );
        assert_eq!(read.inputs[4].input, ModelInput::Ids(vec![1, 2, 3]));
        assert_eq!(
            (read.truncate, read.timeout),
            (Truncate::PromptLeft, Some(Duration::from_millis(1_500)))
        );
        assert_eq!(read.expected_version.as_deref(), Some("ab"));
        assert_eq!(read.warnings[0].pointer, "/speed");
    }

    #[test]
    fn rejects_ambiguous_inputs_with_pointers() {
        let at = |pointer: &str| (ErrorCode::InvalidField, pointer.to_owned());
        assert_eq!(
            rejected(r#"[{"text":"a"},{"text":"a","ids":[1]}]"#),
            at("/items/1/ids")
        );
        assert_eq!(
            rejected(r#"[{"completion":"a","text":"b"}]"#),
            at("/items/0/text")
        );
        assert_eq!(rejected(r#"[{"pair":"b"}]"#), at("/items/0/pair"));
        assert_eq!(
            rejected(r#"[{"text":"a","prompt":"b"}]"#),
            at("/items/0/prompt")
        );
        assert_eq!(rejected(r"[{}]"), at("/items/0/completion"));
        assert_eq!(rejected(r#"[{"ids":[]}]"#), at("/items/0/ids"));
        assert_eq!(rejected(r#"[{"ids":[-1]}]"#), at("/items/0/ids/0"));
        assert_eq!(
            rejected(r#"[{"completion":[{"role":"user","content":"x"}]}]"#),
            at("/items/0/completion")
        );
        assert_eq!(rejected("[]").0, ErrorCode::EmptyBatch);
        assert_eq!(
            rejected(r#"[{"id":"x","text":"a"},{"id":"x","text":"b"}]"#).0,
            ErrorCode::DuplicateId
        );
        assert_eq!(
            rejected(&format!("[{}]", [r#"{"text":"a"}"#; 9].join(","))).0,
            ErrorCode::TooManyItems
        );
    }

    #[test]
    fn replaces_lone_surrogates_in_inputs() {
        let body = r#"{"items":[{"text":"4"},{"text":"\ud83d 5"}]}"#;
        let read = decode_score(body.as_bytes(), &LIMITS).unwrap();
        assert_eq!(read.inputs[1].input, ModelInput::Text("\u{fffd} 5".into()));
        assert_eq!(
            (
                read.warnings[0].pointer.as_str(),
                read.warnings[0].code.as_str()
            ),
            ("/items/1/text", "lone_surrogate")
        );
        assert_eq!(
            rejected(r#"[{"completion":"4","reference":"\ud83d"}]"#).1,
            "/items/0/reference"
        );
        let (input, warnings) = decode_input(r#"{"text":"\udc00"}"#, "/line").unwrap();
        assert_eq!(input.input, ModelInput::Text("\u{fffd}".into()));
        assert_eq!(warnings[0].pointer, "/line/text");
    }

    #[test]
    fn validates_request_options() {
        let rejected = |rest: &str| {
            let body = format!(r#"{{"items":[{{"text":"a"}}],{rest}}}"#);
            decode_score(body.as_bytes(), &LIMITS)
                .unwrap_err()
                .pointer
                .unwrap()
        };
        assert_eq!(rejected(r#""truncate":"middle""#), "/truncate");
        assert_eq!(rejected(r#""timeout_ms":-1"#), "/timeout_ms");
        assert_eq!(rejected(r#""expected_version":"""#), "/expected_version");
    }
}
