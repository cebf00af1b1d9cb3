//! Renders rollouts as text, with the tokenizer's chat template, a fixed format, or a custom
//! template.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_base::has_large_integer;
use assay_core::reward_model::Refusal;
use assay_core::{Completion, ContentPart, Message, MessageContent, RawJson};
use minijinja::Value as Jinja;
use serde_json::Value;

use super::error::InputReaderError;
use super::prompt_marks::{self, PromptMarks};
use super::rendered::first_turn;
use super::template::{CLOCK, Missing, Template};
use super::tokenizer_config::TokenizerConfig;
use crate::options::ModelOptions;

/// A completion with its prompt and reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rollout<'a> {
    pub(super) prompt: Option<&'a Completion>,
    pub(super) completion: &'a Completion,
    pub(super) reference: Option<&'a str>,
}

#[derive(Debug)]
enum TemplateStyle {
    /// The tokenizer's chat template, which renders the special tokens itself.
    Chat(Template),
    /// The tokenizer's chat template with one question about the rollout, followed by the start of
    /// the assistant's turn.
    Question { chat: Template, question: Template },
    /// Prompt and completion, concatenated.
    Text,
    /// Question, reference answer and completion in tags.
    VerifyRm,
    /// A custom template.
    Custom(Template),
}

/// Renders rollouts.
#[derive(Debug)]
pub(super) struct Renderer {
    style: TemplateStyle,
    system: Option<String>,
    variables: Vec<(&'static str, Jinja)>,
}

impl Renderer {
    pub(super) fn open(
        options: &ModelOptions,
        config: &TokenizerConfig,
    ) -> Result<Self, InputReaderError> {
        let style = Self::style(options, config)?;
        let renderer = Self {
            style,
            system: options.system.clone(),
            variables: config.variables().collect(),
        };
        // A template may reject the probe for other reasons. Only the use of the date is an error
        // for every conversation.
        match probe(|rollout| renderer.render(rollout)) {
            Err(Refusal::Unreadable(problem)) if problem.contains(CLOCK) => {
                Err(InputReaderError::new("chat template", problem))
            }
            _ => Ok(renderer),
        }
    }

    fn style(
        options: &ModelOptions,
        config: &TokenizerConfig,
    ) -> Result<TemplateStyle, InputReaderError> {
        let option = |name: &'static str, source: &str| {
            Template::compile(source, Missing::Error)
                .map_err(|problem| InputReaderError::new(name, problem))
        };
        let chat = || {
            let Some(source) = &config.chat_template else {
                return Err(InputReaderError::new(
                    "option `template`",
                    "the tokenizer has no chat template, or several but none named `default`; \
                     declare another `template`",
                ));
            };
            Template::compile(source, Missing::Empty)
                .map_err(|problem| InputReaderError::new("chat template", problem))
        };
        if let Some(question) = &options.question {
            if options
                .template
                .as_deref()
                .is_some_and(|template| template != "chat")
            {
                return Err(InputReaderError::new(
                    "option `question`",
                    "it is rendered with the tokenizer's chat template; remove `template`",
                ));
            }
            return Ok(TemplateStyle::Question {
                chat: chat()?,
                question: option("option `question`", question)?,
            });
        }
        match options.template.as_deref() {
            None if config.chat_template.is_none() => Ok(TemplateStyle::Text),
            None | Some("chat") => Ok(TemplateStyle::Chat(chat()?)),
            Some("text") => Ok(TemplateStyle::Text),
            Some("verify_rm") => Ok(TemplateStyle::VerifyRm),
            Some(source) if source.contains("{{") || source.contains("{%") => {
                Ok(TemplateStyle::Custom(option("option `template`", source)?))
            }
            Some(name) => Err(InputReaderError::new(
                "option `template`",
                format!(
                    "unknown template `{name}`: use `chat`, `text`, `verify_rm` or a Jinja template"
                ),
            )),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self.style {
            TemplateStyle::Chat(_) | TemplateStyle::Question { .. } => "chat",
            TemplateStyle::Text => "text",
            TemplateStyle::VerifyRm => "verify_rm",
            TemplateStyle::Custom(_) => "custom",
        }
    }

