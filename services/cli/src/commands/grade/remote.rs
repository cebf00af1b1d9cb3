//! Grades a chunk on a server.

use assay_client::{Client, ClientError};
use assay_core::ErrorCode;
use assay_wire::{GradeRequest, ItemRequest, Problem, Selection};

use super::chunk::{ChunkResults, merge_grades};
use super::input::{self, Chunk, MAX_CHUNK_BYTES};
use crate::arguments::Grade;

pub(super) async fn grade(
    client: &Client,
    chunk: Chunk<()>,
    arguments: &Grade,
    selection: Selection,
) -> anyhow::Result<ChunkResults> {
    let Chunk {
        mut lines,
        items,
        bytes,
    } = chunk;
    if bytes > MAX_CHUNK_BYTES {
        // Not sent: a server that rejects an oversized body closes the connection during the
        // upload, which cannot be distinguished from other failures.
        for ItemRequest { id, group, .. } in items.into_iter().map(|item| item.request) {
            let message = format!(
                "the item has {bytes} bytes, more than the {MAX_CHUNK_BYTES} that a server \
                 accepts; grade it without `--server`"
            );
            input::invalidate(
                &mut lines,
                0,
                id,
                group,
                Problem::new(ErrorCode::BodyTooLarge, message),
            );
        }
        return merge_grades(&lines, selection, std::iter::empty());
    }
    let mut request = GradeRequest {
        run: arguments.run.clone(),
        step: arguments.step,
        policy: arguments.policy.clone().map(Into::into),
        items: items.into_iter().map(|item| item.request).collect(),
        ..GradeRequest::default()
    };
    loop {
        if request.items.is_empty() {
            return merge_grades(&lines, selection, std::iter::empty());
        }
        let rejected = match client.grade(&request, None).await {
            Ok(reply) => {
                return merge_grades(&lines, selection, reply.results.iter());
            }
            Err(ClientError::Refused {
                status: 422,
                problem,
            }) => problem,
            Err(error) => return Err(error.into()),
        };
        // An invalid item must not fail the others, so it is removed and the rest is sent again.
        let Some((at, problem)) = input::item_of(&rejected, request.items.len()) else {
            anyhow::bail!("the server rejected the items: {rejected}")
        };
        let ItemRequest { id, group, .. } = request.items.remove(at);
        input::invalidate(&mut lines, at, id, group, problem);
    }
}
