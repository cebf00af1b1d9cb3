//! Calls of sessions. An instance runs one call and is frozen; the next call continues in an
//! instance that was thawed from that, in any worker.

use std::sync::atomic::AtomicBool;

use assay_worker::program::{Call, Called, File};
use serde_json::json;

use crate::frozen::Frozen;
use crate::guest::{Guest, ReplySource};
use crate::image::Image;
use crate::instances::Role;
use crate::message::header;
use crate::request_error::RequestError;
use crate::run_end::{RunEnd, ran};
use crate::state::{EPOCH, State};

/// Runs a call in an instance of its image.
pub(crate) fn run(
    image: &Image,
    tainted: &AtomicBool,
    call: &Call,
) -> Result<Called, RequestError> {
    let mut guest = start(image, call)?;
    guest
        .begin(call.limits)
        .map_err(RequestError::no_instance)?;
    let request = header(json!({"op": "session", "number": call.number}));
    let reply = guest.request(request, &[call.code.as_bytes()]);
    // A limit can end an instance anywhere, even while the interpreter changes its own data.
    let (frozen, changed_bytes) = if reply.is_ok() {
        let frozen = image.instances.freeze(&mut guest, &image.info.hash)?;
        let (bytes, changed) = (frozen.to_bytes()?, frozen.changed_bytes());
        (Some(bytes), changed)
    } else {
        (None, 0)
    };
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

/// The instance of a call, with its files.
fn start(image: &Image, call: &Call) -> Result<Guest, RequestError> {
    let guest = match &call.frozen {
        None => {
            let state = State::new(call.limits, call.seed, call.stdin.clone());
            image.start(Role::Session, state)?
        }
        Some(bytes) => {
            let frozen = Frozen::read(bytes, &image.info.hash)?;
            let state = State::thawed(&frozen.host, call.limits, call.stdin.clone());
            let mut guest = image.start(Role::Session, state)?;
            guest.thaw(&frozen)?;
            guest
        }
    };
    for file in &call.files {
        store(&guest, file)?;
    }
    Ok(guest)
}

/// Writes a file of the caller, at the time of the guest's clock.
fn store(guest: &Guest, file: &File) -> Result<(), RequestError> {
    let state = guest.state();
    let now = EPOCH.saturating_add(state.clock_base);
    let stored = state
        .descriptors
        .files()
        .store(&file.path, &file.bytes, now);
    stored.map_err(|error| {
        let path = &file.path;
        RequestError::Permanent(format!("the file `{path}` cannot be created: {error:?}"))
    })
}