    /// Whether the tokenizer adds its special tokens to the text. Chat templates already contain
    /// them.
    pub(super) fn adds_special(&self) -> bool {
        !matches!(
            self.style,
            TemplateStyle::Chat(_) | TemplateStyle::Question { .. }
        )
    }

    /// Renders a rollout.
    pub(super) fn render(&self, rollout: &Rollout<'_>) -> Result<String, Refusal> {
        self.write(rollout, &mut PromptMarks::disabled())
    }

    /// Byte ranges of `text`, a rendered rollout, that come from the prompt. `None` if the template
    /// does not preserve the prompt.
    pub(super) fn prompt_spans(
        &self,
        rollout: &Rollout<'_>,
        text: &str,
    ) -> Option<Vec<Range<usize>>> {
        prompt_marks::spans(
            &self.write(rollout, &mut PromptMarks::enabled()).ok()?,
            text,
        )
    }

    fn write(&self, rollout: &Rollout<'_>, marks: &mut PromptMarks) -> Result<String, Refusal> {
        self.check_prompt(rollout)?;
        match &self.style {
            TemplateStyle::Chat(template) => {
                let messages = self.conversation(rollout, marks)?;
                self.chat(template, messages, false)
            }
            TemplateStyle::Question { chat, question } => {
                let question = question
                    .render(&text_variables(rollout, marks, Vec::new()))
                    .map_err(Refusal::Unreadable)?;
                let mut messages: Vec<Jinja> = self
                    .system
                    .iter()
                    .map(|system| message("system", system))
                    .collect();
                messages.push(message("user", &question));
                self.chat(chat, messages, true)
            }
            TemplateStyle::Text => concatenated(rollout, marks),
            TemplateStyle::VerifyRm => verify_rm(rollout, marks),
            TemplateStyle::Custom(template) => {
                let mut variables = self.variables.clone();
                // Messages and texts get separate marks, because a template may render both.
                variables.push(("messages", Jinja::from(self.messages(rollout, marks)?)));
                template
                    .render(&text_variables(rollout, marks, variables))
                    .map_err(Refusal::Unreadable)
            }
        }
    }

    /// Rejects a prompt that is already rendered with a chat template, unless the model reads texts
    /// without a template.
    fn check_prompt(&self, rollout: &Rollout<'_>) -> Result<(), Refusal> {
        let (Some(Completion::Text(prompt)), false) = (
            rollout.prompt,
            matches!(self.style, TemplateStyle::Text | TemplateStyle::Custom(_)),
        ) else {
            return Ok(());
        };
        first_turn(prompt).map_or(Ok(()), |turn| {
            Err(Refusal::Unreadable(format!(
                "`prompt` is already rendered with a chat template (it starts with `{turn}`), and \
                 the model would render it again; send the messages, or only the question"
            )))
        })
    }

    fn chat(
        &self,
        template: &Template,
        messages: Vec<Jinja>,
        generation: bool,
    ) -> Result<String, Refusal> {
        let own = [
            ("messages", Jinja::from(messages)),
            ("tools", Jinja::from(())),
            ("documents", Jinja::from(())),
            ("add_generation_prompt", Jinja::from(generation)),
        ];
        let context = Jinja::from_pairs(self.variables.iter().cloned().chain(own));
        template.render(&context).map_err(|problem| {
            Refusal::Unreadable(format!("the chat template rejects it: {problem}"))
        })
    }

    /// The messages of a rollout for a chat template. They must include a prompt or a user message.
    fn conversation(
        &self,
        rollout: &Rollout<'_>,
        marks: &mut PromptMarks,
    ) -> Result<Vec<Jinja>, Refusal> {
        let has_user = |completion: &Completion| match completion {
            Completion::Text(_) => false,
            Completion::Messages(messages) => messages.iter().any(|message| message.role == "user"),
        };
        if rollout.prompt.is_none() && !has_user(rollout.completion) {
            return Err(Refusal::Unreadable(
                "the model reads a completion with its prompt, but `prompt` is missing".to_owned(),
            ));
        }
        self.messages(rollout, marks)
    }

