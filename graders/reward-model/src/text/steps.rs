//! Splits completions into steps for process reward models, and marks each step with a token.

use assay_core::reward_model::Refusal;
use assay_core::{Completion, MessageContent};

use super::template::is_space;

/// Default separator of steps: a blank line.
const DEFAULT_SEPARATOR: &str = "\n\n";

/// Default step token, used by the process reward models of Qwen2.5 and most later ones.
pub(super) const DEFAULT_TOKEN: &str = "<extra_0>";

/// How steps are separated and marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepMarkers {
    separator: String,
    token: String,
    id: u32,
}

impl StepMarkers {
    /// Creates step markers: steps are separated by `separator` and followed by `token` with the id
    /// `id`.
    pub(super) fn new(separator: Option<&str>, token: &str, id: u32) -> Self {
        let separator = separator
            .filter(|separator| !separator.is_empty())
            .unwrap_or(DEFAULT_SEPARATOR);
        Self {
            separator: separator.to_owned(),
            token: token.to_owned(),
            id,
        }
    }

    /// Id of the step token.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The steps of a text, in the order of their scores: the parts between separators, without
    /// those of white space only.
    #[must_use]
    pub fn split<'a>(&self, text: &'a str) -> Vec<&'a str> {
        text.split(&self.separator)
            .filter(|step| !step.chars().all(is_space))
            .collect()
    }

    /// Returns the completion with the token after each step of its text, and the number of steps.
    ///
    /// # Errors
    /// [`Refusal::Unreadable`] if it has no steps or contains the step token: a score would then be
    /// read at a position chosen by the completion.
    pub(super) fn mark(&self, completion: &Completion) -> Result<(Completion, usize), Refusal> {
        let text = completion.text();
        if text.contains(&self.token) {
            return Err(self.forged("the completion"));
        }
        let steps = self.split(&text);
        if steps.is_empty() {
            return Err(Refusal::Unreadable(
                "the completion has no steps".to_owned(),
            ));
        }
        let marked: String = steps
            .iter()
            .flat_map(|step| [*step, self.token.as_str()])
            .collect();
        let completion = match completion {
            Completion::Text(_) => Completion::Text(marked.into()),
            Completion::Messages(messages) => {
                let mut messages = messages.to_vec();
                // The text is that of the last assistant message. It has steps, so the message
                // exists.
                if let Some(message) = messages
                    .iter_mut()
                    .rev()
                    .find(|message| message.role == "assistant")
                {
                    message.content = MessageContent::Text(marked);
                }
                Completion::Messages(messages.into())
            }
        };
        Ok((completion, steps.len()))
    }

    /// Positions of the step token. Their number must equal the number of steps.
    ///
    /// # Errors
    /// [`Refusal::Unreadable`] if there are too many, too few, or none.
    pub(super) fn positions(
        &self,
        ids: &[u32],
        expected: Option<usize>,
    ) -> Result<Vec<usize>, Refusal> {
        let positions: Vec<usize> = (0..ids.len()).filter(|&at| ids[at] == self.id).collect();
        match expected {
            Some(steps) if positions.len() > steps => {
                Err(self.forged("the prompt or the completion"))
            }
            Some(steps) if positions.len() < steps => Err(Refusal::Unreadable(format!(
                "{} of {steps} steps remain after rendering and truncation; send fewer or \
                 shorter ones",
                positions.len()
            ))),
            None if positions.is_empty() => Err(Refusal::Unreadable(format!(
                "the model scores steps, but the input has no step token `{}`",
                self.token
            ))),
            _ => Ok(positions),
        }
    }

    fn forged(&self, source: &str) -> Refusal {
        Refusal::Unreadable(format!(
            "{source} contains the step token `{}`; remove it",
            self.token
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> StepMarkers {
        StepMarkers::new(None, "<s>", 7)
    }

    fn marked(text: &str) -> Result<(String, usize), Refusal> {
        steps()
            .mark(&Completion::Text(text.into()))
            .map(|(completion, n)| (completion.text().into_owned(), n))
    }

    #[test]
    fn marks_each_step_and_drops_empty_ones() {
        assert_eq!(
            marked("a\n\n\n\nb c\n\n \n\n").unwrap(),
            ("a<s>b c<s>".to_owned(), 2)
        );
        assert_eq!(marked("a\n\n\nb").unwrap(), ("a<s>\nb<s>".to_owned(), 2));
        assert_eq!(
            StepMarkers::new(Some("\n"), "<s>", 7).split("a\nb"),
            ["a", "b"]
        );
        assert_eq!(
            StepMarkers::new(Some(""), "<s>", 7).split("a\nb\n\nc"),
            ["a\nb", "c"]
        );
    }

    #[test]
    fn marks_only_the_last_assistant_message() {
        let completion: Completion = serde_json::from_str(
            r#"[{"role":"assistant","content":"x\n\ny"},{"role":"tool","content":"t\n\nt"},
                {"role":"assistant","content":"a\n\nb"}]"#,
        )
        .unwrap();
        let (completion, count) = steps().mark(&completion).unwrap();
        let Completion::Messages(messages) = completion else {
            panic!("expected messages")
        };
        let texts: Vec<_> = messages.iter().map(assay_core::Message::text).collect();
        assert_eq!(
            (texts.as_slice(), count),
            (
                ["x\n\ny", "t\n\nt", "a<s>b<s>"]
                    .map(str::to_owned)
                    .as_slice(),
                2
            )
        );
    }

    #[test]
    fn rejects_forged_tokens_and_missing_steps() {
        assert!(
            marked("a<s>b")
                .unwrap_err()
                .to_string()
                .contains("step token `<s>`")
        );
        assert!(marked(" \n\n ").is_err());
        assert!(steps().positions(&[7, 1, 7], Some(1)).is_err());
        assert!(steps().positions(&[7, 1], Some(2)).is_err());
        assert!(steps().positions(&[1], None).is_err());
        assert_eq!(steps().positions(&[7, 1, 7], Some(2)).unwrap(), [0, 2]);
    }
}
