//! Grading a chunk by a server.

use assay_client::{Client, ClientError};
use assay_wire::reply::ResultBody;
use assay_wire::{GradeRequest, ItemRequest, Problem};

use crate::arguments::Grade;

use super::input::{self, Chunk, Line, Unread};
use super::{Written, join};

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
        let Some((at, problem)) = item_of(&refused, &request.items) else {
            anyhow::bail!("the server refused the items: {refused}")
        };
        let ItemRequest { id, group, .. } = request.items.remove(at);
        if let Some((place, line)) = input::items(&mut lines).nth(at) {
            *place = Line::Unread(Unread { line, id, group, problem });
        }
    }
}

/// The item a problem points to, and the problem as one of that item.
fn item_of(problem: &Problem, items: &[ItemRequest]) -> Option<(usize, Problem)> {
    let rest = problem.pointer.as_deref()?.strip_prefix("/items/")?;
    let (at, within) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let at = at.parse().ok().filter(|at| *at < items.len())?;
    Some((at, Problem { pointer: Some(within.to_owned()), ..problem.clone() }))
}
