//! A `tools` task, as in a request.

use assay_core::error::{check_tolerance, invalid};
use assay_core::{Task, TaskError};
use assay_documents::Json;
use assay_documents::calls::Form;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::bfcl;
use crate::compare::{Argument, Comparator, ExpectedCall, Strings};
use crate::literals::Language;
use crate::state::{RawState, StateTask};
use crate::tool::{Names, Tool, Tools, field};

/// Maximum number of expected calls of a turn.
const MAX_EXPECTED: usize = 128;

/// Maximum number of arguments of an expected call.
const MAX_ARGUMENTS: usize = 1_000;

/// Maximum number of turns of a task.
const MAX_TURNS: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'t> {
    #[serde(borrow, default)]
    tools: Vec<&'t RawValue>,
    #[serde(borrow, default)]
    expected: Option<Vec<&'t RawValue>>,
    #[serde(borrow, default)]
    turns: Option<Vec<Vec<&'t RawValue>>>,
    #[serde(default, rename = "match")]
    matching: Match,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    form: Option<String>,
    #[serde(default)]
    steps: Steps,
    #[serde(default)]
    names: Names,
    #[serde(default)]
    language: Language,
    #[serde(default)]
    strings: Strings,
    #[serde(default)]
    float_tolerance: f64,
    #[serde(default)]
    state: Option<RawState>,
    #[serde(borrow, default, rename = "final")]
    last: Option<&'t RawValue>,
    #[serde(default)]
    response: bool,
}

/// The required relation between the calls and the expected ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Match {
    /// Every call is expected, and every expected call is made.
    #[default]
    Exact,
    /// Every call is expected.
    Subset,
    /// Every expected call is made.
    Superset,
    /// At least one expected call is made.
    Any,
}

/// Whether the order of calls matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    #[default]
    Any,
    Sequence,
}

/// How the score is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// 1 if all match, else 0.
    #[default]
    All,
    /// The share of calls that match.
    Fraction,
    /// The F1 score: twice the matches over the number of expected and actual calls.
    F1,
    /// ToolRL's reward.
    #[serde(rename = "toolrl")]
    ToolRl,
    /// BFCL's verdict.
    Bfcl,
}

/// What the steps of a grade are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Steps {
    #[default]
    Turns,
    Calls,
}

/// A parsed task.
pub(crate) struct ToolsTask {
    pub(crate) tools: Tools,
    /// Expected calls of each turn; `None` if only the state is compared.
    pub(crate) turns: Option<Vec<Vec<ExpectedCall>>>,
    /// Whether the task lists turns; otherwise it has a single one.
    pub(crate) by_turn: bool,
    pub(crate) matching: Match,
    pub(crate) order: Order,
    pub(crate) mode: Mode,
    pub(crate) steps: Steps,
    pub(crate) form: Option<Form>,
    pub(crate) language: Language,
    pub(crate) strings: Strings,
    pub(crate) tolerance: f64,
    pub(crate) state: Option<StateTask>,
    pub(crate) last: Option<Task>,
    pub(crate) response: bool,
}

