//! Calls of sessions. An instance runs one call and is frozen; the next call continues in an
//! instance that was thawed from that, in any worker.

use std::sync::atomic::AtomicBool;

use assay_worker::program::{Call, Called, File, Limits};
use serde_json::json;

use crate::frozen::{Frozen, Memory, ThawedContents, ThawedSegments, cannot};
use crate::guest::{Guest, ReplySource};
use crate::image::Image;
use crate::instances::Role;
use crate::message::header;
use crate::request_error::RequestError;
use crate::run_end::{RunEnd, ran};
use crate::state::{EPOCH, State};

/// What a call continues from.
pub(crate) struct Start<'a> {
    /// The host's state, with the files of the caller.
    pub(crate) state: State,
    /// The files that were thawed.
    pub(crate) contents: ThawedContents<'a>,
    /// The memory of an instance that was frozen.
    memory: Option<Memory<'a>>,
    is_new: bool,
}

impl<'a> Start<'a> {
    /// The start of a call with these limits in the image with this hash.
    pub(crate) fn of(call: &'a Call, limits: Limits, image: &str) -> Result<Self, RequestError> {
        let stdin = call.stdin.clone();
        let start = match &call.frozen {
            None => Self {
                state: State::new(limits, call.seed, stdin),
                contents: ThawedContents::default(),
                memory: None,
                is_new: true,
            },
            Some(bytes) => {
                let (frozen, contents) = Frozen::read(bytes, image)?;
                Self {
                    state: State::thawed(frozen.host, limits, stdin),
                    contents,
                    memory: frozen.memory,
                    is_new: false,
                }
            }
        };
        for file in &call.files {
            store(&start.state, file)?;
        }
        Ok(start)
    }
}

/// Writes a file of the caller, at the time of the guest's clock.
fn store(state: &State, file: &File) -> Result<(), RequestError> {
    let now = EPOCH.saturating_add(state.clock_base);
    let mut files = state.descriptors.files();
    files.store(&file.path, &file.bytes, now).map_err(|error| {
        let path = &file.path;
        RequestError::Permanent(format!("the file `{path}` cannot be created: {error:?}"))
    })
}

/// The instance of a call.
pub(crate) struct Thawed<'a> {
    pub(crate) guest: Guest,
    contents: ThawedContents<'a>,
    pub(crate) segments: ThawedSegments<'a>,
}

impl<'a> Thawed<'a> {
    pub(crate) fn of(image: &Image, call: &'a Call) -> Result<Self, RequestError> {
        let start = Start::of(call, call.limits, &image.info.hash)?;
        let mut guest = image.start(Role::Session, start.state)?;
        let segments = match start.memory {
            Some(memory) => image.instances.thaw(&mut guest, memory)?,
            None if start.is_new => ThawedSegments::default(),
            None => return Err(cannot("thawed", &"it has no memory").into()),
        };
        Ok(Self {
            guest,
            contents: start.contents,
            segments,
        })
    }
}

/// Runs a call in an instance of its image.
pub(crate) fn run(
    image: &Image,
    tainted: &AtomicBool,
    call: &Call,
) -> Result<Called, RequestError> {
    let Thawed {
        mut guest,
        contents,
        segments,
    } = Thawed::of(image, call)?;
    guest
        .begin(call.limits)
        .map_err(RequestError::no_instance)?;
    let request = header(json!({"op": "session", "number": call.number}));
    let reply = guest.request(request, &[call.code.as_bytes()]);
    // A limit can end an instance anywhere, even while the interpreter changes its own data.
    let (frozen, changed_bytes) = if reply.is_ok() {
        let memory = image.instances.freeze(&mut guest, &segments)?;
        let changed_bytes = memory.changed_bytes();
        let host = guest.host_state();
        let frozen = Frozen::new(&image.info.hash, host, &contents, Some(memory))?;
        (Some(frozen.to_bytes()?.into()), changed_bytes)
    } else {
        (None, 0)
    };
    image.instances.keep_buffer(segments);
    let ended = RunEnd::of(reply, ReplySource::Program)?;
    let mut ran = ran(&guest, call.limits, ended);
    ran.files = guest.state().descriptors.files().fetch(&call.fetch);
    image.finish(tainted, Role::Session, guest);
    Ok(Called {
        ran,
        frozen,
        changed_bytes,
    })
}
