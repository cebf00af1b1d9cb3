//! `/v1/sessions`: interpreter sessions.

pub(crate) mod batch;
pub(crate) mod end;
pub(crate) mod file;
pub(crate) mod fork;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod open;
pub(crate) mod replay;
pub(crate) mod run;

use std::sync::Arc;

use assay_access::metered;
use assay_sessions::{Sender, SessionError};

use crate::Api;
use crate::error::ApiResult;

/// The caller of a request, as sessions see it.
pub(crate) fn sender(api: &Api) -> Sender {
    let caller = api.caller();
    Sender {
        caller: caller.name().to_owned(),
        sees_all: caller.role().sees_all(),
        share: Arc::clone(caller.share()),
    }
}

/// Admits and runs a call of the caller, which counts as an item.
pub(crate) async fn call<T>(
    api: &Api,
    call: impl Future<Output = Result<T, SessionError>>,
) -> ApiResult<T> {
    let _admitted = api.admit(1)?;
    let charge = api.charge(1, 0)?;
    Ok(metered(api.caller().share(), charge, call).await?)
}
