//! What a reply consists of in addition to its results, and its bytes.

use std::sync::Arc;

use assay_engine::{Render, Reply};
use assay_mapping::render;
use assay_record::SealedReply;
use assay_wire::{Selection, Warning};

use super::response::JSON;
use crate::ndjson::NDJSON;

/// What determines the bytes of a reply in addition to its results.
#[derive(Clone)]
pub(super) struct Framing {
    pub(super) warnings: Arc<[Warning]>,
    pub(super) selection: Selection,
}

impl Framing {
    pub(super) fn whole(&self, reply: &Reply) -> Vec<u8> {
        render::whole(reply, &self.warnings, self.selection)
    }

    pub(super) fn result_lines(&self, reply: &Reply) -> Vec<u8> {
        render::result_lines(reply, self.selection)
    }

    pub(super) fn closing_lines(&self, reply: &Reply) -> Vec<u8> {
        render::closing_lines(reply, &self.warnings, self.selection)
    }

    /// Renders the reply that is sent and stored under an idempotency key.
    pub(super) fn seal(self, streamed: bool) -> Render {
        Arc::new(move |reply| {
            if streamed {
                let mut body = self.result_lines(reply);
                body.extend_from_slice(&self.closing_lines(reply));
                SealedReply {
                    media: NDJSON.to_owned(),
                    body,
                }
            } else {
                SealedReply {
                    media: JSON.to_owned(),
                    body: self.whole(reply),
                }
            }
        })
    }
}
