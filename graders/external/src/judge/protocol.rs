//! What a judge of each kind receives and replies with.

use std::time::Duration;

use assay_core::{ErrorCode, Fault};
use serde_json::{Value, json};

use super::{Asked, Judge};
use crate::chat::{self, ChatReply};
use crate::http::{CallError, CallErrorKind};
use crate::lean;
use crate::nemo_gym;
use crate::prompt::{Messages, Question};
use crate::reply::Judgement;
use crate::route::Route;
use crate::settings::Kind;
use crate::verifiers;

/// Share of the time of a call after which a server of Kimina stops Lean, so that its reply arrives
/// in time.
const LEAN_SHARE: f64 = 0.9;

impl Judge {
    /// The body of a request. `note` says why the last reply could not be read, and `timeout` when
    /// the call ends.
    pub(super) fn body(
        &self,
        asked: &Asked<'_>,
        note: Option<&str>,
        timeout: Duration,
    ) -> Result<Value, Fault> {
        let question = asked.question;
        match self.settings.kind {
            Kind::Chat => self.chat_body(question, note),
            Kind::Http => Ok(http_body(question)),
            Kind::NemoGym => Ok(nemo_gym::request(question)),
            Kind::Verifiers => Ok(verifiers::request(question)),
            Kind::Kimina => {
                let route = Route::of(&self.settings.url);
                let (Some(source), Some(route)) = (&asked.source, route) else {
                    return Err(self.unasked("there is no file to check"));
                };
                let seconds = (timeout.as_secs_f64() * LEAN_SHARE).floor().max(1.0);
                Ok(lean::request(route, source, seconds as u64))
            }
        }
    }

    fn chat_body(&self, question: &Question<'_>, note: Option<&str>) -> Result<Value, Fault> {
        let material = &question.material;
        let messages = self.prompt.render(material, &self.reader, &self.entropy);
        let Messages { system, mut user } = messages.map_err(|reason| self.unasked(&reason))?;
        if let Some(note) = note {
            user.push_str("\n\nYour last reply could not be read: ");
            user.push_str(note);
        }
        let schema = self.reader.schema(material.criteria);
        Ok(chat::request(
            &self.settings,
            &Messages { system, user },
            &schema,
        ))
    }

    /// Reads what does not depend on the verdict.
    pub(super) fn reply(&self, bytes: &[u8], asked: &Asked<'_>) -> Result<ChatReply, CallError> {
        if self.settings.kind == Kind::Chat {
            let reply = chat::reply(bytes).map_err(|reason| CallError {
                reason: self.endpoint.quoted(&reason),
                kind: CallErrorKind::Transient(None),
                may_cost: true,
            })?;
            return Ok(ChatReply {
                text: self.endpoint.without_key(&reply.text),
                model: reply.model.map(|model| self.endpoint.quoted(&model)),
                ..reply
            });
        }
        let text = String::from_utf8_lossy(bytes).into_owned();
        if let Some(source) = &asked.source {
            lean::reply(&text, source)?;
        }
        Ok(ChatReply {
            text,
            model: None,
            usage: None,
            is_truncated: false,
        })
    }

    /// Reads the verdict.
    pub(super) fn read(&self, reply: &ChatReply, asked: &Asked<'_>) -> Result<Judgement, String> {
        if reply.is_truncated {
            let most = self.settings.max_tokens;
            return Err(format!("the reply ended at the limit of {most} tokens"));
        }
        let text = &reply.text;
        match (self.settings.kind, &asked.source) {
            (Kind::NemoGym, _) => self.reader.in_range(nemo_gym::reward(text)?),
            (Kind::Verifiers, _) => self.reader.in_range(verifiers::reward(text)?),
            (Kind::Kimina, Some(source)) => lean::verdict(text, source),
            _ => {
                let criteria = asked.question.material.criteria;
                self.reader.read(text, criteria)
            }
        }
    }

    /// The fault of an item whose question cannot be asked.
    pub(super) fn unasked(&self, reason: &str) -> Fault {
        let message = format!("the judge `{}` cannot be asked: {reason}", self.name);
        Fault::permanent(ErrorCode::JudgeFailed, message)
    }
}

/// What a judge of the kind `http` receives.
fn http_body(question: &Question<'_>) -> Value {
    let material = &question.material;
    let criteria = material.criteria.iter().map(|criterion| {
        json!({ "id": criterion.id, "text": criterion.text, "points": criterion.points })
    });
    json!({
        "question": material.question,
        "completion": material.completion,
        "reference": material.reference,
        "rubric": material.rubric,
        "criteria": criteria.collect::<Vec<_>>(),
        "other": material.other.map(|(other, _)| other),
        "completion_first": material.other.map(|(_, first)| first),
        "data": question.data,
    })
}