    fn messages(
        &self,
        rollout: &Rollout<'_>,
        marks: &mut PromptMarks,
    ) -> Result<Vec<Jinja>, Refusal> {
        let prompt = rollout
            .prompt
            .map(|prompt| message_values(prompt, "user", marks))
            .transpose()?
            .unwrap_or_default();
        let completion = message_values(
            rollout.completion,
            "assistant",
            &mut PromptMarks::disabled(),
        )?;
        let has_system = [rollout.prompt, Some(rollout.completion)]
            .into_iter()
            .flatten()
            .any(|part| match part {
                Completion::Text(_) => false,
                Completion::Messages(messages) => {
                    messages.iter().any(|message| message.role == "system")
                }
            });
        let system = self
            .system
            .iter()
            .filter(|_| !has_system)
            .map(|system| message("system", system));
        Ok(system.chain(prompt).chain(completion).collect())
    }
}

/// Calls `inspect` with a rollout of single characters, to examine the text that a template renders
/// around any rollout.
pub(super) fn probe<T>(inspect: impl FnOnce(&Rollout<'_>) -> T) -> T {
    let text = Completion::Text("?".into());
    inspect(&Rollout {
        prompt: Some(&text),
        completion: &text,
        reference: Some("?"),
    })
}

fn text_variables(
    rollout: &Rollout<'_>,
    marks: &mut PromptMarks,
    mut variables: Vec<(&'static str, Jinja)>,
) -> Jinja {
    let prompt = rollout
        .prompt
        .and_then(prompt_text)
        .map(|prompt| Jinja::from(marks.mark(&prompt).as_ref()));
    variables.push((
        "completion",
        Jinja::from(rollout.completion.text().as_ref()),
    ));
    variables.extend(prompt.map(|prompt| ("prompt", prompt)));
    variables.extend(
        rollout
            .reference
            .map(|reference| ("reference", Jinja::from(reference))),
    );
    Jinja::from_pairs(variables)
}

/// The text of a prompt: the text itself, or that of the last user message.
pub(super) fn prompt_text(prompt: &Completion) -> Option<String> {
    match prompt {
        Completion::Text(text) => Some(text.as_ref().to_owned()),
        Completion::Messages(messages) => messages
            .iter()
            .rev()
            .find(|message| message.role == "user")
            .map(Message::text),
    }
}

fn concatenated(rollout: &Rollout<'_>, marks: &mut PromptMarks) -> Result<String, Refusal> {
    let single_text = |part: &Completion| match part {
        Completion::Text(text) => Ok(text.as_ref().to_owned()),
        Completion::Messages(messages) => match &messages[..] {
            [message] => Ok(message.text()),
            _ => Err(Refusal::Unreadable(
                "the model has no chat template and cannot read conversations; send prompt and \
                 completion as one text each"
                    .to_owned(),
            )),
        },
    };
    let prompt = rollout
        .prompt
        .map(single_text)
        .transpose()?
        .unwrap_or_default();
    Ok(marks.mark(&prompt).into_owned() + &single_text(rollout.completion)?)
}

fn verify_rm(rollout: &Rollout<'_>, marks: &mut PromptMarks) -> Result<String, Refusal> {
    let missing = |what: &str| {
        Refusal::Unreadable(format!("the model compares with {what}, which is missing"))
    };
    let question = rollout
        .prompt
        .and_then(prompt_text)
        .ok_or_else(|| missing("the question of a `prompt`"))?;
    let reference = rollout.reference.ok_or_else(|| missing("a `reference`"))?;
    let (question, completion) = (marks.mark(&question), rollout.completion.text());
    Ok(format!(
        "<question>{question}</question>\n<reference_answer>{reference}</reference_answer>\n\
         <completion>{completion}</completion>"
    ))
}

/// Messages of a prompt or a completion. A plain text becomes a message of `role`.
fn message_values(
    part: &Completion,
    role: &str,
    marks: &mut PromptMarks,
) -> Result<Vec<Jinja>, Refusal> {
    match part {
        Completion::Text(text) => Ok(vec![message(role, &marks.mark(text))]),
        Completion::Messages(messages) => messages
            .iter()
            .map(|message| message_value(message, marks))
            .collect(),
    }
}

fn message(role: &str, content: &str) -> Jinja {
    Jinja::from_pairs([("role", role), ("content", content)])
}

/// A message with all its fields.
fn message_value(message: &Message, marks: &mut PromptMarks) -> Result<Jinja, Refusal> {
    let content = match &message.content {
        MessageContent::Null => Jinja::from(()),
        MessageContent::Text(text) => Jinja::from(marks.mark(text).as_ref()),
        MessageContent::Parts(parts) => parts
            .iter()
            .map(|part| marked_part(part, marks))
            .collect::<Result<_, _>>()?,
    };
    let rest = message.rest.iter();
    let rest: BTreeMap<&str, Jinja> = rest
        .map(|(name, value)| Ok((name.as_str(), field(value)?)))
        .collect::<Result<_, Refusal>>()?;
    // Templates read reasoning from one of three fields. `transformers` fills in the others.
    let reasoning = ["reasoning_content", "thinking", "reasoning"]
        .iter()
        .find_map(|name| rest.get(name).filter(|value| !value.is_none()));
    let own = [
        ("role", Jinja::from(message.role.as_str())),
        ("content", content),
    ];
    let first = reasoning
        .filter(|_| !rest.contains_key("thinking"))
        .map(|reasoning| ("thinking", reasoning.clone()));
    let last = reasoning.map(|reasoning| ("reasoning_content", reasoning.clone()));
    let others = rest.iter().map(|(name, value)| (*name, value.clone()));
    Ok(Jinja::from_pairs(
        first.into_iter().chain(own).chain(others).chain(last),
    ))
}

fn marked_part(part: &ContentPart, marks: &mut PromptMarks) -> Result<Jinja, Refusal> {
    let fields = match part {
        ContentPart::Text(text) => return Ok(Jinja::from(marks.mark(text).as_ref())),
        ContentPart::Fields(fields) => fields,
    };
    let values = fields.iter().map(|(name, value)| {
        let text = (name == "text").then(|| part.text()).flatten();
        let value = match text {
            Some(text) => Jinja::from(marks.mark(&text).as_ref()),
            None => field(value)?,
        };
        Ok((name.as_str(), value))
    });
    let values: Vec<_> = values.collect::<Result<_, Refusal>>()?;
    Ok(Jinja::from_pairs(values))
}

/// Converts the field of a message to a template value.
fn field(raw: &RawJson) -> Result<Jinja, Refusal> {
    if has_large_integer(raw.get()) {
        return Err(Refusal::Unreadable(
            "a message has an integer of more than 64 bits, which a template would round; send it \
             in a string"
                .to_owned(),
        ));
    }
    let value: Value = serde_json::from_str(raw.get())
        .map_err(|error| Refusal::Unreadable(format!("a field of a message: {error}")))?;
    Ok(jinja(&value))
}

/// Converts JSON to a template value.
fn jinja(value: &Value) -> Jinja {
    match value {
        Value::Null => Jinja::from(()),
        Value::Bool(value) => Jinja::from(*value),
        Value::Number(number) => number
            .as_i64()
            .map(Jinja::from)
            .or_else(|| number.as_u64().map(Jinja::from))
            .unwrap_or_else(|| Jinja::from(number.as_f64().unwrap_or(f64::NAN))),
        Value::String(text) => Jinja::from(text.as_str()),
        Value::Array(items) => items.iter().map(jinja).collect(),
        Value::Object(fields) => Jinja::from_pairs(
            fields
                .iter()
                .map(|(name, value)| (name.as_str(), jinja(value))),
        ),
    }
}
