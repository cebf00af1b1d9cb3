//! Calls that are written as chat templates write them are read back equal.

mod templates;

use assay_base::Random;
use serde_json::json;
use templates::{TEMPLATES, Written};

use super::*;
use crate::json::Json;

/// Pieces of strings.
const PIECES: &[&str] = &[
    "\"",
    "'",
    "\\",
    "\n",
    "\t",
    "\u{1}",
    " ",
    "é",
    "漢字",
    "🌧\u{fe0f}",
    "{",
    "}",
    "[",
    "]",
    "(",
    ",",
    ":",
    "null",
    "1e5",
    "True",
    "\\n",
    "\\u0041",
    "<a>",
    "</a>",
    "&lt;",
    "```",
    "${x}",
    "word",
    "# no",
    ">>>",
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "<function=f>",
    "</parameter>",
    "</arg_value>",
    "<think>",
    "</think>",
    "<|im_end|>",
    "<escape>",
    "<|\"|>",
    "<|call|>",
    "```tool_code",
    "<|channel|>",
    "</s>",
];

const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "0.1",
    "-0.5",
    "1.5e10",
    "1e-300",
    "9223372036854775807",
    "-9223372036854775808",
    "123456789012345678901234567890",
    "2.2250738585072014e-308",
];

/// A generator of values.
struct Values {
    random: Random,
    avoid: &'static [&'static str],
}

impl Values {
    fn text(&mut self) -> String {
        let text: String = (0..self.random.below(6))
            .map(|_| PIECES[self.random.below(PIECES.len())])
            .collect();
        match self.avoid.iter().any(|avoid| text.contains(avoid)) {
            true => "plain".to_owned(),
            false => text,
        }
    }

    fn value(&mut self, depth: usize) -> Json {
        match self.random.below(if depth > 2 { 4 } else { 6 }) {
            0 => Json::Null,
            1 => Json::Bool(self.random.below(2) == 0),
            2 => Json::Number(NUMBERS[self.random.below(NUMBERS.len())].to_owned()),
            3 => Json::Text(self.text()),
            4 => {
                let count = self.random.below(3);
                Json::Array((0..count).map(|_| self.value(depth + 1)).collect())
            }
            _ => {
                let count = self.random.below(3);
                let member = |at| (format!("k{at} ü"), self.value(depth + 1));
                Json::Object((0..count).map(member).collect())
            }
        }
    }

    fn call(&mut self) -> (&'static str, Vec<(String, Json)>) {
        let tool = ["weather", "stop", "search"][self.random.below(3)];
        let names = ["city", "a_b", "x1"].iter().take(self.random.below(4));
        let arguments = names.map(|name| ((*name).to_owned(), self.value(0)));
        (tool, arguments.collect())
    }
}

/// The values of untyped arguments, whose schema names their types.
fn with_types(call: Call, arguments: &[(String, Json)]) -> Vec<(String, Json)> {
    if !call.untyped {
        return call.arguments;
    }
    let schema = |value: &Json| match value {
        Json::Null => json!({"type": "null"}),
        Json::Bool(_) => json!({"type": "boolean"}),
        Json::Number(_) => json!({"type": "number"}),
        Json::Text(_) => json!({"type": "string"}),
        Json::Array(_) => json!({"type": "array"}),
        Json::Object(_) => json!({"type": "object"}),
    };
    let properties = arguments
        .iter()
        .map(|(name, value)| (name.clone(), schema(value)));
    let properties: serde_json::Map<_, _> = properties.collect();
    let types = ArgumentTypes::of(&json!({ "properties": properties }));
    let typed = |(name, value): (String, Json)| {
        let value = types.readings(&name, value.text().unwrap()).swap_remove(0);
        (name, value)
    };
    call.arguments.into_iter().map(typed).collect()
}

#[test]
fn reads_back_what_templates_write() {
    let is_tool = |name: &str| ["weather", "stop", "search"].contains(&name);
    for (at, (form, most, write, avoid)) in TEMPLATES.iter().enumerate() {
        let mut values = Values {
            random: Random::new(at as u64),
            avoid,
        };
        let mut count = 0;
        while count < 500 {
            let calls: Vec<_> = (0..=values.random.below(*most))
                .map(|_| values.call())
                .collect();
            count += calls.len();
            let written: Vec<Written<'_>> = calls
                .iter()
                .map(|(tool, arguments)| (*tool, arguments.as_slice()))
                .collect();
            let text = write(&written);
            let reading = read(&text, false, &is_tool);
            assert!(reading.malformed.is_empty(), "{form}: {text}\n{reading:?}");
            assert_eq!(
                reading.calls.len(),
                calls.len(),
                "{form}: {text}\n{reading:?}"
            );
            for (call, (tool, arguments)) in reading.calls.into_iter().zip(&calls) {
                assert_eq!(call.name, *tool, "{text}");
                assert!(form.includes(call.form), "{} in {text}", call.form);
                assert_eq!(&with_types(call, arguments), arguments, "{form}: {text}");
            }
        }
    }
}