impl ToolsTask {
    /// Compares calls in the modes that do not reproduce other systems.
    pub(crate) fn comparator(&self) -> Comparator<'_> {
        Comparator {
            tools: &self.tools,
            strings: self.strings,
            tolerance: self.tolerance,
        }
    }

    /// Whether an expected call accepts this value of an argument.
    pub(crate) fn accepts(&self, tool: Option<&Tool>, argument: &Argument, value: &Json) -> bool {
        if self.mode == Mode::Bfcl {
            let schema = tool.and_then(|tool| tool.parameter(&argument.name));
            return schema.is_some_and(|schema| {
                bfcl::argument(self.language, schema, argument, value).is_ok()
            });
        }
        let comparator = self.comparator();
        let mut accepted = argument.accepted.iter();
        accepted.any(|accepted| comparator.same(accepted, value))
    }

    /// Reads a task and validates all but its schemas.
    pub(crate) fn read(task: &Task) -> Result<Self, TaskError> {
        let body: Body<'_> = task.parse()?;
        let mode = body.mode;
        check_tolerance(body.float_tolerance)?;
        let form = body.form.as_deref().map(|name| {
            let names = || {
                Form::ALL
                    .iter()
                    .map(|form| format!("`{form}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            Form::named(name).ok_or_else(|| {
                invalid(
                    "/form",
                    format!("unknown form `{name}`; use one of {}", names()),
                )
            })
        });
        let tools = Tools::read(&body.tools, body.names)?;
        let by_turn = body.turns.is_some();
        let turns = read_turns(&body, &tools)?;
        let last = body.last.map(|raw| {
            Task::from_raw(raw).map_err(|error| {
                TaskError::new(
                    error.code,
                    &format!("/final{}", error.pointer),
                    error.message,
                )
            })
        });
        if body.response && mode != Mode::ToolRl {
            return Err(invalid(
                "/response",
                "`response` requires `\"mode\": \"toolrl\"`",
            ));
        }
        if mode == Mode::Bfcl
            && !tools.are_defined()
            && turns.iter().flatten().any(|turn| !turn.is_empty())
        {
            return Err(invalid(
                "/tools",
                "mode `bfcl` checks types of parameters; add `tools`",
            ));
        }
        if body.language != Language::Python && mode != Mode::Bfcl {
            return Err(invalid(
                "/language",
                "`language` requires `\"mode\": \"bfcl\"`",
            ));
        }
        if body.names != Names::Exact && !tools.are_defined() {
            return Err(invalid(
                "/names",
                "`names` compares calls with the names of `tools`; add `tools`",
            ));
        }
        if mode == Mode::ToolRl && by_turn {
            return Err(invalid(
                "/turns",
                "mode `toolrl` grades a single turn; use `expected`",
            ));
        }
        if mode == Mode::ToolRl && form.is_some() {
            return Err(invalid(
                "/form",
                "mode `toolrl` reads a single form; remove `form`",
            ));
        }
        let exact = |argument: &Argument| argument.accepted.len() == 1 && !argument.optional;
        if mode == Mode::ToolRl
            && !turns
                .iter()
                .flatten()
                .flatten()
                .flat_map(|call| &call.arguments)
                .all(exact)
        {
            return Err(invalid(
                "/expected",
                "mode `toolrl` accepts one value for each argument; use `arguments` only",
            ));
        }
        if matches!(mode, Mode::ToolRl | Mode::Bfcl) {
            let has_defaults = body.matching == Match::Exact
                && body.order == Order::Any
                && body.strings == Strings::Exact;
            if !has_defaults || body.float_tolerance > 0.0 {
                let message = "modes `toolrl` and `bfcl` have fixed rules of comparison; remove \
                               `match`, `order`, `strings` and `float_tolerance`";
                return Err(invalid("/mode", message));
            }
        }
        let refused = turns.iter().flatten().flatten().any(|call| call.refused);
        if refused && body.state.is_none() {
            return Err(invalid(
                "/expected",
                "`refused` applies to expected calls of a task with `state`",
            ));
        }
        let state = body.state.map(|raw| {
            if !matches!(mode, Mode::All | Mode::Fraction) {
                return Err(invalid(
                    "/mode",
                    "with `state`, `mode` must be `all` or `fraction`",
                ));
            }
            if body.matching != Match::Exact || body.order != Order::Any {
                return Err(invalid(
                    "/match",
                    "`match` and `order` do not apply to a task with `state`; remove them",
                ));
            }
            StateTask::read(&raw, &tools)
        });
        Ok(Self {
            turns,
            by_turn,
            matching: body.matching,
            order: body.order,
            mode,
            steps: body.steps,
            form: form.transpose()?,
            language: body.language,
            strings: body.strings,
            tolerance: body.float_tolerance,
            state: state.transpose()?,
            last: last.transpose()?,
            response: body.response,
            tools,
        })
    }
}

fn read_turns(body: &Body<'_>, tools: &Tools) -> Result<Option<Vec<Vec<ExpectedCall>>>, TaskError> {
    let (turns, pointer): (Vec<&Vec<&RawValue>>, &str) = match (&body.expected, &body.turns) {
        (Some(_), Some(_)) => {
            return Err(invalid(
                "/turns",
                "use either `expected` or `turns`, not both",
            ));
        }
        (Some(expected), None) => (vec![expected], "/expected"),
        (None, Some(turns)) => (turns.iter().collect(), "/turns"),
        (None, None)
            if body
                .state
                .as_ref()
                .is_some_and(|state| state.expected.is_some()) =>
        {
            return Ok(None);
        }
        (None, None) => {
            return Err(invalid(
                "/expected",
                "add the `expected` calls (`[]` for none), `turns`, or an expected `state`",
            ));
        }
    };
    if turns.is_empty() || turns.len() > MAX_TURNS {
        return Err(invalid(
            "/turns",
            format!("a task has 1 to {MAX_TURNS} turns"),
        ));
    }
    let turn = |(at, calls): (usize, &&Vec<&RawValue>)| {
        let pointer = if pointer == "/turns" {
            format!("/turns/{at}")
        } else {
            pointer.to_owned()
        };
        if calls.len() > MAX_EXPECTED {
            return Err(invalid(
                &pointer,
                format!("a turn has at most {MAX_EXPECTED} expected calls"),
            ));
        }
        let call = |(at, raw): (usize, &RawValue)| {
            let pointer = format!("{pointer}/{at}");
            expected_call(field(raw, &pointer)?, &pointer, body.mode, tools)
        };
        calls
            .iter()
            .copied()
            .enumerate()
            .map(call)
            .collect::<Result<Vec<_>, _>>()
    };
    turns
        .iter()
        .enumerate()
        .map(turn)
        .collect::<Result<Vec<_>, _>>()
        .map(Some)
}

/// Error for an expected call of another shape.
const SHAPE: &str =
    "expected an object {\"name\", \"arguments\"?, \"any_of\"?, \"optional\"?, \"refused\"?}";

