//! Compiles programs and tests in instances of their image, if it contains an interpreter.

use std::fmt;
use std::sync::atomic::AtomicBool;

use assay_worker::program::{COMPILE_MEMORY, COMPILE_WORK, End, Limits};
use serde_json::{Map, Value};

use crate::guest::Stopped;
use crate::image::Image;
use crate::instances::Role;
use crate::message::Message;
use crate::request_error::RequestError;
use crate::state::{DRIVER_OUTPUT, State};

/// What an image compiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Program,
    Test,
}

impl Subject {
    fn role(self) -> Role {
        match self {
            Self::Program => Role::Compiler,
            Self::Test => Role::Judge,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Program => "program",
            Self::Test => "test",
        })
    }
}

/// Sends a request to a compiler. Returns the blobs of its reply, or its error message.
///
/// # Errors
/// If the compiler returned no result. This is never the fault of the text.
pub(crate) fn compile(
    image: &Image,
    tainted: &AtomicBool,
    subject: Subject,
    request: Map<String, Value>,
    texts: &[&[u8]],
) -> Result<Result<Vec<Vec<u8>>, String>, RequestError> {
    let limits = Limits {
        work: COMPILE_WORK,
        memory_bytes: COMPILE_MEMORY,
        output_bytes: DRIVER_OUTPUT,
    };
    let role = subject.role();
    let mut guest = image.start(role, State::new(limits, 0, Vec::new()))?;
    guest.begin(limits).map_err(RequestError::no_instance)?;
    let reply = guest.request(request, texts);
    image.finish(tainted, role, guest);
    let message = match reply {
        Ok(reply) => match Message::read(&reply) {
            Some(message) if message.text("end") == "compiled" => {
                let blobs = message.blobs.iter().map(|blob| blob.to_vec());
                return Ok(Ok(blobs.collect()));
            }
            Some(message) => message.text("message").to_owned(),
            None => {
                return Err(RequestError::Transient(
                    "the reply of the compiler is malformed".to_owned(),
                ));
            }
        },
        Err(Stopped::Ended(End::OutOfWork)) => format!("the {subject} takes too long to compile"),
        Err(Stopped::Ended(End::OutOfMemory)) => {
            format!("the {subject} takes too much memory to compile")
        }
        Err(Stopped::Ended(End::Raised(message))) => message,
        Err(Stopped::Ended(end)) => format!("the compiler ended: {end:?}"),
        Err(stopped @ (Stopped::PeerEnded | Stopped::HostOutOfMemory)) => {
            return Err(RequestError::no_result(&stopped));
        }
    };
    Ok(Err(message))
}
