//! Grading a chunk by a server.

use assay_client::{Client, ClientError};
use assay_wire::reply::ResultBody;
use assay_wire::{GradeRequest, ItemRequest, Problem};

use crate::arguments::Grade;

use super::{Chunk, Line, Unread, Written, join};

pub(super) async fn grade(client: &Client, chunk: Chunk, arguments: &Grade) -> anyhow::Result<Written> {
    let Chunk { mut lines, items } = chunk;
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
                let results = reply.results.iter().map(serde_json::to_vec::<ResultBody<'_>>);
                return join(&lines, results.collect::<Result<Vec<_>, _>>()?);
            }
            Err(ClientError::Refused { status: 422, problem }) => problem,
            Err(error) => return Err(error.into()),
        };
        // One item's fault is not the others': it is set aside and the rest sent again.
        let Some(at) = item_of(&refused, &request.items) else {
            anyhow::bail!("the server refused the items: {refused}")
        };
        let ItemRequest { id, group, .. } = request.items.remove(at);
        if let Some(place) = lines.iter_mut().filter(|line| matches!(line, Line::Item)).nth(at) {
            *place = Line::Unread(Unread { id, group, problem: refused });
        }
    }
}

/// The item a problem points to.
fn item_of(problem: &Problem, items: &[ItemRequest]) -> Option<usize> {
    let rest = problem.pointer.as_deref()?.strip_prefix("/items/")?;
    let at = rest.split('/').next()?.parse().ok()?;
    (at < items.len()).then_some(at)
}
