//! Compiles programs: source to object, object to module, module to machine code.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use assay_worker::program::{COMPILE_MEMORY, Compile, Compiled, NATIVE_COMPILE_WORK, Part};

use super::Toolchain;
use super::c_calls;
use super::calls::{Language, with_calls};
use super::entry::signature_of_main;
use super::narrow::{self, ModuleKind};
use super::objects::Objects;
use super::tool::{self, SharedFiles, ToolEnd, ToolLimits, lock};
use crate::request_error::RequestError;
use crate::state::EPOCH;

/// Limits of each run of the compiler or the linker. The precompiled header takes 45 MiB of memory,
/// and up to three copies of a large array exist at once.
const LIMITS: ToolLimits = ToolLimits {
    work: NATIVE_COMPILE_WORK,
    memory_bytes: 4 * COMPILE_MEMORY,
};

/// Names of the files that the tools write.
const OBJECT: &str = "program.o";
const LINKED_OBJECT: &str = "linked.o";
const CALLS_OBJECT: &str = "call.o";
/// Source of the object that calls the functions of a program in C.
const CALLS_SOURCE: &str = "call.c";
const MODULE: &str = "program.wasm";

impl Toolchain {
    /// Compiles a program.
    ///
    /// # Errors
    /// If the image does not work or the system is out of memory.
    pub(crate) fn compile(&self, compile: &Compile) -> Result<Compiled, RequestError> {
        let standard = compile.standard.as_str();
        let Some(language) = self.manifest.language_of(standard) else {
            return Err(RequestError::Permanent(format!(
                "the compiler does not support the standard `{standard}`"
            )));
        };
        let written_in = match language {
            "c" => Language::C,
            _ => Language::Cpp,
        };
        let name = name_of_source(&compile.parts);
        let text = source(&with_calls(&compile.parts, &compile.calls, written_in));
        let mut files = self.files().map_err(|error| {
            RequestError::Permanent(format!("the headers cannot be read: {error:?}"))
        })?;
        let included = compile.files.iter();
        let included = included.map(|file| (file.path.as_str(), file.bytes.as_slice()));
        // The source comes last: a file of its name would replace it.
        let linked = compile.linked.iter();
        let linked = linked.map(|part| (part.name.as_str(), part.text.as_bytes()));
        for (path, bytes) in included.chain(linked).chain([(name, text.as_bytes())]) {
            if let Err(error) = files.store(path, bytes, EPOCH) {
                return Ok(Compiled::Rejected(format!(
                    "`{path}` cannot be stored: {error:?}"
                )));
            }
        }
        let files: SharedFiles = Arc::new(Mutex::new(files));
        let start = match compile.calls.as_slice() {
            [] => "start.o",
            _ => "calls.o",
        };
        let linked_object = compile.linked.as_ref().map_or("", |_| LINKED_OBJECT);
        let link = |source: &str, [calls, caller]: [&str; 2]| {
            let values = [
                ("source", source),
                ("object", OBJECT),
                ("start", start),
                ("calls", calls),
                ("linked", linked_object),
                ("caller", caller),
                ("module", MODULE),
            ];
            let command = self.manifest.command("link", &values);
            tool::run(&self.compiler, &files, LIMITS, command)
        };
        let objects = Objects {
            toolchain: self,
            files: &files,
            limits: LIMITS,
            standard,
            language,
        };
        let caller_of_main = || {
            let files = lock(&files);
            let mut objects = [OBJECT, LINKED_OBJECT].into_iter();
            let signature = objects.find_map(|name| signature_of_main(files.content(name)?));
            signature.and_then(|signature| self.manifest.main_callers.get(&signature))
        };
        let mut compiled = objects.compile([name, OBJECT]);
        if let Some(Part { name, .. }) = &compile.linked
            && matches!(compiled, ToolEnd::Succeeded(_))
        {
            compiled = objects.compile([name, LINKED_OBJECT]);
        }
        let mut calls = "";
        let succeeded = matches!(compiled, ToolEnd::Succeeded(_));
        if succeeded && !compile.calls.is_empty() && written_in == Language::C {
            let source = match lock(&files).content(OBJECT) {
                Some(object) => c_calls::source(object, &compile.calls),
                None => Err("the compiler wrote no object\n".to_owned()),
            };
            let source = match source {
                Ok(source) => source,
                Err(message) => return Ok(Compiled::Rejected(format!("{name}: {message}"))),
            };
            if let Err(error) = lock(&files).store(CALLS_SOURCE, source.as_bytes(), EPOCH) {
                return Ok(Compiled::Rejected(format!(
                    "`{CALLS_SOURCE}` cannot be stored: {error:?}"
                )));
            }
            calls = CALLS_OBJECT;
            compiled = objects.compile([CALLS_SOURCE, CALLS_OBJECT]);
        }
        let linked = match compiled {
            ToolEnd::Succeeded(_) => {
                let caller = caller_of_main().map_or("", String::as_str);
                link(name, [calls, caller])
            }
            failed => failed,
        };
        if let Some(message) = message(linked)? {
            return Ok(Compiled::Rejected(message));
        }
        let module = lock(&files)
            .content(MODULE)
            .map(<[u8]>::to_vec)
            .unwrap_or_default();
        let narrowed = match narrow::narrow(&module, ModuleKind::Program) {
            Ok(narrowed) => narrowed,
            Err(error) => return Ok(Compiled::Rejected(format!("{name}: {error:#}\n"))),
        };
        // Each worker compiles the module to machine code itself: machine code from a worker that
        // runs untrusted programs must not reach another worker.
        Ok(
            match self
                .programs
                .add(&self.runtime_library, &self.manifest, narrowed)
            {
                Ok(code) => Compiled::Code(code),
                Err(message) => Compiled::Rejected(format!("{name}: {message}\n")),
            },
        )
    }
}

/// The name of the source file.
fn name_of_source(parts: &[Part]) -> &str {
    parts.last().map_or("main.cpp", |part| part.name.as_str())
}

/// The text of the source file. It contains all parts of the program, with `#line` directives so
/// that messages refer to the name and the line of a part.
fn source(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        if parts.len() > 1 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "#line 1 \"{}\"", part.name);
        }
        text.push_str(&part.text);
        if !part.text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

/// The error message of a failed compilation; `None` if it succeeded.
fn message(end: ToolEnd) -> Result<Option<String>, RequestError> {
    Ok(match end {
        ToolEnd::Succeeded(_) => None,
        ToolEnd::Failed(message) => Some(message),
        ToolEnd::OutOfWork => Some("the program takes too long to compile".to_owned()),
        ToolEnd::OutOfMemory => Some("the program takes too much memory to compile".to_owned()),
        ToolEnd::StackOverflow => {
            Some("the compiler overflowed its stack: the program nests too deeply".to_owned())
        }
        ToolEnd::HostFailed(reason) => return Err(RequestError::Transient(reason)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, text: &str) -> Part {
        Part {
            name: name.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn parts_keep_their_names_and_lines() {
        let parts = [
            part("prelude.cpp", "int f();"),
            part("main.cpp", "int x;\n"),
        ];
        assert_eq!(name_of_source(&parts), "main.cpp");
        let text = source(&parts);
        let expected = "#line 1 \"prelude.cpp\"\nint f();\n#line 1 \"main.cpp\"\nint x;\n";
        assert_eq!(text, expected);
        assert_eq!(source(&parts[1..]), "int x;\n");
    }
}