fn expected_call(
    json: Json,
    pointer: &str,
    mode: Mode,
    tools: &Tools,
) -> Result<ExpectedCall, TaskError> {
    let Json::Object(mut members) = json else {
        return Err(invalid(pointer, SHAPE));
    };
    if mode == Mode::Bfcl
        && let [(name, Json::Object(arguments))] = members.as_mut_slice()
    {
        return bfcl_call(name, std::mem::take(arguments), pointer, tools);
    }
    let (mut name, mut arguments, mut optional) = (None, Vec::<Argument>::new(), Vec::new());
    let mut refused = false;
    for (key, value) in members {
        let pointer = format!("{pointer}/{key}");
        match (key.as_str(), value) {
            ("name", Json::Text(text)) if !text.is_empty() => name = Some(text),
            ("arguments" | "parameters", Json::Object(members)) => {
                let exact = |(key, value): (String, Json)| Argument::new(key, vec![value]);
                arguments.extend(members.into_iter().map(exact));
            }
            ("any_of", Json::Object(members)) => {
                for (key, values) in members {
                    let pointer = format!("{pointer}/{key}");
                    let Json::Array(values) = values else {
                        return Err(invalid(
                            &pointer,
                            "`any_of` must map each argument to an array of accepted values",
                        ));
                    };
                    if values.is_empty() {
                        return Err(invalid(&pointer, "the array of accepted values is empty"));
                    }
                    arguments.push(Argument::new(key, values));
                }
            }
            ("refused", Json::Bool(value)) => refused = value,
            ("optional", Json::Array(names)) => {
                for value in names {
                    let Json::Text(name) = value else {
                        let message = "`optional` must be an array of argument names";
                        return Err(invalid(&pointer, message));
                    };
                    optional.push(name);
                }
            }
            _ => return Err(invalid(&pointer, SHAPE)),
        }
    }
    for name in optional {
        let argument = arguments.iter_mut().find(|argument| argument.name == name);
        let missing = || {
            invalid(
                &format!("{pointer}/optional"),
                format!("`{name}` has no accepted value in `any_of` or `arguments`"),
            )
        };
        argument.ok_or_else(missing)?.optional = true;
    }
    if arguments.len() > MAX_ARGUMENTS {
        return Err(invalid(
            pointer,
            format!("a call has at most {MAX_ARGUMENTS} arguments"),
        ));
    }
    if let Some(twice) = (1..arguments.len()).find(|at| {
        arguments[..*at]
            .iter()
            .any(|before| before.name == arguments[*at].name)
    }) {
        let name = &arguments[twice].name;
        return Err(invalid(
            pointer,
            format!("the argument `{name}` is in both `arguments` and `any_of`"),
        ));
    }
    let name = name.ok_or_else(|| invalid(pointer, SHAPE))?;
    let name = tool_name(&name, pointer, tools)?;
    Ok(ExpectedCall {
        name,
        arguments,
        refused,
    })
}

/// Reads `{"f": {"a": [accepted, …]}}`. An empty string among the accepted values makes the
/// argument optional.
fn bfcl_call(
    name: &str,
    arguments: Vec<(String, Json)>,
    pointer: &str,
    tools: &Tools,
) -> Result<ExpectedCall, TaskError> {
    let name = &tool_name(name, pointer, tools)?;
    let argument = |(key, values): (String, Json)| match values {
        Json::Array(values) => Ok(Argument::new(key, values)),
        _ => Err(invalid(
            &format!("{pointer}/{name}/{key}"),
            "BFCL's format requires an array of accepted values for each argument",
        )),
    };
    let arguments = arguments
        .into_iter()
        .map(argument)
        .collect::<Result<Vec<_>, _>>()?;
    let tool = tools.get(name);
    let cannot_match = |argument: &&Argument| {
        let parameter = tool.and_then(|tool| tool.parameter(&argument.name));
        argument.accepted.is_empty()
            || parameter.is_some_and(|parameter| !bfcl::has_type(parameter))
            || parameter.is_none() && !bfcl::is_optional(argument)
    };
    if let Some(Argument { name: key, .. }) = arguments.iter().find(cannot_match) {
        let message = format!(
            "no call can match: `{key}` has no accepted values, is not a parameter of `{name}`, or \
             BFCL does not know its type"
        );
        return Err(invalid(&format!("{pointer}/{name}/{key}"), message));
    }
    let is_missing = |key: &&str| !arguments.iter().any(|argument| argument.name == **key);
    let mut required = tool.into_iter().flat_map(Tool::required);
    if let Some(key) = required.find(is_missing) {
        let message =
            format!("no call can match: `{name}` requires `{key}`, which has no accepted values");
        return Err(invalid(&format!("{pointer}/{name}"), message));
    }
    Ok(ExpectedCall {
        name: name.to_owned(),
        arguments,
        refused: false,
    })
}

/// The name of a tool as in its definition.
fn tool_name(name: &str, pointer: &str, tools: &Tools) -> Result<String, TaskError> {
    match tools.get(name) {
        Some(tool) => Ok(tool.name.clone()),
        None if tools.are_defined() => Err(invalid(
            pointer,
            format!("`{name}` is not one of the task's `tools`"),
        )),
        None => Ok(name.to_owned()),
    }
}
