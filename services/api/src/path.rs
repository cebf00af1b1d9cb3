//! Parameters of paths.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// The only parameter of a path, or all of them as a tuple.
pub(crate) struct PathParameter<T = String>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParameter<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(parameter) = Path::from_request_parts(parts, state).await?;
        Ok(Self(parameter))
    }
}
