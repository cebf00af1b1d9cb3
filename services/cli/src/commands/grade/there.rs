//! Grading a chunk by a server.

use assay_client::{Client, ClientError};
use assay_core::ErrorCode;
use assay_wire::reply::ResultBody;
use assay_wire::{GradeRequest, ItemRequest, Problem};

use crate::arguments::Grade;

use super::input::{self, Chunk, MOST_CHUNK_BYTES};
use super::{Written, join};

pub(super) async fn grade(
    client: &Client,
    chunk: Chunk,
    arguments: &Grade,
) -> anyhow::Result<Written> {
    let Chunk {
        mut lines,
        items,
        bytes,
    } = chunk;
    if bytes > MOST_CHUNK_BYTES {
        // A server that refuses it breaks off while it is sent, which looks like any other failure.
        for ItemRequest { id, group, .. } in items.into_iter().map(|item| item.request) {
            let message = format!(
                "it has {bytes} bytes, and {MOST_CHUNK_BYTES} are sent to a server at most; grade \
                 it here"
            );
            input::set_aside(
                &mut lines,
                0,
                id,
                group,
                Problem::new(ErrorCode::BodyTooLarge, message),
            );
        }
        return join(&lines, []);
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
            return join(&lines, []);
        }
        let refused = match client.grade(&request, None).await {
            Ok(reply) => {
                let results = reply
                    .results
                    .iter()
                    .map(serde_json::to_vec::<ResultBody<'_>>);
                return join(&lines, results.collect::<Result<Vec<_>, _>>()?);
            }
            Err(ClientError::Refused {
                status: 422,
                problem,
            }) => problem,
            Err(error) => return Err(error.into()),
        };
        // One item's fault is not the others': it is set aside and the rest sent again.
        let Some((at, problem)) = input::item_of(&refused, request.items.len()) else {
            anyhow::bail!("the server refused the items: {refused}")
        };
        let ItemRequest { id, group, .. } = request.items.remove(at);
        input::set_aside(&mut lines, at, id, group, problem);
    }
}
