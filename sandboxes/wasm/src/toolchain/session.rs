//! Calls of sessions of a compiler. Each call compiles its code as a program and runs it. Only the
//! files, the clock and the random numbers continue from one call to the next.

use assay_worker::program::{Call, Called, Compile, Compiled, End, File, Part, Ran, Translation};

use super::{Entry, Toolchain};
use crate::files::Files;
use crate::frozen::Frozen;
use crate::request_error::RequestError;
use crate::session::Start;
use crate::state::State;

/// Endings of the files of a session that its programs can include.
const HEADERS: [&str; 6] = [".h", ".hh", ".hpp", ".hxx", ".inc", ".ipp"];

impl Toolchain {
    /// Compiles the code of a call by this standard and runs it.
    ///
    /// # Errors
    /// If the session is damaged or the image does not work.
    pub(crate) fn call(&self, call: &Call, standard: &str) -> Result<Called, RequestError> {
        let Start {
            state, contents, ..
        } = Start::of(call, self.limits(call.limits), &self.info.hash)?;
        let (mut ran, mut state) = self.compile_and_run(call, standard, state)?;
        state.descriptors.close_all();
        ran.files = state.descriptors.files().fetch(&call.fetch);
        let is_limit = matches!(
            ran.end,
            End::OutOfWork | End::OutOfMemory | End::OutOfOutput
        );
        let frozen = if is_limit {
            None
        } else {
            let host = state.freeze(ran.work);
            let frozen = Frozen::new(&self.info.hash, host, &contents, None)?;
            Some(frozen.to_bytes()?.into())
        };
        Ok(Called {
            ran,
            frozen,
            changed_bytes: 0,
        })
    }

    /// Also returns the state at the end.
    fn compile_and_run(
        &self,
        call: &Call,
        standard: &str,
        state: State,
    ) -> Result<(Ran, State), RequestError> {
        let ending = match self.manifest.language_of(standard) {
            Some("c") => "c",
            _ => "cpp",
        };
        let compiled = self.compile(&Compile {
            image: call.image.clone(),
            translation: Translation::None,
            standard: standard.to_owned(),
            parts: vec![Part {
                name: format!("call{}.{ending}", call.number),
                text: call.code.clone(),
            }],
            files: headers(&state.descriptors.files()),
            calls: Vec::new(),
            linked: None,
        })?;
        match compiled {
            Compiled::Rejected(message) => Ok((Ran::without_output(End::Raised(message)), state)),
            Compiled::Code(code) => {
                let limits = self.limits(call.limits);
                self.run(&code, Entry::Main(Vec::new()), limits, state)
            }
        }
    }
}

fn headers(files: &Files) -> Vec<File> {
    let all = files.all().into_iter();
    all.filter(|(path, _)| HEADERS.iter().any(|ending| path.ends_with(ending)))
        .map(|(path, bytes)| File {
            path,
            bytes: bytes.to_vec(),
        })
        .collect()
}
