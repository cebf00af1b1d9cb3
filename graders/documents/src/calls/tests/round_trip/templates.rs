//! Writers that follow the chat templates of models.

use crate::calls::Form;
use crate::json::Json;

/// A call: the name of the tool and its arguments.
pub(super) type Written<'a> = (&'a str, &'a [(String, Json)]);

/// Writes the calls of one message.
pub(super) type Write = fn(&[Written<'_>]) -> String;

/// A template: the form, the number of calls of a message, the writer, and what strings cannot
/// contain because the template does not escape it.
pub(super) type Template = (Form, usize, Write, &'static [&'static str]);

fn object(arguments: &[(String, Json)]) -> Json {
    Json::Object(arguments.to_vec())
}

/// `{"name": "f", "arguments": {}}`, with these keys.
fn named(call: Written<'_>, name: &str, arguments: &str) -> String {
    let (tool, values) = call;
    format!(
        "{{\"{name}\": \"{tool}\", \"{arguments}\": {}}}",
        object(values)
    )
}

fn each(calls: &[Written<'_>], separator: &str, write: impl Fn(Written<'_>) -> String) -> String {
    let calls: Vec<_> = calls.iter().map(|call| write(*call)).collect();
    calls.join(separator)
}

fn list(calls: &[Written<'_>], name: &str, arguments: &str) -> String {
    format!(
        "[{}]",
        each(calls, ", ", |call| named(call, name, arguments))
    )
}

/// The text of an untyped argument.
fn raw(value: &Json) -> String {
    value
        .text()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn python_value(value: &Json) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Number(_) | Json::Text(_) => value.to_string(),
        Json::Array(elements) => {
            let elements: Vec<_> = elements.iter().map(python_value).collect();
            format!("[{}]", elements.join(", "))
        }
        Json::Object(members) => {
            let member = |(key, value): &(String, Json)| {
                format!("{}: {}", Json::Text(key.clone()), python_value(value))
            };
            format!(
                "{{{}}}",
                members.iter().map(member).collect::<Vec<_>>().join(", ")
            )
        }
    }
}

fn python_call((tool, arguments): Written<'_>) -> String {
    let argument = |(name, value): &(String, Json)| format!("{name}={}", python_value(value));
    let arguments: Vec<_> = arguments.iter().map(argument).collect();
    format!("{tool}({})", arguments.join(", "))
}

fn gemma_value(value: &Json, quote: &str) -> String {
    match value {
        Json::Text(text) => format!("{quote}{text}{quote}"),
        Json::Array(elements) => {
            let elements = elements.iter().map(|value| gemma_value(value, quote));
            format!("[{}]", elements.collect::<Vec<_>>().join(","))
        }
        Json::Object(members) => {
            let member = |(key, value): &(String, Json)| {
                format!("{quote}{key}{quote}:{}", gemma_value(value, quote))
            };
            format!(
                "{{{}}}",
                members.iter().map(member).collect::<Vec<_>>().join(",")
            )
        }
        other => other.to_string(),
    }
}

fn gemma_call((tool, arguments): Written<'_>, quote: &str) -> String {
    let argument = |(name, value): &(String, Json)| format!("{name}:{}", gemma_value(value, quote));
    let arguments: Vec<_> = arguments.iter().map(argument).collect();
    format!("call:{tool}{{{}}}", arguments.join(","))
}

/// Each argument between marks; `{}` of `open` is its name.
fn marked_up(arguments: &[(String, Json)], open: &str, close: &str) -> String {
    let argument = |(name, value): &(String, Json)| {
        format!("{}{}{close}", open.replace("{}", name), raw(value))
    };
    arguments.iter().map(argument).collect()
}

/// Marks of reasoning and of turns, which are only recognised within strings that have quotes.
const TURNS: &[&str] = &["<think>", "</think>", "<|im_end|>"];

pub(super) const TEMPLATES: &[Template] = &[
    (
        Form::Hermes,
        3,
        |calls| {
            each(calls, "\n", |call| {
                format!(
                    "<tool_call>\n{}\n</tool_call>",
                    named(call, "name", "arguments")
                )
            })
        },
        &[],
    ),
    (
        Form::Qwen3Coder,
        3,
        |calls| {
            each(calls, "\n", |(tool, arguments)| {
                let arguments = marked_up(arguments, "<parameter={}>\n", "\n</parameter>\n");
                format!("<tool_call>\n<function={tool}>\n{arguments}</function>\n</tool_call>")
            })
        },
        &[
            "</parameter>",
            "<think>",
            "</think>",
            "<|im_end|>",
            "<|channel|>",
        ],
    ),
    (
        Form::Qwen25Coder,
        3,
        |calls| {
            let calls = each(calls, "\n", |call| named(call, "name", "arguments"));
            format!("<tools>\n{calls}\n</tools>")
        },
        &[],
    ),
    (
        Form::QwenAgent,
        3,
        |calls| {
            each(calls, "\n", |(tool, arguments)| {
                format!("✿FUNCTION✿: {tool}\n✿ARGS✿: {}", object(arguments))
            })
        },
        &[],
    ),
    (
        Form::Llama,
        3,
        |calls| {
            format!(
                "<|python_tag|>{}",
                each(calls, "; ", |call| named(call, "name", "parameters"))
            )
        },
        &[],
    ),
    (
        Form::Llama,
        3,
        |calls| {
            format!(
                "<|python_start|>[{}]<|python_end|>",
                each(calls, ", ", python_call)
            )
        },
        &[],
    ),
    (
        Form::Json,
        1,
        |calls| named(calls[0], "name", "parameters"),
        TURNS,
    ),
    (
        Form::Mistral,
        3,
        |calls| format!("[TOOL_CALLS] {}</s>", list(calls, "name", "arguments")),
        &[],
    ),
    (
        Form::Mistral,
        3,
        |calls| {
            let calls = each(calls, "", |(tool, arguments)| {
                format!("[TOOL_CALLS]{tool}[ARGS]{}", object(arguments))
            });
            format!("{calls}</s>")
        },
        &[],
    ),
    (
        Form::Phi,
        3,
        |calls| {
            format!(
                "<|tool_call|>{}<|/tool_call|>",
                list(calls, "name", "arguments")
            )
        },
        &[],
    ),
    (
        Form::Phi,
        3,
        |calls| format!("functools{}", list(calls, "name", "arguments")),
        &[],
    ),
    (
        Form::Hunyuan,
        3,
        |calls| {
            let calls = each(calls, "\n", |(tool, arguments)| {
                let arguments = marked_up(
                    arguments,
                    "<arg_key>{}</arg_key>\n<arg_value>",
                    "</arg_value>\n",
                );
                format!("<tool_call>{tool}<tool_sep>\n{arguments}</tool_call>")
            });
            format!("<tool_calls>\n{calls}\n</tool_calls>")
        },
        &[
            "</arg_value>",
            "\n",
            "<think>",
            "</think>",
            "<|im_end|>",
            "<|channel|>",
        ],
    ),
    (
        Form::Glm,
        3,
        |calls| {
            each(calls, "\n", |(tool, arguments)| {
                let arguments = marked_up(
                    arguments,
                    "<arg_key>{}</arg_key>\n<arg_value>",
                    "</arg_value>\n",
                );
                format!("<tool_call>{tool}\n{arguments}</tool_call>")
            })
        },
        &[
            "</arg_value>",
            "\n",
            "<think>",
            "</think>",
            "<|im_end|>",
            "<|channel|>",
        ],
    ),
    (
        Form::Glm,
        3,
        |calls| {
            each(calls, "", |(tool, arguments)| {
                let arguments = marked_up(
                    arguments,
                    "<arg_key>{}</arg_key><arg_value>",
                    "</arg_value>",
                );
                format!("<tool_call>{tool}{arguments}</tool_call>")
            })
        },
        &[
            "</arg_value>",
            "\n",
            "<think>",
            "</think>",
            "<|im_end|>",
            "<|channel|>",
        ],
    ),
    (
        Form::Glm,
        3,
        |calls| {
            each(calls, "<|assistant|>", |(tool, arguments)| {
                format!("{tool}\n{}", object(arguments))
            })
        },
        TURNS,
    ),
    (
        Form::MiniCpm,
        3,
        |calls| {
            let calls = each(calls, "\n", python_call);
            format!("<|tool_call_start|>\n```python\n{calls}\n```\n<|tool_call_end|>")
        },
        &[],
    ),
    (
        Form::MiniCpm,
        3,
        |calls| {
            format!(
                "<|tool_call_start|>[{}]<|tool_call_end|>",
                each(calls, ", ", python_call)
            )
        },
        &[],
    ),
    (
        Form::Granite,
        3,
        |calls| format!("<tool_call>{}", list(calls, "name", "arguments")),
        &[],
    ),
    (
        Form::DeepSeek,
        3,
        |calls| {
            let calls = each(calls, "\n", |(tool, arguments)| {
                format!(
                    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{tool}\n```json\n{}\n```<｜tool▁call▁end｜>",
                    object(arguments)
                )
            });
            format!("<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜><｜end▁of▁sentence｜>")
        },
        &[],
    ),
    (
        Form::DeepSeek,
        3,
        |calls| {
            let calls = each(calls, "", |(tool, arguments)| {
                format!(
                    "<｜tool▁call▁begin｜>{tool}<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
                    object(arguments)
                )
            });
            format!("<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜><｜end▁of▁sentence｜>")
        },
        &[],
    ),
    (
        Form::DeepSeek,
        3,
        |calls| {
            let calls = each(calls, "\n", |(tool, arguments)| {
                let argument = |(name, value): &(String, Json)| {
                    let is_string = value.text().is_some();
                    format!(
                        "<｜DSML｜parameter name=\"{name}\" string=\"{is_string}\">{}\
                     </｜DSML｜parameter>\n",
                        raw(value)
                    )
                };
                let arguments: String = arguments.iter().map(argument).collect();
                format!("<｜DSML｜invoke name=\"{tool}\">\n{arguments}</｜DSML｜invoke>")
            });
            format!("<｜DSML｜function_calls>\n{calls}\n</｜DSML｜function_calls>")
        },
        &["\n"],
    ),
    (
        Form::Kimi,
        3,
        |calls| {
            let calls = each(calls, "", |(tool, arguments)| {
                format!(
                    "<|tool_call_begin|>functions.{tool}:0<|tool_call_argument_begin|>{}\
                 <|tool_call_end|>",
                    object(arguments)
                )
            });
            format!("<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>")
        },
        &[],
    ),
    (
        Form::Harmony,
        1,
        |calls| {
            let (tool, arguments) = calls[0];
            format!(
                "<|channel|>analysis<|message|>So.<|end|><|start|>assistant<|channel|>commentary \
             to=functions.{tool} <|constrain|>json<|message|>{}<|call|>",
                object(arguments)
            )
        },
        &["<|channel|>"],
    ),
    (
        Form::Invoke,
        3,
        |calls| {
            let calls = each(calls, "\n", |(tool, arguments)| {
                let arguments = marked_up(arguments, "<parameter name=\"{}\">", "</parameter>\n");
                format!("<invoke name=\"{tool}\">\n{arguments}</invoke>")
            });
            format!("<minimax:tool_call>\n{calls}\n</minimax:tool_call>")
        },
        &[
            "</parameter>",
            "\n",
            "<think>",
            "</think>",
            "<|im_end|>",
            "<|channel|>",
        ],
    ),
    (
        Form::Gemma,
        3,
        |calls| format!("```tool_code\n[{}]\n```", each(calls, ", ", python_call)),
        &[],
    ),
    (
        Form::Gemma,
        3,
        |calls| {
            each(calls, "", |call| {
                let call = gemma_call(call, "<escape>");
                format!("<start_function_call>{call}<end_function_call>")
            })
        },
        &["<escape>"],
    ),
    (
        Form::Gemma,
        3,
        |calls| {
            each(calls, "", |call| {
                format!("<|tool_call>{}<tool_call|>", gemma_call(call, "<|\"|>"))
            })
        },
        &["<|\"|>"],
    ),
    (
        Form::Nemotron,
        3,
        |calls| format!("<TOOLCALL>{}</TOOLCALL>", list(calls, "name", "arguments")),
        &[],
    ),
    (
        Form::Cohere,
        3,
        |calls| {
            let calls = list(calls, "tool_name", "parameters");
            format!("<|START_ACTION|>{calls}<|END_ACTION|>")
        },
        &[],
    ),
    (
        Form::Cohere,
        3,
        |calls| {
            format!(
                "Action: ```json\n{}\n```",
                list(calls, "tool_name", "parameters")
            )
        },
        &[],
    ),
    (
        Form::InternLm,
        1,
        |calls| {
            let call = named(calls[0], "name", "parameters");
            format!("I look.<|action_start|><|plugin|>\n{call}<|action_end|>")
        },
        &[],
    ),
    (
        Form::Jamba,
        3,
        |calls| {
            format!(
                "<tool_calls>{}</tool_calls>",
                list(calls, "name", "arguments")
            )
        },
        &[],
    ),
    (
        Form::Jamba,
        3,
        |calls| {
            let calls = each(calls, "\n", |call| named(call, "name", "arguments"));
            format!("<tool_calls>\n{calls}\n</tool_calls>")
        },
        &[],
    ),
    (
        Form::Step,
        3,
        |calls| {
            let calls = each(calls, "", |(tool, arguments)| {
                let arguments = marked_up(
                    arguments,
                    "<steptml:parameter name=\"{}\">",
                    "</steptml:parameter>",
                );
                format!(
                    "<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"{tool}\">\
                 {arguments}</steptml:invoke><｜tool_call_end｜>"
                )
            });
            format!("<｜tool_calls_begin｜>{calls}<｜tool_calls_end｜>")
        },
        &["\n", "<think>", "</think>", "<|im_end|>", "<|channel|>"],
    ),
    (
        Form::LongCat,
        3,
        |calls| {
            each(calls, "\n", |call| {
                let call = named(call, "name", "arguments");
                format!("<longcat_tool_call>\n{call}\n</longcat_tool_call>")
            })
        },
        &[],
    ),
    (
        Form::Apertus,
        3,
        |calls| {
            let calls = each(calls, ", ", |(tool, arguments)| {
                format!("{{\"{tool}\": {}}}", object(arguments))
            });
            format!("<|tools_prefix|>[{calls}]<|tools_suffix|>")
        },
        &[],
    ),
    (
        Form::Functionary,
        3,
        |calls| {
            let calls = each(calls, "", |(tool, arguments)| {
                format!(">>>{tool}\n{}", object(arguments))
            });
            format!(">>>all\nI look.{calls}")
        },
        &[],
    ),
    (
        Form::Functionary,
        3,
        |calls| {
            each(calls, "\n", |(tool, arguments)| {
                format!(
                    "<|from|>assistant\n<|recipient|>{tool}\n<|content|>{}",
                    object(arguments)
                )
            })
        },
        &[],
    ),
    (
        Form::Olmo,
        3,
        |calls| {
            let calls = each(calls, "\n", python_call);
            format!("<function_calls>\n{calls}\n</function_calls>")
        },
        &[],
    ),
    (
        Form::Xml,
        3,
        |calls| {
            each(calls, "\n", |(tool, arguments)| {
                let argument =
                    |(name, value): &(String, Json)| format!("<{name}>{}</{name}>\n", raw(value));
                let arguments: String = arguments.iter().map(argument).collect();
                format!("<{tool}>\n{arguments}</{tool}>")
            })
        },
        &["\n", "<think>", "</think>", "<|im_end|>", "<|channel|>"],
    ),
    (
        Form::React,
        1,
        |calls| {
            let (tool, arguments) = calls[0];
            format!(
                "Thought: so.\nAction: {tool}\nAction Input: {}",
                object(arguments)
            )
        },
        MARKS,
    ),
    (
        Form::Pythonic,
        3,
        |calls| format!("[{}]", each(calls, ", ", python_call)),
        TURNS,
    ),
    (
        Form::Json,
        3,
        |calls| list(calls, "name", "arguments"),
        TURNS,
    ),
];

/// Marks in strings of a form without marks of its own.
const MARKS: &[&str] = &[
    "<think>",
    "</think>",
    "<|im_end|>",
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "<function=f>",
    "```tool_code",
    "<|channel|>",
];
