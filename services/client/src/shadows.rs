//! Requests about shadows of runs.

use assay_wire::shadows::{ShadowBody, StartShadow};
use reqwest::Method;

use crate::{Client, ClientError};

impl Client {
    /// Starts a shadow of a run. A failed request is not repeated.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn start_shadow(
        &self,
        run: &str,
        request: &StartShadow,
    ) -> Result<ShadowBody, ClientError> {
        let call = self.call(Method::POST, &["v1", "runs", run, "shadow"], &[])?;
        self.send(call.json(request), false).await
    }

    /// Returns the newest shadow of a run.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn shadow(&self, run: &str) -> Result<ShadowBody, ClientError> {
        self.read(&["v1", "runs", run, "shadow"], &[]).await
    }

    /// Ends the shadow of a run.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn end_shadow(&self, run: &str) -> Result<ShadowBody, ClientError> {
        let call = self.call(Method::DELETE, &["v1", "runs", run, "shadow"], &[])?;
        self.send(call, true).await
    }

    /// Sets the fields of the newest shadow in the tasks of its run, or sets them no longer.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn promote_shadow(
        &self,
        run: &str,
        is_promoted: bool,
    ) -> Result<ShadowBody, ClientError> {
        let method = if is_promoted {
            Method::POST
        } else {
            Method::DELETE
        };
        let path = ["v1", "runs", run, "shadow", "promotion"];
        self.send(self.call(method, &path, &[])?, true).await
    }
}
