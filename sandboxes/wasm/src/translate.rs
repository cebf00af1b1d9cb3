//! Translates source text to the language of an image. This runs on a separate thread, because the
//! parser is recursive and needs a large stack.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use assay_typescript::{STACK, TypeScriptError, javascript};
use assay_worker::program::Translation;

/// A text, and where the result goes.
type Job = (String, Sender<Result<String, TypeScriptError>>);

/// The thread that translates.
pub(crate) struct Translator(Mutex<Sender<Job>>);

impl Translator {
    pub(crate) fn start() -> std::io::Result<Self> {
        let (sender, receiver) = channel::<Job>();
        std::thread::Builder::new()
            .name("assay-translator".to_owned())
            .stack_size(STACK)
            .spawn(move || serve(&receiver))?;
        Ok(Self(Mutex::new(sender)))
    }

    /// Translates a text. `file` is its name in messages. The inner error is the message about a
    /// text that cannot be translated.
    ///
    /// # Errors
    /// If the thread has ended.
    pub(crate) fn translate<'a>(
        &self,
        translation: Translation,
        file: &str,
        text: &'a str,
    ) -> Result<Result<Cow<'a, str>, String>, TranslatorEnded> {
        match translation {
            Translation::None => Ok(Ok(Cow::Borrowed(text))),
            Translation::TypeScript => {
                let (sender, receiver) = channel();
                let thread = self.0.lock().map_err(|_| TranslatorEnded)?;
                let sent = thread.send((text.to_owned(), sender));
                sent.map_err(|_| TranslatorEnded)?;
                let translated = receiver.recv().map_err(|_| TranslatorEnded)?;
                Ok(translated
                    .map(Cow::Owned)
                    .map_err(|error| described(&error, file)))
            }
        }
    }
}

/// The thread that translates has ended.
#[derive(Debug, thiserror::Error)]
#[error("the translator thread has ended")]
pub(crate) struct TranslatorEnded;

fn serve(jobs: &Receiver<Job>) {
    for (text, reply) in jobs {
        // Fails if the caller is gone.
        let _ = reply.send(javascript(&text));
    }
}

/// An error in the format of a JavaScript engine.
fn described(error: &TypeScriptError, file: &str) -> String {
    let position = match error {
        TypeScriptError::Syntax { position, .. } => *position,
        TypeScriptError::TooLong => None,
    };
    let place = position
        .map(|position| format!("\n    at {file}:{}:{}", position.line, position.column))
        .unwrap_or_default();
    format!("SyntaxError: {error}{place}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translates_and_reports_errors_with_their_place() {
        let translator = Translator::start().unwrap();
        let translate = |text| {
            let translated = translator.translate(Translation::TypeScript, "main.js", text);
            translated.unwrap().map(Cow::into_owned)
        };
        assert_eq!(translate("let x: number;").as_deref(), Ok("let x        ;"));
        let error = translate("let x;\nlet y: = 1").unwrap_err();
        assert!(
            error.starts_with("SyntaxError: ") && error.ends_with("\n    at main.js:2:8\n"),
            "{error}"
        );
        let text = "let x: number;";
        let unchanged = translator.translate(Translation::None, "main.js", text);
        assert_eq!(unchanged.unwrap(), Ok(Cow::Borrowed(text)));
    }
}
