//! Parameters of paths.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

use crate::error::ApiError;

/// The only parameter of a path.
pub(crate) struct PathParameter(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathParameter {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(parameter) = Path::from_request_parts(parts, state).await?;
        Ok(Self(parameter))
    }
}
