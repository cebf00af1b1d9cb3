//! Compiles a source to an object, as GCC would.

use super::diagnostics::{Source, WITH_RANGES, diagnostics, without_warnings};
use super::gnu;
use super::tool::{self, SharedFiles, ToolEnd, ToolLimits, lock};
use super::{Toolchain, precompiled};
use crate::state::EPOCH;

/// How often a source is changed. Errors can hide others.
const MAX_REPAIRS: usize = 3;

const QUIET: &str = "-w";
const WITHOUT_BUILTINS: &str = "-fno-builtin";

/// The names of a source and of its object.
pub(super) type Paths<'a> = [&'a str; 2];

/// What all sources of a compilation share.
pub(super) struct Objects<'a> {
    pub(super) toolchain: &'a Toolchain,
    pub(super) files: &'a SharedFiles,
    pub(super) limits: ToolLimits,
    pub(super) standard: &'a str,
    pub(super) language: &'a str,
}

/// A way to compile a source.
#[derive(Clone, Copy)]
struct Command<'a> {
    purpose: &'a str,
    builtins: &'a str,
}

impl Objects<'_> {
    /// Compiles a source. If GCC does with it what clang does not (`gnu.rs`), it is changed.
    pub(super) fn compile(&self, paths: Paths<'_>) -> ToolEnd {
        let text = lock(self.files)
            .content(paths[0])
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let text = text.unwrap_or_default();
        match self.attempt(paths, "") {
            (ToolEnd::Succeeded(messages), command) => {
                self.adjusted(paths, &text, &messages, command)
            }
            (ToolEnd::Failed(messages), _) => self.repaired(paths, text, &messages),
            (ended, _) => ended,
        }
    }

    /// Compiles the source as it is, with its warnings. A name may clash with one that only the
    /// precompiled header declares, so a source that fails with the header is compiled without it.
    fn attempt<'b>(&self, paths: Paths<'_>, builtins: &'b str) -> (ToolEnd, Command<'b>)
    where
        Self: 'b,
    {
        let mut standards = self.toolchain.manifest.precompiled_standards();
        if standards.any(|known| known == self.standard) {
            let command = Command {
                purpose: "c++ with precompiled header",
                builtins,
            };
            match self.run(paths, command, WITH_RANGES) {
                ToolEnd::Failed(_) => {}
                ended => return (ended, command),
            }
        }
        let command = Command {
            purpose: self.purpose(),
            builtins,
        };
        (self.run(paths, command, WITH_RANGES), command)
    }

    fn purpose(&self) -> &'static str {
        if self.is_c() { "c" } else { "c++" }
    }

    fn is_c(&self) -> bool {
        self.language == "c"
    }

    /// Compiles a source that compiles again if it has to be changed.
    fn adjusted(
        &self,
        paths: Paths<'_>,
        text: &str,
        messages: &str,
        command: Command<'_>,
    ) -> ToolEnd {
        let name = paths[0];
        let messages = diagnostics(messages);
        let formats = gnu::with_sizes_of_formats(Source { name, text }, &messages);
        let includes = match self.is_c() {
            true => gnu::undeclared_headers(&messages, |header| self.header(header)),
            false => String::new(),
        };
        let included = (!includes.is_empty()).then(|| {
            let text = formats.as_deref().unwrap_or(text);
            format!("{includes}#line 1 \"{name}\"\n{text}")
        });
        let changed = [included, formats].into_iter().flatten();
        let mut any = false;
        for text in changed {
            any = true;
            self.store(name, &text);
            let ended = self.run(paths, command, QUIET);
            if matches!(ended, ToolEnd::Succeeded(_)) {
                return ended;
            }
        }
        if any {
            self.store(name, text);
            return self.run(paths, command, QUIET);
        }
        ToolEnd::Succeeded(String::new())
    }

    /// Changes a source that was rejected until it compiles. Without success, the messages are
    /// about the source as it was.
    fn repaired(&self, paths: Paths<'_>, mut text: String, original: &str) -> ToolEnd {
        let name = paths[0];
        let (mut messages, mut builtins) = (original.to_owned(), "");
        for _ in 0..MAX_REPAIRS {
            let repair = gnu::repaired(
                &self.toolchain.manifest,
                Source { name, text: &text },
                &diagnostics(&messages),
                self.is_c(),
            );
            let Some(repair) = repair else { break };
            text = repair.text;
            if repair.without_builtins {
                builtins = WITHOUT_BUILTINS;
            }
            self.store(name, &text);
            match self.attempt(paths, builtins) {
                (ToolEnd::Succeeded(messages), command) => {
                    return self.adjusted(paths, &text, &messages, command);
                }
                (ToolEnd::Failed(next), _) => messages = next,
                _ => break,
            }
        }
        ToolEnd::Failed(without_warnings(original))
    }

    /// The text of a header of the C library.
    fn header(&self, name: &str) -> Option<String> {
        let files = lock(self.files);
        let sysroot = &self.toolchain.manifest.sysroot;
        // The second declares what several headers share, the third what is added.
        let parts = [
            format!("{sysroot}/c/{name}"),
            format!("{sysroot}/c/__header_{name}"),
            format!("{sysroot}/gnu/{name}"),
        ];
        let texts: Vec<_> = parts
            .iter()
            .filter_map(|path| files.content(path))
            .map(String::from_utf8_lossy)
            .collect();
        (!texts.is_empty()).then(|| texts.concat())
    }

    /// Replaces the source. What is stored has been stored before, in about the same size.
    fn store(&self, name: &str, text: &str) {
        if let Err(error) = lock(self.files).store(name, text.as_bytes(), EPOCH) {
            tracing::warn!(?error, "a changed source is not stored");
        }
    }

    fn run(&self, [source, object]: Paths<'_>, command: Command<'_>, warnings: &str) -> ToolEnd {
        let header = precompiled(self.standard);
        let values = [
            ("standard", self.standard),
            ("source", source),
            ("object", object),
            ("precompiled", header.as_str()),
            ("warnings", warnings),
            ("builtins", command.builtins),
        ];
        let words = self.toolchain.manifest.command(command.purpose, &values);
        tool::run(&self.toolchain.compiler, self.files, self.limits, words)
    }
}
